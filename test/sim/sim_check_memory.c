/* SPDX-License-Identifier: GPL-2.0-only */
/* What must be true of memory: of each message that is done, and of every byte in the end. */
#include "sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- for people ---- */

static bool where_in(const struct sim_region *region, uint32_t at, const char *name, uint32_t q,
                     char *text, size_t size)
{
    if (at - region->at >= region->bytes)
        return false;
    snprintf(text, size, "%s of qp %u + %u", name, q, at - region->at);
    return true;
}

/* Where a byte of an arena lies. */
static void where(const struct sim *sim, uint32_t side, uint32_t at, char *text, size_t size)
{
    const struct sim_plan *plan = &sim->plan;

    if (where_in(&plan->cards[side].source, at, "source", 0, text, size) ||
        where_in(&plan->cards[side].words, at, "words", 0, text, size) ||
        where_in(&plan->pools[side][SIM_SHARED].slots, at, "shared receives", 0, text, size))
        return;
    for (uint32_t q = 0; q < plan->n_qps; q++)
        if (where_in(&plan->flows[1 - side][q].target, at, "target", q, text, size) ||
            where_in(&plan->flows[side][q].results, at, "results", q, text, size) ||
            where_in(&plan->pools[side][q].slots, at, "receives", q, text, size))
            return;
    snprintf(text, size, "guard bytes at %u", at);
}

static void differs(struct sim *sim, uint32_t side, uint32_t at, uint8_t wanted, const char *when)
{
    char text[64];

    where(sim, side, at, text, sizeof text);
    sim_fail(sim, "%s memory, %s: %s: 0x%02x, was 0x%02x, should be 0x%02x", sim_side_name(side),
             text, when, sim->hosts[side].memory[at], sim->plan.cards[side].before[at], wanted);
}

void sim_check_bytes(struct sim *sim, uint32_t side, uint32_t at, const uint8_t *wanted, uint32_t n,
                     const char *when)
{
    const uint8_t *memory = sim->hosts[side].memory + at;

    if (sim->plan.phantom || memcmp(memory, wanted, n) == 0)
        return;
    for (uint32_t i = 0; i < n; i++)
        if (memory[i] != wanted[i]) {
            differs(sim, side, at + i, wanted[i], when);
            return;
        }
}

/* ---- one message ---- */

void sim_check_received(struct sim *sim, uint32_t side, const struct sim_recv *recv, uint32_t skip,
                        const uint8_t *message, uint32_t bytes)
{
    for (uint32_t p = 0; p < recv->n && bytes > 0; p++) {
        uint32_t over = recv->to[p].bytes < skip ? recv->to[p].bytes : skip;
        uint32_t n = recv->to[p].bytes - over < bytes ? recv->to[p].bytes - over : bytes;

        sim_check_bytes(sim, side, recv->to[p].at + over, message, n, "completed, but not there");
        skip -= over;
        message += n;
        bytes -= n;
    }
}

void sim_check_message(struct sim *sim, uint32_t from, uint32_t q, uint32_t index)
{
    static uint8_t message[SIM_MESSAGE_MAX];
    const struct sim_flow *flow = &sim->plan.flows[from][q];
    const struct sim_send *send = &flow->sends[index];
    const struct sim_pool *pool = &sim->plan.pools[1 - from][q];

    if (sim->plan.qps[q].type != RNIC_QPT_RC || sim_plan_is_local(send->opcode))
        return;
    if (sim_plan_fetches(send->opcode)) {
        sim_model_fetched(sim, from, q, index);
        return;
    }
    sim_model_gather(sim, from, send, message);
    if (sim_plan_is_write(send->opcode)) {
        if (!flow->overlap) /* a later one may lie over it already */
            sim_check_bytes(sim, 1 - from, send->remote, message, send->bytes,
                            "completed, but not there");
    } else if (!sim->plan.qps[q].shared[1 - from]) {
        sim_check_received(sim, 1 - from, &pool->recvs[send->consumer], 0, message, send->bytes);
    }
}

/* ---- the end ---- */

enum check_class { CHECK_AFTER, CHECK_EITHER /* before or after */, CHECK_ANY };

static void class_pieces(uint8_t *classes, const struct sim_piece *pieces, uint32_t n,
                         uint32_t skip, enum check_class class)
{
    for (uint32_t p = 0; p < n; p++) {
        uint32_t over = pieces[p].bytes < skip ? pieces[p].bytes : skip;

        memset(classes + pieces[p].at + over, (int)class, pieces[p].bytes - over);
        skip -= over;
    }
}

/* May bytes of receives that did not complete have been written, as parts of messages? */
static bool class_pool_parts(const struct sim *sim, uint32_t side, uint32_t p)
{
    for (uint32_t q = 0; q < sim->plan.n_qps; q++)
        if (sim_plan_pool(&sim->plan, side, q) == p && !sim_expect_well(sim, 1 - side, q))
            return true;
    return false;
}

static void class_pool(const struct sim *sim, uint32_t side, uint32_t p, uint8_t *classes)
{
    const struct sim_pool *pool = &sim->plan.pools[side][p];
    const struct sim_recvs *recvs = &sim->hosts[side].recvs[p];
    bool own = p != SIM_SHARED && sim->plan.qps[p].type == RNIC_QPT_RC, last = false;

    if (!class_pool_parts(sim, side, p))
        return;
    for (uint32_t i = 0; i < recvs->posted; i++) {
        uint32_t skip = recvs->state[i] == SIM_RECV_DONE ? recvs->bytes[i] : 0;

        if (own && !sim->hosts[side].queues[p].gone && (recvs->state[i] == SIM_RECV_DONE || last))
            continue; /* one message at a time: the others are untouched */
        class_pieces(classes, pool->recvs[i].to, pool->recvs[i].n, skip, CHECK_ANY);
        last = true;
    }
}

static void class_flow(struct sim *sim, uint32_t side, uint32_t q, uint8_t *classes)
{
    const struct sim_flow *in = &sim->plan.flows[1 - side][q];
    const struct sim_flow *out = &sim->plan.flows[side][q];
    bool well = sim_expect_well(sim, side, q);

    sim_model_write(sim, 1 - side, q, in->n_sends);
    if (!well)
        memset(classes + in->target.at, CHECK_EITHER, in->target.bytes);
    for (uint32_t i = 0; i < out->n_sends && !well; i++)
        if (sim_plan_fetches(out->sends[i].opcode) && !(sim->progress[side][q].through >> i & 1))
            class_pieces(classes, out->sends[i].piece, out->sends[i].n, 0, CHECK_ANY);
}

/* What an incident took the key of must be as it was then. */
static void memory_revoked(struct sim *sim, uint32_t side, uint32_t q)
{
    const struct sim_incident *incident = &sim->plan.qps[q].incident;
    struct sim_host *host = &sim->hosts[side];
    const struct sim_region *region =
        incident->kind == SIM_INCIDENT_NO_SOURCE    ? &sim->plan.cards[side].source
        : incident->kind == SIM_INCIDENT_NO_TARGET  ? &sim->plan.flows[1 - side][q].target
        : incident->kind == SIM_INCIDENT_NO_RESULTS ? &sim->plan.flows[side][q].results
        : incident->kind == SIM_INCIDENT_NO_SLOTS   ? &sim->plan.pools[side][q].slots
                                                    : NULL;

    if (region == NULL || incident->side != side || !host->queues[q].broken)
        return;
    if (sim->spoil == SIM_SPOIL_REVOKED && !sim->plan.phantom) {
        sim->spoil_in = 0;
        if (sim_spoil_now(sim, SIM_SPOIL_REVOKED))
            host->memory[region->at + region->bytes / 2] ^= 4;
    }
    sim_check_bytes(sim, side, region->at, host->kept + region->at, region->bytes,
                    "written without a key");
}

static void memory_spoil(struct sim *sim, uint32_t side, const uint8_t *classes)
{
    const struct sim_card *card = &sim->plan.cards[side];

    for (uint32_t i = 0; i < card->arena_bytes && sim->spoil == SIM_SPOIL_FLIP; i++)
        if (classes[i] == CHECK_AFTER && card->before[i] != card->after[i] &&
            sim->hosts[side].memory[i] == card->after[i] && sim_spoil_now(sim, SIM_SPOIL_FLIP))
            sim->hosts[side].memory[i] ^= 0x40;
}

void sim_check_memory(struct sim *sim, uint32_t side)
{
    const struct sim_card *card = &sim->plan.cards[side];
    const uint8_t *memory = sim->hosts[side].memory;
    uint8_t *classes;

    if (sim->plan.phantom) {
        if (memcmp(memory, card->before, card->arena_bytes) != 0)
            sim_fail(sim, "%s memory: phantom data was written", sim_side_name(side));
        return;
    }
    classes = calloc(card->arena_bytes, 1);
    if (classes == NULL)
        abort();
    memset(classes + card->words.at, CHECK_ANY, card->words.bytes); /* see sim_model_atomics */
    for (uint32_t q = 0; q < sim->plan.n_qps; q++)
        class_flow(sim, side, q, classes);
    for (uint32_t p = 0; p < SIM_POOLS; p++)
        class_pool(sim, side, p, classes);
    memory_spoil(sim, side, classes);
    for (uint32_t i = 0; i < card->arena_bytes; i++) {
        if (WIRE_LIKELY(memory[i] == card->after[i]) || classes[i] == CHECK_ANY ||
            (classes[i] == CHECK_EITHER && memory[i] == card->before[i]))
            continue;
        differs(sim, side, i, card->after[i], "at the end");
        break;
    }
    free(classes);
    for (uint32_t q = 0; q < sim->plan.n_qps; q++)
        memory_revoked(sim, side, q);
    sim_model_atomics(sim, side);
}
