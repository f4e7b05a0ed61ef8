/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * Descriptor rings and doorbells: send, receive and completion queues in host memory.
 *
 * A ring is a power of two of equal slots with free-running counters: `head` is where the producer
 * writes next, `tail` the oldest slot still in use. Every field of a slot is written afresh when it
 * is reused. Ringing the doorbell stamps the slot with the time the card knows of it.
 *
 * Place  between the host's verbs and WQE fetch
 * Owns   the slots' memory (one block of the card's arena)
 * Cost   O(1) a call
 */
#ifndef RNIC_RING_H
#define RNIC_RING_H

#include "rnic_mem.h"
#include "rnic_verbs.h"

struct rnic_ring {
    uint8_t *slots;
    uint32_t stride; /* bytes a slot */
    uint32_t mask;   /* slots - 1 */
    uint32_t head, tail;
};

/* A send work request as the card reads it. */
struct rnic_wqe {
    uint64_t wr_id;
    uint64_t remote_addr;
    uint64_t known_ps; /* doorbell reached the card; later: the WQE itself is on the card */
    uint32_t length;   /* bytes of the whole message */
    uint32_t rkey;
    uint32_t imm;
    uint32_t packets; /* PSNs it takes: max(1, ceil(length / MTU)) */
    wire_psn psn;     /* of its first packet */
    uint8_t opcode;   /* enum rnic_wr_opcode */
    uint8_t flags;    /* enum rnic_send_flags */
    uint8_t num_sge;
    uint8_t fetched; /* its fetch has been booked */
    uint8_t status;  /* enum rnic_wc_status: error found before it could be sent */
    struct rnic_sge sge[];
};

/* A receive work request. */
struct rnic_rqe {
    uint64_t wr_id;
    uint64_t length; /* bytes of all entries */
    uint32_t num_sge;
    struct rnic_sge sge[];
};

/** Bytes of a ring's slots: what to allocate. @p slots is rounded up to a power of two. */
size_t rnic_ring_bytes(uint32_t slots, size_t stride);

/** Make an empty ring over @p memory of rnic_ring_bytes(). */
void rnic_ring_init(struct rnic_ring *ring, void *memory, uint32_t slots, size_t stride);

static inline void *rnic_ring_at(const struct rnic_ring *ring, uint32_t index)
{
    return ring->slots + (size_t)(index & ring->mask) * ring->stride;
}

static inline struct rnic_wqe *rnic_ring_wqe(const struct rnic_ring *ring, uint32_t index)
{
    return (struct rnic_wqe *)rnic_ring_at(ring, index);
}

static inline bool rnic_ring_full(const struct rnic_ring *ring)
{
    return ring->head - ring->tail > ring->mask;
}

/**
 * Write a send request into the next slot and ring the doorbell.
 *
 * @param wr        checked by the caller: num_sge fits the slot, length is the sum of its entries
 * @param known_ps  when the doorbell reaches the card
 * @return the slot, its PSN and packet count still to be set; the ring must not be full
 */
struct rnic_wqe *rnic_ring_post_send(struct rnic_ring *ring, const struct rnic_send_wr *wr,
                                     uint32_t length, uint64_t known_ps);

/** Write a receive request into the next slot; the ring must not be full. */
void rnic_ring_post_recv(struct rnic_ring *ring, const struct rnic_recv_wr *wr, uint64_t length);

#endif
