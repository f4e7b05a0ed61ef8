/* SPDX-License-Identifier: GPL-2.0-only */
/* Rings: free-running counters, and slots that remember nothing. */
#include "check.h"
#include "rnic_ring.h"

#define SGE 3u
#define STRIDE (sizeof(struct rnic_wqe) + SGE * sizeof(struct rnic_sge))

static uint8_t slots[16 * STRIDE] __attribute__((aligned(64)));

static void a_ring_is_a_power_of_two(void)
{
    static const uint32_t cases[][2] = {{1, 1}, {2, 2}, {3, 4}, {5, 8}, {16, 16}, {17, 32}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        CHECK_EQ(rnic_ring_bytes(cases[i][0], 64), 64 * cases[i][1]);
}

static void full_is_full_also_over_the_wrap_of_the_counters(void)
{
    static const uint32_t starts[] = {0, 0xFFFFFFF8u, 0xFFFFFFFFu, 0x7FFFFFFEu};

    for (size_t s = 0; s < sizeof starts / sizeof starts[0]; s++) {
        struct rnic_ring ring;
        struct rnic_send_wr wr = {0};

        rnic_ring_init(&ring, slots, 16, STRIDE);
        ring.head = ring.tail = starts[s];
        for (uint32_t i = 0; i < 16; i++) {
            CHECK(!rnic_ring_full(&ring));
            wr.wr_id = i;
            (void)rnic_ring_post_send(&ring, &wr, 0, 0);
        }
        CHECK(rnic_ring_full(&ring));
        for (uint32_t i = 0; i < 16; i++)
            CHECK_EQ(rnic_ring_wqe(&ring, starts[s] + i)->wr_id, i);
        ring.tail++;
        CHECK(!rnic_ring_full(&ring));
    }
}

/* A slot that is used again holds nothing of before. */
static void every_field_of_a_slot_is_written_afresh(void)
{
    struct rnic_sge sges[SGE] = {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}};
    struct rnic_send_wr wr = {.wr_id = 42,
                              .opcode = RNIC_WR_SEND,
                              .send_flags = RNIC_SEND_SIGNALED,
                              .imm = 11,
                              .rkey = 12,
                              .remote_addr = 13,
                              .sg_list = sges,
                              .num_sge = 2};
    struct rnic_ring ring;
    struct rnic_wqe *wqe;

    memset(slots, 0xFF, sizeof slots);
    rnic_ring_init(&ring, slots, 16, STRIDE);
    wqe = rnic_ring_post_send(&ring, &wr, 7, 999);
    CHECK_EQ(wqe->wr_id, 42);
    CHECK_EQ(wqe->remote_addr, 13);
    CHECK_EQ(wqe->known_ps, 999);
    CHECK_EQ(wqe->length, 7);
    CHECK_EQ(wqe->rkey, 12);
    CHECK_EQ(wqe->imm, 11);
    CHECK_EQ(wqe->packets, 0);
    CHECK_EQ(wqe->psn.v, 0);
    CHECK_EQ(wqe->ssn, 0);
    CHECK_EQ(wqe->started, 0);
    CHECK_EQ(wqe->opcode, RNIC_WR_SEND);
    CHECK_EQ(wqe->flags, RNIC_SEND_SIGNALED);
    CHECK_EQ(wqe->num_sge, 2);
    CHECK_EQ(wqe->fetched, 0);
    CHECK_EQ(wqe->status, RNIC_WC_SUCCESS);
    CHECK_BYTES(wqe->sge, sges, 2 * sizeof sges[0]);
}

static void a_receive_request_too(void)
{
    struct rnic_sge sge = {100, 200, 300};
    struct rnic_recv_wr wr = {.wr_id = 5, .sg_list = &sge, .num_sge = 1};
    struct rnic_ring ring;
    struct rnic_rqe *rqe;

    memset(slots, 0xFF, sizeof slots);
    rnic_ring_init(&ring, slots, 4, STRIDE);
    rnic_ring_post_recv(&ring, &wr, 200);
    rqe = rnic_ring_at(&ring, 0);
    CHECK_EQ(rqe->wr_id, 5);
    CHECK_EQ(rqe->length, 200);
    CHECK_EQ(rqe->num_sge, 1);
    CHECK_BYTES(rqe->sge, &sge, sizeof sge);
    rnic_ring_post_recv(&ring, &(struct rnic_recv_wr){.wr_id = 6}, 0);
    rqe = rnic_ring_at(&ring, 1);
    CHECK_EQ(rqe->length, 0);
    CHECK_EQ(rqe->num_sge, 0);
}

/* A slot takes the longer of list and bytes. */
static void a_slot_has_room_for_list_or_bytes(void)
{
    CHECK_EQ(rnic_ring_wqe_bytes(3, 0), sizeof(struct rnic_wqe) + 48);
    CHECK_EQ(rnic_ring_wqe_bytes(3, 48), sizeof(struct rnic_wqe) + 48);
    CHECK_EQ(rnic_ring_wqe_bytes(3, 49), sizeof(struct rnic_wqe) + 56);
    CHECK_EQ(rnic_ring_wqe_bytes(0, 1), sizeof(struct rnic_wqe) + 8);
    CHECK_EQ(rnic_ring_wqe_bytes(0, 0), sizeof(struct rnic_wqe));
}

static struct rnic_sge host_sge(const void *bytes, uint32_t length)
{
    return (struct rnic_sge){.addr = (uintptr_t)bytes, .length = length};
}

/* The bytes are copied at once: the host may reuse its buffer. */
static void inline_bytes_are_copied_at_post(void)
{
    uint8_t bytes[40];
    struct rnic_sge sges[3];
    struct rnic_send_wr wr = {
        .opcode = RNIC_WR_SEND, .send_flags = RNIC_SEND_INLINE, .sg_list = sges, .num_sge = 3};
    struct rnic_ring ring;
    struct rnic_wqe *wqe;

    for (uint8_t i = 0; i < 40; i++)
        bytes[i] = i;
    sges[0] = host_sge(bytes + 30, 10);
    sges[1] = host_sge(NULL, 0); /* nothing, and that is no phantom */
    sges[2] = host_sge(bytes, 30);
    memset(slots, 0xFF, sizeof slots);
    rnic_ring_init(&ring, slots, 16, STRIDE);
    wqe = rnic_ring_post_send(&ring, &wr, 40, 0);
    memset(bytes, 0, sizeof bytes);
    CHECK(rnic_ring_is_inline(wqe) && rnic_ring_inline_backed(wqe));
    CHECK_EQ(wqe->num_sge, 0);
    CHECK_EQ(wqe->length, 40);
    for (uint8_t i = 0; i < 40; i++)
        CHECK_EQ(rnic_ring_inline(wqe)[i], i < 10 ? 30 + i : i - 10);
    CHECK_EQ(slots[STRIDE], 0xFF); /* and the slot behind it is untouched */
}

static void inline_bytes_nobody_has_are_phantom(void)
{
    uint8_t bytes[8] = {1, 2, 3};
    struct rnic_sge sges[2] = {host_sge(bytes, 8), host_sge(NULL, 8)};
    struct rnic_send_wr wr = {
        .opcode = RNIC_WR_SEND, .send_flags = RNIC_SEND_INLINE, .sg_list = sges, .num_sge = 2};
    struct rnic_ring ring;
    struct rnic_wqe *wqe;

    rnic_ring_init(&ring, slots, 16, STRIDE);
    wqe = rnic_ring_post_send(&ring, &wr, 16, 0);
    CHECK(rnic_ring_is_inline(wqe) && !rnic_ring_inline_backed(wqe));
    wr.num_sge = 0;
    wqe = rnic_ring_post_send(&ring, &wr, 0, 0);
    CHECK(rnic_ring_inline_backed(wqe)); /* zero bytes: all there */
    wr.send_flags = 0;
    wqe = rnic_ring_post_send(&ring, &wr, 0, 0);
    CHECK(!rnic_ring_is_inline(wqe));
}

static void atomics_and_binds_bring_their_own_fields(void)
{
    struct rnic_sge sges[SGE + 1] = {{1, 2, 3}};
    struct rnic_send_wr wr = {.opcode = RNIC_WR_ATOMIC_CMP_AND_SWP,
                              .sg_list = sges,
                              .num_sge = 1,
                              .atomic = {.compare_add = 7, .swap = 9}};
    struct rnic_ring ring;
    struct rnic_wqe *wqe;

    memset(slots, 0xFF, sizeof slots);
    rnic_ring_init(&ring, slots, 4, STRIDE);
    wqe = rnic_ring_post_send(&ring, &wr, 8, 0);
    CHECK_EQ(wqe->atomic.compare_add, 7);
    CHECK_EQ(wqe->atomic.swap, 9);
    CHECK(rnic_ring_is_atomic(wqe) && !rnic_ring_is_read(wqe));
    wr = (struct rnic_send_wr){.opcode = RNIC_WR_BIND_MW,
                               .rkey = 6,
                               .sg_list = sges,
                               .num_sge = SGE + 1, /* not looked at */
                               .bind_mw = {.mw = 1, .mr = 2, .addr = 3, .length = 4, .access = 5}};
    wqe = rnic_ring_post_send(&ring, &wr, 0, 0);
    CHECK_EQ(wqe->bind_mw.mw, 1);
    CHECK_EQ(wqe->bind_mw.mr, 2);
    CHECK_EQ(wqe->bind_mw.addr, 3);
    CHECK_EQ(wqe->bind_mw.length, 4);
    CHECK_EQ(wqe->bind_mw.access, 5);
    CHECK_EQ(wqe->rkey, 6);
    CHECK_EQ(wqe->num_sge, 0);
    CHECK(rnic_ring_is_local(wqe)); /* no packets, until somebody says so */
    CHECK_EQ(wqe->started, 0);
    CHECK_EQ(slots[2 * STRIDE], 0xFF);
    wr = (struct rnic_send_wr){.opcode = RNIC_WR_SEND_WITH_INV, .invalidate_rkey = 0xABC};
    CHECK_EQ(rnic_ring_post_send(&ring, &wr, 0, 0)->imm, 0xABC);
    ring.tail++;
    wr = (struct rnic_send_wr){.opcode = RNIC_WR_SEND};
    (void)rnic_ring_post_send(&ring, &wr, 0, 0);
    wqe = rnic_ring_post_send(&ring, &wr, 0, 0); /* over the atomic */
    CHECK_EQ(wqe->atomic.compare_add, 0);
    CHECK_EQ(wqe->atomic.swap, 0);
}

CHECK_SUITE(ring, CHECK_CASE(a_ring_is_a_power_of_two),
            CHECK_CASE(full_is_full_also_over_the_wrap_of_the_counters),
            CHECK_CASE(every_field_of_a_slot_is_written_afresh), CHECK_CASE(a_receive_request_too),
            CHECK_CASE(a_slot_has_room_for_list_or_bytes),
            CHECK_CASE(inline_bytes_are_copied_at_post),
            CHECK_CASE(inline_bytes_nobody_has_are_phantom),
            CHECK_CASE(atomics_and_binds_bring_their_own_fields))
