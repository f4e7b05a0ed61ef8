/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * The few types everything shares: time, PSN, line time, assertions.
 *
 * Time is uint64_t picoseconds everywhere, always named `..._ps`; WIRE_NEVER means "no such time".
 * A PSN is a type of its own, so that `a < b` does not compile.
 *
 * Spec   IBTA Vol 1 9.7.2 (24-bit PSN arithmetic); IEEE 802.3 (preamble 8 B, minimum IPG 12 B)
 */
#ifndef WIRE_TYPES_H
#define WIRE_TYPES_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WIRE_NEVER UINT64_MAX /* a time that never comes */

/* Our own bug. On in every test of the C code; an optimised build of the runner leaves it out. */
#ifdef NDEBUG
#define WIRE_ASSERT(x) ((void)sizeof(!(x)))
#else
#define WIRE_ASSERT(x) assert(x)
#endif

#if defined(__GNUC__)
#define WIRE_LIKELY(x) __builtin_expect(!!(x), 1)
#define WIRE_UNLIKELY(x) __builtin_expect(!!(x), 0)
/* On the path of every packet, and called from seldom ones too: the compiler would not see it. */
#ifdef __OPTIMIZE__
#define WIRE_HOT static inline __attribute__((always_inline))
#else
#define WIRE_HOT static inline /* once, as a debugger and the coverage of branches want it */
#endif
/* Seldom called, from such a path: kept out of it. */
#define WIRE_COLD static __attribute__((cold, noinline))
#else
#define WIRE_HOT static inline
#define WIRE_COLD static
#define WIRE_LIKELY(x) (x)
#define WIRE_UNLIKELY(x) (x)
#endif

/* ---- PSN ---- */

#define WIRE_PSN_MASK 0xFFFFFFu
#define WIRE_PSNS_MAX 0x7FFFFFu /* in flight at most, 2^23 - 1: half of them have an order */

typedef struct {
    uint32_t v; /* 0 .. 2^24-1 */
} wire_psn;

/* psn + n modulo 2^24. */
static inline wire_psn wire_psn_add(wire_psn psn, uint32_t n)
{
    return (wire_psn){(psn.v + n) & WIRE_PSN_MASK};
}

/* Signed distance a - b in -2^23 .. 2^23-1; > 0: a is later (rxe and IBTA agree). */
static inline int32_t wire_psn_diff(wire_psn a, wire_psn b)
{
    uint32_t d = (a.v - b.v) & WIRE_PSN_MASK;

    return d < 0x800000u ? (int32_t)d : (int32_t)d - 0x1000000;
}

/* ---- line time ---- */

#define WIRE_PREAMBLE_BYTES 8u /* preamble + SFD: a frame has arrived at start + time(frame + 8) */
#define WIRE_PAUSE_QUANTUM_BYTES 64u /* 512 bit times, the unit of pauses */
#define WIRE_GAP_BYTES 20u /* preamble + least gap: the MAC is free at start + time(frame + 20) */

/**
 * Time of @p bytes on a line of @p bps bits a second, in picoseconds, rounded up once: the one
 * place where bytes become time. Exact for any bytes < 2^60.
 */
static inline uint64_t wire_line_time_ps(uint64_t bytes, uint64_t bps)
{
    __extension__ typedef unsigned __int128 u128;

    WIRE_ASSERT(bps > 0);
    return (uint64_t)(((u128)bytes * 8000000000000u + bps - 1) / bps);
}

static inline uint64_t wire_min_ps(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline uint64_t wire_max_ps(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

#endif
