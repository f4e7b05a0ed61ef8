/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * A card and a switch that do as they are told: what the engine calls, without the real ones.
 *
 * A test that includes this file defines rnic_* and fabric_* itself, so the linker takes neither
 * from the library. The card sends what fake_send queued, strictly by class (lowest first), and
 * notes what arrives. The switch queues each frame at the port of fake_switch.route and sends the
 * pause frames fake_pause asked for.
 */
#ifndef FAKE_DEVICES_H
#define FAKE_DEVICES_H

#include "check.h"
#include "engine_state.h"
#include "wire_codec.h"

#define FAKE_PORTS 512u
#define FAKE_MAX_FRAME 4200u

/* ---- card ---- */

struct fake_tx {
    uint64_t ready_ps;
    uint32_t dst, payload_bytes, psn;
};

struct fake_rx {
    uint64_t time_ps;
    uint32_t src, frame_bytes, psn;
    uint8_t prio;
};

struct fake_queue {
    struct fake_tx *tx;
    size_t head, n, size;
};

struct rnic_device {
    uint32_t station;
    struct fake_queue queue[WIRE_CLASSES];
    struct wire_frame *raw, **raw_last;
    bool corrupt;         /* frames leave with a bit hit */
    uint64_t hold_ps;     /* > 0: a pull takes the blank, the frame is ready this much later */
    uint64_t postpone_ps; /* > 0: a pull moves its frame this far once, and gives nothing */
    struct wire_frame *held;
    uint32_t psn, pulls, wakes, received;
    struct fake_rx *rx;
    size_t rx_n, rx_size;
    enum wire_drop rx_drop;
    uint32_t echo_bytes; /* > 0: answer each frame of another size with this payload */
    uint64_t wake_ps;
    uint64_t events[64]; /* times at which one becomes visible, earliest first */
    uint32_t events_n;
    uint64_t hash; /* of everything the card was told */
};

static inline void fake_mix(uint64_t *hash, uint64_t value)
{
    *hash = (*hash ^ value) * 0x100000001B3u;
    *hash ^= *hash >> 29;
}

static struct rnic_device *fake_nic(uint32_t station)
{
    struct rnic_device *nic = calloc(1, sizeof *nic);

    CHECK(nic != NULL);
    nic->station = station;
    nic->raw_last = &nic->raw;
    nic->wake_ps = WIRE_NEVER;
    return nic;
}

static void fake_nic_free(struct rnic_device *nic)
{
    for (uint32_t c = 0; c < WIRE_CLASSES; c++)
        free(nic->queue[c].tx);
    free(nic->rx);
    free(nic);
}

/* Queue one frame; the caller touches the port. A frame is 62 bytes longer than its payload. */
static void fake_send(struct rnic_device *nic, uint32_t dst, uint32_t payload_bytes, uint8_t prio,
                      uint64_t ready_ps)
{
    struct fake_queue *queue = &nic->queue[prio];

    if (queue->head + queue->n == queue->size) {
        queue->size = queue->size * 2 + 16;
        queue->tx = realloc(queue->tx, queue->size * sizeof *queue->tx);
        CHECK(queue->tx != NULL);
    }
    queue->tx[queue->head + queue->n++] =
        (struct fake_tx){ready_ps, dst, payload_bytes, nic->psn++};
}

static void fake_fill(struct rnic_device *nic, struct wire_frame *frame, const struct fake_tx *tx,
                      uint8_t prio)
{
    frame->kind = WIRE_KIND_ROCE;
    frame->flags = nic->corrupt ? WIRE_FRAME_CORRUPT : 0;
    frame->opcode = WIRE_TRANSPORT_RC | WIRE_OP_SEND_ONLY;
    frame->frame_bytes = wire_frame_length(frame->opcode, 0, tx->payload_bytes);
    frame->src = frame->eth_src = nic->station;
    frame->dst = frame->eth_dst = tx->dst;
    frame->dest_qpn = 17;
    frame->udp_sport = 0xC000;
    frame->ip_id = (uint16_t)tx->psn;
    frame->vlan_tci = 0;
    frame->pkey = 0xFFFF;
    frame->tos = (uint8_t)((uint32_t)prio << 5 | WIRE_ECN_ECT0);
    frame->ttl = 64;
    frame->prio = prio;
    frame->psn = (wire_psn){tx->psn & WIRE_PSN_MASK};
    frame->bth_flags = 0;
    frame->payload_bytes = tx->payload_bytes;
    if (frame->payload != NULL) {
        frame->flags |= WIRE_FRAME_BYTES;
        memset(frame->payload, (int)(tx->psn & 0xFF), tx->payload_bytes);
    }
}

/* A held frame holds up its own class only. */
static bool fake_holds(const struct rnic_device *nic, uint32_t prio)
{
    return nic->held != NULL && nic->held->prio == prio;
}

bool rnic_tx(struct rnic_device *nic, uint64_t now_ps, uint32_t ready_classes,
             struct wire_frame **frame, struct wire_frame **spare)
{
    nic->pulls++;
    if (nic->raw != NULL && (ready_classes >> nic->raw->prio & 1) != 0) {
        *spare = *frame;
        *frame = nic->raw;
        nic->raw = nic->raw->next;
        if (nic->raw == NULL)
            nic->raw_last = &nic->raw;
        return true;
    }
    if (nic->held != NULL && nic->held->ready_ps <= now_ps &&
        (ready_classes >> nic->held->prio & 1) != 0) {
        *spare = *frame;
        *frame = nic->held;
        nic->held = NULL;
        return true;
    }
    for (uint8_t c = 0; c < WIRE_CLASSES; c++) {
        struct fake_queue *queue = &nic->queue[c];

        if (queue->n == 0 || (ready_classes >> c & 1) == 0 || fake_holds(nic, c) ||
            queue->tx[queue->head].ready_ps > now_ps)
            continue;
        if (nic->postpone_ps > 0) {
            queue->tx[queue->head].ready_ps = now_ps + nic->postpone_ps;
            nic->postpone_ps = 0;
            return false;
        }
        fake_fill(nic, *frame, &queue->tx[queue->head++], c);
        queue->n--;
        if (nic->hold_ps == 0 || nic->held != NULL)
            return true;
        nic->held = *frame;
        nic->held->ready_ps = now_ps + nic->hold_ps;
        *frame = NULL;
        return false;
    }
    return false;
}

uint64_t rnic_tx_next(const struct rnic_device *nic, uint32_t ready_classes)
{
    uint64_t next_ps = WIRE_NEVER;

    if (nic->raw != NULL && (ready_classes >> nic->raw->prio & 1) != 0)
        return 0;
    if (nic->held != NULL && (ready_classes >> nic->held->prio & 1) != 0)
        next_ps = nic->held->ready_ps;
    for (uint32_t c = 0; c < WIRE_CLASSES; c++) {
        if (nic->queue[c].n > 0 && (ready_classes >> c & 1) != 0 && !fake_holds(nic, c))
            next_ps = wire_min_ps(next_ps, nic->queue[c].tx[nic->queue[c].head].ready_ps);
    }
    return next_ps;
}

enum wire_drop rnic_rx(struct rnic_device *nic, struct wire_frame *frame, uint64_t now_ps)
{
    CHECK(frame->kind == WIRE_KIND_ROCE || frame->kind == WIRE_KIND_OPAQUE);
    nic->received++;
    fake_mix(&nic->hash, now_ps);
    fake_mix(&nic->hash, frame->src);
    if (frame->kind == WIRE_KIND_OPAQUE)
        return nic->rx_drop;
    fake_mix(&nic->hash, frame->psn.v);
    if ((frame->flags & WIRE_FRAME_BYTES) != 0) {
        for (uint32_t i = 0; i < frame->payload_bytes; i++)
            CHECK_EQ(frame->payload[i], frame->psn.v & 0xFF);
    }
    if (nic->rx_n == nic->rx_size) {
        nic->rx_size = nic->rx_size * 2 + 16;
        nic->rx = realloc(nic->rx, nic->rx_size * sizeof *nic->rx);
        CHECK(nic->rx != NULL);
    }
    nic->rx[nic->rx_n++] =
        (struct fake_rx){now_ps, frame->src, frame->frame_bytes, frame->psn.v, frame->prio};
    if (nic->echo_bytes > 0 && frame->payload_bytes != nic->echo_bytes)
        fake_send(nic, frame->src, nic->echo_bytes, frame->prio, now_ps);
    return nic->rx_drop;
}

void rnic_post_raw(struct rnic_device *nic, struct wire_frame *frame, uint64_t now_ps)
{
    (void)now_ps;
    frame->next = NULL;
    *nic->raw_last = frame;
    nic->raw_last = &frame->next;
}

bool rnic_event(struct rnic_device *nic, uint64_t now_ps, struct rnic_event *event)
{
    if (nic->events_n == 0 || nic->events[0] > now_ps)
        return false;
    *event = (struct rnic_event){.type = RNIC_EVENT_CQ, .time_ps = nic->events[0]};
    nic->events_n--;
    memmove(&nic->events[0], &nic->events[1], nic->events_n * sizeof nic->events[0]);
    return true;
}

uint64_t rnic_next_wake(const struct rnic_device *nic)
{
    return wire_min_ps(nic->wake_ps, nic->events_n > 0 ? nic->events[0] : WIRE_NEVER);
}

void rnic_wake(struct rnic_device *nic, uint64_t now_ps)
{
    nic->wakes++;
    fake_mix(&nic->hash, now_ps);
    if (nic->wake_ps <= now_ps)
        nic->wake_ps = WIRE_NEVER;
}

/* ---- switch ---- */

struct fake_pause {
    bool waits;
    uint16_t enabled;
    uint16_t quanta[WIRE_CLASSES];
    enum wire_kind kind;
};

struct fabric_switch {
    uint32_t ports;
    struct fabric_port_config config[FAKE_PORTS];
    struct wire_frame *first[FAKE_PORTS], **last[FAKE_PORTS];
    struct fake_pause pause[FAKE_PORTS];
    bool kicked[FAKE_PORTS];
    uint32_t kicks_n;
    uint32_t route[FAKE_PORTS]; /* by destination station; FAKE_PORTS: none */
    uint64_t latency_ps;
    bool bridge;
    uint32_t full; /* egress without room for a flood; FAKE_PORTS: none */
    uint64_t wake_ps;
    uint32_t wakes, events_n, trace_mask;
    uint64_t held;
    uint64_t hash;
};

static bool fake_bridges; /* a switch made now bridges */

static struct fabric_switch *fake_switch(uint32_t ports)
{
    struct fabric_switch *sw = calloc(1, sizeof *sw);

    CHECK(sw != NULL && ports <= FAKE_PORTS);
    sw->ports = ports;
    sw->wake_ps = WIRE_NEVER;
    sw->full = FAKE_PORTS;
    sw->bridge = fake_bridges;
    for (uint32_t p = 0; p < FAKE_PORTS; p++) {
        sw->last[p] = &sw->first[p];
        sw->route[p] = FAKE_PORTS;
    }
    return sw;
}

static void fake_kick(struct fabric_switch *sw, uint32_t port)
{
    if (!sw->kicked[port])
        sw->kicks_n++;
    sw->kicked[port] = true;
}

/* Ask for a pause frame out of @p port; the caller touches the port. */
static inline void fake_pause(struct fabric_switch *sw, uint32_t port, enum wire_kind kind,
                              uint32_t classes, uint16_t quanta)
{
    struct fake_pause *pause = &sw->pause[port];

    *pause = (struct fake_pause){.waits = true, .enabled = (uint16_t)classes, .kind = kind};
    for (uint32_t c = 0; c < WIRE_CLASSES; c++)
        pause->quanta[c] = quanta;
    fake_kick(sw, port);
}

void fabric_port_set(struct fabric_switch *sw, uint32_t port,
                     const struct fabric_port_config *config)
{
    CHECK(port < sw->ports);
    sw->config[port] = *config;
}

enum wire_drop fabric_rx(struct fabric_switch *sw, uint32_t port, struct wire_frame *frame,
                         uint64_t now_ps)
{
    uint32_t out = frame->dst < FAKE_PORTS ? sw->route[frame->dst] : FAKE_PORTS;

    CHECK(frame->kind == WIRE_KIND_ROCE || frame->kind == WIRE_KIND_OPAQUE);
    fake_mix(&sw->hash, now_ps);
    fake_mix(&sw->hash, port);
    if (out == FAKE_PORTS)
        return WIRE_DROP_NO_ROUTE;
    frame->next = NULL;
    frame->in_port = (uint16_t)port;
    frame->ready_ps = now_ps + sw->latency_ps;
    *sw->last[out] = frame;
    sw->last[out] = &frame->next;
    sw->held++;
    fake_kick(sw, out);
    return WIRE_DROP_NONE;
}

bool fabric_is_bridge(const struct fabric_switch *sw)
{
    return sw->bridge;
}

/* A bridge floods what goes to everybody, by all its ports. */
uint32_t fabric_flood_next(const struct fabric_switch *sw, uint32_t port,
                           const struct wire_frame *frame, uint32_t from, uint64_t now_ps)
{
    (void)now_ps;
    CHECK(sw->bridge);
    if (frame->eth_dst != WIRE_STATION_BROADCAST)
        return FABRIC_PORT_NONE;
    from += from == port;
    return from < sw->ports ? from : FABRIC_PORT_NONE;
}

enum wire_drop fabric_rx_flood(struct fabric_switch *sw, uint32_t port, uint32_t out,
                               struct wire_frame *frame, uint64_t now_ps)
{
    uint32_t dst = frame->dst;
    enum wire_drop drop;

    CHECK(out != port && out < sw->ports);
    if (out == sw->full)
        return WIRE_DROP_BUFFER;
    frame->dst = FAKE_PORTS - 1; /* the entry of the moment */
    sw->route[frame->dst] = out;
    drop = fabric_rx(sw, port, frame, now_ps);
    frame->dst = dst;
    return drop;
}

/* First frame of a class that is ready: its link, or NULL. */
static struct wire_frame **fake_first(struct fabric_switch *sw, uint32_t port, uint32_t ready)
{
    for (struct wire_frame **at = &sw->first[port]; *at != NULL; at = &(*at)->next) {
        if ((ready >> (*at)->prio & 1) != 0)
            return at;
    }
    return NULL;
}

bool fabric_tx(struct fabric_switch *sw, uint32_t port, uint64_t now_ps, uint32_t ready_classes,
               struct wire_frame **frame, struct wire_frame **spare)
{
    struct fake_pause *pause = &sw->pause[port];
    struct wire_frame **at = fake_first(sw, port, ready_classes);

    if (pause->waits) {
        pause->waits = false;
        (*frame)->kind = (uint8_t)pause->kind;
        (*frame)->frame_bytes = 64;
        (*frame)->eth_src = (*frame)->src = sw->config[port].station;
        (*frame)->eth_dst = (*frame)->dst = WIRE_STATION_BROADCAST;
        (*frame)->pause_enabled = pause->enabled;
        memcpy((*frame)->pause_quanta, pause->quanta, sizeof pause->quanta);
        return true;
    }
    if (at == NULL || (*at)->ready_ps > now_ps)
        return false;
    *spare = *frame;
    *frame = *at;
    *at = (*frame)->next;
    if (*at == NULL)
        sw->last[port] = at;
    sw->held--;
    return true;
}

uint64_t fabric_tx_next(const struct fabric_switch *sw, uint32_t port, uint32_t ready_classes)
{
    if (sw->pause[port].waits)
        return 0;
    for (const struct wire_frame *frame = sw->first[port]; frame != NULL; frame = frame->next) {
        if ((ready_classes >> frame->prio & 1) != 0)
            return frame->ready_ps;
    }
    return WIRE_NEVER;
}

int fabric_next_kick(struct fabric_switch *sw)
{
    if (sw->kicks_n == 0)
        return -1;
    for (uint32_t p = 0; p < sw->ports; p++) {
        if (sw->kicked[p]) {
            sw->kicked[p] = false;
            sw->kicks_n--;
            return (int)p;
        }
    }
    CHECK(false);
    return -1;
}

uint64_t fabric_next_wake(const struct fabric_switch *sw)
{
    return sw->wake_ps;
}

void fabric_wake(struct fabric_switch *sw, uint64_t now_ps)
{
    sw->wakes++;
    fake_mix(&sw->hash, now_ps);
    if (sw->wake_ps <= now_ps)
        sw->wake_ps = WIRE_NEVER;
}

bool fabric_event(struct fabric_switch *sw, uint64_t now_ps, struct fabric_event *event)
{
    if (sw->events_n == 0)
        return false;
    sw->events_n--;
    *event = (struct fabric_event){.type = FABRIC_EVENT_ECN, .port = 1, .time_ps = now_ps};
    return true;
}

void fabric_trace_enable(struct fabric_switch *sw, uint32_t mask)
{
    sw->trace_mask = mask;
}

uint64_t fabric_frames_held(const struct fabric_switch *sw)
{
    return sw->held;
}

/* ---- small networks ---- */

static inline struct engine_link_params fake_link(uint64_t rate_bps, uint64_t delay_ps)
{
    struct engine_link_params params;

    wire_param_defaults(engine_link_param_table, engine_link_param_count, &params);
    params.rate_bps = rate_bps;
    params.delay_ps = delay_ps;
    return params;
}

/* Cards 0 .. hosts-1, each joined by @p link to one switch whose ports follow. */
struct fake_star {
    struct engine *engine;
    uint32_t hosts, first; /* first: port of the switch */
    struct rnic_device *nic[FAKE_PORTS];
    struct fabric_switch *sw;
};

static struct fake_star *fake_star(const struct engine_config *config, uint32_t hosts,
                                   const struct engine_link_params *link)
{
    struct fake_star *star = calloc(1, sizeof *star);

    CHECK(star != NULL && hosts <= FAKE_PORTS);
    star->engine = engine_create(config);
    star->hosts = hosts;
    CHECK(star->engine != NULL);
    for (uint32_t h = 0; h < hosts; h++) {
        star->nic[h] = fake_nic(h);
        CHECK_EQ(engine_next_port(star->engine), h);
        CHECK_EQ(engine_add_nic(star->engine, star->nic[h]), h);
    }
    star->sw = fake_switch(hosts);
    star->first = engine_add_switch(star->engine, star->sw, hosts);
    CHECK_EQ(star->first, hosts);
    for (uint32_t h = 0; h < hosts; h++) {
        star->sw->route[h] = h;
        CHECK_EQ(engine_connect(star->engine, h, star->first + h, link, link, FAKE_MAX_FRAME), 0);
    }
    return star;
}

/* Also: with nothing pending or held, every frame is back in the pool, but the next blank. */
static void fake_star_free(struct fake_star *star)
{
    bool idle = star->engine->wheel->pending == 0 && star->sw->held == 0;

    for (uint32_t h = 0; h < star->hosts; h++) {
        idle = idle && star->nic[h]->held == NULL && star->nic[h]->raw == NULL;
        fake_nic_free(star->nic[h]);
    }
    if (idle)
        CHECK_EQ(star->engine->pool.frames_used, star->engine->blank != NULL ? 1 : 0);
    free(star->sw);
    engine_destroy(star->engine); /* last: it calls no device */
    free(star);
}

#endif
