/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Headroom against the worst sender: it never stops by itself, its frames are the largest, our MAC
 * has just begun its largest frame when the pause is decided, and nothing drains.
 */
#include "fabric_mmu.h"
#include "fabric_rig.h"

struct duel {
    uint64_t rate_bps, delay_ps, reaction_ps;
    uint32_t max_bytes;
};

/*
 * Headroom 0 means: as computed. Prints nothing; fills @p after with the frames that arrived with
 * or after the one that went over the threshold. @return frames dropped.
 */
static uint64_t duel_fight(const struct duel *duel, uint64_t headroom_bytes, uint32_t *after)
{
    struct fabric_params params = rig_plain_params();
    struct fabric_port_config config = rig_port_config(0);
    struct rig rig;
    uint64_t frame_ps = wire_line_time_ps(duel->max_bytes + WIRE_GAP_BYTES, duel->rate_bps);
    uint64_t last_bit_ps = wire_line_time_ps(duel->max_bytes + WIRE_PREAMBLE_BYTES, duel->rate_bps);
    uint64_t pause_bit_ps = wire_line_time_ps(64 + WIRE_PREAMBLE_BYTES, duel->rate_bps);
    uint64_t stop_ps = WIRE_NEVER, drops;

    params.headroom_bytes = headroom_bytes;
    params.buffer_bytes = 10000000;
    rig = rig_make(&params, 2);
    config.rate_bps = duel->rate_bps;
    config.delay_ps = duel->delay_ps;
    config.peer_reaction_ps = duel->reaction_ps;
    config.max_frame_bytes = duel->max_bytes;
    fabric_port_set(rig.sw, 0, &config);
    CHECK_EQ(fabric_start(rig.sw, NULL, 0), 0);

    *after = 0;
    for (uint64_t start_ps = 0; start_ps < stop_ps; start_ps += frame_ps) {
        uint64_t now_ps = start_ps + last_bit_ps + duel->delay_ps;

        (void)rig_rx(&rig, 0, 1, 3, duel->max_bytes, now_ps);
        if (stop_ps == WIRE_NEVER && fabric_tx_next(rig.sw, 0, 0) == 0) {
            struct wire_frame *pause = rig_tx(&rig, 0, now_ps + frame_ps, 0);

            CHECK(pause != NULL);
            rig_free(&rig, pause);
            stop_ps = now_ps + frame_ps + pause_bit_ps + duel->delay_ps + duel->reaction_ps;
        }
        *after += stop_ps != WIRE_NEVER;
    }
    drops = rig_drops(&rig);
    CHECK_EQ(fabric_query_counters(rig.sw)->pauses, 1);
    rig_stop(&rig);
    return drops;
}

static void just_enough_loses_nothing_and_one_frame_less_does(void)
{
    struct duel duel = {(uint64_t)100 * RIG_G, RIG_US, 0, 1106};
    uint32_t after;

    CHECK(duel_fight(&duel, 100000, &after) == 0);
    CHECK(after > 20); /* 2 us at 100G is 22.2 frames */
    CHECK_EQ(duel_fight(&duel, (uint64_t)after * duel.max_bytes, &after), 0);
    CHECK_EQ(duel_fight(&duel, (uint64_t)after * duel.max_bytes - 1, &after), 1);
    CHECK_EQ(duel_fight(&duel, (uint64_t)(after - 1) * duel.max_bytes, &after), 1);
}

static void a_reaction_time_needs_its_bytes(void)
{
    struct duel fast = {(uint64_t)100 * RIG_G, RIG_US, 0, 4200};
    struct duel slow = {(uint64_t)100 * RIG_G, RIG_US, 2017280, 4200}; /* 394 quanta */
    uint32_t after_fast, after_slow;

    CHECK_EQ(duel_fight(&fast, 1000000, &after_fast), 0);
    CHECK_EQ(duel_fight(&slow, 1000000, &after_slow), 0);
    CHECK_EQ(after_slow - after_fast, 6); /* 25216 / 4220 */
    CHECK(duel_fight(&slow, (uint64_t)after_fast * 4200, &after_slow) > 0);
}

static void the_computed_headroom_is_enough_without_its_interface_term(void)
{
    static const uint64_t rates[] = {10, 25, 40, 100, 200, 400, 800};
    static const uint64_t delays_ps[] = {0, 15000, 1000000, 5000000};
    static const uint64_t reactions_ps[] = {0, 1158000, 2017280};
    static const uint32_t frames[] = {64, 1106, 1522, 4200, 9216};
    uint32_t after;

    for (size_t r = 0; r < sizeof(rates) / sizeof(rates[0]); r++)
        for (size_t d = 0; d < sizeof(delays_ps) / sizeof(delays_ps[0]); d++)
            for (size_t t = 0; t < sizeof(reactions_ps) / sizeof(reactions_ps[0]); t++)
                for (size_t f = 0; f < sizeof(frames) / sizeof(frames[0]); f++) {
                    struct duel duel = {rates[r] * RIG_G, delays_ps[d], reactions_ps[t], frames[f]};
                    struct fabric_mmu_link link = {duel.rate_bps, duel.delay_ps, duel.reaction_ps,
                                                   duel.max_bytes};
                    uint64_t bytes = fabric_mmu_headroom_bytes(&link) -
                                     2 * fabric_mmu_interface_bytes(duel.rate_bps);

                    CHECK_EQ(duel_fight(&duel, 0, &after), 0);
                    CHECK_EQ(duel_fight(&duel, bytes, &after), 0);
                    /* and it wastes little: at most three frames, and gaps counted as data */
                    CHECK(bytes < (uint64_t)(after + 3) * (duel.max_bytes + WIRE_GAP_BYTES) + 84);
                }
}

CHECK_SUITE(headroom, CHECK_CASE(just_enough_loses_nothing_and_one_frame_less_does),
            CHECK_CASE(a_reaction_time_needs_its_bytes),
            CHECK_CASE(the_computed_headroom_is_enough_without_its_interface_term))
