/* SPDX-License-Identifier: GPL-2.0-only */
/* The switch as a whole: contract of kicks, wakes, records and counters; bad parameters. */
#include "fabric_rig.h"
#include "wire_rng.h"

static void counters_follow_every_frame(void)
{
    struct fabric_params params = rig_plain_params();
    struct rig rig = rig_start(&params, 3);
    const struct fabric_counters *counters = fabric_query_counters(rig.sw);

    for (int i = 0; i < 3; i++)
        CHECK_EQ(rig_rx(&rig, 0, 1, 3, 1000, 0), WIRE_DROP_NONE);
    CHECK_EQ(rig_rx(&rig, 0, 2, 5, 700, 0), WIRE_DROP_NONE);
    CHECK_EQ(rig_rx(&rig, 0, 9, 3, 1000, 0), WIRE_DROP_NO_ROUTE);
    CHECK_EQ(counters->rx_frames, 5);
    CHECK_EQ(fabric_frames_held(rig.sw), 4);
    CHECK_EQ(fabric_queue_bytes(rig.sw, 1, 3), 3000);
    CHECK_EQ(fabric_queue_bytes(rig.sw, 2, 5), 700);
    CHECK_EQ(fabric_queue_bytes(rig.sw, 2, 3), 0);
    CHECK_EQ(rig_drain(&rig, 1, 0), 3);
    CHECK_EQ(counters->tx_frames, 3);
    CHECK_EQ(fabric_queue_bytes(rig.sw, 1, 3), 0);
    CHECK_EQ(fabric_queue_peak_bytes(rig.sw, 1, 3), 3000);
    CHECK_EQ(fabric_queue_peak_bytes(rig.sw, 2, 5), 700);
    CHECK_EQ(counters->peak_queue_bytes, 3000);
    CHECK_EQ(counters->peak_buffer_bytes, 3700);
    rig_check_conservation(&rig);
    rig_stop(&rig);
}

static void kick_names_each_port_once_and_only_when_earlier(void)
{
    struct fabric_params params = rig_plain_params();
    struct rig rig = rig_start(&params, 3);

    CHECK_EQ(fabric_next_kick(rig.sw), -1);
    CHECK_EQ(rig_rx(&rig, 0, 2, 3, 1000, 0), WIRE_DROP_NONE);
    CHECK_EQ(rig_rx(&rig, 0, 1, 3, 1000, 0), WIRE_DROP_NONE);
    CHECK_EQ(rig_rx(&rig, 0, 2, 5, 1000, 0), WIRE_DROP_NONE); /* kicked already */
    CHECK_EQ(fabric_next_kick(rig.sw), 2);
    CHECK_EQ(fabric_next_kick(rig.sw), 1);
    CHECK_EQ(fabric_next_kick(rig.sw), -1);
    CHECK_EQ(rig_rx(&rig, 0, 2, 3, 1000, 0), WIRE_DROP_NONE); /* joins a queue: nothing earlier */
    CHECK_EQ(fabric_next_kick(rig.sw), -1);
    CHECK_EQ(rig_rx(&rig, 0, 2, 6, 1000, 0), WIRE_DROP_NONE); /* a class that was empty */
    CHECK_EQ(fabric_next_kick(rig.sw), 2);
    CHECK_EQ(rig_rx(&rig, 0, 9, 3, 1000, 0), WIRE_DROP_NO_ROUTE); /* a drop kicks nobody */
    CHECK_EQ(fabric_next_kick(rig.sw), -1);
    rig_stop(&rig);
}

static void kick_names_the_ingress_that_must_pause_or_resume(void)
{
    struct fabric_params params = rig_plain_params();
    struct rig rig;

    params.buffer_bytes = 2 * 10000 + 2000;
    params.headroom_bytes = 10000;
    params.alpha = 1;
    rig = rig_start(&params, 2);
    CHECK_EQ(rig_rx(&rig, 0, 1, 3, 1000, 0), WIRE_DROP_NONE);
    CHECK_EQ(fabric_next_kick(rig.sw), 1);
    CHECK_EQ(fabric_next_kick(rig.sw), 0); /* 1000 >= 1000 */
    CHECK_EQ(rig_pull(&rig, 0, 0), 8);
    CHECK_EQ(rig_rx(&rig, 0, 1, 3, 1000, 0), WIRE_DROP_NONE); /* paused already */
    CHECK_EQ(fabric_next_kick(rig.sw), -1);
    CHECK_EQ(rig_pull(&rig, 1, 0), 3);
    CHECK_EQ(rig_pull(&rig, 1, 0), 3);
    CHECK_EQ(fabric_next_kick(rig.sw), 0); /* resume */
    CHECK_EQ(fabric_next_kick(rig.sw), -1);
    rig_stop(&rig);
}

/* Whatever happens, a port whose fabric_tx_next fell was named: 200,000 random steps. */
static void no_kick_is_ever_missed(void)
{
    struct wire_rng rng = wire_rng_init(3, 0);
    struct fabric_params params = rig_plain_params();
    uint64_t next_ps[6], now_ps = 0;
    struct rig rig;

    params.buffer_bytes = 6 * 3 * 3000 + 30000;
    params.headroom_bytes = 3000;
    params.lossless_classes = 0x38;
    params.latency_ps = 5000;
    params.pause_quanta = 20;
    rig = rig_start(&params, 6);
    for (uint32_t i = 0; i < 6; i++)
        next_ps[i] = fabric_tx_next(rig.sw, i, RIG_ALL);
    for (int step = 0; step < 200000; step++) {
        uint64_t random = wire_rng_next(&rng);
        uint32_t port = (uint32_t)(random >> 8) % 6;
        int kicked;

        now_ps += random >> 56;
        if (now_ps >= fabric_next_wake(rig.sw))
            fabric_wake(rig.sw, now_ps);
        if ((random & 3) < 2)
            (void)rig_rx(&rig, port, (uint32_t)(random >> 16) % 6, random >> 24 & 7, 1000, now_ps);
        else
            (void)rig_pull(&rig, port, now_ps);
        next_ps[port] = wire_min_ps(next_ps[port], fabric_tx_next(rig.sw, port, RIG_ALL));
        if ((random & 3) >= 2) /* a MAC asks again after its pull */
            next_ps[port] = fabric_tx_next(rig.sw, port, RIG_ALL);
        while ((kicked = fabric_next_kick(rig.sw)) >= 0)
            next_ps[kicked] = fabric_tx_next(rig.sw, (uint32_t)kicked, RIG_ALL);
        for (uint32_t i = 0; i < 6; i++)
            CHECK(fabric_tx_next(rig.sw, i, RIG_ALL) >= next_ps[i]);
    }
    CHECK(fabric_query_counters(rig.sw)->pauses > 100);
    CHECK(fabric_query_counters(rig.sw)->pause_refreshes > 10);
    CHECK(fabric_query_counters(rig.sw)->resumes > 100);
    rig_check_conservation(&rig);
    rig_stop(&rig);
}

static void records_come_when_asked_for(void)
{
    struct fabric_params params = rig_plain_params();
    struct fabric_event event;
    struct rig rig;

    params.buffer_bytes = 2 * 10000 + 4000;
    params.headroom_bytes = 10000;
    params.alpha = 1;
    params.ecn = 1;
    params.ecn_kmin_bytes = params.ecn_kmax_bytes = 500;
    rig = rig_start(&params, 2);
    for (uint32_t on = 0; on < 2; on++) {
        if (on)
            fabric_trace_enable(rig.sw, 1 << FABRIC_EVENT_ECN | 1 << FABRIC_EVENT_PAUSE |
                                            1 << FABRIC_EVENT_RESUME);
        CHECK_EQ(rig_rx(&rig, 0, 1, 3, 1000, 10), WIRE_DROP_NONE);
        CHECK_EQ(rig_rx(&rig, 0, 1, 3, 1000, 20), WIRE_DROP_NONE);
        CHECK_EQ(rig_pull(&rig, 0, 30), 8);
        CHECK_EQ(rig_pull(&rig, 1, 40), 3);
        CHECK_EQ(rig_pull(&rig, 1, 50), 3);
        CHECK_EQ(rig_pull(&rig, 0, 60), 8);
        if (!on)
            CHECK(!fabric_event(rig.sw, 100, &event));
    }
    CHECK(!fabric_event(rig.sw, 29, &event)); /* not yet */
    CHECK(fabric_event(rig.sw, 100, &event));
    CHECK_EQ(event.type, FABRIC_EVENT_PAUSE);
    CHECK_EQ(event.time_ps, 30);
    CHECK_EQ(event.port, 0);
    CHECK_EQ(event.prio, 3);
    CHECK_EQ(event.queue_bytes, 2000);
    CHECK(fabric_event(rig.sw, 100, &event));
    CHECK_EQ(event.type, FABRIC_EVENT_ECN);
    CHECK_EQ(event.time_ps, 40);
    CHECK_EQ(event.port, 1);
    CHECK_EQ(event.queue_bytes, 1000);
    CHECK(fabric_event(rig.sw, 100, &event));
    CHECK_EQ(event.type, FABRIC_EVENT_RESUME);
    CHECK_EQ(event.time_ps, 60);
    CHECK_EQ(event.queue_bytes, 0);
    CHECK(!fabric_event(rig.sw, 100, &event));
    rig_stop(&rig);
}

static void records_nobody_takes_are_counted(void)
{
    struct fabric_params params = rig_params();
    struct fabric_event event;
    struct rig rig;
    uint32_t taken = 0;

    params.ecn_kmin_bytes = params.ecn_kmax_bytes = 0;
    rig = rig_start(&params, 2);
    fabric_trace_enable(rig.sw, 1 << FABRIC_EVENT_ECN);
    for (int i = 0; i < 1001; i++)
        CHECK_EQ(rig_rx(&rig, 0, 1, 3, 64, 0), WIRE_DROP_NONE);
    CHECK_EQ(rig_drain(&rig, 1, 0), 1001);
    while (fabric_event(rig.sw, 0, &event))
        taken++;
    CHECK_EQ(fabric_query_counters(rig.sw)->ecn_marked, 1000); /* nothing was behind the last */
    CHECK_EQ(taken + fabric_query_counters(rig.sw)->trace_lost, 1000);
    CHECK(fabric_query_counters(rig.sw)->trace_lost > 0);
    rig_stop(&rig);
}

static void flush_takes_out_every_frame(void)
{
    struct fabric_params params = rig_plain_params();
    struct rig rig = rig_start(&params, 3);
    struct wire_frame *frame;
    int n = 0;

    for (uint32_t i = 0; i < 100; i++)
        CHECK_EQ(rig_rx(&rig, i % 3, (i + 1) % 3, (uint8_t)(i % 8), 1000, 0), WIRE_DROP_NONE);
    while ((frame = fabric_flush(rig.sw)) != NULL) {
        CHECK(frame->next == NULL);
        rig_free(&rig, frame);
        n++;
    }
    CHECK_EQ(n, 100);
    CHECK_EQ(fabric_frames_held(rig.sw), 0);
    CHECK_EQ(fabric_queue_bytes(rig.sw, 1, 0), 0);
    rig_stop(&rig);
}

static void bad_parameters_make_no_switch(void)
{
    struct fabric_params params = rig_params();

    CHECK(fabric_create(&params, 0, 1, 0) == NULL);
    CHECK(fabric_create(&params, 65536, 1, 0) == NULL);
    params.alpha = 0;
    CHECK(fabric_create(&params, 2, 1, 0) == NULL);
    params = rig_params();
    params.pause_quanta = 0;
    CHECK(fabric_create(&params, 2, 1, 0) == NULL);
    params.pause_quanta = 65536;
    CHECK(fabric_create(&params, 2, 1, 0) == NULL);
    fabric_destroy(NULL);
}

static void every_default_is_in_its_range(void)
{
    struct fabric_params params = rig_params();

    CHECK(wire_param_check(fabric_param_table, fabric_param_count, &params) == NULL);
    CHECK_EQ(params.buffer_bytes, 32000000);
    CHECK_NEAR(params.alpha, 0.125, 0);
    CHECK_EQ(params.lossless_classes, 8);
    for (size_t i = 0; i < fabric_param_count; i++) {
        CHECK(strlen(fabric_param_table[i].source) > 0);
        CHECK(strlen(fabric_param_table[i].text) > 0);
    }
}

CHECK_SUITE(switch, CHECK_CASE(counters_follow_every_frame),
            CHECK_CASE(kick_names_each_port_once_and_only_when_earlier),
            CHECK_CASE(kick_names_the_ingress_that_must_pause_or_resume),
            CHECK_CASE(no_kick_is_ever_missed), CHECK_CASE(records_come_when_asked_for),
            CHECK_CASE(records_nobody_takes_are_counted), CHECK_CASE(flush_takes_out_every_frame),
            CHECK_CASE(bad_parameters_make_no_switch), CHECK_CASE(every_default_is_in_its_range))
