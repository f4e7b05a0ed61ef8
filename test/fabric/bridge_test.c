/* SPDX-License-Identifier: GPL-2.0-only */
/* Bridging: what is learned, moved, aged; what is flooded, where to, and as which traffic. */
#include "fabric_bridge.h"
#include "fabric_rig.h"
#include "wire_rng.h"

#define SECOND UINT64_C(1000000000000)
#define HOST 500u /* stations no route names: rig_make sets routes to 0, 1, ... */

/* ---- the table ---- */

static void learns_moves_and_ages(void)
{
    struct fabric_bridge bridge;

    CHECK_EQ(fabric_bridge_init(&bridge, 8, 100), 0);
    CHECK_EQ(fabric_bridge_lookup(&bridge, 7, 0), FABRIC_BRIDGE_NONE);
    fabric_bridge_learn(&bridge, 7, 3, 0);
    CHECK_EQ(fabric_bridge_lookup(&bridge, 7, 50), 3);
    fabric_bridge_learn(&bridge, 7, 5, 50); /* the station moved */
    CHECK_EQ(fabric_bridge_lookup(&bridge, 7, 150), 5);
    CHECK_EQ(fabric_bridge_lookup(&bridge, 7, 151), FABRIC_BRIDGE_NONE);
    fabric_bridge_learn(&bridge, 7, 5, 1000);
    CHECK_EQ(fabric_bridge_lookup(&bridge, 7, 1100), 5);
    fabric_bridge_learn(&bridge, WIRE_STATION_BROADCAST, 1, 1000);
    fabric_bridge_learn(&bridge, WIRE_STATION_NONE, 1, 1000);
    CHECK_EQ(fabric_bridge_lookup(&bridge, WIRE_STATION_BROADCAST, 1000), FABRIC_BRIDGE_NONE);
    CHECK_EQ(fabric_bridge_lookup(&bridge, WIRE_STATION_NONE, 1000), FABRIC_BRIDGE_NONE);
    CHECK_EQ(bridge.used, 1);
    fabric_bridge_free(&bridge);
}

static void never_ages_at_zero(void)
{
    struct fabric_bridge bridge;

    CHECK_EQ(fabric_bridge_init(&bridge, 1, 0), 0);
    fabric_bridge_learn(&bridge, 7, 3, 0);
    CHECK_EQ(fabric_bridge_lookup(&bridge, 7, UINT64_MAX - 1), 3);
    fabric_bridge_learn(&bridge, 8, 3, 1); /* full, and nothing ages */
    CHECK_EQ(fabric_bridge_lookup(&bridge, 8, 1), FABRIC_BRIDGE_NONE);
    fabric_bridge_free(&bridge);
}

static bool in_table(const struct fabric_bridge *bridge, uint32_t station)
{
    for (uint32_t i = 0; i < bridge->slots; i++) {
        if (bridge->entries[i].station == station)
            return true;
    }
    return false;
}

/* A full table takes new stations only in place of aged ones, and answers right for all it has. */
static void table_against_a_plain_list(void)
{
    enum { STATIONS = 300, LIMIT = 100, AGE = 2000 };
    uint64_t seed = 11, now_ps = 0, unlearned = 0, aged = 0, replaced = 0;
    struct wire_rng rng = wire_rng_init(seed, 0);
    uint32_t port[STATIONS] = {0};
    uint64_t seen_ps[STATIONS];
    struct fabric_bridge bridge;

    printf("seed %" PRIu64 "\n", seed);
    memset(seen_ps, 0xFF, sizeof(seen_ps)); /* never */
    CHECK_EQ(fabric_bridge_init(&bridge, LIMIT, AGE), 0);
    for (int i = 0; i < 200000; i++) {
        uint32_t station = (uint32_t)(wire_rng_next(&rng) % STATIONS);
        uint32_t found;

        now_ps += wire_rng_next(&rng) % 20;
        found = fabric_bridge_lookup(&bridge, station, now_ps);
        if (found == FABRIC_BRIDGE_NONE) {
            if (seen_ps[station] != UINT64_MAX && now_ps - seen_ps[station] > AGE)
                aged++;
        } else {
            CHECK_EQ(found, port[station]);
            CHECK(now_ps - seen_ps[station] <= AGE);
        }
        if (wire_rng_next(&rng) % 2 == 0) {
            bool is_new = bridge.used == LIMIT && !in_table(&bridge, station);

            port[station] = (uint32_t)(wire_rng_next(&rng) % 64);
            fabric_bridge_learn(&bridge, station, port[station], now_ps);
            found = fabric_bridge_lookup(&bridge, station, now_ps);
            CHECK(found == port[station] || found == FABRIC_BRIDGE_NONE);
            unlearned += found == FABRIC_BRIDGE_NONE;
            replaced += is_new && found != FABRIC_BRIDGE_NONE;
            seen_ps[station] = found == FABRIC_BRIDGE_NONE ? UINT64_MAX : now_ps;
        }
        CHECK(bridge.used <= LIMIT);
    }
    CHECK_EQ(bridge.used, LIMIT);
    CHECK(unlearned > 1000 && aged > 1000 && replaced > 1000);
    fabric_bridge_free(&bridge);
}

/* ---- the switch ---- */

static struct rig bridge_rig(struct fabric_params *params, uint32_t ports)
{
    params->l2 = 1;
    return rig_start(params, ports);
}

/* A frame from station @p src, behind @p port, to station @p dst; flooded as an engine does it. */
static uint32_t bridge_rx(struct rig *rig, uint32_t port, uint32_t src, uint32_t dst, uint8_t prio,
                          uint64_t now_ps)
{
    struct wire_frame *frame = rig_data(rig, src, dst, prio, 1000);
    uint32_t out, copies = 0;

    frame->eth_dst = dst;
    out = fabric_flood_next(rig->sw, port, frame, 0, now_ps);
    if (out == FABRIC_PORT_NONE) {
        if (fabric_rx(rig->sw, port, frame, now_ps) != WIRE_DROP_NONE)
            rig_free(rig, frame);
        return 0;
    }
    for (; out != FABRIC_PORT_NONE;
         out = fabric_flood_next(rig->sw, port, frame, out + 1, now_ps)) {
        struct wire_frame *copy = rig_frame(rig);

        *copy = *frame;
        if (fabric_rx_flood(rig->sw, port, out, copy, now_ps) != WIRE_DROP_NONE)
            rig_free(rig, copy);
        copies++;
    }
    rig_free(rig, frame);
    return copies;
}

static void unknown_is_flooded_then_known_is_not(void)
{
    struct fabric_params params = rig_plain_params();
    struct rig rig = bridge_rig(&params, 4);
    struct wire_frame *frame;

    CHECK(fabric_is_bridge(rig.sw));
    CHECK_EQ(bridge_rx(&rig, 1, HOST, HOST + 1, 3, 0), 3);
    for (uint32_t port = 0; port < 4; port++) {
        frame = rig_tx(&rig, port, 0, RIG_ALL);
        CHECK_EQ(frame != NULL, port != 1); /* never back */
        if (frame == NULL)
            continue;
        CHECK_EQ(frame->eth_src, HOST);
        CHECK_EQ(frame->eth_dst, HOST + 1);
        CHECK_EQ(frame->ttl, 64);
        CHECK_EQ(frame->prio, 3);
        rig_free(&rig, frame);
    }
    CHECK_EQ(bridge_rx(&rig, 2, HOST + 1, HOST, 3, 5), 0); /* the first was learned */
    CHECK_EQ(rig_drain(&rig, 1, 5), 1);
    CHECK_EQ(bridge_rx(&rig, 1, HOST, HOST + 1, 3, 9), 0);
    CHECK_EQ(rig_drain(&rig, 2, 9), 1);
    CHECK_EQ(bridge_rx(&rig, 3, HOST + 1, HOST, 3, 10), 0); /* it moved to port 3 */
    CHECK_EQ(rig_drain(&rig, 1, 10), 1);
    CHECK_EQ(bridge_rx(&rig, 1, HOST, HOST + 1, 3, 11), 0);
    CHECK_EQ(rig_drain(&rig, 3, 11), 1);
    CHECK_EQ(fabric_frames_held(rig.sw), 0);
    CHECK_EQ(fabric_query_counters(rig.sw)->flooded, 3);
    rig_check_conservation(&rig);
    rig_stop(&rig);
}

static void forgotten_after_its_age(void)
{
    struct fabric_params params = rig_plain_params();
    struct rig rig = bridge_rig(&params, 3);

    CHECK_EQ(params.l2_age_ps, 300 * SECOND);
    CHECK_EQ(bridge_rx(&rig, 0, HOST, WIRE_STATION_BROADCAST, 0, 0), 2);
    CHECK_EQ(bridge_rx(&rig, 1, HOST + 1, HOST, 0, 300 * SECOND), 0);
    CHECK_EQ(bridge_rx(&rig, 1, HOST + 1, HOST, 0, 300 * SECOND + 1), 2);
    rig_stop(&rig);
}

static void group_frames_are_always_flooded(void)
{
    for (uint64_t learn = 0; learn < 2; learn++) {
        struct fabric_params params = rig_plain_params();
        struct fabric_port_config config = rig_port_config(2);
        struct rig rig;

        params.l2 = 1;
        params.l2_learn = learn;
        rig = rig_make(&params, 4);
        config.peer_station = WIRE_STATION_NONE;
        fabric_port_set(rig.sw, 2, &config); /* nobody there */
        CHECK_EQ(fabric_start(rig.sw, NULL, 0), 0);
        for (int i = 0; i < 2; i++)
            CHECK_EQ(bridge_rx(&rig, 0, HOST, WIRE_STATION_BROADCAST, 5, 0), 2);
        CHECK_EQ(rig_drain(&rig, 1, 0), 2);
        CHECK_EQ(rig_drain(&rig, 2, 0), 0);
        CHECK_EQ(rig_drain(&rig, 3, 0), 2);
        rig_stop(&rig);
    }
}

static void static_entries_win_and_suffice(void)
{
    struct fabric_params params = rig_plain_params();
    struct rig rig = bridge_rig(&params, 3);

    CHECK_EQ(bridge_rx(&rig, 0, 2, 1, 3, 0), 0); /* a frame of station 2 comes in at port 0 */
    CHECK_EQ(rig_drain(&rig, 1, 0), 1);
    CHECK_EQ(bridge_rx(&rig, 1, 1, 2, 3, 0), 0); /* but the table says port 2 */
    CHECK_EQ(rig_drain(&rig, 2, 0), 1);
    rig_stop(&rig);

    params.l2_learn = 0;
    rig = bridge_rig(&params, 3);
    CHECK_EQ(bridge_rx(&rig, 1, HOST, HOST + 1, 3, 0), 0);
    CHECK_EQ(bridge_rx(&rig, 2, HOST + 1, HOST, 3, 0), 0); /* nobody is learned */
    CHECK_EQ(fabric_query_counters(rig.sw)->drops[WIRE_DROP_NO_ROUTE], 2);
    rig_check_conservation(&rig);
    rig_stop(&rig);
}

static void filtered_when_it_came_from_there(void)
{
    struct fabric_params params = rig_plain_params();
    struct rig rig = bridge_rig(&params, 3);

    CHECK_EQ(bridge_rx(&rig, 1, HOST, WIRE_STATION_BROADCAST, 3, 0), 2);
    CHECK_EQ(bridge_rx(&rig, 1, HOST + 1, HOST, 3, 0), 0); /* both behind port 1 */
    CHECK_EQ(fabric_query_counters(rig.sw)->drops[WIRE_DROP_L2_FILTER], 1);
    CHECK_EQ(fabric_frames_held(rig.sw), 2);
    rig_check_conservation(&rig);
    rig_stop(&rig);
}

static void primed_stations_are_not_flooded_to(void)
{
    struct fabric_params params = rig_plain_params();
    struct rig rig = bridge_rig(&params, 4);

    fabric_learn(rig.sw, HOST, 2);
    CHECK_EQ(bridge_rx(&rig, 1, HOST + 1, HOST, 3, 300 * SECOND), 0);
    CHECK_EQ(rig_drain(&rig, 2, 300 * SECOND), 1);
    CHECK_EQ(bridge_rx(&rig, 1, HOST + 1, HOST, 3, 300 * SECOND + 1), 3); /* it ages as others */
    CHECK_EQ(bridge_rx(&rig, 3, HOST, HOST + 1, 3, 301 * SECOND), 0);     /* and moves as others */
    CHECK_EQ(bridge_rx(&rig, 1, HOST + 1, HOST, 3, 302 * SECOND), 0);
    CHECK_EQ(fabric_frames_held(rig.sw), 5);
    rig_stop(&rig);
}

static void nobody_to_flood_to_is_no_route(void)
{
    struct fabric_params params = rig_plain_params();
    struct rig rig = bridge_rig(&params, 1);

    CHECK_EQ(bridge_rx(&rig, 0, HOST, HOST + 1, 3, 0), 0);
    CHECK_EQ(bridge_rx(&rig, 0, HOST, WIRE_STATION_BROADCAST, 3, 0), 0);
    CHECK_EQ(fabric_query_counters(rig.sw)->drops[WIRE_DROP_NO_ROUTE], 2);
    rig_stop(&rig);
}

/*
 * Class 3 is lossless and its egress never drains: what is flooded there is dropped at the
 * threshold of a lossy queue, pauses nobody, and leaves class 3's own share of the ingress alone.
 */
static void flooding_is_lossy_and_pauses_nobody(void)
{
    struct fabric_params params = rig_plain_params();
    uint64_t dropped;
    struct rig rig;

    params.buffer_bytes = 100000;
    params.headroom_bytes = 10000;
    params.lossy_alpha = 1;
    rig = bridge_rig(&params, 3);
    for (int i = 0; i < 200; i++)
        CHECK_EQ(bridge_rx(&rig, 0, HOST, HOST + 1, 3, 0), 2);
    dropped = fabric_query_counters(rig.sw)->drops[WIRE_DROP_BUFFER];
    /* The pool is 70000: a queue q stops where q + 1000 > 70000 - both queues. */
    CHECK_EQ(fabric_queue_bytes(rig.sw, 1, 3), 24000);
    CHECK_EQ(fabric_queue_bytes(rig.sw, 2, 3), 23000);
    CHECK_EQ(dropped, 400 - 47);
    CHECK_EQ(fabric_tx_next(rig.sw, 0, RIG_ALL), WIRE_NEVER); /* no pause frame waits */
    rig_check_conservation(&rig);
    CHECK_EQ(bridge_rx(&rig, 0, HOST, 1, 3, 0), 0); /* the share of class 3 is still its own */
    CHECK_EQ(fabric_tx_next(rig.sw, 0, RIG_ALL), WIRE_NEVER);
    CHECK_EQ(rig_drain(&rig, 1, 0), 25);
    CHECK_EQ(rig_drain(&rig, 2, 0), 23);
    CHECK_EQ(fabric_query_counters(rig.sw)->pauses, 0);
    for (int i = 0; i < 12; i++) /* known again: lossless, and it pauses */
        CHECK_EQ(bridge_rx(&rig, 0, HOST, 1, 3, 0), 0);
    CHECK_EQ(fabric_frames_held(rig.sw), 12);
    CHECK_EQ(fabric_tx_next(rig.sw, 0, RIG_ALL), 0);
    rig_stop(&rig);
}

/* With every class lossless a flood is charged to its own, by the lossy rule. */
static void flooding_without_a_lossy_class(void)
{
    struct fabric_params params = rig_plain_params();
    struct rig rig;

    params.lossless_classes = 255;
    rig = bridge_rig(&params, 3);
    CHECK_EQ(bridge_rx(&rig, 0, HOST, HOST + 1, 7, 0), 2);
    CHECK_EQ(rig_drain(&rig, 1, 0) + rig_drain(&rig, 2, 0), 2);
    rig_stop(&rig);
}

static void rocev1_and_opaque_frames_are_flooded_too(void)
{
    struct fabric_params params = rig_plain_params();
    struct rig rig = bridge_rig(&params, 2);
    struct wire_frame *frame = rig_data(&rig, HOST, HOST + 1, 3, 1000);

    frame->flags = WIRE_FRAME_ROCE_V1;
    frame->eth_dst = HOST + 1;
    CHECK_EQ(fabric_flood_next(rig.sw, 0, frame, 0, 0), 1);
    CHECK_EQ(fabric_rx_flood(rig.sw, 0, 1, frame, 0), WIRE_DROP_NONE);
    frame = rig_data(&rig, HOST + 2, HOST, 0, 1000);
    frame->kind = WIRE_KIND_OPAQUE;
    frame->eth_dst = WIRE_STATION_BROADCAST;
    CHECK_EQ(fabric_flood_next(rig.sw, 1, frame, 0, 0), 0);
    CHECK_EQ(fabric_rx_flood(rig.sw, 1, 0, frame, 0), WIRE_DROP_NONE);
    CHECK_EQ(bridge_rx(&rig, 0, HOST, HOST + 2, 3, 0), 0); /* learned from the opaque one */
    CHECK_EQ(rig_drain(&rig, 0, 0), 1);
    CHECK_EQ(rig_drain(&rig, 1, 0), 2);
    rig_stop(&rig);
}

CHECK_SUITE(bridge, CHECK_CASE(learns_moves_and_ages), CHECK_CASE(never_ages_at_zero),
            CHECK_CASE(table_against_a_plain_list),
            CHECK_CASE(unknown_is_flooded_then_known_is_not), CHECK_CASE(forgotten_after_its_age),
            CHECK_CASE(group_frames_are_always_flooded), CHECK_CASE(static_entries_win_and_suffice),
            CHECK_CASE(filtered_when_it_came_from_there),
            CHECK_CASE(primed_stations_are_not_flooded_to),
            CHECK_CASE(nobody_to_flood_to_is_no_route),
            CHECK_CASE(flooding_is_lossy_and_pauses_nobody),
            CHECK_CASE(flooding_without_a_lossy_class),
            CHECK_CASE(rocev1_and_opaque_frames_are_flooded_too))
