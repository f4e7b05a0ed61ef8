/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * A switch on the bench: ports all alike, one host behind each, frames from a small stock.
 *
 * Station of port p is 1000 + p, of the host behind it p; the route to host p is port p.
 */
#ifndef FABRIC_RIG_H
#define FABRIC_RIG_H

#include "check.h"
#include "fabric_switch.h"

#define RIG_G 1000000000u /* bits a second */
#define RIG_US 1000000u   /* picoseconds */
#define RIG_ALL 0xFFu     /* no class paused */
#define RIG_SW_STATION(port) (1000u + (port))

struct rig {
    struct fabric_switch *sw;
    uint32_t ports;
    struct wire_frame *stock; /* free frames, linked by next */
    uint64_t made;            /* frames that came from malloc */
};

static inline struct fabric_params rig_params(void)
{
    struct fabric_params params;

    wire_param_defaults(fabric_param_table, fabric_param_count, &params);
    return params;
}

/* As rig_params, but numbers easy to count with: no reserve, no ECN. */
static inline struct fabric_params rig_plain_params(void)
{
    struct fabric_params params = rig_params();

    params.reserved_bytes = 0;
    params.ecn = 0;
    return params;
}

static inline struct fabric_port_config rig_port_config(uint32_t port)
{
    return (struct fabric_port_config){.station = RIG_SW_STATION(port),
                                       .peer_station = port,
                                       .rate_bps = (uint64_t)100 * RIG_G,
                                       .delay_ps = RIG_US,
                                       .peer_reaction_ps = 0,
                                       .max_frame_bytes = 1106};
}

/* Everything but fabric_start. */
static inline struct rig rig_make(const struct fabric_params *params, uint32_t ports)
{
    struct rig rig = {.sw = fabric_create(params, ports, 1, 0), .ports = ports};

    CHECK(rig.sw != NULL);
    for (uint32_t i = 0; i < ports; i++) {
        struct fabric_port_config config = rig_port_config(i);
        uint16_t port = (uint16_t)i;

        fabric_port_set(rig.sw, i, &config);
        CHECK_EQ(fabric_route_set(rig.sw, i, &port, 1), 0);
    }
    return rig;
}

static inline struct rig rig_start(const struct fabric_params *params, uint32_t ports)
{
    struct rig rig = rig_make(params, ports);
    char why[200] = "";

    if (fabric_start(rig.sw, why, sizeof(why)) != 0) {
        fprintf(stderr, "%s\n", why);
        exit(1);
    }
    return rig;
}

static inline struct wire_frame *rig_frame(struct rig *rig)
{
    struct wire_frame *frame = rig->stock;

    if (frame != NULL) {
        rig->stock = frame->next;
    } else {
        frame = aligned_alloc(64, sizeof(*frame));
        CHECK(frame != NULL);
        rig->made++;
    }
    memset(frame, 0xA5, sizeof(*frame)); /* a blank holds anything */
    return frame;
}

static inline void rig_free(struct rig *rig, struct wire_frame *frame)
{
    frame->next = rig->stock;
    rig->stock = frame;
}

static inline void rig_stop(struct rig *rig)
{
    struct wire_frame *frame;

    while ((frame = fabric_flush(rig->sw)) != NULL)
        rig_free(rig, frame);
    while ((frame = rig->stock) != NULL) {
        rig->stock = frame->next;
        free(frame);
        rig->made--;
    }
    CHECK_EQ(rig->made, 0); /* the switch kept none and lost none */
    fabric_destroy(rig->sw);
}

/* An ECT(0) RoCEv2 frame from host @p src to host @p dst. */
static inline struct wire_frame *rig_data(struct rig *rig, uint32_t src, uint32_t dst, uint8_t prio,
                                          uint32_t bytes)
{
    struct wire_frame *frame = rig_frame(rig);

    frame->frame_bytes = bytes;
    frame->src = src;
    frame->dst = dst;
    frame->eth_src = src;
    frame->eth_dst = RIG_SW_STATION(src);
    frame->udp_sport = 0xC000;
    frame->kind = WIRE_KIND_ROCE;
    frame->opcode = 0x0A;
    frame->tos = (uint8_t)((unsigned)prio << 5 | WIRE_ECN_ECT0);
    frame->ttl = 64;
    frame->prio = prio;
    frame->flags = 0;
    return frame;
}

/* Frame of @p bytes from host @p src to host @p dst arrives; freed when dropped. */
static inline enum wire_drop rig_rx(struct rig *rig, uint32_t src, uint32_t dst, uint8_t prio,
                                    uint32_t bytes, uint64_t now_ps)
{
    struct wire_frame *frame = rig_data(rig, src, dst, prio, bytes);
    enum wire_drop drop = fabric_rx(rig->sw, src, frame, now_ps);

    if (drop != WIRE_DROP_NONE)
        rig_free(rig, frame);
    return drop;
}

/* Pull once. @return the frame, the caller's; NULL: nothing. */
static inline struct wire_frame *rig_tx(struct rig *rig, uint32_t port, uint64_t now_ps,
                                        uint32_t ready)
{
    struct wire_frame *blank = rig_frame(rig), *frame = blank, *spare = blank;
    bool sent = fabric_tx(rig->sw, port, now_ps, ready, &frame, &spare);

    if (sent && frame->kind == WIRE_KIND_PFC) {
        CHECK(frame == blank && spare == NULL);
        return frame;
    }
    if (sent) {
        CHECK(frame != blank && spare == blank);
        rig_free(rig, spare);
        return frame;
    }
    CHECK(frame == blank && spare == NULL);
    rig_free(rig, blank);
    return NULL;
}

/* Pull once and forget the frame. @return its class, 8 for a pause frame, -1: nothing. */
static inline int rig_pull(struct rig *rig, uint32_t port, uint64_t now_ps)
{
    struct wire_frame *frame = rig_tx(rig, port, now_ps, RIG_ALL);
    int prio;

    if (frame == NULL)
        return -1;
    prio = frame->kind == WIRE_KIND_PFC ? (int)WIRE_CLASSES : frame->prio;
    rig_free(rig, frame);
    return prio;
}

/* Pull until nothing comes. @return data frames. */
static inline uint32_t rig_drain(struct rig *rig, uint32_t port, uint64_t now_ps)
{
    uint32_t n = 0;
    int prio;

    while ((prio = rig_pull(rig, port, now_ps)) >= 0)
        n += prio < (int)WIRE_CLASSES;
    return n;
}

static inline uint64_t rig_drops(const struct rig *rig)
{
    const struct fabric_counters *counters = fabric_query_counters(rig->sw);
    uint64_t drops = 0;

    for (int i = 0; i < WIRE_DROP_COUNT; i++)
        drops += counters->drops[i];
    return drops;
}

/* rx = tx + drops + held, held counted by walking. */
static inline void rig_check_conservation(const struct rig *rig)
{
    const struct fabric_counters *counters = fabric_query_counters(rig->sw);

    CHECK_EQ(counters->rx_frames,
             counters->tx_frames + rig_drops(rig) + fabric_frames_held(rig->sw));
}

#endif
