/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared receive queues: taken in order, and the limit told once. */
#include "check.h"
#include "rnic_table_srq.h"

static struct rnic_mem mem;
static struct rnic_table_srq table;
static struct rnic_cq_event events;
static void *memory;

static void begin(void)
{
    memory = aligned_alloc(64, 1 << 18);
    CHECK(memory != NULL);
    mem = (struct rnic_mem){0};
    table = (struct rnic_table_srq){0};
    events = (struct rnic_cq_event){0};
    rnic_mem_add(&mem, memory, 1 << 18);
    CHECK(rnic_cq_event_reserve(&events, &mem, 4));
}

static struct rnic_srq *queue(uint32_t max_wr, uint32_t max_sge, uint32_t limit)
{
    const struct rnic_srq_attr attr = {.max_wr = max_wr, .max_sge = max_sge, .limit = limit};
    struct rnic_srq *srq;

    CHECK_EQ(rnic_table_srq_add(&table, &mem, 100, &attr, &srq), 0);
    return srq;
}

/* A receive queue of one slot, as a queue pair with a shared one has. */
static void one_slot(const struct rnic_srq *srq, struct rnic_ring *rq)
{
    rnic_ring_init(rq, rnic_mem_alloc(&mem, srq->ring.stride), 1, srq->ring.stride);
}

static void post(struct rnic_srq *srq, uint64_t wr_id)
{
    const struct rnic_sge sges[2] = {{wr_id, 10, 1}, {wr_id + 1, 20, 2}};
    const struct rnic_recv_wr wr = {.wr_id = wr_id, .sg_list = sges, .num_sge = 2};

    rnic_ring_post_recv(&srq->ring, &wr, 30);
}

static void requests_are_taken_in_order_and_whole(void)
{
    struct rnic_srq *srq;
    struct rnic_ring rq[2];

    begin();
    srq = queue(4, 2, 0);
    one_slot(srq, &rq[0]);
    one_slot(srq, &rq[1]);
    CHECK(!rnic_table_srq_take(srq, &rq[0], &events, 0));
    CHECK_EQ(rq[0].head, 0);
    for (uint64_t round = 0; round < 50; round++) {
        struct rnic_ring *to = &rq[round % 2];
        const struct rnic_rqe *rqe;

        post(srq, round);
        CHECK(rnic_table_srq_take(srq, to, &events, 0));
        rqe = rnic_ring_at(to, to->tail);
        CHECK_EQ(rqe->wr_id, round);
        CHECK_EQ(rqe->length, 30);
        CHECK_EQ(rqe->num_sge, 2);
        CHECK_EQ(rqe->sge[1].addr, round + 1);
        CHECK_EQ(rqe->sge[1].lkey, 2);
        CHECK(rnic_ring_full(to));
        to->tail++;
        CHECK(!rnic_table_srq_take(srq, to, &events, 0));
    }
    CHECK_EQ(events.n, 0); /* no limit, no event */
    free(memory);
}

/* Once, when fewer than the limit are left; then it is off until it is armed again. */
static void the_limit_is_told_once(void)
{
    struct rnic_event event;
    struct rnic_srq *srq;
    struct rnic_ring rq;

    begin();
    (void)queue(1, 0, 0);
    srq = queue(8, 2, 3);
    CHECK_EQ(srq->number, 2);
    one_slot(srq, &rq);
    for (uint64_t i = 0; i < 8; i++)
        post(srq, i);
    for (uint32_t left = 8; left-- > 0;) {
        CHECK(rnic_table_srq_take(srq, &rq, &events, 1000 + left));
        rq.tail++;
        CHECK_EQ(srq->limit, left < 3 ? 0 : 3);
    }
    CHECK(rnic_cq_event_pop(&events, 2000, &event));
    CHECK_EQ(event.type, RNIC_EVENT_SRQ_LIMIT);
    CHECK_EQ(event.srq, 2);
    CHECK_EQ(event.time_ps, 1002);
    CHECK(!rnic_cq_event_pop(&events, 2000, &event));
    free(memory);
}

static void numbers_are_used_again(void)
{
    struct rnic_srq *srq[3];

    begin();
    CHECK(rnic_table_srq_find(&table, 0) == NULL);
    CHECK(rnic_table_srq_find(&table, 1) == NULL);
    for (uint32_t i = 0; i < 3; i++)
        srq[i] = queue(3, 1, 0);
    CHECK_EQ(srq[2]->ring.mask, 3); /* rounded up */
    for (uint32_t i = 0; i < 3; i++)
        CHECK(rnic_table_srq_find(&table, srq[i]->number) == srq[i]);
    CHECK_EQ(srq[1]->number, 2);
    rnic_table_srq_remove(&table, &mem, srq[1]);
    CHECK(rnic_table_srq_find(&table, 2) == NULL);
    CHECK_EQ(table.live, 2);
    CHECK_EQ(queue(1, 1, 0)->number, 2);
    CHECK_EQ(queue(1, 1, 0)->number, 4);
    CHECK(rnic_table_srq_find(&table, 5) == NULL);
    free(memory);
}

static void the_limit_and_the_arena_are_named(void)
{
    const struct rnic_srq_attr attr = {.max_wr = 1};
    struct rnic_mem empty = {0};
    struct rnic_srq *srq;

    begin();
    CHECK_EQ(rnic_table_srq_add(&table, &mem, 1, &attr, &srq), 0);
    CHECK_EQ(rnic_table_srq_add(&table, &mem, 1, &attr, &srq), RNIC_ERR_LIMIT);
    CHECK_EQ(rnic_table_srq_add(&table, &empty, 100, &attr, &srq), RNIC_ERR_NOMEM);
    CHECK_EQ(table.live, 1);
    CHECK_EQ(table.n, 1);
    free(memory);
}

CHECK_SUITE(table_srq, CHECK_CASE(requests_are_taken_in_order_and_whole),
            CHECK_CASE(the_limit_is_told_once), CHECK_CASE(numbers_are_used_again),
            CHECK_CASE(the_limit_and_the_arena_are_named))
