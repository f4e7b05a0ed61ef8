/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * Parts of rnic-play: two hosts, a line between them, and how what happens is told.
 *
 * rnic-play-tell.c  records on the output, captures
 * rnic-play-line.c  frames in flight, losses, duplicates
 * rnic-play-host.c  the cards and the verbs that their hosts call
 * rnic-play.c       options, and the loop that moves time
 *
 * Host 0 is "a", the requester, host 1 "b", the responder; their numbers are their stations.
 */
#ifndef RNIC_PLAY_H
#define RNIC_PLAY_H

#include "rnic_device.h"
#include "wire_codec.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLAY_FACES 2u
#define PLAY_VA 0x10000000u /* of both hosts' memory */
#define PLAY_MAX_FAULTS 64u
#define PLAY_MAX_BLOCKS 64u

enum play_op
{
    PLAY_SEND,
    PLAY_WRITE,
    PLAY_READ,
    PLAY_ATOMIC,
    PLAY_OPS
};

struct play_fault /* of the first frame with this PSN that no other fault has struck */
{
    uint32_t psn;
    bool struck;
};

struct play_faults
{
    struct play_fault list[PLAY_MAX_FAULTS];
    uint32_t n;
};

struct play_options
{
    enum play_op op;
    uint64_t bytes, n, mtu, psn, rate_bps, delay_ps, rnr, bad_key, timeout, retry_cnt, rnr_retry,
        ack_every, recovery, window, after_ps; /* after_ps: of a copy behind the first */
    struct play_faults loss[PLAY_FACES], twice[PLAY_FACES]; /* by sender */
    const char *pcap;
};

struct play_flight
{
    struct play_flight *all; /* every one there is */
    struct play_flight *next;
    bool used;
    uint32_t id;
    uint32_t to;
    bool copy;
    uint64_t arrives_ps;
    struct wire_frame frame;
};

struct play_host
{
    struct rnic_device *dev;
    uint32_t pd, cqs[2], qpn, key; /* cqs: send, receive */
    uint8_t *memory;
    void *blocks[PLAY_MAX_BLOCKS];
    uint32_t n_blocks;
    uint64_t mac_free_ps;
    enum rnic_qp_state state;
    uint64_t timeouts;
    uint32_t *sent; /* PSNs of what left, in order */
    size_t n_sent, cap_sent;
    FILE *pcap;
};

struct play
{
    struct play_options options;
    struct play_host hosts[PLAY_FACES];
    struct play_flight *flights, *flying; /* flying: by arrival */
    uint64_t now_ps, recv_ps;             /* recv_ps: when host b posts its receives; WIRE_NEVER */
    uint64_t rnr_naks;
    uint32_t ids, stride, messages; /* messages: those posted by a, any SEND ahead counted */
    FILE *out;
};

/** Say why on standard error and end with status 2. */
#if defined(__GNUC__)
__attribute__((format(printf, 1, 2), noreturn))
#endif
void play_die(const char *format, ...);
/** @return memory, which is not NULL. */
void *play_need(void *memory);

/* ---- rnic-play-tell.c: a record is play_tell, its fields, play_tell_end ---- */

void play_tell(struct play *play, uint32_t face, const char *what);
void play_tell_number(struct play *play, const char *key, uint64_t value);
void play_tell_text(struct play *play, const char *key, const char *value);
void play_tell_end(struct play *play);
/** Fields of a RoCE frame: those that its opcode has. */
void play_tell_frame(struct play *play, const struct wire_frame *frame);
/** Tell what became visible at a host by now: completions, events, its queue pair's state. */
void play_tell_visible(struct play *play, uint32_t face);
/** A capture of a host's port, in a temporary file. */
FILE *play_tell_pcap_new(void);
/** Add a frame to the capture of a host, if there is one. */
void play_tell_pcap_frame(const struct play *play, uint32_t face, const struct wire_frame *frame);
/** Write the capture of a host into the folder of the options. */
void play_tell_pcap_save(const struct play *play, uint32_t face);
/** All of a temporary file; @p name for the message when it fails. */
void play_tell_copy(FILE *from, FILE *to, const char *name);

/* ---- rnic-play-line.c ---- */

/** The host's MAC is free and pulls a frame, which leaves. */
void play_line_pull(struct play *play, uint32_t face);
/** The first of play->flying has arrived. */
void play_line_arrive(struct play *play);

/* ---- rnic-play-host.c ---- */

void play_host_open(struct play *play, uint32_t face);
void play_host_connect(struct play *play, uint32_t face);
/** Whether a SEND goes ahead, since a READ or an atomic uses no receive request. */
bool play_host_sends_ahead(const struct play_options *options);
/** Host b posts all receive requests that it will need. */
void play_host_post_recvs(struct play *play);
/** Host a posts its messages. */
void play_host_post_sends(struct play *play);
/** Put the bytes to be moved where they come from. */
void play_host_fill(struct play *play);
/** Tell what has become of the bytes. */
void play_host_tell_memory(struct play *play);
/** Eight bytes of a host's memory. */
uint64_t play_host_value(const struct play_host *host, uint64_t va);
void play_host_close(struct play_host *host);

#endif
