/* SPDX-License-Identifier: GPL-2.0-only */
#include "rnic_ring.h"

#include <string.h>

static uint32_t ring_round(uint32_t slots)
{
    uint32_t n = 1;

    while (n < slots)
        n *= 2;
    return n;
}

size_t rnic_ring_bytes(uint32_t slots, size_t stride)
{
    return ring_round(slots) * stride;
}

size_t rnic_ring_wqe_bytes(uint32_t max_sge, uint32_t max_inline)
{
    size_t list = max_sge * sizeof(struct rnic_sge);
    size_t bytes = ((size_t)max_inline + 7) & ~(size_t)7;

    return sizeof(struct rnic_wqe) + (list > bytes ? list : bytes);
}

void rnic_ring_init(struct rnic_ring *ring, void *memory, uint32_t slots, size_t stride)
{
    WIRE_ASSERT(slots > 0 && stride % 8 == 0);
    *ring = (struct rnic_ring){
        .slots = memory, .stride = (uint32_t)stride, .mask = ring_round(slots) - 1};
}

/* Copy the bytes of an inline request into its slot; one piece without a pointer: all phantom. */
static void ring_copy_inline(struct rnic_wqe *wqe, const struct rnic_send_wr *wr)
{
    uint8_t *to = rnic_ring_inline(wqe);

    for (uint32_t i = 0; i < wr->num_sge; i++)
        if (wr->sg_list[i].length > 0 && wr->sg_list[i].addr == 0) {
            wqe->flags |= RNIC_RING_PHANTOM;
            return;
        }
    for (uint32_t i = 0; i < wr->num_sge; i++) {
        const struct rnic_sge *sge = &wr->sg_list[i];

        if (sge->length == 0)
            continue;
        memcpy(to, (const void *)(uintptr_t)sge->addr, sge->length);
        to += sge->length;
    }
}

/* What only some opcodes have. */
static void ring_extra(struct rnic_wqe *wqe, const struct rnic_send_wr *wr)
{
    if (rnic_ring_is_atomic(wqe)) {
        wqe->atomic.compare_add = wr->atomic.compare_add;
        wqe->atomic.swap = wr->atomic.swap;
    } else if (wr->opcode == RNIC_WR_BIND_MW) {
        wqe->bind_mw.mw = wr->bind_mw.mw;
        wqe->bind_mw.mr = wr->bind_mw.mr;
        wqe->bind_mw.addr = wr->bind_mw.addr;
        wqe->bind_mw.length = wr->bind_mw.length;
        wqe->bind_mw.access = wr->bind_mw.access;
    }
}

struct rnic_wqe *rnic_ring_post_send(struct rnic_ring *ring, const struct rnic_send_wr *wr,
                                     uint32_t length, uint64_t known_ps)
{
    struct rnic_wqe *wqe = rnic_ring_wqe(ring, ring->head);
    bool local = rnic_ring_op_is_local(wr->opcode);

    WIRE_ASSERT(!rnic_ring_full(ring));
    memset(wqe, 0, sizeof *wqe);
    wqe->wr_id = wr->wr_id;
    wqe->remote_addr = wr->remote_addr;
    wqe->known_ps = known_ps;
    wqe->length = length;
    wqe->rkey = wr->rkey;
    wqe->imm = wr->imm;
    wqe->opcode = (uint8_t)wr->opcode;
    wqe->flags = (uint8_t)wr->send_flags;
    wqe->status = RNIC_WC_SUCCESS;
    ring_extra(wqe, wr);
    if (!local && rnic_ring_is_inline(wqe)) {
        ring_copy_inline(wqe, wr);
    } else if (!local && wr->num_sge > 0) {
        wqe->num_sge = (uint8_t)wr->num_sge;
        memcpy(wqe->sge, wr->sg_list, wr->num_sge * sizeof wqe->sge[0]);
    }
    ring->head++;
    return wqe;
}

void rnic_ring_post_recv(struct rnic_ring *ring, const struct rnic_recv_wr *wr, uint64_t length)
{
    struct rnic_rqe *rqe = rnic_ring_at(ring, ring->head);

    WIRE_ASSERT(!rnic_ring_full(ring));
    *rqe = (struct rnic_rqe){.wr_id = wr->wr_id, .length = length, .num_sge = wr->num_sge};
    if (wr->num_sge > 0)
        memcpy(rqe->sge, wr->sg_list, wr->num_sge * sizeof rqe->sge[0]);
    ring->head++;
}
