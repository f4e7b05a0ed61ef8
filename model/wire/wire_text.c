/* SPDX-License-Identifier: GPL-2.0-only */
#include "wire_text.h"
#include "wire_bytes.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void wire_text_add(struct wire_text *text, const char *format, ...)
{
    size_t room = sizeof(text->line) - text->n;
    va_list arguments;
    int wanted;

    WIRE_ASSERT(text->n < sizeof(text->line));
    va_start(arguments, format);
    wanted = vsnprintf(text->line + text->n, room, format, arguments);
    va_end(arguments);
    WIRE_ASSERT(wanted >= 0);
    text->n += (size_t)wanted < room ? (size_t)wanted : room - 1;
}

static void text_mac(struct wire_text *text, const uint8_t mac[6])
{
    wire_text_add(text, "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3], mac[4],
                  mac[5]);
}

/* First of the longest run of two or more zero groups, its length in @p run; 8: there is none. */
static unsigned zero_run(const uint8_t gid[16], unsigned *run)
{
    unsigned best = 8;

    *run = 1;
    for (unsigned i = 0; i < 8; i++) {
        unsigned n = 0;

        while (i + n < 8 && wire_bytes_get16(gid + 2 * (i + n)) == 0)
            n++;
        if (n > *run) {
            *run = n;
            best = i;
        }
    }
    return best;
}

void wire_text_gid(struct wire_text *text, const uint8_t gid[16])
{
    static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
    unsigned run, zeros;

    if (memcmp(gid, mapped, sizeof(mapped)) == 0) {
        wire_text_add(text, "%u.%u.%u.%u", gid[12], gid[13], gid[14], gid[15]);
        return;
    }
    zeros = zero_run(gid, &run);
    for (unsigned i = 0; i < 8; i++) {
        if (i == zeros) {
            wire_text_add(text, "::");
            i += run - 1;
            continue;
        }
        wire_text_add(text, "%s%x", i > 0 && i != zeros + run ? ":" : "",
                      wire_bytes_get16(gid + 2 * i));
    }
}

void wire_text_addresses(struct wire_text *text, const struct wire_packet *packet)
{
    if (packet->ip_version != 0) {
        wire_text_gid(text, packet->ip_src);
        wire_text_add(text, " > ");
        wire_text_gid(text, packet->ip_dst);
    } else {
        text_mac(text, packet->eth_src);
        wire_text_add(text, " > ");
        text_mac(text, packet->eth_dst);
    }
}

void wire_text_bth(struct wire_text *text, const struct wire_packet *packet)
{
    static const struct {
        uint8_t flag;
        const char *name;
    } flags[] = {{WIRE_BTH_SE, "se"},
                 {WIRE_BTH_MIG, "migreq"},
                 {WIRE_BTH_ACKREQ, "ackreq"},
                 {WIRE_BTH_FECN, "fecn"},
                 {WIRE_BTH_BECN, "becn"}};
    const char *name = wire_opcodes[packet->opcode].name;

    if (name != NULL)
        wire_text_add(text, "%s", name);
    else
        wire_text_add(text, "OPCODE_0x%02x", packet->opcode);
    wire_text_add(text, " qpn=0x%06" PRIx32 " psn=0x%06" PRIx32 " pkey=0x%04x", packet->dest_qpn,
                  packet->psn.v, packet->pkey);
    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
        if (packet->bth_flags & flags[i].flag)
            wire_text_add(text, " %s", flags[i].name);
    }
    if (packet->tver != 0)
        wire_text_add(text, " tver=%u", packet->tver);
    if (packet->bth_resv6 != 0 || packet->bth_resv7 != 0)
        wire_text_add(text, " reserved=0x%02x,0x%02x", packet->bth_resv6, packet->bth_resv7);
}

/* Syndrome: two bits of type, five of value; the top bit is reserved. */
static void text_aeth(struct wire_text *text, const struct wire_packet *packet)
{
    static const char *const naks[] = {"sequence_error", "invalid_request", "remote_access_error",
                                       "remote_operational_error", "invalid_rd_request"};
    unsigned value = packet->syndrome & 31;

    switch (packet->syndrome >> 5) {
    case 0:
        wire_text_add(text, " ACK credits=%u", value);
        break;
    case 1:
        wire_text_add(text, " RNR_NAK timer=%u", value);
        break;
    case 3:
        wire_text_add(text, " NAK code=%u", value);
        if (value < sizeof(naks) / sizeof(naks[0]))
            wire_text_add(text, "(%s)", naks[value]);
        break;
    default:
        wire_text_add(text, " RESERVED");
    }
    wire_text_add(text, " syndrome=0x%02x msn=%" PRIu32, packet->syndrome, packet->msn);
}

void wire_text_extended(struct wire_text *text, const struct wire_packet *packet)
{
    uint16_t has = wire_opcodes[packet->opcode].has;

    if (has & WIRE_HAS_DETH)
        wire_text_add(text, " qkey=0x%08" PRIx32 " src_qpn=0x%06" PRIx32, packet->qkey,
                      packet->src_qpn);
    if (has & WIRE_HAS_FETH)
        wire_text_add(text, " feth=0x%08" PRIx32, packet->imm);
    if (has & (WIRE_HAS_RETH | WIRE_HAS_ATOMIC))
        wire_text_add(text, " va=0x%016" PRIx64 " rkey=0x%08" PRIx32, packet->va, packet->rkey);
    if (has & WIRE_HAS_RETH)
        wire_text_add(text, " dma_len=%" PRIu32, packet->dma_bytes);
    if (has & WIRE_HAS_ATOMIC)
        wire_text_add(text, " %s=0x%016" PRIx64 " compare=0x%016" PRIx64,
                      packet->opcode == WIRE_OP_FETCH_ADD ? "add" : "swap", packet->swap_add,
                      packet->compare);
    if (has & WIRE_HAS_AETH)
        text_aeth(text, packet);
    if (has & WIRE_HAS_ATOMIC_ACK)
        wire_text_add(text, " original=0x%016" PRIx64, packet->orig);
    if (has & WIRE_HAS_IMM)
        wire_text_add(text, " imm=0x%08" PRIx32, packet->imm);
    if (has & WIRE_HAS_IETH)
        wire_text_add(text, " invalidate=0x%08" PRIx32, packet->imm);
}

void wire_text_outside(struct wire_text *text, const struct wire_packet *packet)
{
    static const char *const ecn[] = {"not-ect", "ect1", "ect0", "ce"};

    wire_text_add(text, " payload=%" PRIu32 " pad=%u", packet->payload_bytes, packet->pad);
    if (packet->tagged)
        wire_text_add(text, " vlan=%u pcp=%u", packet->vlan_tci & 0xFFF, packet->vlan_tci >> 13);
    wire_text_add(text, " dscp=%u ecn=%s ttl=%u", packet->tos >> 2,
                  ecn[packet->tos & WIRE_ECN_MASK], packet->ttl);
    if (packet->ip_version == 6)
        wire_text_add(text, " flow_label=0x%05" PRIx32, packet->flow_label);
    else
        wire_text_add(text, " ip_id=%u", packet->ip_id);
    if (packet->ethertype == WIRE_ETHERTYPE_ROCE_V1)
        wire_text_add(text, " rocev1");
    else
        wire_text_add(text, " sport=%u", packet->udp_sport);
}

void wire_text_pause(struct wire_text *text, const struct wire_packet *packet)
{
    const char *before = " quanta=";

    if (packet->kind == WIRE_KIND_PAUSE) {
        wire_text_add(text, "PAUSE quanta=%u", packet->pause_quanta[0]);
        return;
    }
    WIRE_ASSERT(packet->kind == WIRE_KIND_PFC);
    wire_text_add(text, "PFC classes=0x%02x", packet->pause_enabled);
    for (unsigned i = 0; i < WIRE_CLASSES; i++) {
        if (!(packet->pause_enabled >> i & 1))
            continue;
        wire_text_add(text, "%s%u:%u", before, i, packet->pause_quanta[i]);
        before = ",";
    }
}
