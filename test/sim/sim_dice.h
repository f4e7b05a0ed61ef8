/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * Random choices of the simulation test, all from streams of its seed.
 */
#ifndef SIM_DICE_H
#define SIM_DICE_H

#include "wire_rng.h"

/** 0 .. n - 1. */
static inline uint32_t sim_dice_below(struct wire_rng *rng, uint32_t n)
{
    return (uint32_t)((wire_rng_next(rng) >> 32) * n >> 32);
}

/** low .. high, both possible. */
static inline uint64_t sim_dice_between(struct wire_rng *rng, uint64_t low, uint64_t high)
{
    return low + wire_rng_next(rng) % (high - low + 1);
}

/** True once in @p n. */
static inline bool sim_dice_one_in(struct wire_rng *rng, uint32_t n)
{
    return sim_dice_below(rng, n) == 0;
}

static inline bool sim_dice_chance(struct wire_rng *rng, double p)
{
    return p > 0 && wire_rng_uniform(rng) < p;
}

static inline void sim_dice_fill(struct wire_rng *rng, uint8_t *bytes, size_t n)
{
    for (size_t i = 0; i < n; i += 8) {
        uint64_t x = wire_rng_next(rng);

        for (size_t j = i; j < n && j < i + 8; j++, x >>= 8)
            bytes[j] = (uint8_t)x;
    }
}

#endif
