/* SPDX-License-Identifier: GPL-2.0-only */
#include "rnic_tx_sched.h"

#include "rnic_tx_rate.h"

bool rnic_tx_sched_init(struct rnic_tx_sched *sched, struct rnic_mem *mem,
                        const struct rnic_params *params, const struct rnic_dma *dma)
{
    uint64_t *room = rnic_mem_alloc(mem, params->tx_fifo_frames * sizeof room[0]);

    if (room == NULL)
        return false;
    *sched = (struct rnic_tx_sched){
        .room = room,
        .fifo_frames = (uint32_t)params->tx_fifo_frames,
        .dma = dma,
        .tx_latency_ps = params->tx_latency_ps,
        .fetch_ps = rnic_dma_nominal_ps(dma, (uint32_t)params->wqe_bytes),
        .lookahead_ps =
            rnic_dma_nominal_ps(dma, (uint32_t)params->mtu_bytes) + params->tx_latency_ps,
    };
    return true;
}

bool rnic_tx_sched_reserve(struct rnic_tx_sched *sched, struct rnic_mem *mem, uint32_t qps)
{
    void *heap = sched->heap;

    if (!rnic_mem_grow(mem, &heap, &sched->heap_cap, 2 * qps, sizeof sched->heap[0]))
        return false;
    sched->heap = heap;
    return true;
}

/* ---- heap by pull_ps, then QPN and kind, so that ties do not depend on history ---- */

static bool heap_less(const struct rnic_tx_flow *a, const struct rnic_tx_flow *b)
{
    if (a->pull_ps != b->pull_ps)
        return a->pull_ps < b->pull_ps;
    return a->qp != b->qp ? a->qp->qpn < b->qp->qpn : a->kind < b->kind;
}

static void heap_set(struct rnic_tx_sched *sched, uint32_t at, struct rnic_tx_flow *flow)
{
    sched->heap[at] = flow;
    flow->heap_at = at;
}

static void heap_up(struct rnic_tx_sched *sched, uint32_t at)
{
    struct rnic_tx_flow *flow = sched->heap[at];

    while (at > 0 && heap_less(flow, sched->heap[(at - 1) / 2])) {
        heap_set(sched, at, sched->heap[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    heap_set(sched, at, flow);
}

static void heap_down(struct rnic_tx_sched *sched, uint32_t at)
{
    struct rnic_tx_flow *flow = sched->heap[at];

    for (;;) {
        uint32_t child = 2 * at + 1;

        if (child >= sched->heap_n)
            break;
        if (child + 1 < sched->heap_n && heap_less(sched->heap[child + 1], sched->heap[child]))
            child++;
        if (!heap_less(sched->heap[child], flow))
            break;
        heap_set(sched, at, sched->heap[child]);
        at = child;
    }
    heap_set(sched, at, flow);
}

static void heap_push(struct rnic_tx_sched *sched, struct rnic_tx_flow *flow)
{
    WIRE_ASSERT(sched->heap_n < sched->heap_cap);
    flow->place = RNIC_FLOW_IN_HEAP;
    sched->heap[sched->heap_n] = flow;
    heap_up(sched, sched->heap_n++);
}

static void heap_remove(struct rnic_tx_sched *sched, struct rnic_tx_flow *flow)
{
    uint32_t at = flow->heap_at;
    struct rnic_tx_flow *moved = sched->heap[--sched->heap_n];

    WIRE_ASSERT(flow->place == RNIC_FLOW_IN_HEAP);
    flow->place = RNIC_FLOW_NOWHERE;
    if (moved == flow)
        return;
    heap_set(sched, at, moved);
    heap_up(sched, at);
    heap_down(sched, moved->heap_at);
}

/* ---- FIFO of eligible flows ---- */

static void fifo_push(struct rnic_tx_sched *sched, struct rnic_tx_flow *flow)
{
    uint32_t c = flow->prio;

    flow->place = RNIC_FLOW_IN_FIFO;
    flow->next = NULL;
    if (sched->fifo_classes >> c & 1)
        sched->last[c]->next = flow;
    else
        sched->first[c] = flow;
    sched->last[c] = flow;
    sched->fifo_classes |= 1u << c;
}

static struct rnic_tx_flow *fifo_pop(struct rnic_tx_sched *sched, uint32_t c)
{
    struct rnic_tx_flow *flow = sched->first[c];

    sched->first[c] = flow->next;
    if (flow->next == NULL)
        sched->fifo_classes &= ~(1u << c);
    flow->place = RNIC_FLOW_NOWHERE;
    return flow;
}

static void fifo_remove(struct rnic_tx_sched *sched, struct rnic_tx_flow *flow)
{
    uint32_t c = flow->prio;
    struct rnic_tx_flow *before = NULL;

    for (struct rnic_tx_flow *at = sched->first[c]; at != flow; at = at->next)
        before = at;
    if (before == NULL)
        sched->first[c] = flow->next;
    else
        before->next = flow->next;
    if (sched->last[c] == flow)
        sched->last[c] = before;
    if (sched->first[c] == NULL)
        sched->fifo_classes &= ~(1u << c);
    flow->place = RNIC_FLOW_NOWHERE;
}

/* ---- standing in line ---- */

static void sched_queue(struct rnic_tx_sched *sched, struct rnic_tx_flow *flow, uint64_t now_ps)
{
    if (flow->pull_ps <= now_ps)
        fifo_push(sched, flow);
    else
        heap_push(sched, flow);
}

/* When the card knew of the next packet, and its payload. */
struct sched_next {
    uint64_t known_ps;
    uint32_t bytes;
    bool fetched; /* its work request is on the card */
};

static struct sched_next sched_response(const struct rnic_tx_flow *flow)
{
    struct rnic_resource *resource = rnic_rx_respond_next(&flow->qp->respond);
    uint64_t offset = (uint64_t)resource->next << flow->qp->mtu_shift;

    return (struct sched_next){
        .known_ps = resource->ready_ps,
        .bytes = (uint32_t)wire_min_ps(resource->length - offset, flow->qp->mtu_bytes),
        .fetched = true,
    };
}

WIRE_HOT struct sched_next sched_request(const struct rnic_tx_flow *flow)
{
    const struct rnic_qp *qp = flow->qp;
    const struct rnic_wqe *wqe = rnic_ring_wqe(&qp->sq, qp->sq_cur);
    uint32_t left = wqe->length - (qp->cur_packet << qp->mtu_shift);
    bool asks = rnic_ring_asks(wqe); /* carries no payload */

    if (qp->sq_cur == qp->sq.head) /* selective repeat: a lost packet, it may be a whole one */
        return (struct sched_next){.bytes = qp->mtu_bytes, .fetched = true};
    return (struct sched_next){
        .known_ps = wqe->known_ps,
        .bytes = asks || (wqe->flags & RNIC_SEND_INLINE) ? 0
                 : left < qp->mtu_bytes                  ? left
                                                         : qp->mtu_bytes,
        .fetched = wqe->fetched,
    };
}

static struct sched_next sched_next(const struct rnic_tx_flow *flow)
{
    return WIRE_LIKELY(flow->kind == RNIC_FLOW_REQUEST) ? sched_request(flow)
                                                        : sched_response(flow);
}

/* What the next packet takes from its cause to the MAC when nothing is in its way. */
static uint64_t sched_lead_ps(const struct rnic_tx_sched *sched, const struct sched_next *next)
{
    return (next->fetched ? 0 : sched->fetch_ps) +
           (next->bytes == 0 ? 0 : rnic_dma_nominal_ps(sched->dma, next->bytes)) +
           sched->tx_latency_ps;
}

/* Not to be pulled before its pacing time; then it was asked for a look-ahead before. */
static void sched_pace(const struct rnic_tx_sched *sched, struct rnic_tx_flow *flow)
{
    uint64_t eligible_ps =
        wire_max_ps(rnic_tx_rate_eligible_ps(&flow->qp->cc), flow->qp->rate_next_ps);

    if (eligible_ps <= flow->pull_ps)
        return;
    flow->pull_ps = eligible_ps;
    if (eligible_ps > sched->lookahead_ps)
        flow->cause_ps = wire_max_ps(flow->cause_ps, eligible_ps - sched->lookahead_ps);
}

/* Class of its next packet: a datagram's goes by its own address. */
static void sched_prio(struct rnic_tx_flow *flow)
{
    const struct rnic_qp *qp = flow->qp;

    flow->prio = rnic_path_prio(
        qp->type == RNIC_QPT_UD ? rnic_ring_wqe(&qp->sq, qp->sq_cur)->ud.path.tos : qp->path.tos);
}

void rnic_tx_sched_add(struct rnic_tx_sched *sched, struct rnic_tx_flow *flow, uint64_t known_ps,
                       uint64_t now_ps)
{
    struct sched_next next;

    if (flow->place != RNIC_FLOW_NOWHERE)
        return;
    next = sched_next(flow);
    sched_prio(flow);
    flow->cause_ps = wire_max_ps(known_ps, next.known_ps);
    flow->pull_ps = flow->cause_ps + sched_lead_ps(sched, &next);
    sched_pace(sched, flow);
    sched_queue(sched, flow, now_ps);
}

void rnic_tx_sched_again(struct rnic_tx_sched *sched, struct rnic_tx_flow *flow, uint64_t now_ps)
{
    WIRE_ASSERT(flow->place == RNIC_FLOW_NOWHERE && flow->kind == RNIC_FLOW_REQUEST);
    /* It keeps the cause it had; but the next request may have come, or be here, only just now. */
    if (flow->qp->cur_packet == 0) {
        struct sched_next next = sched_request(flow);

        if (next.known_ps + sched->fetch_ps + sched->lookahead_ps > now_ps)
            flow->pull_ps = wire_max_ps(flow->pull_ps, next.known_ps + sched_lead_ps(sched, &next));
    }
    if (WIRE_UNLIKELY(flow->qp->type == RNIC_QPT_UD))
        sched_prio(flow);
    sched_pace(sched, flow);
    sched_queue(sched, flow, now_ps);
}

void rnic_tx_sched_remove(struct rnic_tx_sched *sched, struct rnic_tx_flow *flow)
{
    if (flow->place == RNIC_FLOW_IN_HEAP)
        heap_remove(sched, flow);
    else if (flow->place == RNIC_FLOW_IN_FIFO)
        fifo_remove(sched, flow);
}

void rnic_tx_sched_advance(struct rnic_tx_sched *sched, uint64_t now_ps)
{
    while (sched->heap_n > 0 && sched->heap[0]->pull_ps <= now_ps) {
        struct rnic_tx_flow *flow = sched->heap[0];

        heap_remove(sched, flow);
        sched_pace(sched, flow); /* a CNP may have come meanwhile */
        sched_queue(sched, flow, now_ps);
    }
}

/* ---- picking ---- */

/* One class: a held frame first (it was picked before), then raw ring and flows in turn. */
static bool sched_pick_class(struct rnic_tx_sched *sched, uint32_t c, uint64_t now_ps,
                             struct rnic_tx_pick *pick)
{
    uint32_t bit = 1u << c;
    bool raw = (sched->raw_classes & bit) != 0;

    if (sched->held_classes & bit) {
        struct wire_frame *held = sched->held[c];

        if (held->ready_ps <= now_ps) {
            sched->held_classes &= ~bit;
            *pick = (struct rnic_tx_pick){
                .what = RNIC_PICK_HELD, .frame = held, .responder = sched->held_responder[c]};
            return true;
        }
    } else if ((sched->fifo_classes & bit) && !(raw && (sched->raw_turn & bit))) {
        sched->raw_turn |= bit;
        *pick = (struct rnic_tx_pick){.what = RNIC_PICK_FLOW, .flow = fifo_pop(sched, c)};
        return true;
    }
    if (raw) {
        struct wire_frame *frame = sched->raw_first[c];

        sched->raw_first[c] = frame->next;
        if (frame->next == NULL)
            sched->raw_classes &= ~bit;
        sched->raw_turn &= ~bit;
        *pick = (struct rnic_tx_pick){.what = RNIC_PICK_RAW, .frame = frame};
        return true;
    }
    return false;
}

struct rnic_tx_pick rnic_tx_sched_pick(struct rnic_tx_sched *sched, uint32_t ready_classes,
                                       uint64_t now_ps)
{
    uint32_t classes =
        (sched->fifo_classes | sched->raw_classes | sched->held_classes) & ready_classes;
    struct rnic_tx_pick pick = {.what = RNIC_PICK_NOTHING};

    /* One class with nothing but flows, as nearly always: its first. */
    if (WIRE_LIKELY((classes & (classes - 1)) == 0 && classes != 0 &&
                    ((sched->raw_classes | sched->held_classes) & classes) == 0)) {
        uint32_t c = (uint32_t)__builtin_ctz(classes);

        sched->turn = c;
        sched->raw_turn |= classes;
        return (struct rnic_tx_pick){.what = RNIC_PICK_FLOW, .flow = fifo_pop(sched, c)};
    }
    while (classes != 0) { /* next class after the one served last */
        uint32_t after = classes & ~((2u << sched->turn) - 1u);
        uint32_t c = (uint32_t)__builtin_ctz(after != 0 ? after : classes);

        sched->turn = c;
        if (sched_pick_class(sched, c, now_ps, &pick))
            break;
        classes &= ~(1u << c);
    }
    return pick;
}

void rnic_tx_sched_hold(struct rnic_tx_sched *sched, struct wire_frame *frame, uint32_t responder)
{
    WIRE_ASSERT(!(sched->held_classes >> frame->prio & 1));
    sched->held[frame->prio] = frame;
    sched->held_responder[frame->prio] = responder;
    sched->held_classes |= 1u << frame->prio;
}

void rnic_tx_sched_raw(struct rnic_tx_sched *sched, struct wire_frame *frame)
{
    uint32_t c = frame->prio;

    frame->next = NULL;
    if (sched->raw_classes >> c & 1)
        sched->raw_last[c]->next = frame;
    else
        sched->raw_first[c] = frame;
    sched->raw_last[c] = frame;
    sched->raw_classes |= 1u << c;
}

uint64_t rnic_tx_sched_next_ps(const struct rnic_tx_sched *sched, uint32_t ready_classes)
{
    uint32_t held = sched->held_classes & ready_classes;
    uint64_t next_ps = sched->heap_n > 0 ? sched->heap[0]->pull_ps : WIRE_NEVER;

    if (((sched->fifo_classes & ~sched->held_classes) | sched->raw_classes) & ready_classes)
        return 0;
    for (; held != 0; held &= held - 1)
        next_ps = wire_min_ps(next_ps, sched->held[__builtin_ctz(held)]->ready_ps);
    return next_ps;
}

void rnic_tx_sched_built(struct rnic_tx_sched *sched, uint64_t leaves_ps)
{
    sched->room[sched->room_at] = leaves_ps;
    sched->room_at = sched->room_at + 1 == sched->fifo_frames ? 0 : sched->room_at + 1;
}

/* ---- WQE fetch ---- */

static void sched_fetch_one(struct rnic_wqe *wqe, struct rnic_dma *dma, uint32_t wqe_bytes,
                            uint64_t cause_ps)
{
    wqe->known_ps = rnic_dma_read(dma, wire_max_ps(wqe->known_ps, cause_ps), wqe_bytes);
    wqe->fetched = 1;
}

uint64_t rnic_tx_sched_fetch(struct rnic_qp *qp, struct rnic_dma *dma, uint32_t wqe_bytes,
                             uint64_t cause_ps)
{
    struct rnic_wqe *wqe = rnic_ring_wqe(&qp->sq, qp->sq_cur);
    struct rnic_wqe *behind = rnic_ring_wqe(&qp->sq, qp->sq_cur + 1);

    if (!wqe->fetched)
        sched_fetch_one(wqe, dma, wqe_bytes, cause_ps);
    if (qp->sq_cur + 1 != qp->sq.head && !behind->fetched)
        sched_fetch_one(behind, dma, wqe_bytes, cause_ps);
    return wqe->known_ps;
}

uint32_t rnic_tx_sched_frames(const struct rnic_tx_sched *sched)
{
    uint32_t n = (uint32_t)__builtin_popcount(sched->held_classes);

    for (uint32_t c = 0; c < WIRE_CLASSES; c++)
        if (sched->raw_classes >> c & 1)
            for (const struct wire_frame *f = sched->raw_first[c]; f != NULL; f = f->next)
                n++;
    return n;
}
