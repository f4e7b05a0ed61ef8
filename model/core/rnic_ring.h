/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * Descriptor rings and doorbells: send and receive queues in host memory.
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
#include "rnic_path.h"
#include "wire_types.h"

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
    uint32_t imm;     /* or key to invalidate */
    uint32_t packets; /* PSNs it takes: max(1, ceil(length / MTU)); READ: of its responses; local
                         operations: 0 */
    wire_psn psn;     /* of its first packet */
    uint32_t ssn;     /* number of its message, from 1, 24 bits; for end-to-end credits */
    uint8_t opcode;   /* enum rnic_wr_opcode */
    uint8_t flags;    /* enum rnic_send_flags, RNIC_RING_PHANTOM */
    uint8_t num_sge;  /* INLINE and local operations: 0 */
    uint8_t fetched;  /* its fetch has been booked */
    uint8_t status;   /* enum rnic_wc_status: error found before it could be sent */
    uint8_t started;  /* sent once; local operations: carried out */
    union {
        struct {
            uint64_t compare_add, swap;
        } atomic;
        struct {
            struct rnic_path path;
            uint32_t dest_qpn, qkey;
        } ud;
        struct {
            uint64_t addr, length;
            uint32_t mw, mr;
            uint32_t access;
        } bind_mw;
    };
    struct rnic_sge sge[]; /* INLINE: the bytes themselves */
};

/* A receive work request. */
struct rnic_rqe {
    uint64_t wr_id;
    uint64_t length; /* bytes of all entries */
    uint32_t num_sge;
    struct rnic_sge sge[];
};

/** Bytes of a send slot for a list of @p max_sge entries or @p max_inline bytes of its own. */
size_t rnic_ring_wqe_bytes(uint32_t max_sge, uint32_t max_inline);

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

/* In wqe->flags besides the host's: an inline request whose bytes nobody has. */
#define RNIC_RING_PHANTOM 0x80u

/** Its bytes stand in the slot (rnic_ring_inline), it has no list: num_sge is 0. */
static inline bool rnic_ring_is_inline(const struct rnic_wqe *wqe)
{
    return (wqe->flags & RNIC_SEND_INLINE) != 0;
}

/** An inline request that has its bytes; else they are phantom. */
static inline bool rnic_ring_inline_backed(const struct rnic_wqe *wqe)
{
    return (wqe->flags & RNIC_RING_PHANTOM) == 0;
}

/** Bytes of an inline request. */
static inline uint8_t *rnic_ring_inline(struct rnic_wqe *wqe)
{
    return (uint8_t *)wqe->sge;
}

/* Of an enum rnic_wr_opcode. */
static inline bool rnic_ring_op_is_atomic(unsigned opcode)
{
    return opcode == RNIC_WR_ATOMIC_CMP_AND_SWP || opcode == RNIC_WR_ATOMIC_FETCH_AND_ADD;
}

/** Carried out on the card, nothing on the wire. */
static inline bool rnic_ring_op_is_local(unsigned opcode)
{
    return opcode == RNIC_WR_LOCAL_INV || opcode == RNIC_WR_BIND_MW;
}

/** READ or atomic: answered with data, and its request carries none. */
static inline bool rnic_ring_op_asks(unsigned opcode)
{
    return opcode == RNIC_WR_RDMA_READ || rnic_ring_op_is_atomic(opcode);
}

static inline bool rnic_ring_is_read(const struct rnic_wqe *wqe)
{
    return wqe->opcode == RNIC_WR_RDMA_READ;
}

static inline bool rnic_ring_is_atomic(const struct rnic_wqe *wqe)
{
    return rnic_ring_op_is_atomic(wqe->opcode);
}

static inline bool rnic_ring_asks(const struct rnic_wqe *wqe)
{
    return rnic_ring_op_asks(wqe->opcode);
}

/** The same: it takes no PSN. */
static inline bool rnic_ring_is_local(const struct rnic_wqe *wqe)
{
    return wqe->packets == 0;
}

static inline bool rnic_ring_full(const struct rnic_ring *ring)
{
    return ring->head - ring->tail > ring->mask;
}

/**
 * Write a send request into the next slot and ring the doorbell. Inline bytes are copied now.
 *
 * @param wr        checked by the caller: list or inline data fit the slot, length is their sum
 * @param known_ps  when the doorbell reaches the card
 * @return the slot; PSN, packet count, ssn and (UD) path still to be set; the ring must not be full
 */
struct rnic_wqe *rnic_ring_post_send(struct rnic_ring *ring, const struct rnic_send_wr *wr,
                                     uint32_t length, uint64_t known_ps);

/** Write a receive request into the next slot; the ring must not be full. */
void rnic_ring_post_recv(struct rnic_ring *ring, const struct rnic_recv_wr *wr, uint64_t length);

#endif
