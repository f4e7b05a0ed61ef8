/* SPDX-License-Identifier: GPL-2.0-only */
/* The five bits of credit: both directions of the table, against the standard's rule. */
#include "check.h"
#include "rnic_credit.h"

/* 0 to 3 as they are, then two codes for each power of two: 2^k and one and a half of it. */
static uint32_t count_by_rule(uint32_t code)
{
    if (code <= 3)
        return code;
    return code % 2 == 0 ? 1u << (code / 2) : 3u << (code / 2 - 1);
}

static void every_code(void)
{
    for (uint8_t code = 0; code <= 30; code++)
        CHECK_EQ(rnic_credit_count(code), count_by_rule(code));
    CHECK_EQ(rnic_credit_count(30), 32768);
    CHECK_EQ(rnic_credit_count(WIRE_AETH_NO_CREDITS), UINT32_MAX);
}

/* Rounded down, and not further than needed. */
static void never_more_than_there_is(void)
{
    for (uint32_t n = 0; n <= 100000; n++) {
        uint8_t code = rnic_credit_code(n);

        CHECK(rnic_credit_count(code) <= n);
        CHECK(code == 30 || rnic_credit_count((uint8_t)(code + 1)) > n);
    }
    CHECK_EQ(rnic_credit_code(UINT32_MAX), 30);
}

static void what_a_queue_pair_says(void)
{
    struct rnic_srq srq = {.number = 1};
    struct rnic_qp qp = {.rq = {.head = 2, .tail = 0xFFFFFFF8u}};

    CHECK_EQ(rnic_credit_of(&qp), WIRE_AETH_NO_CREDITS); /* does not use credits */
    qp.init.e2e_credits = true;
    CHECK_EQ(rnic_credit_count(rnic_credit_of(&qp)), 8); /* 10 of them */
    qp.rq.tail = qp.rq.head;
    CHECK_EQ(rnic_credit_of(&qp), 0);
    qp.srq = &srq;
    CHECK_EQ(rnic_credit_of(&qp), WIRE_AETH_NO_CREDITS);
}

CHECK_SUITE(credit, CHECK_CASE(every_code), CHECK_CASE(never_more_than_there_is),
            CHECK_CASE(what_a_queue_pair_says))
