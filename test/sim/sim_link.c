/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Two cards and a bad line: nothing but the cards' contract, a queue ordered by time, and faults.
 * Also the caller the contract describes: MACs that pull, one timer a card, events drained.
 */
#include "sim.h"
#include "sim_dice.h"
#include "wire_codec.h"

#include <stdlib.h>
#include <string.h>

#define STEPS_MAX 400000u
#define IDLE_POLLS_MAX 1000u
#define POISON 0xA5
#define CLASSES 0xFFu

struct link_entry {
    uint64_t time_ps, order;
    uint32_t to;
    struct wire_frame *frame;
};

struct link_mac { /* and the line that leaves it */
    struct wire_rng rng, faults;
    uint64_t free_ps;
    uint64_t toggle_ps;
    uint32_t ready; /* classes not paused */
    uint32_t pauses;
    uint32_t sent;
    uint64_t empty_ps; /* last pull in vain */
};

struct link {
    struct sim *sim;
    struct link_mac macs[SIM_SIDES];
    struct link_entry *heap;
    uint32_t n, cap;
    uint64_t arrivals;
    uint32_t sent;             /* frames of both sides, for silent_after */
    struct link_frame *frames; /* all that exist */
};

/* Each its own allocation, so that a sanitizer sees every slip. */
struct link_frame {
    struct link_frame *next, **from;
    struct wire_frame frame;
};

/* ---- frames ---- */

static struct wire_frame *frame_new(struct link *link)
{
    struct link_frame *fresh = malloc(sizeof *fresh);
    uint8_t *payload = malloc(link->sim->plan.mtu_bytes);

    if (fresh == NULL || payload == NULL)
        abort();
    memset(&fresh->frame, POISON, sizeof fresh->frame);
    memset(payload, POISON, link->sim->plan.mtu_bytes);
    fresh->frame.next = NULL;
    fresh->frame.kind = WIRE_KIND_ROCE;
    fresh->frame.flags = 0;
    fresh->frame.payload = payload;
    fresh->next = link->frames;
    fresh->from = &link->frames;
    if (fresh->next != NULL)
        fresh->next->from = &fresh->next;
    link->frames = fresh;
    return &fresh->frame;
}

static void frame_free(struct wire_frame *frame)
{
    struct link_frame *gone =
        (struct link_frame *)(void *)((char *)frame - offsetof(struct link_frame, frame));

    *gone->from = gone->next;
    if (gone->next != NULL)
        gone->next->from = gone->from;
    free(frame->payload);
    free(gone);
}

static struct wire_frame *frame_copy(struct link *link, const struct wire_frame *frame)
{
    struct wire_frame *copy = frame_new(link);
    uint8_t *payload = copy->payload;

    *copy = *frame;
    copy->payload = payload;
    copy->next = NULL;
    if (frame->flags & WIRE_FRAME_BYTES)
        memcpy(payload, frame->payload, frame->payload_bytes);
    return copy;
}

/* ---- the queue ---- */

static bool entry_less(const struct link_entry *a, const struct link_entry *b)
{
    return a->time_ps != b->time_ps ? a->time_ps < b->time_ps : a->order < b->order;
}

static void queue_push(struct link *link, uint64_t time_ps, uint32_t to, struct wire_frame *frame)
{
    struct link_entry fresh = {time_ps, link->arrivals++, to, frame};
    uint32_t at = link->n++;

    if (link->n > link->cap) {
        link->cap = link->cap ? 2 * link->cap : 64;
        link->heap = realloc(link->heap, link->cap * sizeof link->heap[0]);
        if (link->heap == NULL)
            abort();
    }
    for (; at > 0 && entry_less(&fresh, &link->heap[(at - 1) / 2]); at = (at - 1) / 2)
        link->heap[at] = link->heap[(at - 1) / 2];
    link->heap[at] = fresh;
}

static struct link_entry queue_pop(struct link *link)
{
    struct link_entry first = link->heap[0], last = link->heap[--link->n];
    uint32_t at = 0, child;

    while ((child = 2 * at + 1) < link->n) {
        if (child + 1 < link->n && entry_less(&link->heap[child + 1], &link->heap[child]))
            child++;
        if (!entry_less(&link->heap[child], &last))
            break;
        link->heap[at] = link->heap[child];
        at = child;
    }
    link->heap[at] = last;
    return first;
}

/* ---- bytes: encode, hit, decode ---- */

/* Through bytes and back, hit or whole. NULL: the codec discarded it. */
static struct wire_frame *bytes_transit(struct link *link, struct wire_frame *frame,
                                        const struct sim_fault *hit)
{
    static uint8_t bytes[4096 + WIRE_MAX_HEADER_BYTES];
    struct sim *sim = link->sim;
    size_t n = wire_frame_encode(frame, NULL, bytes, sizeof bytes);
    struct wire_frame *decoded = frame_new(link);
    enum wire_drop drop;

    if (n + WIRE_FCS_BYTES != frame->frame_bytes)
        sim_fail(sim, "frame of %u bytes has %zu on the wire", frame->frame_bytes, n);
    if (hit != NULL)
        n = sim_line_hit(hit->value, bytes, n);
    drop = wire_frame_decode(decoded, NULL, bytes, n, (frame->flags & WIRE_FRAME_BYTES) != 0);
    if (drop == WIRE_DROP_NONE && !sim_line_same(frame, decoded))
        sim_fail(sim, "a %s frame passed the decoder: %s psn %u",
                 hit != NULL ? "damaged" : "changed", wire_opcodes[frame->opcode].name,
                 frame->psn.v);
    if (drop != WIRE_DROP_NONE && hit == NULL)
        sim_fail(sim, "the decoder drops a whole frame: %s", wire_drop_name(drop));
    frame_free(frame);
    if (drop == WIRE_DROP_NONE)
        return decoded;
    frame_free(decoded);
    return NULL;
}

/* ---- faults ---- */

/* One copy of a frame goes to the other side, or does not. Takes it. */
static void line_copy(struct link *link, uint32_t from, struct wire_frame *frame, uint64_t when_ps,
                      const struct sim_fault *faults, uint32_t n)
{
    const struct sim_link_plan *plan = &link->sim->plan.link;
    const struct sim_fault *hit = NULL;
    bool lost = link->sent > plan->silent_after;

    for (uint32_t i = 0; i < n; i++) {
        lost |= faults[i].kind == SIM_FAULT_LOSS;
        if (faults[i].kind == SIM_FAULT_LATE || faults[i].kind == SIM_FAULT_STALL)
            when_ps += faults[i].value;
        if (faults[i].kind == SIM_FAULT_MARK && (frame->tos & WIRE_ECN_MASK) != WIRE_ECN_NOT_ECT)
            frame->tos |= WIRE_ECN_CE;
        if (faults[i].kind == SIM_FAULT_FCS)
            frame->flags |= WIRE_FRAME_CORRUPT; /* the FCS says so */
        if (faults[i].kind == SIM_FAULT_HIT)
            hit = &faults[i];
    }
    if (lost) {
        frame_free(frame);
        return;
    }
    if (!(frame->flags & WIRE_FRAME_CORRUPT) && (hit != NULL || plan->wire)) {
        frame = bytes_transit(link, frame, hit);
        if (frame == NULL)
            return;
    }
    queue_push(link, when_ps, 1 - from, frame);
}

static void line_send(struct link *link, uint32_t from, struct wire_frame *frame)
{
    const struct sim_line *line = &link->sim->plan.link.line[from];
    struct sim *sim = link->sim;
    struct link_mac *mac = &link->macs[from];
    struct sim_fault faults[SIM_FAULTS];
    uint32_t n, number = mac->sent++;
    uint64_t arrival_ps =
        sim->now_ps + line->delay_ps +
        wire_line_time_ps(frame->frame_bytes + WIRE_PREAMBLE_BYTES, line->rate_bps);

    mac->free_ps =
        sim->now_ps + wire_line_time_ps(frame->frame_bytes + WIRE_GAP_BYTES, line->rate_bps);
    link->sent++;
    for (uint32_t copy = 0; frame != NULL; copy++) {
        struct wire_frame *next = NULL;
        uint64_t later_ps = arrival_ps;

        n = sim_line_faults(sim, &mac->faults, from, number, copy, faults);
        for (uint32_t i = 0; i < n; i++)
            if (faults[i].kind == SIM_FAULT_TWICE) {
                next = frame_copy(link, frame);
                later_ps += faults[i].value;
            }
        line_copy(link, from, frame, arrival_ps, faults, n);
        frame = next;
        arrival_ps = later_ps;
    }
}

/* ---- the MACs ---- */

static void mac_pull(struct link *link, uint32_t side)
{
    struct sim *sim = link->sim;
    struct link_mac *mac = &link->macs[side];
    struct rnic_device *dev = sim->hosts[side].dev;
    struct wire_frame *frame = frame_new(link), *spare = NULL;
    bool sent = rnic_tx(dev, sim->now_ps, mac->ready, &frame, &spare);

    if (spare != NULL)
        frame_free(spare);
    if (sent) {
        sim_frame_sent(sim, side, frame, mac->ready, sim->now_ps);
        line_send(link, side, frame);
    } else if (frame != NULL) { /* else the card holds it: another class may have one too */
        frame_free(frame);
        /* Once it may be: a pull that finds a key gone leaves a NAK for the next. */
        if (rnic_tx_next(dev, mac->ready) <= sim->now_ps && mac->empty_ps == sim->now_ps)
            sim_fail(sim, "%s: rnic_tx_next says now, and rnic_tx has nothing",
                     sim_side_name(side));
        mac->empty_ps = sim->now_ps;
    }
    sim_events(sim, side, sim->now_ps);
}

static uint64_t mac_next_ps(const struct link *link, uint32_t side)
{
    const struct link_mac *mac = &link->macs[side];
    uint64_t next_ps = rnic_tx_next(link->sim->hosts[side].dev, mac->ready);

    return wire_max_ps(wire_max_ps(next_ps, mac->free_ps), link->sim->now_ps);
}

/* A pause begins or ends. */
static void mac_toggle(struct link *link, uint32_t side)
{
    const struct sim_link_plan *plan = &link->sim->plan.link;
    struct link_mac *mac = &link->macs[side];

    if (mac->ready == CLASSES) {
        link->sim->seen.pauses++;
        mac->ready = sim_dice_one_in(&mac->rng, 3) ? 0 : sim_dice_below(&mac->rng, CLASSES + 1);
        mac->toggle_ps += sim_dice_between(&mac->rng, 1, plan->pause_ps);
        return;
    }
    mac->ready = CLASSES;
    mac->toggle_ps = ++mac->pauses < plan->pauses
                         ? mac->toggle_ps + sim_dice_between(&mac->rng, 1, plan->run_ps)
                         : WIRE_NEVER;
}

/* ---- arrivals ---- */

/* Data of a flow whose bytes nothing else will cover: worth spoiling. */
static bool link_spoilable(const struct sim *sim, const struct link_entry *entry)
{
    uint32_t q;

    if ((sim->spoil != SIM_SPOIL_PLACEMENT && sim->spoil != SIM_SPOIL_CORRUPT) || sim->spoiled ||
        !(entry->frame->flags & WIRE_FRAME_BYTES) || entry->frame->payload_bytes == 0)
        return false;
    q = sim_host_find(&sim->hosts[entry->to], entry->frame->dest_qpn);
    return q != SIM_NONE && sim_expect_well(sim, entry->to, q) &&
           !sim->plan.flows[1 - entry->to][q].overlap &&
           sim->plan.qps[q].recovery != RNIC_RECOVER_GO_BACK_0;
}

/* Hand a frame to its card, and spoil what comes of it. */
static enum wire_drop link_receive_spoiled(struct sim *sim, const struct link_entry *entry)
{
    struct sim_host *host = &sim->hosts[entry->to];
    uint32_t bytes = sim->plan.cards[entry->to].arena_bytes;
    uint8_t *kept = malloc(bytes);
    enum wire_drop drop;

    if (kept == NULL)
        abort();
    memcpy(kept, host->memory, bytes);
    if (sim->spoil == SIM_SPOIL_CORRUPT)
        entry->frame->payload[0] ^= 1;
    drop = rnic_rx(host->dev, entry->frame, sim->now_ps);
    if (memcmp(kept, host->memory, bytes) == 0) {
        /* nothing was written: no chance */
    } else if (sim_spoil_now(sim, SIM_SPOIL_PLACEMENT)) {
        memcpy(host->memory, kept, bytes);
    } else if (sim->spoil == SIM_SPOIL_CORRUPT) {
        sim->spoil_in = 0;
        (void)sim_spoil_now(sim, SIM_SPOIL_CORRUPT);
    }
    free(kept);
    return drop;
}

static void link_deliver(struct link *link)
{
    struct link_entry entry = queue_pop(link);
    struct sim *sim = link->sim;
    enum wire_drop drop;

    sim_frame_arrives(sim, entry.to, entry.frame);
    if (link_spoilable(sim, &entry))
        drop = link_receive_spoiled(sim, &entry);
    else
        drop = rnic_rx(sim->hosts[entry.to].dev, entry.frame, sim->now_ps);
    sim->counters[entry.to].delivered++;
    sim->counters[entry.to].drops[drop]++;
    if (drop != WIRE_DROP_NONE)
        sim_say(sim, "%s drops: %s", sim_side_name(entry.to), wire_drop_name(drop));
    if (sim_spoil_now(sim, SIM_SPOIL_LEAK))
        queue_push(link, WIRE_NEVER, entry.to, entry.frame);
    else
        frame_free(entry.frame);
    sim_events(sim, entry.to, sim->now_ps);
}

/* ---- the loop ---- */

static uint64_t link_next_ps(const struct link *link)
{
    const struct sim *sim = link->sim;
    uint64_t next_ps = link->n > 0 ? link->heap[0].time_ps : WIRE_NEVER;

    for (uint32_t s = 0; s < SIM_SIDES; s++) {
        next_ps = wire_min_ps(next_ps, link->macs[s].toggle_ps);
        next_ps = wire_min_ps(next_ps, rnic_next_wake(sim->hosts[s].dev));
        next_ps = wire_min_ps(next_ps, mac_next_ps(link, s));
    }
    return next_ps;
}

static void link_wake(struct link *link, uint32_t side)
{
    struct sim *sim = link->sim;
    struct rnic_device *dev = sim->hosts[side].dev;

    if (rnic_next_wake(dev) > sim->now_ps)
        return;
    rnic_wake(dev, sim->now_ps);
    sim_events(sim, side, sim->now_ps);
    if (rnic_next_wake(dev) <= sim->now_ps)
        sim_fail(sim, "%s: wants to be woken again at once", sim_side_name(side));
}

/* Everything of this instant: arrivals, timers, hosts, then what the MACs may send. */
static void link_instant(struct link *link)
{
    struct sim *sim = link->sim;

    while (link->n > 0 && link->heap[0].time_ps <= sim->now_ps && !sim->failed)
        link_deliver(link);
    for (uint32_t s = 0; s < SIM_SIDES; s++) {
        while (link->macs[s].toggle_ps <= sim->now_ps)
            mac_toggle(link, s);
        link_wake(link, s);
        if (sim_host_next_ps(&sim->hosts[s]) <= sim->now_ps) {
            sim_host_step(&sim->hosts[s], sim->now_ps);
            sim_events(sim, s, sim->now_ps);
        }
    }
    for (uint32_t s = 0; s < SIM_SIDES; s++)
        while (!sim->failed && mac_next_ps(link, s) <= sim->now_ps)
            mac_pull(link, s);
}

static void link_loop(struct link *link)
{
    struct sim *sim = link->sim;
    uint32_t idle = 0;

    while (!sim->failed) {
        uint64_t moves_ps = link_next_ps(link);
        uint64_t hosts_ps =
            wire_min_ps(sim_host_next_ps(&sim->hosts[0]), sim_host_next_ps(&sim->hosts[1]));
        uint64_t next_ps = wire_min_ps(moves_ps, hosts_ps);

        if (next_ps == WIRE_NEVER)
            return;
        idle = moves_ps == WIRE_NEVER ? idle + 1 : 0;
        if (idle > IDLE_POLLS_MAX)
            return; /* whoever polls waits for nothing: the end tells for what */
        if (++sim->steps > STEPS_MAX) {
            sim_fail(sim, "it does not end: %ju steps", (uintmax_t)sim->steps);
            return;
        }
        if (next_ps < sim->now_ps)
            sim_fail(sim, "time goes back");
        sim->now_ps = next_ps;
        link_instant(link);
    }
}

void sim_link_run(struct sim *sim)
{
    struct link link = {.sim = sim};

    for (uint32_t s = 0; s < SIM_SIDES; s++) {
        sim_host_open(&sim->hosts[s], sim, s, s);
        link.macs[s].rng = wire_rng_init(sim->plan.seed, 200 + s);
        link.macs[s].faults = wire_rng_init(sim->plan.seed, 400 + s);
        link.macs[s].ready = CLASSES;
        link.macs[s].empty_ps = WIRE_NEVER;
        link.macs[s].toggle_ps = sim->plan.link.pauses > 0 ? sim->plan.link.run_ps : WIRE_NEVER;
    }
    for (uint32_t s = 0; s < SIM_SIDES && !sim->failed; s++)
        sim_host_connect(&sim->hosts[s], &sim->hosts[1 - s], 1 - s, 1 - s);
    if (!sim->failed)
        link_loop(&link);
    if (!sim->failed)
        sim_check_end(sim);
    if (!sim->failed && (link.n > 0 || link.frames != NULL))
        sim_fail(sim, "%u frames are left on the line, and others elsewhere", link.n);
    while (link.frames != NULL)
        frame_free(&link.frames->frame);
    free(link.heap);
    for (uint32_t s = 0; s < SIM_SIDES; s++)
        sim_host_close(&sim->hosts[s]);
}
