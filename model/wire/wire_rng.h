/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * One random stream per port: SplitMix64 (Steele, Lea, Flood, OOPSLA 2014, public algorithm).
 * The state is eight bytes and belongs to its owner; no stream is ever shared, so results do not
 * depend on the order in which ports are served.
 */
#ifndef WIRE_RNG_H
#define WIRE_RNG_H

#include "wire_types.h"

struct wire_rng {
    uint64_t state;
};

static inline uint64_t wire_rng_next(struct wire_rng *rng)
{
    uint64_t z = (rng->state += 0x9E3779B97F4A7C15u);

    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

/* Independent stream number @p stream of run @p seed. */
static inline struct wire_rng wire_rng_init(uint64_t seed, uint64_t stream)
{
    struct wire_rng rng = {seed};

    rng.state = wire_rng_next(&rng) ^ (stream * 0xD1342543DE82EF95u + 0x632BE59BD9B4E019u);
    (void)wire_rng_next(&rng);
    return rng;
}

/* Uniform in [0, 1), 53 bits. */
static inline double wire_rng_uniform(struct wire_rng *rng)
{
    return (double)(wire_rng_next(rng) >> 11) * 0x1p-53;
}

#endif
