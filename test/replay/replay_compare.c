/* SPDX-License-Identifier: GPL-2.0-only */
#include "replay.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void replay_differs(struct replay_case *c, uint32_t frame, const char *key, const char *format, ...)
{
    struct replay_diff *diff = REPLAY_ADD(&c->diffs);
    va_list args;

    diff->frame = frame;
    snprintf(diff->key, sizeof diff->key, "%s", key);
    va_start(args, format);
    vsnprintf(diff->text, sizeof diff->text, format, args);
    va_end(args);
}

/* ---- frames ---- */

struct compare
{
    struct replay_case *c;
    const char *kind;
    const struct replay_frame *theirs;
};

static void field(const struct compare *compare, const char *name, uint64_t ours, uint64_t theirs)
{
    char key[REPLAY_KEY_BYTES];

    if (ours == theirs)
        return;
    snprintf(key, sizeof key, "%s %u %s 0x%" PRIx64 "/0x%" PRIx64, compare->kind,
             compare->theirs->number, name, ours, theirs);
    replay_differs(compare->c, compare->theirs->number, key,
                   "frame %u, %s %s: %s is 0x%" PRIx64 " here, 0x%" PRIx64 " in the capture",
                   compare->theirs->number, compare->kind,
                   wire_opcodes[compare->theirs->packet.opcode].name, name, ours, theirs);
}

static const char *opcode_name(uint8_t opcode)
{
    return wire_opcodes[opcode].name != NULL ? wire_opcodes[opcode].name : "reserved";
}

static void compare_opcode(const struct compare *compare, const struct wire_frame *ours)
{
    char key[REPLAY_KEY_BYTES];
    uint8_t theirs = compare->theirs->packet.opcode;

    if (ours->opcode == theirs)
        return;
    snprintf(key, sizeof key, "%s %u opcode %s/%s", compare->kind, compare->theirs->number,
             opcode_name(ours->opcode), opcode_name(theirs));
    replay_differs(compare->c, compare->theirs->number, key,
                   "frame %u, %s: %s here, %s in the capture", compare->theirs->number,
                   compare->kind, opcode_name(ours->opcode), opcode_name(theirs));
}

static void compare_payload(const struct compare *compare, const struct wire_frame *ours)
{
    const struct wire_packet *theirs = &compare->theirs->packet;
    char key[REPLAY_KEY_BYTES];

    field(compare, "payload_bytes", ours->payload_bytes, theirs->payload_bytes);
    for (uint32_t i = 0; i < ours->payload_bytes && i < theirs->payload_bytes; i++)
    {
        if (ours->payload[i] == theirs->payload[i])
            continue;
        snprintf(key, sizeof key, "%s %u payload byte %u 0x%x/0x%x", compare->kind,
                 compare->theirs->number, i, ours->payload[i], theirs->payload[i]);
        replay_differs(compare->c, compare->theirs->number, key,
                       "frame %u, %s: payload differs from byte %u on, 0x%02x here, 0x%02x in the "
                       "capture",
                       compare->theirs->number, compare->kind, i, ours->payload[i],
                       theirs->payload[i]);
        return;
    }
}

/* Not compared: IP identification, TTL, UDP source port, ECN, MigReq, AckReq, time. */
void replay_compare_frame(struct replay_case *c, const char *kind, const struct wire_frame *ours,
                          const struct replay_frame *theirs)
{
    const unsigned flags = WIRE_BTH_SE | WIRE_BTH_FECN | WIRE_BTH_BECN;
    const struct compare compare = {c, kind, theirs};
    const struct wire_packet *packet = &theirs->packet;
    uint16_t has = wire_opcodes[packet->opcode].has;

    compare_opcode(&compare, ours);
    field(&compare, "qpn", ours->dest_qpn, packet->dest_qpn);
    field(&compare, "psn", ours->psn.v, packet->psn.v);
    field(&compare, "pkey", ours->pkey, packet->pkey);
    field(&compare, "flags", ours->bth_flags & flags, packet->bth_flags & flags);
    field(&compare, "pad", -ours->payload_bytes & 3, packet->pad);
    if (ours->opcode != packet->opcode && wire_opcodes[ours->opcode].has != has)
        return;
    if (has & WIRE_HAS_AETH)
    {
        bool credits = c->setup.any_credits && (ours->syndrome & WIRE_AETH_KIND) == WIRE_AETH_ACK &&
                       (packet->syndrome & WIRE_AETH_KIND) == WIRE_AETH_ACK;

        if (!credits)
            field(&compare, "syndrome", ours->syndrome, packet->syndrome);
        field(&compare, "msn", ours->msn, packet->msn);
    }
    if (has & (WIRE_HAS_IMM | WIRE_HAS_IETH))
        field(&compare, "imm", ours->imm, packet->imm);
    if (has & WIRE_HAS_DETH)
    {
        field(&compare, "qkey", ours->deth.qkey, packet->qkey);
        field(&compare, "src_qpn", ours->deth.src_qpn, packet->src_qpn);
    }
    if (has & (WIRE_HAS_RETH | WIRE_HAS_ATOMIC))
    {
        field(&compare, "va", ours->va, packet->va);
        field(&compare, "rkey", ours->rkey, packet->rkey);
    }
    if (has & WIRE_HAS_RETH)
        field(&compare, "dma_bytes", ours->dma_bytes, packet->dma_bytes);
    if (has & WIRE_HAS_ATOMIC)
    {
        field(&compare, "swap_add", ours->swap_add, packet->swap_add);
        field(&compare, "compare", ours->compare, packet->compare);
    }
    if (has & WIRE_HAS_ATOMIC_ACK)
        field(&compare, "original", ours->orig, packet->orig);
    if (has & WIRE_HAS_PAYLOAD)
        compare_payload(&compare, ours);
}

/* ---- completions ---- */

static void done_differs(struct replay_case *c, const struct replay_done *wanted, uint64_t id,
                         const char *name, const char *ours, const char *theirs)
{
    const char *kind = wanted->recv ? "got" : "done", *host = replay_host_name(c, wanted->host);
    char key[REPLAY_KEY_BYTES];

    snprintf(key, sizeof key, "%s %s %" PRIu64 " %s %s/%s", kind, host, id, name, ours, theirs);
    replay_differs(c, 0, key, "completion of %s %" PRIu64 " at %s: %s is %s here, %s wanted",
                   wanted->recv ? "receive" : "work request", id, host, name, ours, theirs);
}

static void done_number(struct replay_case *c, const struct replay_done *wanted, uint64_t id,
                        const char *name, uint64_t ours, uint64_t theirs)
{
    char a[24], b[24];

    if (theirs == REPLAY_NONE || ours == theirs)
        return;
    snprintf(a, sizeof a, "0x%" PRIx64, ours);
    snprintf(b, sizeof b, "0x%" PRIx64, theirs);
    done_differs(c, wanted, id, name, a, b);
}

static void compare_wc(struct replay_case *c, const struct rnic_wc *wc,
                       const struct replay_done *wanted)
{
    uint64_t id = wanted->id != REPLAY_NO_ID ? wanted->id : wc->wr_id;

    done_number(c, wanted, id, "id", wc->wr_id, id);
    if (wc->status != wanted->status)
        done_differs(c, wanted, id, "status", rnic_wc_status_name(wc->status),
                     rnic_wc_status_name(wanted->status));
    if (wc->status != RNIC_WC_SUCCESS || wanted->status != RNIC_WC_SUCCESS)
        return;
    done_number(c, wanted, id, "opcode", wc->opcode, wanted->opcode);
    done_number(c, wanted, id, "len", wc->byte_len, wanted->bytes);
    if (!wanted->with_imm)
        return;
    done_number(c, wanted, id, "with_imm", (wc->wc_flags & RNIC_WC_WITH_IMM) != 0, 1);
    done_number(c, wanted, id, "imm", wc->imm, wanted->imm);
}

/* Completions of one queue pair (REPLAY_NONE: all) with those wanted of it. */
static void compare_list(const struct replay_card *card, uint32_t host, bool recv, uint32_t qpn,
                         const struct replay_done *wanted, size_t n)
{
    struct replay_case *c = card->c;
    const struct replay_done none = {.host = host, .recv = recv};
    size_t at = 0;

    for (size_t i = 0; i < card->wcs.n; i++)
    {
        const struct rnic_wc *wc = &card->wcs.at[i];

        if (qpn != REPLAY_NONE && wc->qp_num != qpn)
            continue;
        while (at < n && wanted[at].qpn != qpn && qpn != REPLAY_NONE)
            at++;
        if (at < n)
        {
            compare_wc(c, wc, &wanted[at++]);
            c->tally.completions++;
        }
        else
            done_differs(c, &none, wc->wr_id, "extra", rnic_wc_status_name(wc->status), "none");
    }
    for (; at < n; at++)
        if (qpn == REPLAY_NONE || wanted[at].qpn == qpn)
            done_differs(c, &wanted[at], wanted[at].id == REPLAY_NO_ID ? at : wanted[at].id,
                         "status", "none", rnic_wc_status_name(wanted[at].status));
}

void replay_compare_done(const struct replay_card *card, bool recv, uint32_t qpn,
                         const struct replay_done *derived, size_t n_derived)
{
    const struct replay_setup *setup = &card->c->setup;
    REPLAY_ARRAY(struct replay_done) said = {0};

    for (size_t i = 0; i < setup->dones.n; i++)
    {
        const struct replay_done *done = &setup->dones.at[i];

        if (done->host == card->host && done->recv == recv &&
            (qpn == REPLAY_NONE || done->qpn == REPLAY_NONE || done->qpn == qpn))
            *REPLAY_ADD(&said) = *done;
    }
    if (said.n > 0)
    {
        compare_list(card, card->host, recv, REPLAY_NONE, said.at, said.n);
        free(said.at);
        return;
    }
    for (size_t i = 0; i < card->c->streams.n; i++)
    {
        bool first = card->qpns[i] != 0;

        for (size_t k = 0; k < i; k++)
            first = first && card->qpns[k] != card->qpns[i];
        if (first)
            compare_list(card, card->host, recv, card->qpns[i], derived, n_derived);
    }
}

/* ---- state and memory ---- */

void replay_compare_state(const struct replay_card *card, uint32_t stream, uint32_t qpn)
{
    static const char *const names[] = {"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};
    struct replay_case *c = card->c;
    const char *host = replay_host_name(c, card->host);
    struct rnic_qp_attr attr;
    char key[REPLAY_KEY_BYTES];

    for (size_t i = 0; i < c->setup.states.n; i++)
    {
        const struct replay_state *state = &c->setup.states.at[i];

        if (state->host != card->host || (state->qpn != REPLAY_NONE && state->qpn != qpn) ||
            rnic_query_qp(card->dev, card->qpns[stream], &attr, NULL) != 0 ||
            attr.qp_state == state->state)
            continue;
        snprintf(key, sizeof key, "state %s 0x%x %s/%s", host, qpn, names[attr.qp_state],
                 names[state->state]);
        replay_differs(c, 0, key, "queue pair 0x%x of %s ends in %s here, %s wanted", qpn, host,
                       names[attr.qp_state], names[state->state]);
    }
}

void replay_compare_bytes(struct replay_case *c, const char *what, const uint8_t *ours,
                          const uint8_t *wanted, const uint8_t *known, size_t n)
{
    char key[REPLAY_KEY_BYTES];

    for (size_t i = 0; i < n; i++)
    {
        if (known != NULL && known[i] != 1)
            continue;
        c->tally.memory_bytes++;
        if (ours[i] == wanted[i])
            continue;
        snprintf(key, sizeof key, "memory %s byte %zu 0x%x/0x%x", what, i, ours[i], wanted[i]);
        replay_differs(c, 0, key, "memory of %s: byte %zu is 0x%02x here, 0x%02x wanted", what, i,
                       ours[i], wanted[i]);
        return;
    }
}
