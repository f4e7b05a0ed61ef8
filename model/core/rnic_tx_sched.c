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

    if (!rnic_mem_grow(mem, &heap, &sched->heap_cap, qps, sizeof sched->heap[0]))
        return false;
    sched->heap = heap;
    return true;
}

/* ---- heap by pull_ps, then QPN, so that ties do not depend on history ---- */

static bool heap_less(const struct rnic_qp *a, const struct rnic_qp *b)
{
    return a->pull_ps != b->pull_ps ? a->pull_ps < b->pull_ps : a->qpn < b->qpn;
}

static void heap_set(struct rnic_tx_sched *sched, uint32_t at, struct rnic_qp *qp)
{
    sched->heap[at] = qp;
    qp->heap_at = at;
}

static void heap_up(struct rnic_tx_sched *sched, uint32_t at)
{
    struct rnic_qp *qp = sched->heap[at];

    while (at > 0 && heap_less(qp, sched->heap[(at - 1) / 2])) {
        heap_set(sched, at, sched->heap[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    heap_set(sched, at, qp);
}

static void heap_down(struct rnic_tx_sched *sched, uint32_t at)
{
    struct rnic_qp *qp = sched->heap[at];

    for (;;) {
        uint32_t child = 2 * at + 1;

        if (child >= sched->heap_n)
            break;
        if (child + 1 < sched->heap_n && heap_less(sched->heap[child + 1], sched->heap[child]))
            child++;
        if (!heap_less(sched->heap[child], qp))
            break;
        heap_set(sched, at, sched->heap[child]);
        at = child;
    }
    heap_set(sched, at, qp);
}

static void heap_push(struct rnic_tx_sched *sched, struct rnic_qp *qp)
{
    WIRE_ASSERT(sched->heap_n < sched->heap_cap);
    qp->place = RNIC_QP_IN_HEAP;
    sched->heap[sched->heap_n] = qp;
    heap_up(sched, sched->heap_n++);
}

static void heap_remove(struct rnic_tx_sched *sched, struct rnic_qp *qp)
{
    uint32_t at = qp->heap_at;
    struct rnic_qp *moved = sched->heap[--sched->heap_n];

    WIRE_ASSERT(qp->place == RNIC_QP_IN_HEAP);
    qp->place = RNIC_QP_NOWHERE;
    if (moved == qp)
        return;
    heap_set(sched, at, moved);
    heap_up(sched, at);
    heap_down(sched, moved->heap_at);
}

/* ---- FIFO of eligible queue pairs ---- */

static void fifo_push(struct rnic_tx_sched *sched, struct rnic_qp *qp)
{
    uint32_t c = qp->prio;

    qp->place = RNIC_QP_IN_FIFO;
    qp->next = NULL;
    if (sched->fifo_classes >> c & 1)
        sched->last[c]->next = qp;
    else
        sched->first[c] = qp;
    sched->last[c] = qp;
    sched->fifo_classes |= 1u << c;
}

static struct rnic_qp *fifo_pop(struct rnic_tx_sched *sched, uint32_t c)
{
    struct rnic_qp *qp = sched->first[c];

    sched->first[c] = qp->next;
    if (qp->next == NULL)
        sched->fifo_classes &= ~(1u << c);
    qp->place = RNIC_QP_NOWHERE;
    return qp;
}

static void fifo_remove(struct rnic_tx_sched *sched, struct rnic_qp *qp)
{
    uint32_t c = qp->prio;
    struct rnic_qp *before = NULL;

    for (struct rnic_qp *at = sched->first[c]; at != qp; at = at->next)
        before = at;
    if (before == NULL)
        sched->first[c] = qp->next;
    else
        before->next = qp->next;
    if (sched->last[c] == qp)
        sched->last[c] = before;
    if (sched->first[c] == NULL)
        sched->fifo_classes &= ~(1u << c);
    qp->place = RNIC_QP_NOWHERE;
}

/* ---- standing in line ---- */

static void sched_queue(struct rnic_tx_sched *sched, struct rnic_qp *qp, uint64_t now_ps)
{
    if (qp->pull_ps <= now_ps)
        fifo_push(sched, qp);
    else
        heap_push(sched, qp);
}

/* What the next packet takes from its cause to the MAC when nothing is in its way. */
static uint64_t sched_lead_ps(const struct rnic_tx_sched *sched, const struct rnic_qp *qp)
{
    const struct rnic_wqe *wqe = rnic_ring_wqe(&qp->sq, qp->sq_cur);
    uint32_t left = wqe->length - (qp->cur_packet << qp->mtu_shift);
    uint32_t bytes = left < qp->mtu_bytes ? left : qp->mtu_bytes;

    return (wqe->fetched ? 0 : sched->fetch_ps) +
           (bytes == 0 ? 0 : rnic_dma_nominal_ps(sched->dma, bytes)) + sched->tx_latency_ps;
}

/* Not to be pulled before its pacing time; then it was asked for a look-ahead before. */
static void sched_pace(const struct rnic_tx_sched *sched, struct rnic_qp *qp)
{
    uint64_t eligible_ps = rnic_tx_rate_eligible_ps(&qp->cc);

    if (eligible_ps <= qp->pull_ps)
        return;
    qp->pull_ps = eligible_ps;
    if (eligible_ps > sched->lookahead_ps)
        qp->cause_ps = wire_max_ps(qp->cause_ps, eligible_ps - sched->lookahead_ps);
}

void rnic_tx_sched_add(struct rnic_tx_sched *sched, struct rnic_qp *qp, uint64_t known_ps,
                       uint64_t now_ps)
{
    if (qp->place != RNIC_QP_NOWHERE)
        return;
    qp->cause_ps = wire_max_ps(known_ps, rnic_ring_wqe(&qp->sq, qp->sq_cur)->known_ps);
    qp->pull_ps = qp->cause_ps + sched_lead_ps(sched, qp);
    sched_pace(sched, qp);
    sched_queue(sched, qp, now_ps);
}

void rnic_tx_sched_again(struct rnic_tx_sched *sched, struct rnic_qp *qp, uint64_t now_ps)
{
    uint64_t known_ps = rnic_ring_wqe(&qp->sq, qp->sq_cur)->known_ps;

    WIRE_ASSERT(qp->place == RNIC_QP_NOWHERE);
    /* It keeps the cause it had; but the next request may have come, or be here, only just now. */
    if (qp->cur_packet == 0 && known_ps + sched->fetch_ps + sched->lookahead_ps > now_ps)
        qp->pull_ps = wire_max_ps(qp->pull_ps, known_ps + sched_lead_ps(sched, qp));
    sched_pace(sched, qp);
    sched_queue(sched, qp, now_ps);
}

void rnic_tx_sched_remove(struct rnic_tx_sched *sched, struct rnic_qp *qp)
{
    if (qp->place == RNIC_QP_IN_HEAP)
        heap_remove(sched, qp);
    else if (qp->place == RNIC_QP_IN_FIFO)
        fifo_remove(sched, qp);
}

void rnic_tx_sched_advance(struct rnic_tx_sched *sched, uint64_t now_ps)
{
    while (sched->heap_n > 0 && sched->heap[0]->pull_ps <= now_ps) {
        struct rnic_qp *qp = sched->heap[0];

        heap_remove(sched, qp);
        sched_pace(sched, qp); /* a CNP may have come meanwhile */
        sched_queue(sched, qp, now_ps);
    }
}

/* ---- picking ---- */

/* One class: a held frame first (it was picked before), then raw ring and queue pairs in turn. */
static bool sched_pick_class(struct rnic_tx_sched *sched, uint32_t c, uint64_t now_ps,
                             struct rnic_tx_pick *pick)
{
    uint32_t bit = 1u << c;
    bool raw = (sched->raw_classes & bit) != 0;

    if (sched->held_classes & bit) {
        struct wire_frame *held = sched->held[c];

        if (held->ready_ps <= now_ps) {
            sched->held_classes &= ~bit;
            *pick = (struct rnic_tx_pick){.what = RNIC_PICK_HELD, .frame = held};
            return true;
        }
    } else if ((sched->fifo_classes & bit) && !(raw && (sched->raw_turn & bit))) {
        sched->raw_turn |= bit;
        *pick = (struct rnic_tx_pick){.what = RNIC_PICK_QP, .qp = fifo_pop(sched, c)};
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

    /* One class with nothing but queue pairs, as nearly always: its first. */
    if (WIRE_LIKELY((classes & (classes - 1)) == 0 && classes != 0 &&
                    ((sched->raw_classes | sched->held_classes) & classes) == 0)) {
        uint32_t c = (uint32_t)__builtin_ctz(classes);

        sched->turn = c;
        sched->raw_turn |= classes;
        return (struct rnic_tx_pick){.what = RNIC_PICK_QP, .qp = fifo_pop(sched, c)};
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

void rnic_tx_sched_hold(struct rnic_tx_sched *sched, struct wire_frame *frame)
{
    WIRE_ASSERT(!(sched->held_classes >> frame->prio & 1));
    sched->held[frame->prio] = frame;
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
