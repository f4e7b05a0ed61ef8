/* SPDX-License-Identifier: GPL-2.0-only */
/* Hooks, user events, traces and opaque frames: what a caller sees, and may do while it sees it. */
#include "fake_devices.h"

#define RATE_100G UINT64_C(100000000000)
#define US UINT64_C(1000000)

static const struct engine_config plain = {.seed = 1};

/* One run's notes: what was called, in order. */
struct notes {
    struct fake_star *star;
    uint64_t value[256];
    uint64_t time_ps[256];
    size_t n;
    uint32_t depth, touches_left;
    void *taken;
    uint32_t freed, copied;
};

static void note(struct notes *notes, uint64_t value, uint64_t time_ps)
{
    CHECK(notes->n < 256);
    notes->value[notes->n] = value;
    notes->time_ps[notes->n++] = time_ps;
}

static struct notes *notes_new(void)
{
    struct notes *notes = calloc(1, sizeof *notes);
    struct engine_link_params link = fake_link(RATE_100G, US);

    CHECK(notes != NULL);
    notes->star = fake_star(&plain, 4, &link);
    return notes;
}

static void notes_free(struct notes *notes)
{
    fake_star_free(notes->star);
    free(notes);
}

/* ---- user events ---- */

struct user {
    struct notes *notes;
    uint64_t value;
};

static void user_note(void *ctx, uint64_t now_ps)
{
    struct user *user = ctx;

    CHECK_EQ(engine_now_ps(user->notes->star->engine), now_ps);
    note(user->notes, user->value, now_ps);
}

static void user_events_go_by_time_port_and_call(void)
{
    static const struct {
        uint32_t port;
        uint64_t when_ps, value;
    } calls[] = {{3, 500, 7}, {1, 500, 2}, {0, 900, 8}, {1, 500, 3}, {0, 500, 1},
                 {2, 500, 5}, {1, 500, 4}, {0, 100, 0}, {2, 500, 6}};
    struct notes *notes = notes_new();
    struct user users[9];

    for (size_t i = 0; i < 9; i++) {
        users[i] = (struct user){notes, calls[i].value};
        engine_at(notes->star->engine, calls[i].port, calls[i].when_ps, user_note, &users[i]);
    }
    CHECK_EQ(engine_run_one(notes->star->engine), 1);
    CHECK_EQ(engine_now_ps(notes->star->engine), 100);
    CHECK_EQ(engine_run_one(notes->star->engine), 7); /* a whole timestamp */
    CHECK_EQ(engine_run(notes->star->engine, 899), 0);
    CHECK_EQ(engine_now_ps(notes->star->engine), 899);
    CHECK_EQ(engine_run(notes->star->engine, WIRE_NEVER), 1);
    CHECK_EQ(engine_now_ps(notes->star->engine), 900); /* not NEVER */
    CHECK_EQ(engine_last_ps(notes->star->engine), 0);  /* the caller's own do not count */
    for (size_t i = 0; i < 9; i++)
        CHECK_EQ(notes->value[i], i);
    engine_at(notes->star->engine, 0, 901, user_note,
              &users[0]); /* never run: freed all the same */
    notes_free(notes);
}

static void user_stop(void *ctx, uint64_t now_ps)
{
    user_note(ctx, now_ps);
    engine_stop(((struct user *)ctx)->notes->star->engine);
}

static void stop_ends_after_the_current_event(void)
{
    struct notes *notes = notes_new();
    struct engine *engine = notes->star->engine;
    struct user users[3] = {{notes, 0}, {notes, 1}, {notes, 2}};

    engine_at(engine, 0, 10, user_note, &users[0]);
    engine_at(engine, 1, 10, user_stop, &users[1]);
    engine_at(engine, 2, 10, user_note, &users[2]);
    CHECK_EQ(engine_run(engine, 1000), 2);
    CHECK_EQ(engine_now_ps(engine), 10);
    CHECK_EQ(engine_next_ps(engine), 10);
    CHECK_EQ(engine_run(engine, 1000), 1);
    CHECK_EQ(engine_now_ps(engine), 1000);
    notes_free(notes);
}

static void user_send(void *ctx, uint64_t now_ps)
{
    struct user *user = ctx;
    struct fake_star *star = user->notes->star;

    fake_send(star->nic[0], 1, 20, 0, now_ps);
    engine_touch(star->engine, 0);
    engine_touch(star->engine, 0);
}

static void user_event_may_post(void)
{
    struct notes *notes = notes_new();
    struct user user = {notes, 0};

    engine_at(notes->star->engine, 3, 777, user_send, &user);
    engine_run(notes->star->engine, WIRE_NEVER);
    CHECK_EQ(notes->star->nic[1]->rx[0].time_ps, 777 + 2 * (7200 + US));
    CHECK_EQ(engine_last_ps(notes->star->engine), 777 + 2 * (7200 + US));
    engine_run(notes->star->engine, 9 * US);
    CHECK_EQ(engine_last_ps(notes->star->engine), 777 + 2 * (7200 + US));
    notes_free(notes);
}

/* ---- card events ---- */

/* Each event makes the hook post on two cards, its own among them; never from inside itself. */
static void event_posts(void *ctx, uint32_t port, const struct rnic_event *event)
{
    struct notes *notes = ctx;
    struct fake_star *star = notes->star;

    CHECK_EQ(notes->depth, 0);
    CHECK_EQ(event->time_ps, engine_now_ps(star->engine));
    notes->depth++;
    note(notes, port, event->time_ps);
    if (notes->touches_left > 0) {
        uint32_t other = (port + 1) % 4;

        notes->touches_left--;
        fake_send(star->nic[port], other, 20, 0, 0);
        star->nic[other]->events[star->nic[other]->events_n++] = event->time_ps; /* at once */
        for (int i = 0; i < 50; i++) { /* more often than there are ports: each is kept once */
            engine_touch(star->engine, other);
            engine_touch(star->engine, port);
        }
    }
    notes->depth--;
}

static void hook_may_touch_any_card(void)
{
    struct notes *notes = notes_new();
    struct fake_star *star = notes->star;
    struct engine_hooks hooks = {.ctx = notes, .nic_event = event_posts};

    engine_set_hooks(star->engine, &hooks);
    notes->touches_left = 6;
    star->nic[0]->events[star->nic[0]->events_n++] = 5000;
    engine_touch(star->engine, 0);
    CHECK_EQ(notes->n, 0); /* not visible yet: the wake will come */
    engine_run(star->engine, WIRE_NEVER);
    CHECK_EQ(notes->n, 7);
    for (size_t i = 0; i < 7; i++) {
        CHECK_EQ(notes->value[i], i % 4);
        CHECK_EQ(notes->time_ps[i], 5000);
    }
    for (uint32_t h = 0; h < 4; h++) /* all that hooks posted has left at once */
        CHECK_EQ(star->nic[h]->rx[0].time_ps, 5000 + 2 * (7200 + US));
    CHECK_EQ(star->nic[1]->rx_n + star->nic[2]->rx_n + star->nic[3]->rx_n + star->nic[0]->rx_n, 6);
    CHECK(engine_check_conservation(star->engine));

    notes->n = 0; /* from outside: the hook runs inside engine_touch */
    notes->touches_left = 1;
    star->nic[2]->events[star->nic[2]->events_n++] = engine_now_ps(star->engine);
    engine_touch(star->engine, 2);
    CHECK_EQ(notes->n, 2);
    CHECK_EQ(notes->value[1], 3);
    notes_free(notes);
}

/* ---- opaque frames ---- */

static void take_opaque(void *ctx, uint32_t port, struct wire_frame *frame)
{
    struct notes *notes = ctx;

    note(notes, port, engine_now_ps(notes->star->engine));
    if (port == 1) {
        notes->taken = frame->opaque;
        frame->opaque = NULL;
    }
}

static void free_opaque(void *ctx, void *opaque)
{
    struct notes *notes = ctx;

    CHECK(opaque != NULL);
    notes->freed++;
}

static void post_opaque(struct fake_star *star, uint32_t dst, void *packet)
{
    struct wire_frame *frame = engine_frame_alloc(star->engine);

    frame->kind = WIRE_KIND_OPAQUE;
    frame->opaque = packet;
    frame->frame_bytes = 1000;
    frame->dst = frame->eth_dst = dst;
    frame->prio = 0;
    rnic_post_raw(star->nic[0], frame, engine_now_ps(star->engine));
    engine_touch(star->engine, 0);
}

static void opaque_frames_are_handed_up(void)
{
    struct notes *notes = notes_new();
    struct fake_star *star = notes->star;
    struct engine_hooks hooks = {
        .ctx = notes, .opaque_rx = take_opaque, .opaque_free = free_opaque};
    int packet = 0;

    engine_set_hooks(star->engine, &hooks);
    post_opaque(star, 1, &packet);
    post_opaque(star, 2, &packet); /* nobody takes it there */
    engine_run(star->engine, WIRE_NEVER);
    CHECK_EQ(notes->n, 2);
    CHECK_EQ(notes->time_ps[0], 2 * (1008 * 80 + US));
    CHECK(notes->taken == &packet);
    CHECK_EQ(notes->freed, 1);
    CHECK_EQ(engine_query_port(star->engine, 2)->drops[WIRE_DROP_NO_LISTENER], 1);
    CHECK_EQ(engine_query_port(star->engine, 1)->rx_frames, 1);
    hooks.opaque_rx = NULL;
    engine_set_hooks(star->engine, &hooks);
    post_opaque(star, 1, &packet);
    engine_run(star->engine, WIRE_NEVER);
    CHECK_EQ(engine_query_port(star->engine, 1)->drops[WIRE_DROP_NO_LISTENER], 1);
    CHECK_EQ(notes->freed, 2);
    CHECK(engine_check_conservation(star->engine));
    post_opaque(star, 1, &packet);
    engine_run(star->engine, engine_now_ps(star->engine) + 100); /* on the line at the end */
    fake_star_free(star);
    CHECK_EQ(notes->freed, 3);
    free(notes);
}

/* ---- a bridge floods ---- */

static void *copy_opaque(void *ctx, const void *opaque)
{
    struct notes *notes = ctx;

    CHECK(opaque != NULL);
    notes->copied++;
    return (void *)(uintptr_t)opaque;
}

/* Cards 0 to 3 at a bridge, egress @p full of which has no room; card 0 sends to everybody. */
static struct notes *flood(uint32_t full, void *packet, bool bytes)
{
    struct notes *notes = calloc(1, sizeof *notes);
    struct engine_config config = {.seed = 1, .payload_bytes = bytes ? 4096 : 0, .wire = bytes};
    struct engine_link_params link = fake_link(RATE_100G, US);
    struct engine_hooks hooks = {.ctx = notes,
                                 .opaque_rx = take_opaque,
                                 .opaque_free = free_opaque,
                                 .opaque_copy = copy_opaque};

    CHECK(notes != NULL);
    fake_bridges = true;
    notes->star = fake_star(&config, 4, &link);
    fake_bridges = false;
    notes->star->sw->full = full;
    engine_set_hooks(notes->star->engine, &hooks);
    if (packet != NULL) {
        post_opaque(notes->star, WIRE_STATION_BROADCAST, packet);
    } else {
        fake_send(notes->star->nic[0], WIRE_STATION_BROADCAST, 100, 0, 0);
        engine_touch(notes->star->engine, 0);
    }
    engine_run(notes->star->engine, 1008 * 80 + US);
    CHECK(engine_check_conservation(notes->star->engine)); /* copies are on their way */
    engine_run(notes->star->engine, WIRE_NEVER);
    CHECK(engine_check_conservation(notes->star->engine));
    return notes;
}

static void a_flooded_frame_arrives_once_everywhere(void)
{
    for (uint32_t full = 0; full <= 4; full++) {
        struct notes *notes = flood(full < 4 ? full : FAKE_PORTS, NULL, full % 2 == 0);
        struct engine_counters counters;
        uint32_t lost = full > 0 && full < 4;

        engine_query(notes->star->engine, &counters);
        CHECK_EQ(counters.frames_sent, 1);
        CHECK_EQ(counters.frames_copied, 2);
        CHECK_EQ(counters.frames_delivered, 3 - lost);
        CHECK_EQ(counters.drops[WIRE_DROP_BUFFER], lost);
        for (uint32_t h = 0; h < 4; h++)
            CHECK_EQ(notes->star->nic[h]->rx_n, h != 0 && h != full);
        notes_free(notes);
    }
}

static void flooded_opaque_frames_are_copied(void)
{
    int packet = 0;
    struct notes *notes = flood(3, &packet, false);

    CHECK_EQ(notes->copied, 2);
    CHECK(notes->taken == &packet); /* card 1 keeps its own */
    CHECK_EQ(notes->n, 2);          /* cards 1 and 2 were told */
    CHECK_EQ(notes->freed, 2);      /* card 2 took none, egress 3 was full */
    notes_free(notes);
}

static void opaque_frames_of_others_are_filtered(void)
{
    struct notes *notes = notes_new();
    struct fake_star *star = notes->star;
    struct engine_hooks hooks = {
        .ctx = notes, .opaque_rx = take_opaque, .opaque_free = free_opaque};
    int packet = 0;

    engine_set_hooks(star->engine, &hooks);
    star->sw->route[2] = 1; /* a frame for card 2 comes to card 1 */
    post_opaque(star, 2, &packet);
    engine_run(star->engine, WIRE_NEVER);
    CHECK_EQ(engine_query_port(star->engine, 1)->drops[WIRE_DROP_DEST_MAC], 1);
    CHECK_EQ(notes->n, 0);
    CHECK_EQ(notes->freed, 1);
    notes_free(notes);
}

/* ---- traces ---- */

static void trace_note(void *ctx, const struct engine_trace *record)
{
    struct notes *notes = ctx;

    CHECK_EQ(record->time_ps, engine_now_ps(notes->star->engine));
    if (record->type == ENGINE_TRACE_DROP)
        CHECK_EQ(record->drop, WIRE_DROP_NO_ROUTE);
    if (record->type == ENGINE_TRACE_PAUSE)
        note(notes, record->paused_classes << 16 | (uint32_t)record->type << 8 | record->port,
             record->time_ps);
    else
        note(notes, (uint32_t)record->type << 8 | record->port, record->time_ps);
    if (record->type == ENGINE_TRACE_FABRIC)
        CHECK(record->fabric != NULL && record->frame == NULL);
    else if (record->type != ENGINE_TRACE_PAUSE)
        CHECK_EQ(record->frame->frame_bytes > 0, 1);
}

static void traces_tell_what_happened_when(void)
{
    struct notes *notes = notes_new();
    struct fake_star *star = notes->star;
    struct engine_hooks hooks = {.ctx = notes, .trace = trace_note, .trace_mask = 0x1F};
    static const struct {
        uint64_t value, time_ps;
    } expected[] = {
        {ENGINE_TRACE_TX << 8 | 0, 0},
        {ENGINE_TRACE_RX << 8 | 4, 7200 + US},
        {ENGINE_TRACE_FABRIC << 8 | 5, 7200 + US},
        {ENGINE_TRACE_TX << 8 | 5, 7200 + US},
        {ENGINE_TRACE_RX << 8 | 1, 2 * (7200 + US)},
        {ENGINE_TRACE_TX << 8 | 0, 10 * US},
        {ENGINE_TRACE_RX << 8 | 4, 11 * US + 7200},
        {ENGINE_TRACE_DROP << 8 | 4, 11 * US + 7200},
        {ENGINE_TRACE_TX << 8 | 4, 20 * US},
        {ENGINE_TRACE_RX << 8 | 0, 21 * US + 5760},
        {UINT32_C(0x08) << 16 | ENGINE_TRACE_PAUSE << 8 | 0, 21 * US + 5760},
        {ENGINE_TRACE_PAUSE << 8 | 0, 21 * US + 5760 + 5120},
    };

    engine_set_hooks(star->engine, &hooks);
    CHECK_EQ(star->sw->trace_mask, UINT32_MAX);
    star->sw->events_n = 1;
    fake_send(star->nic[0], 1, 20, 0, 0);
    engine_touch(star->engine, 0);
    engine_run(star->engine, 10 * US);
    fake_send(star->nic[0], 3, 20, 0, 0);
    star->sw->route[3] = FAKE_PORTS;
    engine_touch(star->engine, 0);
    engine_run(star->engine, 20 * US);
    fake_pause(star->sw, 0, WIRE_KIND_PFC, 1 << 3, 1);
    engine_touch(star->engine, star->first);
    engine_run(star->engine, WIRE_NEVER);
    CHECK_EQ(notes->n, sizeof expected / sizeof expected[0]);
    for (size_t i = 0; i < notes->n; i++) {
        CHECK_EQ(notes->value[i], expected[i].value);
        CHECK_EQ(notes->time_ps[i], expected[i].time_ps);
    }
    engine_set_trace_mask(star->engine, 0);
    CHECK_EQ(star->sw->trace_mask, 0);
    fake_send(star->nic[0], 1, 20, 0, 0);
    engine_touch(star->engine, 0);
    engine_run(star->engine, WIRE_NEVER);
    CHECK_EQ(notes->n, sizeof expected / sizeof expected[0]);
    notes_free(notes);
}

CHECK_SUITE(hooks, CHECK_CASE(user_events_go_by_time_port_and_call),
            CHECK_CASE(stop_ends_after_the_current_event), CHECK_CASE(user_event_may_post),
            CHECK_CASE(hook_may_touch_any_card), CHECK_CASE(opaque_frames_are_handed_up),
            CHECK_CASE(a_flooded_frame_arrives_once_everywhere),
            CHECK_CASE(flooded_opaque_frames_are_copied),
            CHECK_CASE(opaque_frames_of_others_are_filtered),
            CHECK_CASE(traces_tell_what_happened_when))
