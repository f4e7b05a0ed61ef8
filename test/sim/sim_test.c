/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The simulation test, tested: it passes over what it should have seen, and every way to spoil a
 * run is noticed in every run that gives the chance.
 */
#include "check.h"
#include "sim.h"

#define SEEDS 40u
#define CHANCES_LEAST 15u

static void spoiled_runs_fail(enum sim_spoil spoil)
{
    const struct sim_options options = {.spoil = spoil};
    uint32_t chances = 0;

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct sim_result result = sim_run_seed(seed, &options);

        chances += result.spoiled;
        if (result.spoiled != result.failed)
            fprintf(stderr, "seed %" PRIu64 ": %s\n", seed,
                    result.failed ? result.why : "spoiled and not noticed");
        CHECK_EQ(result.failed, result.spoiled);
    }
    CHECK(chances >= CHANCES_LEAST);
}

static void undone_placement_is_noticed(void)
{
    spoiled_runs_fail(SIM_SPOIL_PLACEMENT);
}

static void second_completion_is_noticed(void)
{
    spoiled_runs_fail(SIM_SPOIL_TWICE);
}

static void lost_completion_is_noticed(void)
{
    spoiled_runs_fail(SIM_SPOIL_LOST);
}

static void swapped_completions_are_noticed(void)
{
    spoiled_runs_fail(SIM_SPOIL_ORDER);
}

static void changed_completion_is_noticed(void)
{
    spoiled_runs_fail(SIM_SPOIL_FIELD);
}

static void changed_byte_is_noticed(void)
{
    spoiled_runs_fail(SIM_SPOIL_FLIP);
}

static void changed_guard_byte_is_noticed(void)
{
    spoiled_runs_fail(SIM_SPOIL_GUARD);
}

static void leaked_frame_is_noticed(void)
{
    spoiled_runs_fail(SIM_SPOIL_LEAK);
}

static void damage_the_codec_does_not_see_is_noticed(void)
{
    spoiled_runs_fail(SIM_SPOIL_CORRUPT);
}

static void another_run_of_the_same_seed_is_noticed(void)
{
    spoiled_runs_fail(SIM_SPOIL_HASH);
}

/* The sums over some seeds: nothing that the seeds are meant to bring is missing. */
static void seeds_bring_everything(void)
{
    const struct sim_options options = {0};
    uint64_t sums[sizeof(struct sim_seen) / sizeof(uint64_t)] = {0};

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct sim_result result = sim_run_seed(seed, &options);
        uint64_t seen[sizeof sums / sizeof sums[0]];

        if (result.failed)
            fprintf(stderr, "seed %" PRIu64 ": %s\n", seed, result.why);
        CHECK(!result.failed);
        memcpy(seen, &result.seen, sizeof seen);
        for (size_t i = 0; i < sizeof sums / sizeof sums[0]; i++)
            sums[i] += seen[i];
    }
    for (size_t i = 0; i < sizeof sums / sizeof sums[0]; i++)
        CHECK(sums[i] > 0);
}

CHECK_SUITE(sim, CHECK_CASE(seeds_bring_everything), CHECK_CASE(undone_placement_is_noticed),
            CHECK_CASE(second_completion_is_noticed), CHECK_CASE(lost_completion_is_noticed),
            CHECK_CASE(swapped_completions_are_noticed), CHECK_CASE(changed_completion_is_noticed),
            CHECK_CASE(changed_byte_is_noticed), CHECK_CASE(changed_guard_byte_is_noticed),
            CHECK_CASE(leaked_frame_is_noticed),
            CHECK_CASE(damage_the_codec_does_not_see_is_noticed),
            CHECK_CASE(another_run_of_the_same_seed_is_noticed))
