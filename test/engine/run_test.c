/* SPDX-License-Identifier: GPL-2.0-only */
/* The run loop with cards and switches that do as told: times to the picosecond, order, hooks. */
#include "fake_devices.h"

#define RATE_100G UINT64_C(100000000000)
#define US UINT64_C(1000000)

static const struct engine_config plain = {.seed = 1};

/* ---- times ---- */

/* 82 B at 100 Gb/s, 1 us links: 90 B of 80 ps, then the delay, twice; the next after 102 B. */
static void star_times_are_the_closed_form(void)
{
    struct engine_link_params link = fake_link(RATE_100G, US);
    struct fake_star *star = fake_star(&plain, 2, &link);
    const uint64_t hop_ps = 90 * 80 + US, gap_ps = 102 * 80;

    for (int i = 0; i < 3; i++)
        fake_send(star->nic[0], 1, 20, 0, 0);
    engine_touch(star->engine, 0);
    CHECK_EQ(engine_next_ps(star->engine), 0);
    engine_run(star->engine, WIRE_NEVER);
    CHECK_EQ(star->nic[1]->rx_n, 3);
    for (uint64_t i = 0; i < 3; i++) {
        CHECK_EQ(star->nic[1]->rx[i].frame_bytes, 82);
        CHECK_EQ(star->nic[1]->rx[i].time_ps, i * gap_ps + 2 * hop_ps);
        CHECK_EQ(star->nic[1]->rx[i].psn, i);
    }
    CHECK_EQ(engine_query_port(star->engine, 0)->busy_ps, 3 * gap_ps);
    CHECK_EQ(engine_query_port(star->engine, 0)->tx_bytes, 3 * 82);
    CHECK(engine_check_conservation(star->engine));
    fake_star_free(star);
}

/* 1106 B at 100 Gb/s are 88.48 ns: counted in whole nanoseconds, many frames drift away. */
static void no_picosecond_is_lost_over_many_frames(void)
{
    struct engine_link_params link = fake_link(RATE_100G, 0);
    struct fake_star *star = fake_star(&plain, 2, &link);
    const uint64_t frames = 93750;

    for (uint64_t i = 0; i < frames; i++)
        fake_send(star->nic[0], 1, 1024, 0, 0);
    engine_touch(star->engine, 0);
    engine_run(star->engine, WIRE_NEVER);
    CHECK_EQ(star->nic[1]->rx_n, frames);
    CHECK_EQ(star->nic[1]->rx[frames - 1].time_ps,
             (frames - 1) * (1086 + 20) * 80 + UINT64_C(2) * (1086 + 8) * 80);
    fake_star_free(star);
}

/* Two cards and a cable: no switch. */
static void hosts_may_be_joined_directly(void)
{
    struct engine_link_params fast = fake_link(400000000000, 5000);
    struct engine_link_params odd = fake_link(3000000000, 70000); /* 2666.67 ps a byte */
    struct engine *engine = engine_create(&plain);
    struct rnic_device *a = fake_nic(0), *b = fake_nic(1);

    CHECK_EQ(engine_add_nic(engine, a), 0);
    CHECK_EQ(engine_add_nic(engine, b), 1);
    CHECK_EQ(engine_peer(engine, 0), WIRE_STATION_NONE);
    CHECK_EQ(engine_connect(engine, 0, 1, &fast, &odd, FAKE_MAX_FRAME), 0);
    CHECK_EQ(engine_peer(engine, 0), 1);
    fake_send(a, 1, 20, 0, 0);
    fake_send(b, 0, 20, 0, 0);
    fake_send(b, 0, 20, 0, 0);
    engine_touch(engine, 0);
    engine_touch(engine, 1);
    engine_run(engine, WIRE_NEVER);
    CHECK_EQ(b->rx[0].time_ps, 90 * 20 + 5000);
    CHECK_EQ(a->rx[0].time_ps, 240000 + 70000);          /* 90 B */
    CHECK_EQ(a->rx[1].time_ps, 272000 + 240000 + 70000); /* after 102 B */
    CHECK(engine_check_conservation(engine));
    engine_destroy(engine);
    fake_nic_free(a);
    fake_nic_free(b);
}

/* Host links of 10, 40 and 800 Gb/s at one switch: each link keeps its own time. */
static void speeds_may_be_mixed(void)
{
    static const uint64_t rates[] = {10000000000, 40000000000, 800000000000};
    static const uint64_t byte_ps[] = {800, 200, 10};
    struct engine *engine = engine_create(&plain);
    struct rnic_device *nic[3];
    struct fabric_switch *sw = fake_switch(3);

    for (uint32_t h = 0; h < 3; h++) {
        nic[h] = fake_nic(h);
        CHECK_EQ(engine_add_nic(engine, nic[h]), h);
        sw->route[h] = h;
    }
    CHECK_EQ(engine_add_switch(engine, sw, 3), 3);
    for (uint32_t h = 0; h < 3; h++) {
        struct engine_link_params link = fake_link(rates[h], 1000 * (h + 1));

        CHECK_EQ(engine_connect(engine, h, 3 + h, &link, &link, FAKE_MAX_FRAME), 0);
        CHECK_EQ(sw->config[h].rate_bps, rates[h]);
        CHECK_EQ(sw->config[h].delay_ps, 1000 * (h + 1));
        CHECK_EQ(sw->config[h].station, 3 + h);
        CHECK_EQ(sw->config[h].peer_station, h);
        CHECK_EQ(sw->config[h].max_frame_bytes, FAKE_MAX_FRAME);
    }
    for (uint32_t h = 0; h < 3; h++) {
        fake_send(nic[h], (h + 1) % 3, 1024, 0, 0);
        engine_touch(engine, h);
    }
    engine_run(engine, WIRE_NEVER);
    for (uint32_t h = 0; h < 3; h++) {
        uint32_t to = (h + 1) % 3;

        CHECK_EQ(nic[to]->rx_n, 1);
        CHECK_EQ(nic[to]->rx[0].time_ps,
                 1094 * (byte_ps[h] + byte_ps[to]) + 1000 * (h + 1) + 1000 * (to + 1));
    }
    for (uint32_t h = 0; h < 3; h++)
        fake_nic_free(nic[h]);
    engine_destroy(engine);
    free(sw);
}

static void refused_connections_change_nothing(void)
{
    struct engine_link_params link = fake_link(RATE_100G, US), bad = link;
    struct fake_star *star = fake_star(&plain, 2, &link);
    struct rnic_device *nic = fake_nic(4), *other = fake_nic(5);

    CHECK_EQ(engine_add_nic(star->engine, nic), 4);
    CHECK_EQ(engine_add_nic(star->engine, other), 5);
    bad.rate_bps = 0;
    CHECK_EQ(engine_connect(star->engine, 4, 0, &link, &link, 64), -1);  /* 0 is connected */
    CHECK_EQ(engine_connect(star->engine, 4, 99, &link, &link, 64), -1); /* no such port */
    CHECK_EQ(engine_connect(star->engine, 4, 4, &link, &link, 64), -1);
    CHECK_EQ(engine_connect(star->engine, 4, 5, &link, &bad, 64), -1);
    CHECK_EQ(engine_peer(star->engine, 4), WIRE_STATION_NONE);
    fake_send(nic, 5, 20, 0, 0);
    engine_touch(star->engine, 4); /* unconnected: nothing leaves */
    CHECK_EQ(engine_next_ps(star->engine), WIRE_NEVER);
    CHECK_EQ(engine_connect(star->engine, 4, 5, &link, &link, 64), 0);
    engine_run(star->engine, WIRE_NEVER); /* what waited has left */
    CHECK_EQ(other->rx_n, 1);
    fake_star_free(star);
    fake_nic_free(nic);
    fake_nic_free(other);
}

static void switch_of_300_ports_runs(void)
{
    struct engine_link_params link = fake_link(RATE_100G, US);
    struct fake_star *star = fake_star(&plain, 300, &link);

    for (uint32_t h = 0; h < 300; h++) {
        for (uint32_t i = 0; i < 4; i++)
            fake_send(star->nic[h], (h + 1 + i * 71) % 300, 1024, (uint8_t)(i % 8), 0);
        engine_touch(star->engine, h);
    }
    engine_run(star->engine, WIRE_NEVER);
    for (uint32_t h = 0; h < 300; h++)
        CHECK_EQ(star->nic[h]->rx_n, 4);
    CHECK(engine_check_conservation(star->engine));
    fake_star_free(star);
}

/* ---- the device contract ---- */

static void pulls_only_when_something_may_be_ready(void)
{
    struct engine_link_params link = fake_link(RATE_100G, US);
    struct fake_star *star = fake_star(&plain, 2, &link);
    struct engine_counters counters;

    fake_send(star->nic[0], 1, 1024, 0, 500000); /* eligible later: paced */
    engine_touch(star->engine, 0);
    engine_touch(star->engine, 0);
    CHECK_EQ(engine_next_ps(star->engine), 500000);
    engine_run(star->engine, WIRE_NEVER);
    CHECK_EQ(star->nic[0]->pulls, 1);
    CHECK_EQ(star->nic[1]->rx[0].time_ps, 500000 + 2 * (1094 * 80 + US));
    engine_query(star->engine, &counters);
    CHECK_EQ(counters.events, 3); /* kick, arrival, arrival: none for a free MAC, none when idle */
    CHECK_EQ(counters.packet_hops, 2);
    fake_star_free(star);
}

/* A frame that becomes eligible earlier than the armed kick leaves in time; the late one too. */
static void kick_moves_with_what_waits(void)
{
    struct engine_link_params link = fake_link(RATE_100G, 0);
    struct fake_star *star = fake_star(&plain, 2, &link);

    fake_send(star->nic[0], 1, 20, 3, 900000);
    engine_touch(star->engine, 0);
    fake_send(star->nic[0], 1, 20, 0, 400000);
    engine_touch(star->engine, 0);
    engine_run(star->engine, WIRE_NEVER);
    CHECK_EQ(star->nic[1]->rx[0].time_ps, 400000 + 2 * 7200);
    CHECK_EQ(star->nic[1]->rx[1].time_ps, 900000 + 2 * 7200);
    CHECK_EQ(star->nic[0]->pulls, 2);
    fake_star_free(star);
}

/* A card that keeps the blank for a frame that is not ready, and later gives another one back. */
static void card_may_hold_a_frame(void)
{
    struct engine_link_params link = fake_link(RATE_100G, 0);
    struct fake_star *star = fake_star(&plain, 2, &link);

    star->nic[0]->hold_ps = 33333;
    for (int i = 0; i < 5; i++)
        fake_send(star->nic[0], 1, 20, 0, 0);
    engine_touch(star->engine, 0);
    engine_run(star->engine, 2 * 33333 + 1);
    CHECK(engine_check_conservation(star->engine)); /* one is inside the card: not sent */
    engine_run(star->engine, WIRE_NEVER);
    CHECK_EQ(star->nic[1]->rx_n, 5);
    CHECK_EQ(star->nic[1]->rx[0].time_ps, 33333 + 2 * 7200);
    CHECK_EQ(star->nic[1]->rx[1].time_ps, 33333 + 8160 + 33333 + 2 * 7200);
    CHECK(engine_check_conservation(star->engine));
    fake_star_free(star);
}

/* The pull that takes the blank gives nothing, and the next one, at once, a frame. */
static void card_that_holds_a_frame_may_send_another(void)
{
    struct engine_link_params link = fake_link(RATE_100G, 0);
    struct fake_star *star = fake_star(&plain, 2, &link);

    star->nic[0]->hold_ps = 33333;
    fake_send(star->nic[0], 1, 20, 0, 100);
    fake_send(star->nic[0], 1, 20, 1, 100);
    engine_touch(star->engine, 0);
    engine_run(star->engine, WIRE_NEVER);
    CHECK_EQ(star->nic[1]->rx_n, 2);
    CHECK_EQ(star->nic[1]->rx[0].prio, 1);
    CHECK_EQ(star->nic[1]->rx[0].time_ps, 100 + 2 * 7200);
    CHECK_EQ(star->nic[1]->rx[1].time_ps, 100 + 33333 + 2 * 7200);
    CHECK(engine_check_conservation(star->engine));
    fake_star_free(star);
}

/* A pull that gives nothing: the blank goes back, the kick comes again when the card says so. */
static void pull_may_give_nothing(void)
{
    struct engine_link_params link = fake_link(RATE_100G, 0);
    struct fake_star *star = fake_star(&plain, 2, &link);

    star->nic[0]->postpone_ps = 5000;
    fake_send(star->nic[0], 1, 20, 0, 100);
    engine_touch(star->engine, 0);
    engine_run(star->engine, WIRE_NEVER);
    CHECK_EQ(star->nic[1]->rx[0].time_ps, 5100 + 2 * 7200);
    CHECK_EQ(star->nic[0]->pulls, 2);
    fake_star_free(star);
}

static void wakes_come_once_at_their_time(void)
{
    struct engine_link_params link = fake_link(RATE_100G, US);
    struct fake_star *star = fake_star(&plain, 2, &link);

    star->nic[1]->wake_ps = 67 * US;
    engine_touch(star->engine, 1);
    star->nic[1]->wake_ps = 90 * US; /* later: the armed event finds it and arms again */
    engine_touch(star->engine, 1);
    star->sw->wake_ps = 5 * US;
    engine_touch(star->engine, star->first + 1);
    engine_run(star->engine, 90 * US - 1);
    CHECK_EQ(star->sw->wakes, 1);
    CHECK_EQ(star->nic[1]->wakes, 0);
    engine_run(star->engine, 90 * US);
    CHECK_EQ(star->nic[1]->wakes, 1);
    CHECK_EQ(engine_next_ps(star->engine), WIRE_NEVER);
    fake_star_free(star);
}

/* A timer that was switched off leaves its event in the wheel: that is no reason to go on. */
static void timer_that_is_off_is_nothing_to_come(void)
{
    struct engine_link_params link = fake_link(RATE_100G, US);
    struct fake_star *star = fake_star(&plain, 2, &link);
    struct rnic_device *nic = star->nic[0];

    for (uint64_t wake_ps = 90 * US; wake_ps >= 50 * US; wake_ps -= 20 * US) { /* two are parked */
        nic->wake_ps = wake_ps;
        engine_touch(star->engine, 0);
        CHECK_EQ(engine_next_ps(star->engine), wake_ps);
    }
    nic->wake_ps = WIRE_NEVER;
    engine_touch(star->engine, 0);
    CHECK_EQ(engine_next_ps(star->engine), WIRE_NEVER);
    CHECK_EQ(engine_run(star->engine, WIRE_NEVER), 0); /* to the end: it is here */
    CHECK_EQ(engine_now_ps(star->engine), 0);
    engine_run(star->engine, 60 * US); /* one of the three has gone by */
    CHECK_EQ(engine_next_ps(star->engine), WIRE_NEVER);
    nic->wake_ps = 65 * US;
    engine_touch(star->engine, 0);
    CHECK_EQ(engine_next_ps(star->engine), 65 * US);
    engine_run(star->engine, 66 * US);
    CHECK_EQ(nic->wakes, 1);
    CHECK_EQ(engine_next_ps(star->engine), WIRE_NEVER);
    engine_run(star->engine, 100 * US);
    CHECK_EQ(nic->wakes, 1);
    CHECK_EQ(engine_next_ps(star->engine), WIRE_NEVER);
    fake_star_free(star);
}

static void note_wakes(void *ctx, const struct engine_trace *record)
{
    struct rnic_device *nic = ctx;

    if (record->port == nic->station)
        nic->echo_bytes = nic->wakes; /* as many as there were when the frame left */
}

/* Whichever was armed first: a card that is traced is woken more often, and must not act anew. */
static void timer_at_the_same_time_runs_before_the_mac(void)
{
    struct engine_link_params link = fake_link(RATE_100G, US);
    struct fake_star *star = fake_star(&plain, 2, &link);
    const struct engine_hooks hooks = {
        .ctx = star->nic[0], .trace = note_wakes, .trace_mask = 1u << ENGINE_TRACE_TX};

    engine_set_hooks(star->engine, &hooks);
    fake_send(star->nic[0], 1, 20, 0, 5 * US);
    engine_touch(star->engine, 0); /* arms the kick */
    star->nic[0]->wake_ps = 5 * US;
    engine_touch(star->engine, 0); /* then the wake */
    engine_run(star->engine, 5 * US);
    CHECK_EQ(star->nic[0]->wakes, 1);
    CHECK_EQ(star->nic[0]->echo_bytes, 1);
    fake_star_free(star);
}

/* ---- drops and conservation ---- */

static void every_frame_is_accounted_for(void)
{
    struct engine_link_params link = fake_link(RATE_100G, US);
    struct fake_star *star = fake_star(&plain, 4, &link);
    struct engine_counters counters;

    star->nic[1]->rx_drop = WIRE_DROP_QPN;
    star->nic[2]->corrupt = true;
    star->sw->route[3] = FAKE_PORTS;
    for (uint32_t i = 0; i < 50; i++) {
        fake_send(star->nic[0], 1, 1024, 0, 0); /* refused by the card */
        fake_send(star->nic[0], 2, 1024, 0, 0); /* delivered */
        fake_send(star->nic[0], 3, 1024, 0, 0); /* no route */
        fake_send(star->nic[2], 0, 1024, 0, 0); /* corrupt on its first link */
    }
    engine_touch(star->engine, 0);
    engine_touch(star->engine, 2);
    for (uint64_t now_ps = 0; now_ps < 20 * US; now_ps += 12345) {
        engine_run(star->engine, now_ps);
        CHECK(engine_check_conservation(star->engine));
    }
    engine_run(star->engine, WIRE_NEVER);
    engine_query(star->engine, &counters);
    CHECK_EQ(counters.frames_sent, 200);
    CHECK_EQ(counters.frames_delivered, 50);
    CHECK_EQ(counters.frames_in_flight, 0);
    CHECK_EQ(counters.drops[WIRE_DROP_QPN], 50);
    CHECK_EQ(counters.drops[WIRE_DROP_NO_ROUTE], 50);
    CHECK_EQ(counters.drops[WIRE_DROP_FCS], 50);
    CHECK_EQ(counters.packet_hops, 300);
    CHECK_EQ(engine_query_port(star->engine, 1)->drops[WIRE_DROP_QPN], 50);
    CHECK_EQ(engine_query_port(star->engine, star->first)->drops[WIRE_DROP_NO_ROUTE], 50);
    CHECK_EQ(engine_query_port(star->engine, star->first + 2)->drops[WIRE_DROP_FCS], 50);
    CHECK_EQ(engine_query_port(star->engine, 2)->rx_frames, 50);
    CHECK_EQ(star->nic[0]->received, 0);
    fake_star_free(star);
}

/* The check is checked: a switch that loses a frame without a word is found. */
static void missing_frame_is_noticed(void)
{
    struct engine_link_params link = fake_link(RATE_100G, US);
    struct fake_star *star = fake_star(&plain, 2, &link);

    fake_send(star->nic[0], 1, 1024, 0, 0);
    engine_touch(star->engine, 0);
    star->sw->latency_ps = 10 * US;
    engine_run(star->engine, 5 * US);
    CHECK(engine_check_conservation(star->engine));
    star->sw->held--;
    CHECK(!engine_check_conservation(star->engine));
    star->sw->held++;
    engine_run(star->engine, WIRE_NEVER);
    CHECK(engine_check_conservation(star->engine));
    fake_star_free(star);
}

/* Lost frames take their line time; each direction has its own rate and stream. */
static void losses_are_by_direction(void)
{
    struct engine_link_params link = fake_link(RATE_100G, US), lossy = link;
    const uint32_t n = 20000;
    uint32_t lost[2];

    lossy.loss = 0.05;
    for (int other_traffic = 0; other_traffic < 2; other_traffic++) {
        struct engine *engine = engine_create(&plain);
        struct rnic_device *a = fake_nic(0), *b = fake_nic(1);
        double expected = n * lossy.loss, gone;

        (void)engine_add_nic(engine, a);
        (void)engine_add_nic(engine, b);
        CHECK_EQ(engine_connect(engine, 0, 1, &lossy, &link, FAKE_MAX_FRAME), 0);
        for (uint32_t i = 0; i < n; i++) {
            fake_send(a, 1, 1024, 0, 0);
            if (other_traffic != 0)
                fake_send(b, 0, 512, 0, 0);
        }
        engine_touch(engine, 0);
        engine_touch(engine, 1);
        engine_run(engine, WIRE_NEVER);
        lost[other_traffic] = (uint32_t)engine_query_port(engine, 1)->drops[WIRE_DROP_LINK_LOSS];
        gone = lost[other_traffic];
        CHECK((gone - expected) * (gone - expected) <= 16 * expected * (1 - lossy.loss));
        CHECK_EQ(b->received + lost[other_traffic], n);
        CHECK_EQ(a->received, other_traffic != 0 ? n : 0);
        CHECK_EQ(engine_query_port(engine, 0)->busy_ps, UINT64_C(1106) * 80 * n);
        for (size_t i = 0; i < b->rx_n; i++) /* what is lost leaves its place on the line empty */
            CHECK_EQ(b->rx[i].time_ps, UINT64_C(1106) * 80 * b->rx[i].psn + 1094 * 80 + US);
        CHECK(engine_check_conservation(engine));
        engine_destroy(engine);
        fake_nic_free(a);
        fake_nic_free(b);
    }
    CHECK_EQ(lost[0], lost[1]); /* the other direction draws from another stream */
}

/*
 * A66: down at 10 us, up at 50 us, and again later. 100 us of frames without a gap over 1 us of
 * fibre: lost is what was on the line at 10 us and all that began before 50 us.
 */
static void a_line_that_goes_down_loses_what_is_on_it(void)
{
    static const uint64_t turns[][2] = {{10 * US, 50 * US}, {60 * US, 60 * US + 1}};
    const uint64_t frame_ps = UINT64_C(1106) * 80, flight_ps = UINT64_C(1094) * 80 + US;
    const uint32_t n = 1130;

    for (uint64_t delay_ps = 0; delay_ps <= US; delay_ps += US) {
        struct engine_link_params link = fake_link(RATE_100G, delay_ps);
        struct engine *engine = engine_create(&plain);
        struct rnic_device *a = fake_nic(0), *b = fake_nic(1);
        uint32_t got = 0, lost = 0;

        CHECK_EQ(engine_add_nic(engine, a), 0);
        CHECK_EQ(engine_add_nic(engine, b), 1);
        CHECK_EQ(engine_set_line(engine, 0, false), -1); /* there is none */
        CHECK_EQ(engine_connect(engine, 0, 1, &link, &link, FAKE_MAX_FRAME), 0);
        CHECK_EQ(engine_set_line(engine, 2, false), -1);
        CHECK_EQ(engine_set_line(engine, 0, true), 0); /* it is up */
        for (uint32_t i = 0; i < n; i++) {
            fake_send(a, 1, 1024, 0, 0);
            fake_send(b, 0, 1024, 0, 0);
        }
        engine_touch(engine, 0);
        engine_touch(engine, 1);
        for (size_t i = 0; i < 2; i++) {
            engine_run(engine, turns[i][0]);
            CHECK_EQ(engine_set_line(engine, (uint32_t)i, false), 0); /* by either end */
            engine_run(engine, turns[i][1]);
            CHECK_EQ(engine_set_line(engine, (uint32_t)i, true), 0);
            CHECK(engine_check_conservation(engine));
        }
        engine_run(engine, WIRE_NEVER);
        for (uint32_t i = 0; i < n; i++) {
            uint64_t begin_ps = i * frame_ps, end_ps = begin_ps + flight_ps - US + delay_ps;
            bool gone = false;

            for (size_t k = 0; k < 2; k++) /* what arrives at that very time has arrived */
                gone = gone || (end_ps > turns[k][0] && begin_ps < turns[k][1]);
            if (gone) {
                lost++;
                continue;
            }
            CHECK_EQ(b->rx[got].psn, i);
            CHECK_EQ(b->rx[got].time_ps, end_ps);
            CHECK_EQ(a->rx[got].psn, i);
            got++;
        }
        CHECK_EQ(a->rx_n, got);
        CHECK_EQ(b->rx_n, got);
        CHECK(lost > 40 * US / frame_ps);
        CHECK_EQ(engine_query_port(engine, 0)->drops[WIRE_DROP_LINK_DOWN], lost);
        CHECK_EQ(engine_query_port(engine, 1)->drops[WIRE_DROP_LINK_DOWN], lost);
        CHECK_EQ(engine_query_port(engine, 1)->drops[WIRE_DROP_LINK_LOSS], 0);
        CHECK(engine_check_conservation(engine));
        engine_destroy(engine);
        fake_nic_free(a);
        fake_nic_free(b);
    }
}

CHECK_SUITE(run, CHECK_CASE(star_times_are_the_closed_form),
            CHECK_CASE(no_picosecond_is_lost_over_many_frames),
            CHECK_CASE(hosts_may_be_joined_directly), CHECK_CASE(speeds_may_be_mixed),
            CHECK_CASE(refused_connections_change_nothing), CHECK_CASE(switch_of_300_ports_runs),
            CHECK_CASE(timer_that_is_off_is_nothing_to_come),
            CHECK_CASE(pulls_only_when_something_may_be_ready),
            CHECK_CASE(kick_moves_with_what_waits), CHECK_CASE(card_may_hold_a_frame),
            CHECK_CASE(card_that_holds_a_frame_may_send_another), CHECK_CASE(pull_may_give_nothing),
            CHECK_CASE(wakes_come_once_at_their_time),
            CHECK_CASE(timer_at_the_same_time_runs_before_the_mac),
            CHECK_CASE(every_frame_is_accounted_for), CHECK_CASE(missing_frame_is_noticed),
            CHECK_CASE(losses_are_by_direction),
            CHECK_CASE(a_line_that_goes_down_loses_what_is_on_it))
