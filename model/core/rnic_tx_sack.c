/* SPDX-License-Identifier: GPL-2.0-only */
#include "rnic_tx_sack.h"

#include <string.h>

static size_t sack_bytes(const struct rnic_tx_sack *sack)
{
    return ((size_t)sack->mask + 1) / 8;
}

bool rnic_tx_sack_open(struct rnic_tx_sack *sack, struct rnic_mem *mem, uint32_t packets)
{
    uint32_t n = 64;

    while (n < packets)
        n *= 2;
    *sack = (struct rnic_tx_sack){.mask = n - 1};
    sack->bits = rnic_mem_alloc(mem, sack_bytes(sack));
    return sack->bits != NULL;
}

void rnic_tx_sack_close(struct rnic_tx_sack *sack, struct rnic_mem *mem)
{
    if (sack->bits != NULL)
        rnic_mem_free(mem, sack->bits, sack_bytes(sack));
    *sack = (struct rnic_tx_sack){0};
}

void rnic_tx_sack_reset(struct rnic_tx_sack *sack, wire_psn una)
{
    if (sack->bits == NULL)
        return;
    memset(sack->bits, 0, sack_bytes(sack));
    sack->recovering = sack->oldest = false;
    sack->newest = una;
}

static bool sack_has(const struct rnic_tx_sack *sack, wire_psn psn)
{
    uint32_t at = psn.v & sack->mask;

    return (sack->bits[at / 64] >> (at % 64) & 1) != 0;
}

static void sack_begin(struct rnic_tx_sack *sack, wire_psn una, wire_psn sent)
{
    sack->recovering = true;
    sack->recover = sent;
    sack->next = una;
}

bool rnic_tx_sack_report(struct rnic_tx_sack *sack, wire_psn una, wire_psn psn, wire_psn sent)
{
    uint32_t at = psn.v & sack->mask;
    wire_psn lost;

    WIRE_ASSERT(wire_psn_diff(psn, una) > 0 && wire_psn_diff(sent, psn) > 0);
    if ((uint32_t)wire_psn_diff(psn, una) > sack->mask)
        return false; /* a READ in between takes more PSNs than there are bits */
    if (!sack->recovering)
        sack_begin(sack, una, sent);
    sack->bits[at / 64] |= (uint64_t)1 << (at % 64);
    if (wire_psn_diff(psn, sack->newest) > 0)
        sack->newest = psn;
    return rnic_tx_sack_lost(sack, una, &lost);
}

void rnic_tx_sack_again(struct rnic_tx_sack *sack, wire_psn una, wire_psn sent)
{
    sack_begin(sack, una, sent);
    sack->oldest = true;
    sack->oldest_psn = una;
}

void rnic_tx_sack_advance(struct rnic_tx_sack *sack, wire_psn before, wire_psn una)
{
    uint32_t n = (uint32_t)wire_psn_diff(una, before);

    if (n > sack->mask)
        memset(sack->bits, 0, sack_bytes(sack));
    else
        for (; before.v != una.v; before = wire_psn_add(before, 1)) {
            uint32_t at = before.v & sack->mask;

            sack->bits[at / 64] &= ~((uint64_t)1 << (at % 64));
        }
    if (wire_psn_diff(una, sack->newest) > 0)
        sack->newest = una;
    if (sack->recovering && wire_psn_diff(una, sack->recover) >= 0)
        sack->recovering = false;
}

bool rnic_tx_sack_lost(struct rnic_tx_sack *sack, wire_psn una, wire_psn *psn)
{
    if (!sack->recovering)
        return false;
    if (wire_psn_diff(una, sack->next) > 0)
        sack->next = una;
    if (sack->oldest && sack->oldest_psn.v == una.v) {
        *psn = una;
        return true;
    }
    for (; wire_psn_diff(sack->next, sack->newest) < 0; sack->next = wire_psn_add(sack->next, 1))
        if (!sack_has(sack, sack->next)) {
            *psn = sack->next;
            return true;
        }
    return false;
}

void rnic_tx_sack_sent(struct rnic_tx_sack *sack, wire_psn psn, uint32_t psns)
{
    sack->next = wire_psn_add(psn, psns);
    sack->oldest = false;
}
