/* SPDX-License-Identifier: GPL-2.0-only */
/* rnic-play: records, captures, and how it ends when something is wrong. */
#include "rnic-play.h"

#include <errno.h>
#include <stdarg.h>

void play_die(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    fputs("rnic-play: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(2);
}

void *play_need(void *memory)
{
    if (memory == NULL)
        play_die("out of memory");
    return memory;
}

/* ---- records ---- */

void play_tell(struct play *play, uint32_t face, const char *what)
{
    fprintf(play->out, "{\"t_ps\": %" PRIu64 ", \"host\": \"%c\", \"what\": \"%s\"", play->now_ps,
            "ab"[face], what);
}

void play_tell_number(struct play *play, const char *key, uint64_t value)
{
    fprintf(play->out, ", \"%s\": %" PRIu64, key, value);
}

void play_tell_text(struct play *play, const char *key, const char *value)
{
    fprintf(play->out, ", \"%s\": \"%s\"", key, value);
}

void play_tell_end(struct play *play)
{
    fputs("}\n", play->out);
}

void play_tell_frame(struct play *play, const struct wire_frame *frame)
{
    const struct wire_opcode *opcode = &wire_opcodes[frame->opcode];

    play_tell_text(play, "opcode", opcode->name);
    play_tell_number(play, "psn", frame->psn.v);
    play_tell_number(play, "frame_bytes", frame->frame_bytes);
    play_tell_number(play, "ackreq", (frame->bth_flags & WIRE_BTH_ACKREQ) != 0);
    play_tell_number(play, "se", (frame->bth_flags & WIRE_BTH_SE) != 0);
    if ((opcode->has & WIRE_HAS_PAYLOAD) != 0)
        play_tell_number(play, "payload", frame->payload_bytes);
    if ((opcode->has & (WIRE_HAS_RETH | WIRE_HAS_ATOMIC)) != 0)
    {
        play_tell_number(play, "va", frame->va - PLAY_VA);
        play_tell_number(play, "rkey", frame->rkey);
    }
    if ((opcode->has & WIRE_HAS_RETH) != 0)
        play_tell_number(play, "dma_bytes", frame->dma_bytes);
    if ((opcode->has & WIRE_HAS_ATOMIC) != 0)
    {
        play_tell_number(play, "swap_add", frame->swap_add);
        play_tell_number(play, "compare", frame->compare);
    }
    if ((opcode->has & WIRE_HAS_AETH) != 0)
    {
        play_tell_number(play, "syndrome", frame->syndrome);
        play_tell_number(play, "msn", frame->msn);
    }
    if ((opcode->has & WIRE_HAS_ATOMIC_ACK) != 0)
        play_tell_number(play, "orig", frame->orig);
    if ((opcode->has & WIRE_HAS_IMM) != 0)
        play_tell_number(play, "imm", frame->imm);
}

static const char *state_name(enum rnic_qp_state state)
{
    static const char *const names[] = {"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};

    return names[state];
}

static void tell_event(struct play *play, uint32_t face, const struct rnic_event *event)
{
    static const char *const names[RNIC_EVENT_TYPES] = {
        [RNIC_EVENT_QP_FATAL] = "QP_FATAL",
        [RNIC_EVENT_QP_REQ_ERR] = "QP_REQ_ERR",
        [RNIC_EVENT_QP_ACCESS_ERR] = "QP_ACCESS_ERR",
        [RNIC_EVENT_COMM_EST] = "COMM_EST",
        [RNIC_EVENT_CQ_ERR] = "CQ_ERR",
    };

    if (event->type == RNIC_EVENT_PASSAGE)
    {
        play_tell(play, face, "passage");
        play_tell_text(play, "block", rnic_block_name((enum rnic_block)event->block));
        play_tell_number(play, "psn", event->psn.v);
        play_tell_number(play, "wqe", event->wqe);
        play_tell_number(play, "in_ps", event->in_ps);
        play_tell_number(play, "out_ps", event->time_ps);
        play_tell_number(play, "wait_ps", event->wait_ps);
        play_tell_end(play);
    }
    else if (event->type == RNIC_EVENT_PLACED)
    {
        play_tell(play, face, "placed");
        play_tell_number(play, "bytes", event->value);
        play_tell_end(play);
    }
    else if (names[event->type] != NULL)
    {
        play_tell(play, face, "event");
        play_tell_text(play, "event", names[event->type]);
        play_tell_end(play);
    }
}

static void tell_completion(struct play *play, uint32_t face, uint32_t queue,
                            const struct rnic_wc *wc)
{
    play_tell(play, face, "completion");
    play_tell_text(play, "queue", queue == 0 ? "send" : "receive");
    play_tell_number(play, "wr", wc->wr_id);
    play_tell_text(play, "status", rnic_wc_status_name(wc->status));
    if (wc->status == RNIC_WC_SUCCESS)
    {
        play_tell_number(play, "bytes", wc->byte_len);
        if ((wc->wc_flags & RNIC_WC_WITH_IMM) != 0)
            play_tell_number(play, "imm", wc->imm);
    }
    play_tell_end(play);
}

/* Tell what became visible at a host by now. */
void play_tell_visible(struct play *play, uint32_t face)
{
    struct play_host *host = &play->hosts[face];
    struct rnic_qp_counters counters;
    struct rnic_qp_attr attr;
    struct rnic_event event;
    struct rnic_wc wc;

    rnic_query_qp(host->dev, host->qpn, &attr, &counters);
    for (; host->timeouts < counters.timeouts; host->timeouts++)
    {
        play_tell(play, face, "timeout");
        play_tell_end(play);
    }
    if (attr.qp_state != host->state)
    {
        play_tell(play, face, "state");
        play_tell_text(play, "state", state_name(attr.qp_state));
        play_tell_end(play);
        host->state = attr.qp_state;
    }
    while (rnic_event(host->dev, play->now_ps, &event))
        tell_event(play, face, &event);
    for (uint32_t queue = 0; queue < 2; queue++)
        while (rnic_poll_cq(host->dev, host->cqs[queue], 1, &wc, play->now_ps) == 1)
            tell_completion(play, face, queue, &wc);
}

/* ---- captures ---- */

static void put32(FILE *file, uint32_t value)
{
    for (unsigned shift = 0; shift < 32; shift += 8)
        fputc((int)(value >> shift & 255), file);
}

FILE *play_tell_pcap_new(void)
{
    FILE *file = play_need(tmpfile());

    put32(file, 0xA1B23C4D); /* nanoseconds */
    put32(file, 2 | 4 << 16);
    put32(file, 0);
    put32(file, 0);
    put32(file, 65535);
    put32(file, 1); /* Ethernet */
    return file;
}

void play_tell_pcap_frame(const struct play *play, uint32_t face, const struct wire_frame *frame)
{
    const struct wire_addr_book book = {0};
    uint8_t bytes[WIRE_MAX_HEADER_BYTES + 4096 + 64];
    size_t n;
    FILE *file = play->hosts[face].pcap;

    if (file == NULL)
        return;
    n = wire_frame_encode(frame, &book, bytes, sizeof bytes);
    put32(file, (uint32_t)(play->now_ps / 1000000000000));
    put32(file, (uint32_t)(play->now_ps % 1000000000000 / 1000));
    put32(file, (uint32_t)n);
    put32(file, (uint32_t)n);
    fwrite(bytes, 1, n, file);
}

/* All of a temporary file. */
void play_tell_copy(FILE *from, FILE *to, const char *name)
{
    char buffer[4096];
    size_t n;

    rewind(from);
    while ((n = fread(buffer, 1, sizeof buffer, from)) > 0)
        fwrite(buffer, 1, n, to);
    if (ferror(from) || fflush(to) != 0 || ferror(to))
        play_die("%s: %s", name, strerror(errno));
}

void play_tell_pcap_save(const struct play *play, uint32_t face)
{
    char name[4096];
    FILE *file;

    if (snprintf(name, sizeof name, "%s/%c.pcap", play->options.pcap, "ab"[face]) >=
        (int)sizeof name)
        play_die("--pcap: the folder's name is too long");
    file = fopen(name, "wb");
    if (file == NULL)
        play_die("%s: %s", name, strerror(errno));
    play_tell_copy(play->hosts[face].pcap, file, name);
    fclose(file);
}
