/* SPDX-License-Identifier: GPL-2.0-only */
/* What must be true of every frame that leaves a card: form, numbers, how many are under way. */
#include "sim.h"

#include "wire_codec.h"

#include <string.h>

#define FRAME_NAK_SELECTIVE (WIRE_AETH_NAK | WIRE_NAK_SELECTIVE)

/* ---- which message ---- */

static bool frame_is(const struct wire_frame *frame, uint16_t is)
{
    return (wire_opcodes[frame->opcode].is & is) != 0;
}

/* Send that owns PSN `packet` of a flow, SIM_NONE. */
static uint32_t frame_send(const struct sim_flow *flow, uint32_t packet)
{
    uint32_t end = 0;

    for (uint32_t i = 0; i < flow->n_sends; i++) {
        end += flow->sends[i].packets;
        if (packet < end)
            return i;
    }
    return SIM_NONE;
}

/* ---- answers ---- */

/* An answer says how many messages are done: all that it acknowledges, and none it refuses. */
static void frame_msn(struct sim *sim, uint32_t side, uint32_t q, const struct wire_frame *frame)
{
    const struct sim_flow *flow = &sim->plan.flows[1 - side][q];
    uint32_t done = 0, all = 0, end = 0, packets;
    bool refusal = (frame->syndrome & 0x60) != 0, open = true, late;

    packets = (frame->psn.v - flow->psn.v + !refusal) & WIRE_PSN_MASK; /* taken, it says */
    for (uint32_t i = 0; i < flow->n_sends; i++) {
        if (flow->sends[i].packets == 0)
            continue;
        all++;
        end += flow->sends[i].packets;
        open = open && end <= packets;
        done += open;
    }
    /* A READ was counted when it was taken; it is refused when its key goes before its data. */
    late = refusal && done < all && frame_send(flow, packets) != SIM_NONE &&
           flow->sends[frame_send(flow, packets)].opcode == RNIC_WR_RDMA_READ;
    if (packets > flow->packets || frame->msn < done || frame->msn > all ||
        (refusal && !late && frame->msn != done))
        sim_fail(sim, "%s answers %u packets with MSN %u, syndrome 0x%02x: %u messages are done",
                 sim_side_name(side), packets, frame->msn, frame->syndrome, done);
}

/* ---- requests: how many may be under way ---- */

/* Payload of PSNs [first, end), and whether a READ or atomic is among them. */
static uint32_t frame_payload(const struct sim_flow *flow, uint32_t mtu, uint32_t first,
                              uint32_t end, bool *fetches)
{
    uint32_t at = 0, bytes = 0;

    *fetches = false;
    for (uint32_t i = 0; i < flow->n_sends && at < end; at += flow->sends[i++].packets) {
        const struct sim_send *send = &flow->sends[i];

        for (uint32_t k = 0; k < send->packets; k++) {
            if (at + k < first || at + k >= end)
                continue;
            *fetches |= sim_plan_fetches(send->opcode);
            bytes += send->bytes - k * mtu < mtu ? send->bytes - k * mtu : mtu;
        }
    }
    return bytes;
}

static void frame_window(struct sim *sim, uint32_t side, uint32_t q, uint32_t packet)
{
    const struct sim_qp *qp = &sim->plan.qps[q];
    const struct sim_flow *flow = &sim->plan.flows[side][q];
    struct sim_progress *progress = &sim->progress[side][q];
    uint32_t window = qp->window_bytes[side], acked = progress->acked, bytes;
    bool fetches;

    if (window == 0 || packet < acked || packet >= flow->packets)
        return;
    sim->seen.windows++;
    window = window < qp->mtu_bytes ? qp->mtu_bytes : window;
    if (sim->spoil == SIM_SPOIL_WINDOW && acked > 0 && !sim->plan.silence) {
        bytes = frame_payload(flow, qp->mtu_bytes, 0, packet + 1, &fetches);
        if (!fetches && bytes > window) {
            sim->spoil_in = 0;
            acked = sim_spoil_now(sim, SIM_SPOIL_WINDOW) ? 0 : acked;
        }
    }
    bytes = frame_payload(flow, qp->mtu_bytes, acked, packet + 1, &fetches);
    if (!fetches && packet > acked && bytes > window)
        sim_fail(sim, "%s qp %u: %u bytes unacknowledged, window %u", sim_side_name(side), q, bytes,
                 qp->window_bytes[side]);
}

static void frame_fetch(struct sim *sim, uint32_t side, uint32_t q, uint32_t index)
{
    struct sim_progress *progress = &sim->progress[side][q];
    uint32_t under_way = progress->asked & ~progress->answered;
    uint32_t n = (uint32_t)__builtin_popcount(under_way), most = sim->plan.qps[q].rd_atomic[side];

    if (progress->asked >> index & 1)
        return;
    if (n + 1 <= most && n + 1 + (uint32_t)__builtin_popcount(progress->answered) > most &&
        sim->spoil == SIM_SPOIL_DEPTH) {
        sim->spoil_in = 0;
        if (sim_spoil_now(sim, SIM_SPOIL_DEPTH))
            n = most;
    }
    progress->asked |= 1u << index;
    if (n + 1 > most)
        sim_fail(sim, "%s qp %u: %u READs and atomics under way, and %u may be",
                 sim_side_name(side), q, n + 1, most);
}

/* A static rate holds from the first frame on, but for two frames that may have had to wait. */
static void frame_rate(struct sim *sim, uint32_t side, uint32_t q, const struct wire_frame *frame)
{
    const struct sim_qp *qp = &sim->plan.qps[q];
    struct sim_progress *progress = &sim->progress[side][q];
    uint64_t slack, least_ps;

    if (qp->rate_bps[side] == 0)
        return;
    sim->seen.limited++;
    if (progress->sent_bytes == 0)
        progress->first_ps = sim->now_ps;
    slack = 2 * (uint64_t)(sim->plan.mtu_bytes + 200);
    if (progress->sent_bytes > 0 && sim->spoil == SIM_SPOIL_RATE) {
        sim->spoil_in = 0;
        if (sim_spoil_now(sim, SIM_SPOIL_RATE))
            progress->sent_bytes += 100000000;
    }
    if (progress->sent_bytes > slack) {
        least_ps = wire_line_time_ps(progress->sent_bytes - slack, qp->rate_bps[side]);
        if (sim->now_ps - progress->first_ps < least_ps)
            sim_fail(sim, "%s qp %u: %ju bytes in %ju ps, rate %ju bit/s", sim_side_name(side), q,
                     (uintmax_t)progress->sent_bytes, (uintmax_t)(sim->now_ps - progress->first_ps),
                     (uintmax_t)qp->rate_bps[side]);
    }
    progress->sent_bytes += frame->frame_bytes + WIRE_GAP_BYTES;
}

/* Nothing leaves while the peer is not ready. */
static void frame_wait(struct sim *sim, uint32_t side, uint32_t q)
{
    struct sim_progress *progress = &sim->progress[side][q];

    if (sim->now_ps >= progress->rnr_until_ps) {
        progress->rnr_frames = 0;
        return;
    }
    progress->rnr_frames++;
    if (progress->rnr_frames > 1)
        sim_fail(sim, "%s qp %u: %u frames leave, and the peer is not ready before %ju ps",
                 sim_side_name(side), q, progress->rnr_frames, (uintmax_t)progress->rnr_until_ps);
}

/* A READ response has the bytes its PSN says. */
static void frame_answer(struct sim *sim, uint32_t side, uint32_t q, const struct wire_frame *frame)
{
    const struct sim_flow *flow = &sim->plan.flows[1 - side][q];
    uint32_t packet = (frame->psn.v - flow->psn.v) & WIRE_PSN_MASK, at = 0, i = 0;
    uint32_t mtu = sim->plan.qps[q].mtu_bytes, bytes = frame->payload_bytes, left;

    for (; i < flow->n_sends && at + flow->sends[i].packets <= packet; i++)
        at += flow->sends[i].packets;
    if (i == flow->n_sends || !sim_plan_fetches(flow->sends[i].opcode)) {
        sim_fail(sim, "%s qp %u answers psn %u with data, and nothing was asked there",
                 sim_side_name(side), q, frame->psn.v);
        return;
    }
    if (flow->sends[i].opcode != RNIC_WR_RDMA_READ)
        return;
    left = flow->sends[i].bytes - (packet - at) * mtu;
    bytes += sim_spoil_now(sim, SIM_SPOIL_ANSWER);
    if (bytes != (left < mtu ? left : mtu))
        sim_fail(sim, "%s qp %u answers packet %u of a READ of %u bytes with %u",
                 sim_side_name(side), q, packet - at, flow->sends[i].bytes, bytes);
}

/* Low five bits of the opcode of a packet. */
static uint32_t frame_opcode(const struct sim_send *send, uint32_t packet)
{
    bool first = packet == 0, last = packet + 1 == send->packets, only = first && last;
    bool write = sim_plan_is_write(send->opcode);

    switch (send->opcode) {
    case RNIC_WR_RDMA_READ:
        return WIRE_OP_READ_REQUEST;
    case RNIC_WR_ATOMIC_CMP_AND_SWP:
        return WIRE_OP_COMPARE_SWAP;
    case RNIC_WR_ATOMIC_FETCH_AND_ADD:
        return WIRE_OP_FETCH_ADD;
    case RNIC_WR_SEND_WITH_INV:
        if (last)
            return only ? WIRE_OP_SEND_ONLY_INV : WIRE_OP_SEND_LAST_INV;
        break;
    default:
        break;
    }
    if (only)
        return (uint32_t)(write ? WIRE_OP_WRITE_ONLY : WIRE_OP_SEND_ONLY) +
               sim_plan_has_imm(send->opcode);
    if (last)
        return (uint32_t)(write ? WIRE_OP_WRITE_LAST : WIRE_OP_SEND_LAST) +
               sim_plan_has_imm(send->opcode);
    if (first)
        return write ? WIRE_OP_WRITE_FIRST : WIRE_OP_SEND_FIRST;
    return write ? WIRE_OP_WRITE_MIDDLE : WIRE_OP_SEND_MIDDLE;
}

/* Is it the packet that its number says it is? */
static void frame_words(struct sim *sim, uint32_t side, uint32_t q, uint32_t packet,
                        const struct sim_send *send, const struct wire_frame *frame)
{
    static const uint8_t transports[] = {WIRE_TRANSPORT_RC, WIRE_TRANSPORT_UC, WIRE_TRANSPORT_UD};
    const struct sim_qp *qp = &sim->plan.qps[q];
    uint32_t left = send->bytes - packet * qp->mtu_bytes, opcode = frame_opcode(send, packet);
    bool asked = send->solicited && sim_plan_consumes(send->opcode) && packet + 1 == send->packets;

    opcode |= transports[qp->type];
    if (frame->opcode != opcode)
        sim_fail(sim, "%s qp %u sends %s as packet %u of a %s of %u bytes", sim_side_name(side), q,
                 wire_opcodes[frame->opcode].name, packet, sim_opcode_name(send->opcode),
                 send->bytes);
    else if (!sim_plan_fetches(send->opcode) &&
             frame->payload_bytes != (left < qp->mtu_bytes ? left : qp->mtu_bytes))
        sim_fail(sim, "%s qp %u: %u bytes in packet %u of %u bytes", sim_side_name(side), q,
                 frame->payload_bytes, packet, send->bytes);
    else if (((frame->bth_flags & WIRE_BTH_SE) != 0) != asked)
        sim_fail(sim, "%s qp %u: solicited %d in packet %u of %u", sim_side_name(side), q, !asked,
                 packet, send->packets);
    else if (send->opcode == RNIC_WR_RDMA_READ && frame->dma_bytes != left &&
             (qp->recovery != RNIC_RECOVER_SELECTIVE || frame->dma_bytes > left ||
              frame->dma_bytes % qp->mtu_bytes != 0))
        sim_fail(sim, "%s qp %u: asks for %u bytes from packet %u on, of %u", sim_side_name(side),
                 q, frame->dma_bytes, packet, send->bytes);
}

/* PSNs of a flow before a send. */
static uint32_t frame_before(const struct sim_flow *flow, uint32_t index)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < index; i++)
        n += flow->sends[i].packets;
    return n;
}

static void frame_request(struct sim *sim, uint32_t side, uint32_t q,
                          const struct wire_frame *frame)
{
    const struct sim_flow *flow = &sim->plan.flows[side][q];
    uint32_t packet = (frame->psn.v - flow->psn.v) & WIRE_PSN_MASK, index;

    sim->progress[side][q].requests++;
    frame_rate(sim, side, q, frame);
    frame_wait(sim, side, q);
    index = frame_send(flow, packet);
    if (index == SIM_NONE || index >= sim->hosts[side].queues[q].posted) {
        sim_fail(sim, "%s qp %u sends psn %u, and nothing was posted for it", sim_side_name(side),
                 q, frame->psn.v);
        return;
    }
    frame_words(sim, side, q, packet - frame_before(flow, index), &flow->sends[index], frame);
    if (sim_plan_fetches(flow->sends[index].opcode))
        frame_fetch(sim, side, q, index);
    else
        frame_window(sim, side, q, packet);
}

/* ---- every frame ---- */

static void frame_form(struct sim *sim, uint32_t side, const struct wire_frame *frame,
                       uint32_t ready_classes)
{
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
}

/* The queue pair of a frame that `side` sends; what it is told by, and counts for its incident. */
static uint32_t frame_queue(struct sim *sim, uint32_t side, const struct wire_frame *frame)
{
    uint32_t q = sim_host_find(&sim->hosts[1 - side], frame->dest_qpn);
    const struct sim_incident *incident;

    if (q != SIM_NONE && sim->plan.qps[q].type == RNIC_QPT_UD && frame->opcode != WIRE_OP_CNP)
        q = sim_host_find(&sim->hosts[side], frame->deth.src_qpn);
    if (q == SIM_NONE)
        return q;
    incident = &sim->plan.qps[q].incident;
    if (++sim->qp_frames[q] == incident->frames && incident->kind != SIM_INCIDENT_NONE)
        sim->hosts[incident->side].queues[q].incident_ps = sim->now_ps;
    return q;
}

/* Memory is spoiled at the n-th frame that leaves. */
static void frame_spoil(struct sim *sim, uint32_t side)
{
    const struct sim_region *target = &sim->plan.flows[1 - side][0].target;

    if (sim_spoil_now(sim, SIM_SPOIL_GUARD))
        sim->hosts[side].memory[target->at + target->bytes] ^= 0x10;
}

static void frame_hash(struct sim *sim, uint32_t side, const struct wire_frame *frame)
{
    sim_hash(&sim->hash, sim->now_ps << 1 | side);
    sim_hash(&sim->hash, (uint64_t)frame->psn.v << 32 | frame->dest_qpn << 8 | frame->opcode);
    sim_hash(&sim->hash, (uint64_t)frame->frame_bytes << 32 | (uint32_t)frame->ip_id << 16 |
                             (uint32_t)frame->tos << 8 | frame->bth_flags);
}

static void frame_say(const struct sim *sim, uint32_t side, const struct wire_frame *frame)
{
    const struct wire_opcode *op = &wire_opcodes[frame->opcode];
    uint8_t kind = frame->syndrome & WIRE_AETH_KIND;

    if (op->has & WIRE_HAS_AETH)
        sim_say(sim, "%s -> %s qpn %u psn %u, %u bytes, %s %u, msn %u", sim_side_name(side),
                op->name, frame->dest_qpn, frame->psn.v, frame->payload_bytes,
                kind == WIRE_AETH_ACK       ? "credits"
                : kind == WIRE_AETH_RNR_NAK ? "RNR"
                                            : "NAK",
                frame->syndrome & WIRE_AETH_CODE, frame->msn);
    else
        sim_say(sim, "%s -> %s qpn %u psn %u, %u bytes%s", sim_side_name(side), op->name,
                frame->dest_qpn, frame->psn.v, frame->payload_bytes,
                frame->bth_flags & WIRE_BTH_ACKREQ ? ", ack" : "");
}

void sim_frame_sent(struct sim *sim, uint32_t side, const struct wire_frame *frame,
                    uint32_t ready_classes, uint64_t now_ps)
{
    const char *name = wire_opcodes[frame->opcode].name;
    uint32_t q;

    sim->now_ps = now_ps;
    sim->seen.frames++;
    sim->counters[side].sent++;
    frame_hash(sim, side, frame);
    if (sim->verbose)
        frame_say(sim, side, frame);
    if (name == NULL || frame->kind != WIRE_KIND_ROCE) {
        sim_fail(sim, "%s sends opcode 0x%02x", sim_side_name(side), frame->opcode);
        return;
    }
    frame_form(sim, side, frame, ready_classes);
    q = frame_queue(sim, side, frame);
    if (q == SIM_NONE) {
        sim_fail(sim, "%s sends %s to qpn %u", sim_side_name(side), name, frame->dest_qpn);
        return;
    }
    if (frame->opcode == WIRE_OP_ACKNOWLEDGE && frame->syndrome != FRAME_NAK_SELECTIVE)
        frame_msn(sim, side, q, frame);
    if (frame_is(frame, WIRE_IS_REQUEST))
        frame_request(sim, side, q, frame);
    else if (frame_is(frame, WIRE_IS_READ | WIRE_IS_ATOMIC)) {
        sim->progress[1 - side][q].responses++;
        frame_answer(sim, side, q, frame);
    }
    frame_spoil(sim, side);
}

/* ---- what the requester learns ---- */

/* The requester is told to wait; surely for this, when nothing comes twice or late. */
static void frame_not_ready(struct sim *sim, uint32_t side, uint32_t q, uint8_t code)
{
    static const uint64_t rnr_us[] = {0, 10, 20, 30, 40, 60, 80};
    struct sim_progress *progress = &sim->progress[side][q];

    if (!sim->plan.faultless || sim->plan.fabric.used || code >= 7 || sim->plan.silence)
        return;
    sim->seen.waits++;
    progress->rnr_until_ps = sim->now_ps + rnr_us[code] * 1000000;
    progress->rnr_frames = 0;
    if (sim->spoil == SIM_SPOIL_WAIT) {
        sim->spoil_in = 0;
        if (sim_spoil_now(sim, SIM_SPOIL_WAIT))
            progress->rnr_until_ps = WIRE_NEVER;
    }
}

void sim_frame_arrives(struct sim *sim, uint32_t side, const struct wire_frame *frame)
{
    uint32_t q, packet, index;
    struct sim_progress *progress;
    const struct sim_flow *flow;
    bool refusal;

    if (frame->kind != WIRE_KIND_ROCE || (frame->flags & WIRE_FRAME_CORRUPT) != 0 ||
        !frame_is(frame, WIRE_IS_RESPONSE))
        return;
    q = sim_host_find(&sim->hosts[side], frame->dest_qpn);
    if (q == SIM_NONE)
        return;
    flow = &sim->plan.flows[side][q];
    progress = &sim->progress[side][q];
    packet = (frame->psn.v - flow->psn.v) & WIRE_PSN_MASK;
    index = frame_send(flow, packet);
    refusal = frame->opcode == WIRE_OP_ACKNOWLEDGE && (frame->syndrome & 0x60) != 0;
    if (refusal && (frame->syndrome & WIRE_AETH_KIND) == WIRE_AETH_RNR_NAK && index != SIM_NONE &&
        packet >= progress->acked)
        frame_not_ready(sim, side, q, frame->syndrome & WIRE_AETH_CODE);
    if (packet + !refusal > progress->acked && packet + !refusal <= flow->packets)
        progress->acked = packet + !refusal;
    if (index != SIM_NONE && frame->opcode != WIRE_OP_ACKNOWLEDGE &&
        frame_send(flow, packet + 1) != index)
        progress->answered |= 1u << index;
}
