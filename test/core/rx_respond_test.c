/* SPDX-License-Identifier: GPL-2.0-only */
/* The responder's memory alone: slots, what is to be sent again, and which answer may go first. */
#include "check.h"
#include "rnic_rx_respond.h"
#include "wire_opcode.h"
#include "wire_rng.h"

#define DEPTH 4u
#define FIRST 0xFFFFF0u /* PSN of the first resource: the PSNs wrap inside every test */

static struct rnic_mem mem;
static _Alignas(64) uint8_t arena[65536];
static struct rnic_rx_respond r;

static void open_ring(uint32_t depth)
{
    mem = (struct rnic_mem){0};
    rnic_mem_add(&mem, arena, sizeof arena);
    r = (struct rnic_rx_respond){0};
    CHECK(rnic_rx_respond_open(&r, &mem, depth));
}

static wire_psn psn_at(uint32_t n)
{
    return wire_psn_add((wire_psn){FIRST}, n);
}

/* A READ of so many responses, none of them sent. */
static struct rnic_resource *add(uint32_t psn, uint32_t packets)
{
    struct rnic_resource *resource;

    CHECK(rnic_rx_respond_room(&r));
    resource = rnic_rx_respond_add(&r);
    CHECK_EQ(resource->length, 0);
    CHECK(!resource->answered);
    resource->psn = psn_at(psn);
    resource->packets = packets;
    resource->length = psn; /* a mark */
    rnic_rx_respond_queue(&r, resource, 0, packets);
    return resource;
}

/* Send the next response. @return its PSN, counted from FIRST; UINT32_MAX: none. */
static uint32_t send_one(void)
{
    struct rnic_resource *resource = rnic_rx_respond_next(&r);
    uint32_t psn;

    if (resource == NULL)
        return UINT32_MAX;
    psn = (resource->psn.v + resource->next - FIRST) & WIRE_PSN_MASK;
    rnic_rx_respond_sent(&r, resource);
    CHECK(r.held);
    CHECK_EQ(r.held_psn.v, psn_at(psn).v);
    r.held = false;
    return psn;
}

static void no_slots_no_room(void)
{
    open_ring(0);
    CHECK(!rnic_rx_respond_room(&r));
    CHECK(rnic_rx_respond_find(&r, psn_at(0)) == NULL);
    CHECK(rnic_rx_respond_next(&r) == NULL);
    rnic_rx_respond_stop(&r);
    rnic_rx_respond_cut(&r, psn_at(0));
    rnic_rx_respond_close(&r, &mem);
}

static void a_ring_that_is_closed_gives_its_memory_back(void)
{
    size_t rounds = 2 * sizeof arena / (16 * sizeof(struct rnic_resource));

    open_ring(16);
    for (size_t i = 0; i < rounds; i++) {
        rnic_rx_respond_close(&r, &mem);
        CHECK(r.ring == NULL);
        CHECK(rnic_rx_respond_open(&r, &mem, 16));
    }
    rnic_rx_respond_close(&r, &mem);
    CHECK(!rnic_rx_respond_open(&r, &mem, 100000));
    CHECK(mem.wanted > 0);
}

static void responses_leave_in_psn_order(void)
{
    open_ring(DEPTH);
    add(0, 3);
    add(3, 1);
    add(20, 2); /* PSNs between are SENDs and WRITEs */
    CHECK_EQ(r.pending, 3);
    CHECK_EQ(send_one(), 0);
    CHECK_EQ(send_one(), 1);
    CHECK_EQ(send_one(), 2);
    CHECK_EQ(r.pending, 2);
    CHECK_EQ(send_one(), 3);
    CHECK_EQ(send_one(), 20);
    CHECK_EQ(send_one(), 21);
    CHECK_EQ(send_one(), UINT32_MAX);
    CHECK_EQ(r.pending, 0);
}

/* As many as there are slots may wait; the one after them is the peer's error. */
static void an_unanswered_request_keeps_its_slot(void)
{
    open_ring(DEPTH);
    for (uint32_t i = 0; i < DEPTH; i++)
        add(2 * i, 2);
    CHECK(!rnic_rx_respond_room(&r));
    CHECK_EQ(send_one(), 0);
    CHECK(!rnic_rx_respond_room(&r));
    CHECK_EQ(send_one(), 1);
    CHECK(rnic_rx_respond_room(&r));
    add(100, 1);
    CHECK(!rnic_rx_respond_room(&r));
}

/* Its answer was there when the peer asked for one more: a repeat that waits is for nobody. */
static void a_repeat_gives_its_slot_up(void)
{
    struct rnic_resource *oldest;

    open_ring(2);
    oldest = add(0, 2);
    add(2, 1);
    while (send_one() != UINT32_MAX)
        ;
    rnic_rx_respond_queue(&r, oldest, 0, 2);
    CHECK_EQ(r.pending, 1);
    add(3, 1);
    CHECK_EQ(r.pending, 1);
    CHECK_EQ(send_one(), 3);
    CHECK_EQ(send_one(), UINT32_MAX);
}

static void the_newest_are_remembered(void)
{
    open_ring(DEPTH);
    for (uint32_t i = 0; i < 1000; i++) {
        add(3 * i, 3);
        while (send_one() != UINT32_MAX)
            ;
        for (uint32_t back = 0; back <= i && back < DEPTH + 2; back++)
            for (uint32_t k = 0; k < 3; k++) {
                struct rnic_resource *found = rnic_rx_respond_find(&r, psn_at(3 * (i - back) + k));

                CHECK_EQ(found != NULL, back < DEPTH);
                if (found != NULL)
                    CHECK_EQ(found->length, 3 * (i - back));
            }
    }
}

/* What is asked for again while it waits is sent once, from the earliest place to the latest. */
static void repeats_join_what_waits(void)
{
    struct rnic_resource *read;

    open_ring(DEPTH);
    read = add(0, 8);
    CHECK_EQ(send_one(), 0);
    CHECK_EQ(send_one(), 1);
    rnic_rx_respond_queue(&r, read, 5, 8); /* waits already */
    CHECK_EQ(send_one(), 2);
    rnic_rx_respond_queue(&r, read, 1, 8); /* from further back */
    for (uint32_t i = 1; i < 8; i++)
        CHECK_EQ(send_one(), i);
    CHECK_EQ(send_one(), UINT32_MAX);
    CHECK(read->answered);
    rnic_rx_respond_queue(&r, read, 6, 7);
    CHECK_EQ(send_one(), 6);
    CHECK_EQ(send_one(), UINT32_MAX);
    rnic_rx_respond_queue(&r, read, 2, 4);
    rnic_rx_respond_queue(&r, read, 3, 6); /* further on */
    rnic_rx_respond_queue(&r, read, 3, 5);
    for (uint32_t i = 2; i < 6; i++)
        CHECK_EQ(send_one(), i);
    CHECK_EQ(send_one(), UINT32_MAX);
    CHECK_EQ(r.pending, 0);
}

static void an_answer_waits_for_what_is_before_it(void)
{
    open_ring(DEPTH);
    CHECK(!rnic_rx_respond_waits(&r, psn_at(5)));
    add(3, 2); /* 3, 4 */
    CHECK(!rnic_rx_respond_waits(&r, psn_at(2)));
    CHECK(!rnic_rx_respond_waits(&r, psn_at(3))); /* nothing before it */
    CHECK(rnic_rx_respond_waits(&r, psn_at(5)));
    CHECK_EQ(send_one(), 3);
    CHECK(rnic_rx_respond_waits(&r, psn_at(5)));
    CHECK_EQ(send_one(), 4);
    CHECK(!rnic_rx_respond_waits(&r, psn_at(5)));
    r.held = true; /* built, but still at the MAC */
    CHECK(rnic_rx_respond_waits(&r, psn_at(5)));
    CHECK(!rnic_rx_respond_waits(&r, psn_at(2)));
}

static void the_newest_answer_is_kept(void)
{
    open_ring(DEPTH);
    rnic_rx_respond_defer(&r, psn_at(5), 0x1F, 9, 100);
    CHECK(r.later);
    rnic_rx_respond_defer(&r, psn_at(4), 0x1E, 8, 200); /* the one for 5 says that too */
    CHECK_EQ(r.later_psn.v, psn_at(5).v);
    CHECK_EQ(r.later_syndrome, 0x1F);
    rnic_rx_respond_defer(&r, psn_at(5), 0x62, 9, 300);
    CHECK_EQ(r.later_syndrome, 0x62);
    rnic_rx_respond_defer(&r, psn_at(20), 0x60, 10, 400); /* beyond the wrap */
    CHECK_EQ(r.later_psn.v, psn_at(20).v);
    CHECK_EQ(r.later_syndrome, 0x60);
    CHECK_EQ(r.later_msn, 10);
    CHECK_EQ(r.later_ps, 400);
}

/* A NAK for PSN n: what is before n still leaves, n and what follows does not. */
static void a_cut_leaves_what_is_before_it(void)
{
    for (uint32_t cut = 0; cut <= 24; cut++) {
        open_ring(DEPTH);
        add(0, 3);
        add(3, 1);
        add(14, 8); /* 14 .. 21 */
        rnic_rx_respond_defer(&r, psn_at(12), 0x1F, 1, 0);
        rnic_rx_respond_cut(&r, psn_at(cut));
        CHECK_EQ(r.later, 12 < cut);
        for (uint32_t psn = 0; psn < cut; psn++)
            if (psn < 4 || (psn >= 14 && psn < 22))
                CHECK_EQ(send_one(), psn);
        CHECK_EQ(send_one(), UINT32_MAX);
        CHECK_EQ(r.pending, 0);
    }
}

static void stop_forgets_what_waits_and_nothing_else(void)
{
    struct rnic_resource *read;

    open_ring(DEPTH);
    read = add(0, 3);
    rnic_rx_respond_defer(&r, psn_at(12), 0x1F, 1, 0);
    rnic_rx_respond_stop(&r);
    CHECK(!r.later);
    CHECK_EQ(r.pending, 0);
    CHECK_EQ(send_one(), UINT32_MAX);
    CHECK(rnic_rx_respond_find(&r, psn_at(2)) == read);
}

/* Any order of requests, repeats and sending: pending is what can be sent, in the order of PSNs. */
static void random_walk(void)
{
    const uint64_t seed = 20240611;
    struct wire_rng rng = wire_rng_init(seed, 0);
    uint32_t psn = 0;

    printf("seed %" PRIu64 "\n", seed);
    open_ring(DEPTH);
    for (uint32_t step = 0; step < 200000; step++) {
        uint32_t dice = (uint32_t)wire_rng_next(&rng), packets = 1 + (dice >> 8) % 5, waiting = 0;

        if (dice % 4 == 0 && rnic_rx_respond_room(&r)) {
            add(psn, packets);
            psn += packets + (dice >> 16) % 3;
        } else if (dice % 4 == 1 && r.made > 0) {
            struct rnic_resource *again =
                rnic_rx_respond_find(&r, psn_at(psn - 1 - (dice >> 8) % 12));

            if (again != NULL)
                rnic_rx_respond_queue(&r, again, (dice >> 16) % again->packets, again->packets);
        } else {
            struct rnic_resource *next = rnic_rx_respond_next(&r);

            for (uint32_t i = 0; next != NULL && i < DEPTH && i < r.made; i++)
                if (r.ring[i].next != r.ring[i].end)
                    CHECK(wire_psn_diff(next->psn, r.ring[i].psn) <= 0);
            (void)send_one();
        }
        for (uint32_t i = 0; i < DEPTH && i < r.made; i++)
            waiting += r.ring[i].next != r.ring[i].end;
        CHECK_EQ(r.pending, waiting);
        CHECK(r.made <= 2 * DEPTH);
    }
}

/* A report of what arrived ahead does not take the place of a refusal of the same PSN. */
static void a_report_is_no_refusal(void)
{
    open_ring(DEPTH);
    rnic_rx_respond_defer(&r, psn_at(5), 0x20 | 3, 9, 100);
    rnic_rx_respond_defer(&r, psn_at(5), 0x60 | WIRE_NAK_SELECTIVE, 7, 200);
    CHECK_EQ(r.later_syndrome, 0x20 | 3);
    CHECK_EQ(r.later_msn, 9);
    rnic_rx_respond_defer(&r, psn_at(6), 0x60 | WIRE_NAK_SELECTIVE, 8, 300);
    CHECK_EQ(r.later_psn.v, psn_at(6).v);
    CHECK_EQ(r.later_syndrome, 0x60 | WIRE_NAK_SELECTIVE);
    CHECK_EQ(r.later_msn, 8);
    rnic_rx_respond_defer(&r, psn_at(6), 0x20 | 3, 9, 400);
    CHECK_EQ(r.later_syndrome, 0x20 | 3);
}

/* An acknowledge may tell of what follows, up to the next READ that is behind it. */
static void what_is_clear_of_reads(void)
{
    open_ring(DEPTH);
    add(3, 2);
    add(10, 1);
    add(20, 4); /* beyond all that is asked about but the last */
    CHECK_EQ(rnic_rx_respond_clear(&r, psn_at(0), psn_at(2)).v, psn_at(2).v);
    CHECK_EQ(rnic_rx_respond_clear(&r, psn_at(0), psn_at(3)).v, psn_at(2).v);
    CHECK_EQ(rnic_rx_respond_clear(&r, psn_at(0), psn_at(15)).v, psn_at(2).v);
    CHECK_EQ(rnic_rx_respond_clear(&r, psn_at(3), psn_at(9)).v, psn_at(9).v); /* itself a READ */
    CHECK_EQ(rnic_rx_respond_clear(&r, psn_at(6), psn_at(15)).v, psn_at(9).v);
    CHECK_EQ(rnic_rx_respond_clear(&r, psn_at(12), psn_at(15)).v, psn_at(15).v);
    CHECK_EQ(rnic_rx_respond_clear(&r, psn_at(12), psn_at(30)).v, psn_at(19).v); /* the wrap */
}

CHECK_SUITE(rx_respond, CHECK_CASE(no_slots_no_room),
            CHECK_CASE(a_ring_that_is_closed_gives_its_memory_back),
            CHECK_CASE(responses_leave_in_psn_order),
            CHECK_CASE(an_unanswered_request_keeps_its_slot),
            CHECK_CASE(a_repeat_gives_its_slot_up), CHECK_CASE(the_newest_are_remembered),
            CHECK_CASE(repeats_join_what_waits), CHECK_CASE(an_answer_waits_for_what_is_before_it),
            CHECK_CASE(the_newest_answer_is_kept), CHECK_CASE(a_cut_leaves_what_is_before_it),
            CHECK_CASE(stop_forgets_what_waits_and_nothing_else), CHECK_CASE(random_walk),
            CHECK_CASE(a_report_is_no_refusal), CHECK_CASE(what_is_clear_of_reads))
