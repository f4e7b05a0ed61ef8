/* SPDX-License-Identifier: GPL-2.0-only */
/* Pause frames through the run loop: who stops, when, for how long, and that it starts again. */
#include "fake_devices.h"

#define RATE_100G UINT64_C(100000000000)
#define PFC_PS (UINT64_C(72) * 80)    /* 64 B and preamble at 100 Gb/s */
#define QUANTA_PS UINT64_C(335539200) /* 0xFFFF of them at 100 Gb/s */

static const struct engine_config plain = {.seed = 1};

/* Card 0's port is paused by the switch at @p when_ps (of the frame's first bit). */
static struct fake_star *paused_star(uint64_t reaction_ps, uint32_t classes, uint16_t quanta)
{
    struct engine_link_params link = fake_link(RATE_100G, 0);
    struct fake_star *star;

    link.pause_reaction_ps = reaction_ps;
    star = fake_star(&plain, 2, &link);
    fake_pause(star->sw, 0, WIRE_KIND_PFC, classes, quanta);
    engine_touch(star->engine, star->first);
    return star;
}

static uint64_t arrival(const struct fake_star *star, size_t i)
{
    CHECK(i < star->nic[1]->rx_n);
    return star->nic[1]->rx[i].time_ps - 2 * 7200; /* 82 B over two links without delay */
}

static void pause_ends_by_itself(void)
{
    static const struct {
        uint64_t rate_bps, end_ps;
    } rates[] = {{RATE_100G, QUANTA_PS}, {400000000000, 83884800}};

    for (size_t i = 0; i < 2; i++) {
        struct engine_link_params link = fake_link(rates[i].rate_bps, 0);
        struct fake_star *star = fake_star(&plain, 2, &link);
        uint64_t byte_ps = 8000000000000 / rates[i].rate_bps;

        fake_pause(star->sw, 0, WIRE_KIND_PFC, 1 << 3, 0xFFFF);
        engine_touch(star->engine, star->first);
        engine_run(star->engine, 72 * byte_ps);
        CHECK_EQ(engine_ready_classes(star->engine, 0), 0xF7);
        fake_send(star->nic[0], 1, 20, 3, 0);
        engine_touch(star->engine, 0);
        engine_run(star->engine, WIRE_NEVER);
        CHECK_EQ(star->nic[1]->rx[0].time_ps, (72 + 2 * 90) * byte_ps + rates[i].end_ps);
        CHECK_EQ(star->nic[0]->pulls, 1); /* started again exactly once */
        CHECK_EQ(engine_query_port(star->engine, 0)->paused_ps, rates[i].end_ps);
        CHECK_EQ(engine_ready_classes(star->engine, 0), 0xFF);
        fake_star_free(star);
    }
}

static void resume_starts_again_once(void)
{
    struct fake_star *star = paused_star(0, 1 << 3, 0xFFFF);

    fake_send(star->nic[0], 1, 20, 3, PFC_PS); /* eligible at the moment the pause arrives */
    engine_touch(star->engine, 0);
    engine_run(star->engine, 1000000);
    CHECK_EQ(star->nic[0]->pulls, 0);
    fake_pause(star->sw, 0, WIRE_KIND_PFC, 1 << 3, 0);
    engine_touch(star->engine, star->first);
    engine_run(star->engine, WIRE_NEVER);
    CHECK_EQ(arrival(star, 0), 1000000 + PFC_PS);
    CHECK_EQ(star->nic[0]->pulls, 1);
    CHECK_EQ(engine_query_port(star->engine, 0)->paused_ps, 1000000);
    fake_star_free(star);
}

static void refresh_extends_and_lost_resume_does_not_hang(void)
{
    struct fake_star *star = paused_star(0, 1 << 3, 0xFFFF);

    fake_send(star->nic[0], 1, 20, 3, PFC_PS);
    engine_touch(star->engine, 0);
    engine_run(star->engine, QUANTA_PS / 2);
    fake_pause(star->sw, 0, WIRE_KIND_PFC, 1 << 3, 0xFFFF);
    engine_touch(star->engine, star->first);
    engine_run(star->engine, WIRE_NEVER);
    CHECK_EQ(arrival(star, 0), QUANTA_PS / 2 + PFC_PS + QUANTA_PS);
    CHECK_EQ(star->nic[0]->pulls, 1);
    fake_star_free(star);
}

static void other_classes_go_on(void)
{
    struct fake_star *star = paused_star(0, 1 << 3, 0xFFFF);

    fake_send(star->nic[0], 1, 20, 3, PFC_PS);
    fake_send(star->nic[0], 1, 20, 5, PFC_PS);
    fake_send(star->nic[0], 1, 20, 5, PFC_PS);
    engine_touch(star->engine, 0);
    engine_run(star->engine, WIRE_NEVER);
    CHECK_EQ(star->nic[1]->rx[0].prio, 5);
    CHECK_EQ(arrival(star, 0), PFC_PS);
    CHECK_EQ(arrival(star, 1), PFC_PS + 8160);
    CHECK_EQ(star->nic[1]->rx[2].prio, 3);
    CHECK_EQ(arrival(star, 2), PFC_PS + QUANTA_PS);
    CHECK_EQ(star->nic[0]->pulls, 3);
    fake_star_free(star);
}

/* The frame on the line is finished; what may start before the reaction time is over starts. */
static void reaction_time_delays_stop_and_resume(void)
{
    struct fake_star *star = paused_star(20000, 1 << 3, 0xFFFF);

    for (int i = 0; i < 5; i++)
        fake_send(star->nic[0], 1, 20, 3, 0);
    engine_touch(star->engine, 0);
    engine_run(star->engine, 1000000); /* stop at 25,760: starts at 0, 8160, 16320, 24480 */
    CHECK_EQ(star->nic[0]->pulls, 4);
    CHECK_EQ(arrival(star, 3), 24480);
    fake_pause(star->sw, 0, WIRE_KIND_PFC, 1 << 3, 0);
    engine_touch(star->engine, star->first);
    engine_run(star->engine, WIRE_NEVER);
    CHECK_EQ(arrival(star, 4), 1000000 + PFC_PS + 20000);
    CHECK_EQ(engine_query_port(star->engine, 0)->paused_ps, 1000000);
    fake_star_free(star);
}

/* Expiry counts from the end of the reaction time. */
static void quanta_count_from_the_reaction(void)
{
    struct fake_star *star = paused_star(2000000, 1 << 3, 1000);

    fake_send(star->nic[0], 1, 20, 3, PFC_PS + 2000000);
    engine_touch(star->engine, 0);
    engine_run(star->engine, WIRE_NEVER);
    CHECK_EQ(arrival(star, 0), PFC_PS + 2000000 + 1000 * 5120);
    fake_star_free(star);
}

static void legacy_pause_stops_everything(void)
{
    struct engine_link_params link = fake_link(RATE_100G, 0);
    struct fake_star *star = fake_star(&plain, 2, &link);

    fake_pause(star->sw, 0, WIRE_KIND_PAUSE, 0, 10);
    engine_touch(star->engine, star->first);
    for (uint8_t c = 0; c < WIRE_CLASSES; c++)
        fake_send(star->nic[0], 1, 20, c, PFC_PS);
    engine_touch(star->engine, 0);
    engine_run(star->engine, PFC_PS);
    CHECK_EQ(engine_ready_classes(star->engine, 0), 0);
    engine_run(star->engine, WIRE_NEVER);
    for (size_t c = 0; c < WIRE_CLASSES; c++)
        CHECK_EQ(arrival(star, c), PFC_PS + 10 * 5120 + c * 8160);
    fake_star_free(star);
}

/* A paused switch port stops too, and a pause frame itself is never paused. */
static void switch_port_is_paused_but_its_pause_frames_are_not(void)
{
    struct engine_link_params link = fake_link(RATE_100G, 0);
    struct engine *engine = engine_create(&plain);
    struct fabric_switch *a = fake_switch(2), *b = fake_switch(2);
    struct rnic_device *left = fake_nic(0), *right = fake_nic(1);

    CHECK_EQ(engine_add_nic(engine, left), 0);
    CHECK_EQ(engine_add_nic(engine, right), 1);
    CHECK_EQ(engine_add_switch(engine, a, 2), 2);
    CHECK_EQ(engine_add_switch(engine, b, 2), 4);
    CHECK_EQ(engine_connect(engine, 0, 2, &link, &link, FAKE_MAX_FRAME), 0);
    CHECK_EQ(engine_connect(engine, 3, 4, &link, &link, FAKE_MAX_FRAME), 0);
    CHECK_EQ(engine_connect(engine, 5, 1, &link, &link, FAKE_MAX_FRAME), 0);
    a->route[1] = b->route[1] = 1;
    fake_pause(b, 0, WIRE_KIND_PFC, 0xFF, 0xFFFF);
    engine_touch(engine, 4);
    fake_send(left, 1, 20, 3, 0);
    engine_touch(engine, 0);
    engine_run(engine, 100000);
    CHECK_EQ(engine_ready_classes(engine, 3), 0);
    CHECK_EQ(fabric_frames_held(a), 1);
    CHECK(engine_check_conservation(engine));
    fake_pause(a, 1, WIRE_KIND_PFC, 0xFF, 0xFFFF); /* leaves although all classes are paused */
    engine_touch(engine, 3);
    engine_run(engine, 100000 + PFC_PS);
    CHECK_EQ(engine_ready_classes(engine, 4), 0);
    CHECK_EQ(engine_query_port(engine, 3)->pause_tx, 1);
    CHECK_EQ(engine_query_port(engine, 4)->pause_rx, 1);
    engine_run(engine, WIRE_NEVER);
    CHECK_EQ(right->rx_n, 1);
    CHECK_EQ(right->rx[0].time_ps, PFC_PS + QUANTA_PS + 2 * 7200);
    engine_destroy(engine);
    fake_nic_free(left);
    fake_nic_free(right);
    free(a);
    free(b);
}

/* Pause frames are no packet hops, no frames sent, and may be lost: then nobody stops. */
static void lost_pause_frame_stops_nobody(void)
{
    struct engine_link_params link = fake_link(RATE_100G, 0);
    struct fake_star *star;
    struct engine_counters counters;

    link.loss = 1;
    star = fake_star(&plain, 2, &link);
    fake_pause(star->sw, 0, WIRE_KIND_PFC, 0xFF, 0xFFFF);
    engine_touch(star->engine, star->first);
    engine_run(star->engine, WIRE_NEVER);
    CHECK_EQ(engine_ready_classes(star->engine, 0), 0xFF);
    engine_query(star->engine, &counters);
    CHECK_EQ(counters.pause_frames_sent, 1);
    CHECK_EQ(counters.pause_frames_lost, 1);
    CHECK_EQ(counters.packet_hops, 0);
    CHECK_EQ(counters.frames_sent, 0);
    CHECK_EQ(counters.drops[WIRE_DROP_LINK_LOSS], 0);
    CHECK_EQ(engine_query_port(star->engine, 0)->pause_rx, 0);
    CHECK_EQ(engine_query_port(star->engine, star->first)->tx_frames, 0);
    CHECK(engine_check_conservation(star->engine));
    fake_star_free(star);
}

CHECK_SUITE(pause, CHECK_CASE(pause_ends_by_itself), CHECK_CASE(resume_starts_again_once),
            CHECK_CASE(refresh_extends_and_lost_resume_does_not_hang),
            CHECK_CASE(other_classes_go_on), CHECK_CASE(reaction_time_delays_stop_and_resume),
            CHECK_CASE(quanta_count_from_the_reaction), CHECK_CASE(legacy_pause_stops_everything),
            CHECK_CASE(switch_port_is_paused_but_its_pause_frames_are_not),
            CHECK_CASE(lost_pause_frame_stops_nobody))
