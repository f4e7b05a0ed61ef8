/* SPDX-License-Identifier: GPL-2.0-only */
/* Where the bytes of a plan lie. */
#include "sim_dice.h"
#include "sim_plan.h"

#include <stdlib.h>
#include <string.h>

static uint32_t memory_take(uint32_t *end, uint32_t bytes)
{
    uint32_t at = *end;

    *end += bytes + SIM_GUARD_BYTES;
    return at;
}

/* Anywhere, also across page borders and close to the end of the address space. */
static uint64_t memory_va(struct wire_rng *rng, uint32_t bytes)
{
    uint64_t va = wire_rng_next(rng);

    if (sim_dice_one_in(rng, 4))
        return UINT64_MAX - bytes - sim_dice_below(rng, 3);
    return va >> 1 >> sim_dice_below(rng, 48);
}

/* Of what this side sends, and of what the peer fetches of it. */
static uint32_t memory_source_bytes(const struct sim_plan *plan, uint32_t side)
{
    uint32_t bytes = 1;

    for (uint32_t s = 0; s < SIM_SIDES; s++)
        for (uint32_t q = 0; q < plan->n_qps; q++)
            for (uint32_t i = 0; i < plan->flows[s][q].n_sends; i++) {
                const struct sim_send *send = &plan->flows[s][q].sends[i];
                bool here = (s == side) != (send->opcode == RNIC_WR_RDMA_READ);

                if (here && send->bytes > bytes)
                    bytes = send->bytes;
            }
    return bytes;
}

static void memory_source(struct sim_plan *plan, uint32_t side, struct wire_rng *rng, uint32_t *end)
{
    struct sim_card *card = &plan->cards[side];
    uint32_t bytes = memory_source_bytes(plan, side) + sim_dice_below(rng, 100);

    card->source.at = memory_take(end, bytes);
    card->source.bytes = bytes;
    card->source.va = memory_va(rng, bytes);
    card->words.bytes = 8 * SIM_WORDS;
    card->words.at = memory_take(end, card->words.bytes);
    card->words.va = memory_va(rng, card->words.bytes + 8) & ~UINT64_C(7);
    for (uint32_t q = 0; q < plan->n_qps; q++)
        for (uint32_t i = 0; i < plan->flows[side][q].n_sends; i++) {
            struct sim_send *send = &plan->flows[side][q].sends[i];

            for (uint32_t p = 0; p < send->n && !sim_plan_fetches(send->opcode); p++)
                send->piece[p].at =
                    card->source.at + sim_dice_below(rng, bytes - send->piece[p].bytes + 1);
        }
}

/* Where WRITEs of a flow go: anywhere in a region, or one behind the other. READs: anywhere. */
static void memory_target(struct sim_plan *plan, uint32_t from, uint32_t q, struct wire_rng *rng,
                          uint32_t *end)
{
    struct sim_flow *flow = &plan->flows[from][q];
    const struct sim_region *source = &plan->cards[1 - from].source;
    uint32_t bytes = 1, used = 0, largest = 0;

    for (uint32_t i = 0; i < flow->n_sends; i++) {
        const struct sim_send *send = &flow->sends[i];
        bool reads = send->opcode == RNIC_WR_RDMA_READ && send->reads_target;

        if (sim_plan_is_write(send->opcode))
            used += send->bytes;
        if ((sim_plan_is_write(send->opcode) || reads) && send->bytes > largest)
            largest = send->bytes;
    }
    bytes = flow->overlap || used < largest ? largest + 1 : used + 1;
    if (flow->overlap)
        bytes += sim_dice_below(rng, 64);
    flow->target = (struct sim_region){
        .at = memory_take(end, bytes), .bytes = bytes, .va = memory_va(rng, bytes)};
    used = 0;
    for (uint32_t i = 0; i < flow->n_sends; i++) {
        struct sim_send *send = &flow->sends[i];
        uint32_t anywhere = sim_dice_below(rng, UINT32_MAX);

        if (sim_plan_is_write(send->opcode)) {
            send->remote =
                flow->target.at + (flow->overlap ? anywhere % (bytes - send->bytes + 1) : used);
            used += send->bytes;
        } else if (send->opcode == RNIC_WR_RDMA_READ && send->reads_target) {
            send->remote = flow->target.at + anywhere % (bytes - send->bytes + 1);
        } else if (send->opcode == RNIC_WR_RDMA_READ) {
            send->remote = source->at + anywhere % (source->bytes - send->bytes + 1);
        }
    }
}

/* Pieces have their own bytes, with gaps, those of one list in any order. */
static void memory_pieces(struct sim_piece *pieces, uint32_t n, struct wire_rng *rng, uint32_t *end)
{
    uint32_t turn = sim_dice_below(rng, SIM_PIECES_MAX);

    for (uint32_t k = 0; k < n; k++) {
        struct sim_piece *piece = &pieces[(k + turn) % n];

        piece->at = *end;
        *end += piece->bytes + sim_dice_below(rng, 5);
    }
}

static void memory_close(struct sim_region *region, uint32_t start, struct wire_rng *rng,
                         uint32_t *end)
{
    *end += 1;
    region->at = start;
    region->bytes = *end - start;
    region->va = memory_va(rng, region->bytes);
    *end += SIM_GUARD_BYTES;
}

static void memory_results(struct sim_flow *flow, struct wire_rng *rng, uint32_t *end)
{
    uint32_t start = *end;

    for (uint32_t i = 0; i < flow->n_sends; i++)
        if (sim_plan_fetches(flow->sends[i].opcode))
            memory_pieces(flow->sends[i].piece, flow->sends[i].n, rng, end);
    memory_close(&flow->results, start, rng, end);
}

static void memory_slots(struct sim_pool *pool, struct wire_rng *rng, uint32_t *end)
{
    uint32_t start = *end;

    for (uint32_t i = 0; i < pool->n; i++)
        memory_pieces(pool->recvs[i].to, pool->recvs[i].n, rng, end);
    memory_close(&pool->slots, start, rng, end);
}

bool sim_plan_memory(struct sim_plan *plan, struct wire_rng *rng)
{
    uint32_t ends[SIM_SIDES];

    for (uint32_t s = 0; s < SIM_SIDES; s++) {
        ends[s] = SIM_GUARD_BYTES;
        memory_source(plan, s, rng, &ends[s]);
    }
    for (uint32_t s = 0; s < SIM_SIDES; s++) {
        struct sim_card *card = &plan->cards[s];

        for (uint32_t q = 0; q < plan->n_qps; q++) {
            memory_target(plan, 1 - s, q, rng, &ends[s]);
            memory_results(&plan->flows[s][q], rng, &ends[s]);
            memory_slots(&plan->pools[s][q], rng, &ends[s]);
        }
        memory_slots(&plan->pools[s][SIM_SHARED], rng, &ends[s]);
        card->arena_bytes = ends[s];
        card->before = malloc(ends[s]);
        card->after = malloc(ends[s]);
        if (card->before == NULL || card->after == NULL)
            return false;
        sim_dice_fill(rng, card->before, ends[s]);
        for (uint32_t w = 0; w < SIM_WORDS; w++) { /* small: comparisons with it may hit */
            uint64_t word = sim_dice_below(rng, 4);

            memcpy(card->before + card->words.at + 8 * w, &word, sizeof word);
        }
        memcpy(card->after, card->before, ends[s]);
    }
    return true;
}
