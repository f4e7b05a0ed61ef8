/* SPDX-License-Identifier: GPL-2.0-only */
/* Routing: rewrite, TTL, refusals, and which of several equal paths a flow takes. */
#include "fabric_rig.h"
#include "fabric_route.h"

/* ---- rewrite and refusals ---- */

static void routed_hop_rewrites_macs_and_ttl(void)
{
    struct fabric_params params = rig_params();
    struct rig rig = rig_start(&params, 2);
    struct wire_frame *frame;

    CHECK_EQ(rig_rx(&rig, 0, 1, 3, 1106, 0), WIRE_DROP_NONE);
    frame = rig_tx(&rig, 1, 0, RIG_ALL);
    CHECK_EQ(frame->ttl, 63);
    CHECK_EQ(frame->eth_src, RIG_SW_STATION(1));
    CHECK_EQ(frame->eth_dst, 1);
    CHECK_EQ(frame->src, 0); /* IP addresses stay */
    CHECK_EQ(frame->dst, 1);
    rig_free(&rig, frame);
    rig_stop(&rig);
}

static void ttl_that_would_reach_zero_is_dropped(void)
{
    struct fabric_params params = rig_params();
    struct rig rig = rig_start(&params, 2);

    for (uint8_t ttl = 0; ttl < 4; ttl++) {
        struct wire_frame *frame = rig_data(&rig, 0, 1, 3, 1106);

        frame->ttl = ttl;
        CHECK_EQ(fabric_rx(rig.sw, 0, frame, 0), ttl <= 1 ? WIRE_DROP_TTL : WIRE_DROP_NONE);
        if (ttl <= 1) {
            CHECK_EQ(frame->ttl, ttl); /* untouched: it is the caller's */
            rig_free(&rig, frame);
        }
    }
    CHECK_EQ(fabric_query_counters(rig.sw)->drops[WIRE_DROP_TTL], 2);
    CHECK_EQ(fabric_frames_held(rig.sw), 2);
    rig_check_conservation(&rig);
    rig_stop(&rig);
}

static void rocev1_is_never_routed_but_bridged(void)
{
    for (uint64_t l2 = 0; l2 < 2; l2++) {
        struct fabric_params params = rig_params();
        struct wire_frame *frame;
        struct rig rig;

        params.l2 = l2;
        rig = rig_start(&params, 2);
        frame = rig_data(&rig, 0, 1, 3, 1106);
        frame->flags = WIRE_FRAME_ROCE_V1;
        frame->eth_dst = 1; /* bridged: the far host's MAC */
        CHECK_EQ(fabric_rx(rig.sw, 0, frame, 0), l2 ? WIRE_DROP_NONE : WIRE_DROP_ROCE_V1_ROUTED);
        CHECK_EQ(fabric_query_counters(rig.sw)->drops[WIRE_DROP_ROCE_V1_ROUTED], !l2);
        if (!l2)
            rig_free(&rig, frame);
        rig_stop(&rig);
    }
}

static void bridging_touches_nothing(void)
{
    struct fabric_params params = rig_params();
    struct wire_frame *frame;
    struct rig rig;

    params.l2 = 1;
    rig = rig_start(&params, 3);
    frame = rig_data(&rig, 0, 77, 3, 1106); /* IP destination is nobody a bridge knows */
    frame->eth_dst = 2;
    frame->ttl = 1;
    CHECK_EQ(fabric_rx(rig.sw, 0, frame, 0), WIRE_DROP_NONE);
    CHECK(rig_tx(&rig, 2, 0, RIG_ALL) == frame);
    CHECK_EQ(frame->ttl, 1);
    CHECK_EQ(frame->eth_src, 0);
    CHECK_EQ(frame->eth_dst, 2);

    frame->eth_dst = 0; /* never back where it came from */
    CHECK_EQ(fabric_rx(rig.sw, 0, frame, 0), WIRE_DROP_L2_FILTER);
    rig_free(&rig, frame);
    rig_stop(&rig);
}

static void no_route_is_dropped(void)
{
    struct fabric_params params = rig_params();
    struct rig rig = rig_make(&params, 3);
    struct fabric_port_config config = rig_port_config(2);

    config.peer_station = WIRE_STATION_NONE;
    fabric_port_set(rig.sw, 2, &config);
    CHECK_EQ(fabric_start(rig.sw, NULL, 0), 0);
    CHECK_EQ(rig_rx(&rig, 0, 3, 3, 1106, 0), WIRE_DROP_NO_ROUTE);
    CHECK_EQ(rig_rx(&rig, 0, 1u << 30, 3, 1106, 0), WIRE_DROP_NO_ROUTE);
    CHECK_EQ(rig_rx(&rig, 0, WIRE_STATION_NONE, 3, 1106, 0), WIRE_DROP_NO_ROUTE);
    CHECK_EQ(rig_rx(&rig, 0, 2, 3, 1106, 0), WIRE_DROP_NO_ROUTE); /* port without a peer */
    CHECK_EQ(fabric_route_set(rig.sw, 1, NULL, 0), 0);            /* withdrawn */
    CHECK_EQ(rig_rx(&rig, 0, 1, 3, 1106, 0), WIRE_DROP_NO_ROUTE);
    CHECK_EQ(fabric_query_counters(rig.sw)->drops[WIRE_DROP_NO_ROUTE], 5);
    rig_check_conservation(&rig);
    rig_stop(&rig);
}

static void bad_routes_are_refused_and_change_nothing(void)
{
    struct fabric_params params = rig_params();
    struct rig rig = rig_start(&params, 2);
    const uint16_t bad[2] = {1, 2}, good[1] = {1};

    CHECK_EQ(fabric_route_set(rig.sw, 1, bad, 2), -1); /* no port 2 */
    CHECK_EQ(fabric_route_set(rig.sw, FABRIC_ROUTE_STATIONS, good, 1), -1);
    CHECK_EQ(fabric_route_set(rig.sw, WIRE_STATION_NONE, good, 1), -1);
    CHECK_EQ(fabric_route_set(rig.sw, 1, good, 65536), -1);
    CHECK_EQ(rig_rx(&rig, 0, 1, 3, 1106, 0), WIRE_DROP_NONE);
    rig_stop(&rig);
}

/* A64: nothing ends at 64 ports, and route lists may be as long as the switch is wide. */
static void three_hundred_ports(void)
{
    struct fabric_params params = rig_params();
    uint16_t all[300];
    uint32_t hit = 0;
    struct rig rig = rig_start(&params, 300);

    for (uint32_t i = 0; i < 300; i++) {
        all[i] = (uint16_t)i;
        CHECK_EQ(rig_rx(&rig, (i + 150) % 300, i, 3, 1106, 0), WIRE_DROP_NONE);
    }
    for (uint32_t i = 0; i < 300; i++) {
        struct wire_frame *frame = rig_tx(&rig, i, 0, RIG_ALL);

        CHECK_EQ(frame->src, (i + 150) % 300);
        CHECK_EQ(frame->eth_dst, i);
        rig_free(&rig, frame);
    }
    CHECK_EQ(fabric_route_set(rig.sw, 5000, all, 300), 0);
    for (uint32_t flow = 0; flow < 6000; flow++) {
        struct wire_frame *frame = rig_data(&rig, 0, 5000, 3, 64);

        frame->udp_sport = (uint16_t)flow;
        CHECK_EQ(fabric_rx(rig.sw, 0, frame, 0), WIRE_DROP_NONE);
    }
    for (uint32_t i = 0; i < 300; i++)
        hit += fabric_queue_bytes(rig.sw, i, 3) > 0;
    CHECK_EQ(hit, 300); /* 20 flows each: none is left out */
    rig_stop(&rig);
}

/* ---- equal paths ---- */

static struct wire_frame flow_frame(uint32_t src, uint32_t dst, uint16_t sport)
{
    struct wire_frame frame = {.src = src, .dst = dst, .udp_sport = sport, .kind = WIRE_KIND_ROCE};

    return frame;
}

static void a_flow_keeps_its_path(void)
{
    struct fabric_route route;
    struct wire_frame frame = flow_frame(3, 9, 0xC123);
    uint32_t first;

    fabric_route_init(&route, 1, 5);
    first = fabric_route_hash(&route, &frame, 16);
    frame.dest_qpn = 77; /* what is not in the 5-tuple does not matter */
    frame.eth_src = 1;
    frame.eth_dst = 2;
    frame.ttl = 3;
    frame.tos = 3;
    frame.prio = 5;
    frame.frame_bytes = 64;
    frame.ip_id = 99;
    CHECK_EQ(fabric_route_hash(&route, &frame, 16), first);
    fabric_route_free(&route);
}

/* Chi-square of flows that differ in one field only, over n paths. */
static double spread(const struct fabric_route *route, int field, uint32_t n)
{
    enum { FLOWS = 16000 };
    uint32_t count[16] = {0};
    double chi = 0, mean = (double)FLOWS / n;

    for (uint32_t i = 0; i < FLOWS; i++) {
        struct wire_frame frame = flow_frame(field == 0 ? i : 1, field == 1 ? i : 2,
                                             field == 2 ? (uint16_t)(0xC000 + i) : 0xC000);

        count[fabric_route_hash(route, &frame, n)]++;
    }
    for (uint32_t i = 0; i < n; i++)
        chi += (count[i] - mean) * (count[i] - mean) / mean;
    return chi;
}

static void every_field_of_the_tuple_spreads_evenly(void)
{
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct fabric_route route;

        fabric_route_init(&route, seed, 0);
        for (int field = 0; field < 3; field++) {
            for (uint32_t n = 2; n <= 16; n++) {
                double excess = spread(&route, field, n) - (n - 1);

                /* mean n - 1, variance 2 (n - 1): twelve sigma */
                CHECK(excess < 0 || excess * excess < 144 * 2.0 * (n - 1));
            }
        }
        fabric_route_free(&route);
    }
}

/* Lists that begin alike, equal lists in a row, a list set again: each route keeps its own. */
static void lists_of_ports_do_not_mix(void)
{
    static const uint16_t ports[] = {0, 1, 2, 3};
    static const struct {
        uint32_t first, n;
    } lists[] = {{0, 2}, {0, 2}, {0, 3}, {0, 4}, {0, 2}, {2, 2}, {1, 3}, {3, 1}, {1, 2}};
    struct fabric_route route;

    fabric_route_init(&route, 1, 0);
    for (int round = 0; round < 2; round++)
        for (uint32_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
            CHECK_EQ(fabric_route_add(&route, 100 * i, ports + lists[i].first, lists[i].n), 0);
    for (uint32_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        uint32_t used = 0;

        for (uint16_t flow = 0; flow < 200; flow++) {
            struct wire_frame frame = flow_frame(1, 100 * i, flow);

            used |= 1u << fabric_route_lookup(&route, 100 * i, &frame);
        }
        CHECK_EQ(used, ((1u << lists[i].n) - 1) << lists[i].first);
    }
    CHECK_EQ(fabric_route_lookup(&route, 99, &(struct wire_frame){0}), FABRIC_ROUTE_NONE);
    fabric_route_free(&route);
}

/* A43: two links between the same two switches are two paths. */
static void parallel_links_are_both_used(void)
{
    struct fabric_params params = rig_params();
    struct rig rig = rig_make(&params, 4);
    const uint16_t links[2] = {2, 3};
    uint64_t frames[2];

    for (uint32_t i = 2; i < 4; i++) { /* same neighbour at both, as far as a station can say */
        struct fabric_port_config config = rig_port_config(i);

        config.peer_station = 500;
        fabric_port_set(rig.sw, i, &config);
    }
    CHECK_EQ(fabric_route_set(rig.sw, 9, links, 2), 0);
    CHECK_EQ(fabric_start(rig.sw, NULL, 0), 0);
    for (uint16_t flow = 0; flow < 64; flow++) {
        struct wire_frame *frame = rig_data(&rig, 0, 9, 3, 1000);

        frame->udp_sport = (uint16_t)(0xC000 + flow);
        CHECK_EQ(fabric_rx(rig.sw, 0, frame, 0), WIRE_DROP_NONE);
    }
    frames[0] = fabric_queue_bytes(rig.sw, 2, 3) / 1000;
    frames[1] = fabric_queue_bytes(rig.sw, 3, 3) / 1000;
    CHECK_EQ(frames[0] + frames[1], 64);
    CHECK(frames[0] >= 16 && frames[1] >= 16); /* 4 sigma around 32 */
    rig_stop(&rig);
}

/* Paths used at the second of two tiers by the 1,024 flows that took path 0 at the first. */
static uint32_t second_tier_paths(uint64_t ecmp_seed)
{
    struct fabric_params params = rig_params();
    struct fabric_switch *tiers[2];
    const uint16_t up[2] = {0, 1};
    uint32_t used = 0;

    params.ecmp_seed = ecmp_seed;
    for (uint32_t tier = 0; tier < 2; tier++) {
        tiers[tier] = fabric_create(&params, 3, 1, tier);
        for (uint32_t port = 0; port < 3; port++) {
            struct fabric_port_config config = rig_port_config(port);

            fabric_port_set(tiers[tier], port, &config);
        }
        CHECK_EQ(fabric_route_set(tiers[tier], 9, up, 2), 0);
        CHECK_EQ(fabric_start(tiers[tier], NULL, 0), 0);
    }
    for (uint16_t flow = 0; flow < 1024; flow++) {
        struct wire_frame frame = flow_frame(1, 9, flow), *sent = NULL, *spare, blank;

        frame.ttl = 64;
        frame.frame_bytes = 64;
        CHECK_EQ(fabric_rx(tiers[0], 2, &frame, 0), WIRE_DROP_NONE);
        sent = &blank;
        if (!fabric_tx(tiers[0], 0, 0, RIG_ALL, &sent, &spare)) {
            CHECK(fabric_flush(tiers[0]) == &frame);
            continue;
        }
        CHECK_EQ(fabric_rx(tiers[1], 2, sent, 0), WIRE_DROP_NONE);
        for (uint32_t port = 0; port < 2; port++)
            used |= (uint32_t)(fabric_queue_bytes(tiers[1], port, 0) > 0) << port;
        CHECK(fabric_flush(tiers[1]) == &frame);
    }
    fabric_destroy(tiers[0]);
    fabric_destroy(tiers[1]);
    return used;
}

/* A42: with one seed for all, half of the second tier is never used; by default all of it is. */
static void seed_differs_from_switch_to_switch(void)
{
    uint32_t same = second_tier_paths(12345);

    CHECK_EQ(second_tier_paths(0), 3);
    CHECK_EQ(same & (same - 1), 0); /* one path */
}

/* Choices of a switch over 64 flows as bits. */
static uint64_t choices(uint64_t seed, uint32_t number)
{
    struct fabric_params params = rig_params();
    struct fabric_switch *sw = fabric_create(&params, 2, seed, number);
    struct rig rig = {.sw = sw, .ports = 2};
    const uint16_t both[2] = {0, 1};
    uint64_t bits = 0;

    for (uint32_t port = 0; port < 2; port++) {
        struct fabric_port_config config = rig_port_config(port);

        fabric_port_set(sw, port, &config);
    }
    CHECK_EQ(fabric_route_set(sw, 9, both, 2), 0);
    CHECK_EQ(fabric_start(sw, NULL, 0), 0);
    for (uint16_t flow = 0; flow < 64; flow++) {
        struct wire_frame *frame = rig_data(&rig, 0, 9, 3, 1000);

        frame->udp_sport = flow;
        CHECK_EQ(fabric_rx(sw, 0, frame, 0), WIRE_DROP_NONE);
        bits = bits << 1 | (fabric_queue_bytes(sw, 1, 3) > 0);
        rig_free(&rig, fabric_flush(sw));
    }
    rig_stop(&rig);
    return bits;
}

static void choice_follows_run_seed_and_switch_number_only(void)
{
    CHECK(choices(1, 7) == choices(1, 7));
    CHECK(choices(1, 7) != choices(1, 8));
    CHECK(choices(1, 7) != choices(2, 7));
}

CHECK_SUITE(route, CHECK_CASE(routed_hop_rewrites_macs_and_ttl),
            CHECK_CASE(ttl_that_would_reach_zero_is_dropped),
            CHECK_CASE(rocev1_is_never_routed_but_bridged), CHECK_CASE(bridging_touches_nothing),
            CHECK_CASE(no_route_is_dropped), CHECK_CASE(bad_routes_are_refused_and_change_nothing),
            CHECK_CASE(three_hundred_ports), CHECK_CASE(a_flow_keeps_its_path),
            CHECK_CASE(every_field_of_the_tuple_spreads_evenly),
            CHECK_CASE(lists_of_ports_do_not_mix), CHECK_CASE(parallel_links_are_both_used),
            CHECK_CASE(seed_differs_from_switch_to_switch),
            CHECK_CASE(choice_follows_run_seed_and_switch_number_only))
