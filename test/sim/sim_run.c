/* SPDX-License-Identifier: GPL-2.0-only */
/* A seed, once and again: the same bytes whatever is traced. */
#include "sim.h"

#include "sim_dice.h"
#include "wire_codec.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *sim_side_name(uint32_t side)
{
    return side == 0 ? "A" : "B";
}

const char *sim_opcode_name(enum rnic_wr_opcode opcode)
{
    static const char *const names[] = {"WRITE", "WRITE_WITH_IMM", "SEND", "SEND_WITH_IMM"};

    return names[opcode];
}

void sim_fail(struct sim *sim, const char *format, ...)
{
    va_list args;
    int n;

    if (sim->failed)
        return;
    sim->failed = true;
    n = snprintf(sim->why, sizeof sim->why, "at %ju ps: ", (uintmax_t)sim->now_ps);
    va_start(args, format);
    vsnprintf(sim->why + n, sizeof sim->why - (size_t)n, format, args);
    va_end(args);
}

void sim_say(const struct sim *sim, const char *format, ...)
{
    va_list args;

    if (!sim->verbose)
        return;
    printf("%15ju ", (uintmax_t)sim->now_ps);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
}

bool sim_spoil_now(struct sim *sim, enum sim_spoil spoil)
{
    if (WIRE_LIKELY(sim->spoil != spoil || sim->spoiled))
        return false;
    if (sim->spoil_in > 0) {
        sim->spoil_in--;
        return false;
    }
    sim->spoiled = true;
    sim_say(sim, "spoiled here");
    return true;
}

/* ---- what both worlds report ---- */

/* An answer says how many messages are done: all that it acknowledges, and none it refuses. */
static void run_check_msn(struct sim *sim, uint32_t side, const struct wire_frame *frame)
{
    const struct sim_flow *flow = NULL;
    uint32_t done = 0, end = 0, packets;
    bool refusal = (frame->syndrome & 0x60) != 0;

    for (uint32_t q = 0; q < sim->plan.n_qps; q++)
        if (sim->hosts[1 - side].queues[q].qpn == frame->dest_qpn)
            flow = &sim->plan.flows[1 - side][q];
    if (flow == NULL) {
        sim_fail(sim, "%s answers qpn %u", sim_side_name(side), frame->dest_qpn);
        return;
    }
    packets = (frame->psn.v - flow->psn.v + !refusal) & WIRE_PSN_MASK; /* taken, it says */
    while (done < flow->n_sends && end + flow->sends[done].packets <= packets)
        end += flow->sends[done++].packets;
    if (packets > flow->packets || frame->msn < done || frame->msn > flow->n_sends ||
        (refusal && frame->msn != done))
        sim_fail(sim, "%s answers %u packets with MSN %u, syndrome 0x%02x: %u messages are done",
                 sim_side_name(side), packets, frame->msn, frame->syndrome, done);
}

/* Memory is spoiled at the n-th frame that leaves. */
static void run_spoil_memory(struct sim *sim, uint32_t side)
{
    const struct sim_plan *plan = &sim->plan;
    const struct sim_region *target = &plan->flows[1 - side][0].target;

    if (sim_spoil_now(sim, SIM_SPOIL_GUARD))
        sim->hosts[side].memory[target->at + target->bytes] ^= 0x10;
}

void sim_frame_sent(struct sim *sim, uint32_t side, const struct wire_frame *frame,
                    uint32_t ready_classes, uint64_t now_ps)
{
    const char *name = wire_opcodes[frame->opcode].name;

    sim->seen.frames++;
    sim->counters[side].sent++;
    sim_hash(&sim->hash, now_ps << 1 | side);
    sim_hash(&sim->hash, (uint64_t)frame->psn.v << 32 | frame->dest_qpn << 8 | frame->opcode);
    sim_hash(&sim->hash, (uint64_t)frame->frame_bytes << 32 | (uint32_t)frame->ip_id << 16 |
                             (uint32_t)frame->tos << 8 | frame->bth_flags);
    sim_say(sim, "%s -> %s qpn %u psn %u, %u bytes%s", sim_side_name(side), name, frame->dest_qpn,
            frame->psn.v, frame->payload_bytes, frame->bth_flags & WIRE_BTH_ACKREQ ? ", ack" : "");
    if (name == NULL || frame->kind != WIRE_KIND_ROCE) {
        sim_fail(sim, "%s sends opcode 0x%02x", sim_side_name(side), frame->opcode);
        return;
    }
    if (!(ready_classes >> frame->prio & 1))
        sim_fail(sim, "%s sends in class %u, and it is paused", sim_side_name(side), frame->prio);
    if (frame->prio != frame->tos >> 5 || frame->src != side || frame->dst != 1 - side)
        sim_fail(sim, "%s sends class %u, ToS 0x%02x, from %u to %u", sim_side_name(side),
                 frame->prio, frame->tos, frame->src, frame->dst);
    if (frame->frame_bytes != wire_frame_length(frame->opcode, frame->flags, frame->payload_bytes))
        sim_fail(sim, "%s sends %u bytes with a payload of %u", sim_side_name(side),
                 frame->frame_bytes, frame->payload_bytes);
    if (frame->payload_bytes > sim->plan.mtu_bytes ||
        (frame->payload_bytes > 0 && sim->plan.phantom == !!(frame->flags & WIRE_FRAME_BYTES)))
        sim_fail(sim, "%s sends a payload of %u bytes, flags 0x%x", sim_side_name(side),
                 frame->payload_bytes, frame->flags);
    if (frame->opcode == WIRE_OP_ACKNOWLEDGE)
        run_check_msn(sim, side, frame);
    run_spoil_memory(sim, side);
}

void sim_event(struct sim *sim, uint32_t side, const struct rnic_event *event, uint64_t now_ps)
{
    uint64_t *hash = event->type >= RNIC_EVENT_PLACED ? &sim->trace_hash : &sim->hash;

    sim->now_ps = now_ps;
    sim_hash(hash, now_ps << 1 | side);
    sim_hash(hash, (uint64_t)event->type << 32 | event->qpn << 8 | event->block);
    if (event->time_ps > now_ps)
        sim_fail(sim, "%s: an event of %ju ps", sim_side_name(side), (uintmax_t)event->time_ps);
    if (event->type >= RNIC_EVENT_PLACED) {
        sim_hash(hash, event->time_ps ^ event->value << 20 ^ event->in_ps << 3);
        sim->traces++;
        return;
    }
    sim_hash(hash, event->cq);
    sim_host_event(&sim->hosts[side], event, now_ps);
}

void sim_events(struct sim *sim, uint32_t side, uint64_t now_ps)
{
    struct rnic_event event;

    while (rnic_event(sim->hosts[side].dev, now_ps, &event))
        sim_event(sim, side, &event, now_ps);
}

/* ---- the plan, for people ---- */

static void run_tell_flow(const struct sim *sim, uint32_t side, uint32_t q)
{
    const struct sim_flow *flow = &sim->plan.flows[side][q];

    sim_say(sim,
            "%s qp %u: %u sends, %ju packets from psn %u, %u receives (%u at once), queues "
            "of %u and %u%s",
            sim_side_name(side), q, flow->n_sends, (uintmax_t)flow->packets, flow->psn.v,
            flow->n_recvs, flow->recv_first, flow->sq_depth, flow->rq_depth,
            flow->overlap ? ", WRITEs overlap" : "");
    for (uint32_t i = 0; i < flow->n_sends; i++)
        sim_say(sim, "  %u: %s of %u bytes in %u pieces%s%s", i,
                sim_opcode_name(flow->sends[i].opcode), flow->sends[i].bytes, flow->sends[i].n,
                flow->sends[i].signaled ? ", signaled" : "",
                i == flow->fails_at ? ", to fail" : "");
}

static void run_tell(const struct sim *sim)
{
    static const char *const endings[] = {"ends well", "ends in silence", "ends refused",
                                          "ends not ready", "ends in a local error"};
    const struct sim_plan *plan = &sim->plan;
    const struct sim_link_plan *link = &plan->link;

    sim_say(sim, "seed %ju%s: %s, %s%s, MTU %u, %u queue pairs, timeout %u, retries %u",
            (uintmax_t)plan->seed, sim->trace ? ", traced" : "", endings[plan->ending],
            plan->fabric.used ? "engine" : "link",
            plan->fabric.used && plan->fabric.has_switch ? " with a switch" : "", plan->mtu_bytes,
            plan->n_qps, plan->timeout, plan->retry_cnt);
    sim_say(sim, "loss %g, damage %g, twice %g, late %g, CE %g, %u pauses, silent after %u",
            plan->fabric.used ? plan->fabric.loss : link->loss, link->corrupt, link->duplicate,
            link->reorder, link->mark, link->pauses, link->silent_after);
    for (uint32_t s = 0; s < SIM_SIDES; s++) {
        const struct sim_card *card = &plan->cards[s];

        sim_say(sim, "%s: cc %s, line %ju bit/s, %s", sim_side_name(s), card->cc->name,
                (uintmax_t)link->line[s].rate_bps, card->polls ? "polls" : "waits for events");
        for (size_t i = 0; i < rnic_param_count; i++)
            if (wire_param_get(&rnic_param_table[i], &card->params) != rnic_param_table[i].def)
                sim_say(sim, "  %s = %.0f", rnic_param_table[i].field,
                        wire_param_get(&rnic_param_table[i], &card->params));
        for (uint32_t q = 0; q < plan->n_qps; q++)
            run_tell_flow(sim, s, q);
    }
}

/* ---- one run, and the runs of a seed ---- */

/* What happened on the way, for the sums at the end. */
static void run_see(struct sim *sim)
{
    sim->seen.fabrics += sim->plan.fabric.used;
    sim->seen.errors += sim->plan.ending != SIM_ENDS_WELL;
    sim->seen.simulated_ps = sim->now_ps;
}

static void run_once(struct sim *sim, uint64_t seed, const struct sim_options *options, bool trace,
                     enum sim_spoil spoil)
{
    struct wire_rng rng = wire_rng_init(seed, 300);

    memset(sim, 0, sizeof *sim);
    sim->verbose = options->verbose;
    sim->trace = trace;
    sim->spoil = spoil;
    sim->spoil_in = spoil == SIM_SPOIL_HASH ? 0 : sim_dice_below(&rng, 3);
    if (!sim_plan_make(&sim->plan, seed))
        abort();
    if (sim_spoil_now(sim, SIM_SPOIL_HASH))
        sim->plan.link.line[0].delay_ps++;
    if (sim->verbose)
        run_tell(sim);
    if (sim->plan.fabric.used)
        sim_fabric_run(sim);
    else
        sim_link_run(sim);
    run_see(sim);
    sim_plan_free(&sim->plan);
}

static void run_compare(struct sim *sim, uint64_t hash, const char *what)
{
    if (!sim->failed && sim->hash != hash)
        sim_fail(sim, "the same seed gives another run: %s", what);
}

/* With tracing on, and for some seeds once more: nothing may change. */
static void run_again(struct sim *sim, uint64_t seed, const struct sim_options *options)
{
    uint64_t hash = sim->hash, trace_hash;

    run_once(sim, seed, options, true, SIM_SPOIL_NONE);
    run_compare(sim, hash, "with tracing on");
    trace_hash = sim->trace_hash;
    if (sim->failed || options->again == 0 || seed % options->again != 0)
        return;
    run_once(sim, seed, options, true, SIM_SPOIL_NONE);
    run_compare(sim, hash, "a second time");
    if (!sim->failed && sim->trace_hash != trace_hash)
        sim_fail(sim, "the same seed gives another trace");
}

struct sim_result sim_run_seed(uint64_t seed, const struct sim_options *options)
{
    static struct sim sim; /* too large for a stack */
    struct sim_result result = {0};
    bool hash = options->spoil == SIM_SPOIL_HASH;
    uint64_t first;

    run_once(&sim, seed, options, false, hash ? SIM_SPOIL_NONE : options->spoil);
    first = sim.hash;
    result.seen = sim.seen;
    if (!sim.failed && hash) {
        run_once(&sim, seed, options, false, SIM_SPOIL_HASH);
        run_compare(&sim, first, "a second time");
    }
    result.spoiled = sim.spoiled;
    if (!sim.failed && options->spoil == SIM_SPOIL_NONE)
        run_again(&sim, seed, options);
    result.failed = sim.failed;
    memcpy(result.why, sim.why, sizeof result.why);
    return result;
}
