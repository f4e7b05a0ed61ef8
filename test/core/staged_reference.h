/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * The plain way to model the card: one event per stage, every queue a queue.
 *
 * It shares no code with the card. Work requests are WRITEs from one card to another over one wire,
 * all tables on chip, nothing lost. The card computes the same without an event per stage;
 * staged_test.c prints how far the two are apart.
 */
#ifndef STAGED_REFERENCE_H
#define STAGED_REFERENCE_H

#include "rnic_params.h"

struct staged_message {
    uint32_t qp; /* 0 .. STAGED_QPS - 1 */
    uint32_t bytes;
    uint64_t post_ps;   /* not before that of the message before it */
    uint64_t placed_ps; /* out: last byte visible at the receiver */
    uint64_t acked_ps;  /* out: completion visible at the sender */
};

#define STAGED_QPS 16u
#define STAGED_MESSAGES 4096u

/** Run all messages to their end and fill placed_ps and acked_ps. */
void staged_run(const struct rnic_params *params, uint32_t mtu, uint64_t line_bps,
                uint64_t delay_ps, struct staged_message *messages, uint32_t n);

#endif
