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

void rnic_ring_init(struct rnic_ring *ring, void *memory, uint32_t slots, size_t stride)
{
    WIRE_ASSERT(slots > 0 && stride % 8 == 0);
    *ring = (struct rnic_ring){
        .slots = memory, .stride = (uint32_t)stride, .mask = ring_round(slots) - 1};
}

struct rnic_wqe *rnic_ring_post_send(struct rnic_ring *ring, const struct rnic_send_wr *wr,
                                     uint32_t length, uint64_t known_ps)
{
    struct rnic_wqe *wqe = rnic_ring_wqe(ring, ring->head);

    WIRE_ASSERT(!rnic_ring_full(ring));
    *wqe = (struct rnic_wqe){.wr_id = wr->wr_id,
                             .remote_addr = wr->remote_addr,
                             .known_ps = known_ps,
                             .length = length,
                             .rkey = wr->rkey,
                             .imm = wr->imm,
                             .opcode = (uint8_t)wr->opcode,
                             .flags = (uint8_t)wr->send_flags,
                             .num_sge = (uint8_t)wr->num_sge,
                             .status = RNIC_WC_SUCCESS};
    if (wr->num_sge > 0)
        memcpy(wqe->sge, wr->sg_list, wr->num_sge * sizeof wqe->sge[0]);
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
