/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The simulation test, tested: it passes over what it should have seen, and every way to spoil a
 * run is noticed in every run that gives the chance.
 */
#include "check.h"
#include "sim.h"

#define SEEDS 300u
#define CHANCES_ENOUGH 15u
#define SEEDS_SOUND 40u
#define SEED_MINIMISED 9u

static void spoiled_runs_fail(enum sim_spoil spoil)
{
    const struct sim_options options = {.spoil = spoil};
    uint32_t chances = 0;

    for (uint64_t seed = 1; seed <= SEEDS && chances < CHANCES_ENOUGH; seed++) {
        struct sim_result result = sim_run_seed(seed, &options);

        chances += result.spoiled;
        if (result.spoiled != result.failed)
            fprintf(stderr, "seed %" PRIu64 ": %s\n", seed,
                    result.failed ? result.why : "spoiled and not noticed");
        CHECK_EQ(result.failed, result.spoiled);
    }
    CHECK(chances >= CHANCES_ENOUGH);
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

static void what_a_read_brings_is_looked_at(void)
{
    spoiled_runs_fail(SIM_SPOIL_READ);
}

static void a_fence_that_does_not_hold_is_noticed(void)
{
    spoiled_runs_fail(SIM_SPOIL_FENCE);
}

static void a_wrong_return_of_an_atomic_is_noticed(void)
{
    spoiled_runs_fail(SIM_SPOIL_ATOMIC);
}

static void an_atomic_done_twice_is_noticed(void)
{
    spoiled_runs_fail(SIM_SPOIL_AGAIN);
}

static void a_write_without_a_key_is_noticed(void)
{
    spoiled_runs_fail(SIM_SPOIL_REVOKED);
}

static void a_wrong_key_invalidated_is_noticed(void)
{
    spoiled_runs_fail(SIM_SPOIL_KEY);
}

static void a_missing_byte_of_a_message_is_noticed(void)
{
    spoiled_runs_fail(SIM_SPOIL_PART);
}

static void a_message_twice_is_noticed(void)
{
    spoiled_runs_fail(SIM_SPOIL_DATAGRAM);
}

static void a_lost_event_is_noticed(void)
{
    spoiled_runs_fail(SIM_SPOIL_EVENT);
}

static void a_wrong_error_is_noticed(void)
{
    spoiled_runs_fail(SIM_SPOIL_STATUS);
}

static void a_broken_queue_pair_is_noticed(void)
{
    spoiled_runs_fail(SIM_SPOIL_STATE);
}

static void too_much_in_flight_is_noticed(void)
{
    spoiled_runs_fail(SIM_SPOIL_WINDOW);
}

static void a_rate_exceeded_is_noticed(void)
{
    spoiled_runs_fail(SIM_SPOIL_RATE);
}

static void too_many_reads_at_once_are_noticed(void)
{
    spoiled_runs_fail(SIM_SPOIL_DEPTH);
}

static void impatience_is_noticed(void)
{
    spoiled_runs_fail(SIM_SPOIL_WAIT);
}

static void an_answer_of_wrong_length_is_noticed(void)
{
    spoiled_runs_fail(SIM_SPOIL_ANSWER);
}

static void another_run_of_the_same_seed_is_noticed(void)
{
    spoiled_runs_fail(SIM_SPOIL_HASH);
}

/* Runs that nobody spoils pass; the program itself looks at the sums over many. */
static void sound_runs_pass(void)
{
    const struct sim_options options = {.again = 8};

    for (uint64_t seed = 1; seed <= SEEDS_SOUND; seed++) {
        struct sim_result result = sim_run_seed(seed, &options);

        if (result.failed)
            fprintf(stderr, "seed %" PRIu64 ": %s\n", seed, result.why);
        CHECK(!result.failed);
    }
}

/* One completion is handed over twice: one work request is enough for that, and no fault. */
static void minimiser_leaves_little(void)
{
    const struct sim_options options = {.spoil = SIM_SPOIL_TWICE};
    struct sim_smallest smallest;

    CHECK_EQ(sim_minimise(SEED_MINIMISED, &options, &smallest), 0);
    CHECK(smallest.sends_before > 20);
    CHECK(smallest.sends >= 1 && smallest.sends <= 3);
    CHECK_EQ(smallest.faults, 0);
}

static void minimiser_wants_a_failure(void)
{
    const struct sim_options options = {0};
    struct sim_smallest smallest;

    CHECK_EQ(sim_minimise(SEED_MINIMISED, &options, &smallest), 1);
}

CHECK_SUITE(
    sim, CHECK_CASE(sound_runs_pass), CHECK_CASE(minimiser_leaves_little),
    CHECK_CASE(minimiser_wants_a_failure), CHECK_CASE(undone_placement_is_noticed),
    CHECK_CASE(second_completion_is_noticed), CHECK_CASE(lost_completion_is_noticed),
    CHECK_CASE(swapped_completions_are_noticed), CHECK_CASE(changed_completion_is_noticed),
    CHECK_CASE(changed_byte_is_noticed), CHECK_CASE(changed_guard_byte_is_noticed),
    CHECK_CASE(leaked_frame_is_noticed), CHECK_CASE(damage_the_codec_does_not_see_is_noticed),
    CHECK_CASE(what_a_read_brings_is_looked_at), CHECK_CASE(a_fence_that_does_not_hold_is_noticed),
    CHECK_CASE(a_wrong_return_of_an_atomic_is_noticed), CHECK_CASE(an_atomic_done_twice_is_noticed),
    CHECK_CASE(a_write_without_a_key_is_noticed), CHECK_CASE(a_wrong_key_invalidated_is_noticed),
    CHECK_CASE(a_missing_byte_of_a_message_is_noticed), CHECK_CASE(a_message_twice_is_noticed),
    CHECK_CASE(a_lost_event_is_noticed), CHECK_CASE(a_wrong_error_is_noticed),
    CHECK_CASE(a_broken_queue_pair_is_noticed), CHECK_CASE(too_much_in_flight_is_noticed),
    CHECK_CASE(a_rate_exceeded_is_noticed), CHECK_CASE(too_many_reads_at_once_are_noticed),
    CHECK_CASE(impatience_is_noticed), CHECK_CASE(an_answer_of_wrong_length_is_noticed),
    CHECK_CASE(another_run_of_the_same_seed_is_noticed))
