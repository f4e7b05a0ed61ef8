/* SPDX-License-Identifier: GPL-2.0-only */
/* What the line does to a frame: drawn by chance, or as a script says. */
#include "sim.h"
#include "sim_dice.h"
#include "wire_opcode.h"

#include <stdlib.h>
#include <string.h>

const char *sim_line_fault_name(uint32_t kind)
{
    static const char *const names[SIM_FAULTS] = {"lost",  "FCS wrong",          "damaged",  "late",
                                                  "twice", "later than a timer", "CE marked"};

    return names[kind];
}

static void line_note(struct sim *sim, const struct sim_fault *fault)
{
    struct sim_faults *faults = sim->faults;
    uint64_t *const seen[SIM_FAULTS] = {
        &sim->seen.fault_loss,  &sim->seen.fault_fcs,   &sim->seen.fault_hit, &sim->seen.fault_late,
        &sim->seen.fault_twice, &sim->seen.fault_stall, &sim->seen.fault_mark};

    (*seen[fault->kind])++;
    sim_say(sim, "  frame %u of %s%s: %s", fault->frame, sim_side_name(fault->side),
            fault->copy > 0 ? ", a copy" : "", sim_line_fault_name(fault->kind));
    if (faults == NULL)
        return;
    if (faults->n == faults->cap) {
        faults->cap = faults->cap ? 2 * faults->cap : 64;
        faults->list = realloc(faults->list, faults->cap * sizeof faults->list[0]);
        if (faults->list == NULL)
            abort();
    }
    faults->list[faults->n++] = *fault;
}

/* The value a fault of this kind has. */
static uint64_t line_value(const struct sim_link_plan *plan, struct wire_rng *rng, uint32_t kind)
{
    switch (kind) {
    case SIM_FAULT_LATE:
    case SIM_FAULT_TWICE:
        return sim_dice_between(rng, 0, plan->jitter_ps);
    case SIM_FAULT_STALL:
        return sim_dice_between(rng, plan->stall_ps, 2 * plan->stall_ps);
    default:
        return wire_rng_next(rng);
    }
}

static uint32_t line_scripted(const struct sim_link_plan *plan, uint32_t side, uint32_t frame,
                              uint32_t copy, struct sim_fault *list)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < plan->n_script && n < SIM_FAULTS; i++)
        if (plan->script[i].side == side && plan->script[i].frame == frame &&
            plan->script[i].copy == copy)
            list[n++] = plan->script[i];
    return n;
}

static uint32_t line_drawn(struct sim *sim, struct wire_rng *rng, const struct sim_fault *which,
                           struct sim_fault *list)
{
    const struct sim_link_plan *plan = &sim->plan.link;
    uint32_t n = 0;

    for (uint32_t kind = 0; kind < SIM_FAULTS; kind++) {
        if (!sim_dice_chance(rng, plan->chance[kind]) ||
            (kind == SIM_FAULT_STALL && sim->seen.fault_stall >= plan->stalls))
            continue;
        list[n] = *which;
        list[n].kind = (uint16_t)kind;
        list[n++].value = line_value(plan, rng, kind);
    }
    return n;
}

uint32_t sim_line_faults(struct sim *sim, struct wire_rng *rng, uint32_t side, uint32_t frame,
                         uint32_t copy, struct sim_fault list[SIM_FAULTS])
{
    const struct sim_fault which = {.side = side, .frame = frame, .copy = (uint16_t)copy};
    uint32_t n = sim->plan.link.scripted ? line_scripted(&sim->plan.link, side, frame, copy, list)
                                         : line_drawn(sim, rng, &which, list);

    for (uint32_t i = 0; i < n; i++)
        line_note(sim, &list[i]);
    return n;
}

size_t sim_line_hit(uint64_t value, uint8_t *bytes, size_t n)
{
    struct wire_rng rng = {value};
    uint32_t bits = 1 + sim_dice_below(&rng, 3);

    if (sim_dice_one_in(&rng, 6))
        return sim_dice_below(&rng, (uint32_t)n + 1); /* cut off */
    for (; bits > 0; bits--) {
        uint32_t at = sim_dice_below(&rng, 8 * (uint32_t)n);

        bytes[at / 8] ^= (uint8_t)(1u << at % 8);
    }
    return n;
}

/* The extended headers; what no check of the codec covers is left out. */
static bool line_same_headers(const struct wire_frame *a, const struct wire_frame *b, uint16_t has)
{
    return (!(has & WIRE_HAS_AETH) || (a->syndrome == b->syndrome && a->msn == b->msn)) &&
           (!(has & (WIRE_HAS_IMM | WIRE_HAS_IETH)) || a->imm == b->imm) &&
           (!(has & WIRE_HAS_DETH) ||
            (a->deth.qkey == b->deth.qkey && a->deth.src_qpn == b->deth.src_qpn)) &&
           (!(has & WIRE_HAS_RETH) ||
            (a->va == b->va && a->rkey == b->rkey && a->dma_bytes == b->dma_bytes)) &&
           (!(has & WIRE_HAS_ATOMIC) || (a->va == b->va && a->rkey == b->rkey &&
                                         a->swap_add == b->swap_add && a->compare == b->compare)) &&
           (!(has & WIRE_HAS_ATOMIC_ACK) || a->orig == b->orig);
}

bool sim_line_same(const struct wire_frame *a, const struct wire_frame *b)
{
    const uint8_t free_flags = WIRE_BTH_FECN | WIRE_BTH_BECN; /* not under the ICRC */

    return a->kind == b->kind && a->opcode == b->opcode && a->psn.v == b->psn.v &&
           a->dest_qpn == b->dest_qpn && a->pkey == b->pkey && a->src == b->src &&
           a->dst == b->dst &&
           ((a->flags & WIRE_FRAME_ROCE_V1) != 0 || a->udp_sport == b->udp_sport) &&
           (a->bth_flags | free_flags) == (b->bth_flags | free_flags) &&
           line_same_headers(a, b, wire_opcodes[a->opcode].has) &&
           a->payload_bytes == b->payload_bytes &&
           (!(a->flags & WIRE_FRAME_BYTES) ||
            memcmp(a->payload, b->payload, a->payload_bytes) == 0);
}
