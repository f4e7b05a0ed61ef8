/* SPDX-License-Identifier: GPL-2.0-only */
#include "rnic_credit.h"

#define CREDIT_CODES 31u

static const uint16_t credit_counts[CREDIT_CODES] = {
    0,   1,   2,   3,   4,    6,    8,    12,   16,   24,   32,   48,    64,    96,    128,  192,
    256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768};

uint8_t rnic_credit_code(uint32_t receives)
{
    uint32_t code = CREDIT_CODES - 1;

    while (credit_counts[code] > receives)
        code--;
    return (uint8_t)code;
}

uint32_t rnic_credit_count(uint8_t code)
{
    WIRE_ASSERT(code <= WIRE_AETH_CODE);
    return code < CREDIT_CODES ? credit_counts[code] : UINT32_MAX;
}

uint8_t rnic_credit_of(const struct rnic_qp *qp)
{
    if (!qp->init.e2e_credits || qp->srq != NULL)
        return WIRE_AETH_NO_CREDITS;
    return rnic_credit_code(qp->rq.head - qp->rq.tail);
}
