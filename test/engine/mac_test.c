/* SPDX-License-Identifier: GPL-2.0-only */
/* Timers and the pause state alone: no wheel, no device. */
#include "check.h"
#include "engine_mac.h"

#define RATE_100G UINT64_C(100000000000)
#define RATE_400G UINT64_C(400000000000)

/* ---- timers ---- */

struct timer {
    struct engine_timer timer;
    struct engine_timer_parked parked;
};

static struct timer timer_new(void)
{
    struct timer t;

    engine_timer_init(&t.timer, &t.parked);
    return t;
}

static bool set(struct timer *t, uint64_t deadline_ps)
{
    return engine_timer_set(&t->timer, &t->parked, deadline_ps);
}

static enum engine_timer_verdict fire(struct timer *t, uint64_t now_ps)
{
    return engine_timer_fire(&t->timer, &t->parked, now_ps);
}

static void timer_fires_once_at_its_deadline(void)
{
    struct timer t = timer_new();

    CHECK(set(&t, 100));
    CHECK(!set(&t, 100)); /* armed already */
    CHECK_EQ(fire(&t, 100), ENGINE_TIMER_RUN);
    CHECK_EQ(t.timer.deadline_ps, WIRE_NEVER);
    CHECK_EQ(t.timer.armed_ps, WIRE_NEVER);
    CHECK(set(&t, 100)); /* again at the same time: a new event */
    CHECK_EQ(fire(&t, 100), ENGINE_TIMER_RUN);
}

static void later_deadline_costs_no_event(void)
{
    struct timer t = timer_new();

    CHECK(set(&t, 100));
    CHECK(!set(&t, 150));
    CHECK(!set(&t, 200));
    CHECK_EQ(fire(&t, 100), ENGINE_TIMER_AGAIN); /* one new event, at 200 */
    CHECK_EQ(t.timer.armed_ps, 200);
    CHECK_EQ(fire(&t, 200), ENGINE_TIMER_RUN);
}

static void disarmed_timer_is_stale(void)
{
    struct timer t = timer_new();

    CHECK(set(&t, 100));
    CHECK(!set(&t, WIRE_NEVER));
    CHECK_EQ(fire(&t, 100), ENGINE_TIMER_STALE);
    CHECK_EQ(t.timer.armed_ps, WIRE_NEVER);
}

static void earlier_deadline_parks_the_later_event(void)
{
    struct timer t = timer_new();

    CHECK(set(&t, 1000));
    CHECK(set(&t, 100));
    CHECK_EQ(fire(&t, 100), ENGINE_TIMER_RUN);
    CHECK(!set(&t, 1000)); /* its event is still in the wheel */
    CHECK(!set(&t, 1200));
    CHECK_EQ(fire(&t, 1000), ENGINE_TIMER_AGAIN);
    CHECK_EQ(fire(&t, 1200), ENGINE_TIMER_RUN);
}

/* A retry timer far ahead, and 1000 short ones in between: one far event in all. */
static void rearming_leaves_no_garbage(void)
{
    struct timer t = timer_new();
    uint64_t events = set(&t, 1000000);

    for (uint64_t now_ps = 1; now_ps < 5000; now_ps += 5) {
        events += set(&t, now_ps + 2);
        CHECK_EQ(fire(&t, now_ps + 2), ENGINE_TIMER_RUN);
        events += set(&t, 1000000 + now_ps);
    }
    CHECK_EQ(events, 1 + 1000);
    CHECK_EQ(fire(&t, 1000000), ENGINE_TIMER_AGAIN);
}

/* More than can be parked: the farthest is forgotten, armed again when needed, and found stale. */
static void forgotten_event_is_stale(void)
{
    struct timer t = timer_new();

    CHECK(set(&t, 500));
    CHECK(set(&t, 400));
    CHECK(set(&t, 300));
    CHECK(set(&t, 200));
    CHECK(set(&t, 100)); /* 500 is forgotten */
    CHECK_EQ(fire(&t, 100), ENGINE_TIMER_RUN);
    CHECK_EQ(fire(&t, 200), ENGINE_TIMER_STALE);
    CHECK(!set(&t, 600));
    CHECK_EQ(fire(&t, 300), ENGINE_TIMER_STALE); /* 400 stands for it */
    CHECK_EQ(fire(&t, 400), ENGINE_TIMER_AGAIN); /* to 600 */
    CHECK_EQ(fire(&t, 500), ENGINE_TIMER_STALE);
    CHECK_EQ(fire(&t, 600), ENGINE_TIMER_RUN);
}

/* ---- pause ---- */

struct port {
    struct engine_mac mac;
    struct engine_pause pause;
};

static struct port port_new(uint64_t rate_bps)
{
    struct port port;

    engine_mac_init(&port.mac, &port.pause);
    port.pause.rate_bps = rate_bps;
    CHECK_EQ(port.mac.ready, 0xFF);
    return port;
}

static uint32_t pfc(struct port *port, uint16_t classes, uint16_t quanta, uint64_t now_ps)
{
    struct wire_frame frame = {.kind = WIRE_KIND_PFC, .pause_enabled = classes};

    for (uint32_t c = 0; c < WIRE_CLASSES; c++)
        frame.pause_quanta[c] = quanta;
    return engine_mac_pause(&port->mac, &port->pause, &frame, now_ps);
}

static uint64_t expiry(const struct port *port)
{
    return engine_mac_expiry_ps(&port->mac, &port->pause);
}

static void quanta_are_512_bit_times(void)
{
    static const struct {
        uint64_t rate_bps, end_ps;
    } rates[] = {
        {25000000000, 1342156800}, {40000000000, 838848000},  {50000000000, 671078400},
        {RATE_100G, 335539200},    {200000000000, 167769600}, {RATE_400G, 83884800},
        {800000000000, 41942400},
    };

    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        struct port port = port_new(rates[i].rate_bps);

        CHECK_EQ(pfc(&port, 1 << 3, 0xFFFF, 1000), 1 << 3);
        CHECK_EQ(port.mac.ready, 0xF7);
        CHECK_EQ(expiry(&port), 1000 + rates[i].end_ps);
        CHECK_EQ(engine_mac_expire(&port.mac, &port.pause, 1000 + rates[i].end_ps - 1), 0);
        CHECK_EQ(engine_mac_expire(&port.mac, &port.pause, 1000 + rates[i].end_ps), 1 << 3);
        CHECK_EQ(port.mac.ready, 0xFF);
        CHECK_EQ(expiry(&port), WIRE_NEVER);
    }
}

static void new_value_replaces_the_running_timer(void)
{
    struct port port = port_new(RATE_100G);

    CHECK_EQ(pfc(&port, 1, 100, 0), 1);
    CHECK_EQ(expiry(&port), 100 * 5120);
    CHECK_EQ(pfc(&port, 1, 100, 200000), 0); /* refresh: still paused */
    CHECK_EQ(expiry(&port), 200000 + 100 * 5120);
    CHECK_EQ(pfc(&port, 1, 1, 300000), 0); /* shorter replaces too */
    CHECK_EQ(expiry(&port), 300000 + 5120);
    CHECK_EQ(pfc(&port, 1, 0, 301000), 1); /* 0 resumes */
    CHECK_EQ(port.mac.ready, 0xFF);
    CHECK_EQ(pfc(&port, 1, 0, 302000), 0);
}

static void only_enabled_classes_change(void)
{
    struct port port = port_new(RATE_100G);

    CHECK_EQ(pfc(&port, 0x81, 10, 0), 0x81);
    CHECK_EQ(pfc(&port, 0x03, 20, 0), 0x02);
    CHECK_EQ(port.mac.ready, 0x7C);
    CHECK_EQ(pfc(&port, 0x01, 0, 5), 0x01);
    CHECK_EQ(port.mac.ready, 0x7D);
    CHECK_EQ(pfc(&port, 0, 0xFFFF, 5), 0);
    CHECK_EQ(engine_mac_expire(&port.mac, &port.pause, 10 * 5120), 0x80);
    CHECK_EQ(expiry(&port), 20 * 5120);
    CHECK_EQ(engine_mac_expire(&port.mac, &port.pause, 20 * 5120), 0x02);
}

static void legacy_pause_stops_all_classes(void)
{
    struct port port = port_new(RATE_400G);
    struct wire_frame frame = {.kind = WIRE_KIND_PAUSE, .pause_quanta = {0xFFFF}};

    CHECK_EQ(engine_mac_pause(&port.mac, &port.pause, &frame, 7), 0xFF);
    CHECK_EQ(port.mac.ready, 0);
    CHECK_EQ(expiry(&port), 7 + 83884800);
    frame.pause_quanta[0] = 0;
    CHECK_EQ(engine_mac_pause(&port.mac, &port.pause, &frame, 8), 0xFF);
    CHECK_EQ(port.mac.ready, 0xFF);
}

static void paused_time_counts_overlaps_once(void)
{
    struct port port = port_new(RATE_100G);

    (void)pfc(&port, 1, 10, 1000);
    (void)pfc(&port, 2, 100, 2000);
    CHECK_EQ(engine_mac_paused_ps(&port.mac, &port.pause, 3000), 2000);
    (void)pfc(&port, 2, 0, 4000);
    (void)pfc(&port, 1, 0, 5000);
    CHECK_EQ(engine_mac_paused_ps(&port.mac, &port.pause, 9000), 4000);
    (void)pfc(&port, 4, 1, 10000);
    CHECK_EQ(engine_mac_paused_ps(&port.mac, &port.pause, 10500), 4500);
}

CHECK_SUITE(mac, CHECK_CASE(timer_fires_once_at_its_deadline),
            CHECK_CASE(later_deadline_costs_no_event), CHECK_CASE(disarmed_timer_is_stale),
            CHECK_CASE(earlier_deadline_parks_the_later_event),
            CHECK_CASE(rearming_leaves_no_garbage), CHECK_CASE(forgotten_event_is_stale),
            CHECK_CASE(quanta_are_512_bit_times), CHECK_CASE(new_value_replaces_the_running_timer),
            CHECK_CASE(only_enabled_classes_change), CHECK_CASE(legacy_pause_stops_all_classes),
            CHECK_CASE(paused_time_counts_overlaps_once))
