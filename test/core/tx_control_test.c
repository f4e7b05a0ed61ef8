/* SPDX-License-Identifier: GPL-2.0-only */
/* The queue of acknowledges and CNPs: classes, order, times, and what happens when it is full. */
#include "check.h"
#include "rnic_tx_control.h"
#include "wire_opcode.h"

static struct rnic_tx_control control;
static void *memory;

static void begin(void)
{
    struct rnic_mem mem = {0};

    memory = aligned_alloc(64, 16384);
    CHECK(memory != NULL);
    rnic_mem_add(&mem, memory, 16384);
    CHECK(rnic_tx_control_init(&control, &mem));
}

static void end(void)
{
    free(memory);
}

static void push(uint8_t opcode, uint8_t syndrome, uint32_t qpn, uint32_t psn, uint8_t class_,
                 uint64_t ready_ps)
{
    rnic_tx_control_push(&control,
                         &(struct rnic_tx_control_record){.opcode = opcode,
                                                          .syndrome = syndrome,
                                                          .qpn = qpn,
                                                          .psn = {psn},
                                                          .msn = psn,
                                                          .path.tos = (uint8_t)(class_ << 5),
                                                          .ready_ps = ready_ps});
}

static void ack(uint32_t qpn, uint32_t psn)
{
    push(WIRE_OP_ACKNOWLEDGE, 0x1F, qpn, psn, 3, 0);
}

static uint32_t pop(uint32_t classes, uint64_t now_ps)
{
    const struct rnic_tx_control_record *record = rnic_tx_control_pop(&control, classes, now_ps);

    return record != NULL ? record->psn.v : 0xFFFFFFFF;
}

static void the_highest_class_goes_first_and_each_in_order(void)
{
    begin();
    push(WIRE_OP_ACKNOWLEDGE, 0x1F, 1, 10, 3, 0);
    push(WIRE_OP_CNP, 0, 1, 20, 6, 0);
    push(WIRE_OP_ACKNOWLEDGE, 0x1F, 1, 11, 3, 0);
    push(WIRE_OP_CNP, 0, 1, 21, 6, 0);
    CHECK_EQ(pop(0xFF, 0), 20);
    CHECK_EQ(pop(1 << 3, 0), 10); /* class 6 is paused */
    CHECK_EQ(pop(0xFF, 0), 21);
    CHECK_EQ(pop(0xFF, 0), 11);
    CHECK_EQ(pop(0xFF, 0), 0xFFFFFFFF);
    end();
}

static void nothing_leaves_before_its_time(void)
{
    begin();
    CHECK_EQ(rnic_tx_control_next_ps(&control, 0xFF), WIRE_NEVER);
    push(WIRE_OP_CNP, 0, 1, 1, 6, 500);
    push(WIRE_OP_ACKNOWLEDGE, 0x1F, 1, 2, 3, 300);
    CHECK_EQ(rnic_tx_control_next_ps(&control, 0xFF), 300);
    CHECK_EQ(rnic_tx_control_next_ps(&control, 1 << 6), 500);
    CHECK_EQ(pop(0xFF, 299), 0xFFFFFFFF);
    CHECK_EQ(pop(0xFF, 300), 2); /* a class that is not ready holds up no other */
    CHECK_EQ(pop(0xFF, 499), 0xFFFFFFFF);
    CHECK_EQ(pop(0xFF, 500), 1);
    end();
}

static void records_are_used_again(void)
{
    begin();
    for (uint32_t i = 0; i < 10000; i++) {
        ack(1, i);
        if (i >= 100)
            CHECK_EQ(pop(0xFF, 0), i - 100);
    }
    CHECK_EQ(control.lost + control.merged, 0);
    end();
}

/* Full: an acknowledge of the same queue pair says the newer thing. */
static void a_full_queue_merges_acknowledges(void)
{
    begin();
    ack(7, 1);
    for (uint32_t i = 1; i < RNIC_TX_CONTROL_RECORDS; i++)
        ack(100 + i, i);
    ack(7, 55);
    CHECK_EQ(control.merged, 1);
    CHECK_EQ(control.lost, 0);
    CHECK_EQ(pop(0xFF, 0), 55);
    end();
}

/* A repeated request's acknowledge says less: it must not take back what is said. */
static void a_merge_never_goes_back(void)
{
    begin();
    ack(7, 50);
    for (uint32_t i = 1; i < RNIC_TX_CONTROL_RECORDS; i++)
        ack(100 + i, i);
    ack(7, 3);
    ack(7, 0xFFFFF0); /* earlier, in 24-bit arithmetic */
    CHECK_EQ(pop(0xFF, 0), 50);
    end();
}

static void a_full_queue_loses_what_nobody_says_for_it(void)
{
    begin();
    push(WIRE_OP_ACKNOWLEDGE, 0x60, 7, 9, 3, 0); /* a NAK is no acknowledge to merge with */
    for (uint32_t i = 1; i < RNIC_TX_CONTROL_RECORDS; i++)
        ack(100 + i, i);
    ack(7, 10);
    CHECK_EQ(control.lost, 1);
    push(WIRE_OP_ACKNOWLEDGE, 0x62, 101, 10, 3, 0);
    CHECK_EQ(control.lost, 2);
    push(WIRE_OP_CNP, 0, 101, 10, 6, 0);
    CHECK_EQ(control.lost, 3);
    CHECK_EQ(control.merged, 0);
    CHECK_EQ(pop(0xFF, 0), 9);
    end();
}

/* What says less, is no acknowledge, or stands in another class gives nobody its place. */
static void only_a_later_acknowledge_makes_room(void)
{
    begin();
    ack(7, 50);
    push(WIRE_OP_ACKNOWLEDGE, 0x60, 7, 51, 3, 0);
    ack(7, 49);
    push(WIRE_OP_CNP, 0, 7, 60, 3, 0);
    for (uint32_t i = 4; i < RNIC_TX_CONTROL_RECORDS; i++)
        ack(100 + i, i);
    push(WIRE_OP_CNP, 0, 8, 70, 6, 0);
    CHECK_EQ(control.lost, 1);
    push(WIRE_OP_ACKNOWLEDGE, 0x1F, 7, 80, 5, 0);
    CHECK_EQ(control.lost, 2);
    CHECK_EQ(control.merged, 0);
    CHECK_EQ(pop(0xFF, 0), 50);
    CHECK_EQ(pop(0xFF, 0), 51);
    CHECK_EQ(pop(0xFF, 0), 49);
    CHECK_EQ(pop(0xFF, 0), 60);
    end();
}

/* One queue pair with many acknowledges does not keep others from their one. */
static void repeated_acknowledges_make_room(void)
{
    begin();
    for (uint32_t i = 0; i < RNIC_TX_CONTROL_RECORDS; i++)
        ack(7, i);
    ack(8, 1000);
    push(WIRE_OP_ACKNOWLEDGE, 0x60, 7, RNIC_TX_CONTROL_RECORDS, 3, 0);
    push(WIRE_OP_CNP, 0, 7, 2000, 6, 0);
    CHECK_EQ(control.lost, 0);
    CHECK_EQ(control.merged, 3);
    CHECK_EQ(pop(0xFF, 0), 2000);
    for (uint32_t i = 3; i < RNIC_TX_CONTROL_RECORDS; i++) /* the oldest three are gone */
        CHECK_EQ(pop(0xFF, 0), i);
    CHECK_EQ(pop(0xFF, 0), 1000);
    CHECK_EQ(pop(0xFF, 0), RNIC_TX_CONTROL_RECORDS);
    CHECK_EQ(pop(0xFF, 0), 0xFFFFFFFF);
    end();
}

/* What is merged is no earlier than the newer; one that says nothing new delays nothing. */
static void a_merge_moves_the_time_with_what_is_said(void)
{
    static const struct {
        uint32_t psn;
        uint64_t ready_ps;
        uint32_t said;
        uint64_t leaves_ps;
    } cases[] = {{51, 900, 51, 900}, {51, 300, 51, 500}, {50, 900, 50, 500},
                 {49, 900, 50, 500}, {51, 500, 51, 500}, {50, 300, 50, 500}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct rnic_tx_control_record *record;

        begin();
        push(WIRE_OP_ACKNOWLEDGE, 0x1F, 7, 50, 4, 500);
        for (uint32_t k = 1; k < RNIC_TX_CONTROL_RECORDS; k++)
            ack(100 + k, k);
        push(WIRE_OP_ACKNOWLEDGE, 0x1F, 7, cases[i].psn, 4, cases[i].ready_ps);
        CHECK_EQ(control.merged, 1);
        CHECK_EQ(rnic_tx_control_next_ps(&control, 1 << 4), cases[i].leaves_ps);
        record = rnic_tx_control_pop(&control, 1 << 4, cases[i].leaves_ps);
        CHECK(record != NULL);
        CHECK_EQ(record->psn.v, cases[i].said);
        CHECK_EQ(record->msn, cases[i].said);
        end();
    }
}

CHECK_SUITE(tx_control, CHECK_CASE(the_highest_class_goes_first_and_each_in_order),
            CHECK_CASE(nothing_leaves_before_its_time), CHECK_CASE(records_are_used_again),
            CHECK_CASE(a_full_queue_merges_acknowledges), CHECK_CASE(a_merge_never_goes_back),
            CHECK_CASE(repeated_acknowledges_make_room),
            CHECK_CASE(a_merge_moves_the_time_with_what_is_said),
            CHECK_CASE(only_a_later_acknowledge_makes_room),
            CHECK_CASE(a_full_queue_loses_what_nobody_says_for_it))
