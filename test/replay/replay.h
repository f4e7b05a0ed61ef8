/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * Replay of captured RoCE traffic against one card of ours, in the place of either host.
 *
 * A capture becomes frames, hosts and streams (replay_capture.c); what the two hosts must have
 * been set up with is derived from it (replay_derive.c) or said by a set-up file
 * (replay_setup.c). Then a card of ours stands in for a host (replay_card.c): as responder it is
 * fed the captured requests (replay_respond.c), as requester it posts the work requests and is
 * fed the captured answers (replay_request.c). What differs becomes a list (replay_compare.c),
 * from which the table of departures takes what it names (replay_depart.c).
 *
 * In     a capture file, a set-up file (may be absent), a table of departures (may be absent)
 * Out    struct replay_diff, one for each difference
 * Cost   the whole capture in memory
 */
#ifndef REPLAY_H
#define REPLAY_H

#include "rnic_device.h"
#include "wire_capture.h"
#include "wire_codec.h"

#include <stdio.h>

#define REPLAY_NONE 0xFFFFFFFFu
#define REPLAY_HOSTS 26u /* a, b, ... z */
#define REPLAY_NAME_BYTES 128u
#define REPLAY_KEY_BYTES 96u
#define REPLAY_NO_ID UINT64_MAX

/* An array that grows: items, how many, room for how many. */
#define REPLAY_ARRAY(type)                                                                         \
    struct                                                                                         \
    {                                                                                              \
        type *at;                                                                                  \
        size_t n, room;                                                                            \
    }
/* One more item, zeroed; a pointer to it. */
#define REPLAY_ADD(array)                                                                          \
    ((array)->at = replay_grow((array)->at, (array)->n, &(array)->room, sizeof *(array)->at),      \
     (array)->n++, &(array)->at[(array)->n - 1])

struct replay_frame
{
    uint32_t number;   /* in the file, from 1, all frames counted */
    uint32_t src, dst; /* hosts */
    uint32_t stream;   /* REPLAY_NONE: belongs to none */
    bool request;
    bool copy; /* the network made it of an earlier frame: same IP identification, same bytes */
    uint8_t *bytes;
    uint32_t n;
    struct wire_packet packet; /* payload is in bytes */
};

struct replay_host
{
    char name[2]; /* "a" */
    uint8_t gid[16], mac[6];
};

/* One message of a requester, put together from its packets. */
struct replay_message
{
    uint32_t stream;
    uint32_t first_frame; /* index of the first captured frame of it; REPLAY_NONE: none */
    uint32_t start, end;  /* PSNs, as distance from the stream's first; end: one behind */
    enum rnic_wr_opcode opcode;
    bool complete; /* all packets of it were captured */
    bool solicited;
    uint32_t bytes, rkey, imm, qkey;
    uint64_t va, add, compare;
    uint8_t *data; /* bytes of them: what was sent, or (READ, atomic) what was answered */
    bool answered; /* acknowledged, or all of the answer was captured; UC, UD: complete */
    bool refused;  /* NAK other than a sequence error; syndrome says which */
    bool rnr;      /* the last answer was an RNR NAK */
    uint8_t syndrome;
    uint64_t id; /* work request */
};

/* All requests of one queue pair to one queue pair. */
struct replay_stream
{
    uint32_t requester, responder; /* hosts */
    uint32_t requester_qpn, responder_qpn;
    bool peer_known;   /* requester_qpn is */
    uint8_t transport; /* enum wire_transport */
    bool ipv6, roce_v1;
    wire_psn first_psn;
    uint32_t mtu_bytes;
    uint32_t span; /* PSNs used: distances 0 .. span - 1 */
    uint8_t rnr_timer;
    uint32_t qkey;
    uint32_t *requests; /* by distance: index of the first frame with that PSN */
    uint32_t *answers;  /* by distance: first READ response or atomic acknowledge */
    REPLAY_ARRAY(struct replay_message) messages;
};

/* Memory of a responder that a key opens. */
struct replay_region
{
    uint32_t host, key;
    uint64_t va, bytes;
    unsigned access;
    bool given;       /* by the set-up file */
    uint8_t *initial; /* what the capture shows of it before it is changed; else 0 */
    uint8_t *final;   /* and what it must hold at the end */
    uint8_t *known;   /* 1: final is known; 2: changed by somebody */
};

struct replay_recv
{
    uint32_t host, qpn;
    uint64_t id;
    uint32_t bytes;
    uint32_t frame; /* posted before this captured frame; 0: at the start */
};

/* Bytes that must be there at the end. */
struct replay_memory
{
    uint32_t host, key;
    uint64_t va;
    uint32_t n;
    uint8_t bytes[32];
};

struct replay_state
{
    uint32_t host, qpn;
    enum rnic_qp_state state; /* at the end */
};

struct replay_done
{
    bool recv; /* of a receive, else of a work request that was sent */
    uint32_t host, qpn;
    uint64_t id;
    enum rnic_wc_status status;
    uint32_t opcode, bytes, imm; /* with SUCCESS; REPLAY_NONE: not compared, imm: no immediate */
    bool with_imm;
};

struct replay_post
{
    uint32_t host, qpn;
    struct replay_message message;
};

struct replay_qp
{ /* what the set-up file says of a queue pair */
    uint32_t host, qpn;
    uint32_t peer, psn, access, qkey; /* REPLAY_NONE: not said */
    uint32_t rnr_timer, retry, rnr_retry, rd_atomic;
    bool absent; /* there is none: who asks gets no answer */
};

struct replay_setup
{
    bool found;         /* a set-up file says something about this capture */
    uint32_t mtu_bytes; /* 0: derived */
    uint32_t lost_requests, lost_answers;
    bool coalesced;   /* the peer acknowledges several requests with one packet */
    bool any_credits; /* the peer gives end-to-end credits; ours gives none */
    REPLAY_ARRAY(struct replay_qp) qps;
    REPLAY_ARRAY(struct replay_region) regions;
    REPLAY_ARRAY(struct replay_recv) recvs;
    REPLAY_ARRAY(struct replay_post) posts;
    REPLAY_ARRAY(struct replay_done) dones;
    REPLAY_ARRAY(struct replay_memory) memories;
    REPLAY_ARRAY(struct replay_state) states;
};

struct replay_diff
{
    char key[REPLAY_KEY_BYTES]; /* as the table of departures names it */
    char text[200];             /* for people */
    uint32_t frame;             /* number of the captured frame it is about, 0: none */
    bool covered;
};

/* What was looked at, so that a test can tell that something was. */
struct replay_tally
{
    uint64_t requests_fed, answers_compared, answers_lost;
    uint64_t answers_fed, requests_compared, requests_lost;
    uint64_t completions, memory_bytes;
};

struct replay_case
{
    char name[REPLAY_NAME_BYTES]; /* of the capture, without folder and .pcap */
    struct replay_host hosts[REPLAY_HOSTS];
    uint32_t n_hosts;
    struct wire_station stations[REPLAY_HOSTS]; /* host i is station i */
    struct wire_addr_book book;
    struct replay_setup setup;
    REPLAY_ARRAY(struct replay_frame) frames; /* RoCE ones */
    uint32_t others;                          /* not RoCE, or not to be decoded */
    uint32_t cnps;                            /* not replayed: they depend on time */
    REPLAY_ARRAY(struct replay_stream) streams;
    REPLAY_ARRAY(struct replay_region) regions;
    REPLAY_ARRAY(struct replay_diff) diffs;
    struct replay_tally tally;
};

/* ---- replay_case.c ---- */

/** Print "replay: ..." and end the program with status 2: what the user gave is of no use. */
_Noreturn void replay_die(const char *format, ...) __attribute__((format(printf, 1, 2)));
void *replay_grow(void *at, size_t n, size_t *room, size_t item_bytes);
/** Zeroed memory of at least one byte. */
void *replay_zeroed(size_t n, size_t item_bytes);
void replay_case_free(struct replay_case *c);
const char *replay_host_name(const struct replay_case *c, uint32_t host);
/** What the set-up file says of a queue pair, or a row that says nothing. */
const struct replay_qp *replay_case_qp(const struct replay_case *c, uint32_t host, uint32_t qpn);
struct replay_region *replay_case_region(struct replay_case *c, uint32_t host, uint32_t key);
/** Distance of a PSN from the first of the stream; negative: before it. */
int32_t replay_distance(const struct replay_stream *stream, wire_psn psn);
bool replay_is_connected(const struct replay_stream *stream); /* RC or UC */
/** PSNs that a request packet takes: more than one only for READ. */
uint32_t replay_packet_psns(const struct replay_stream *stream, const struct wire_packet *packet);

/* ---- replay_capture.c ---- */

/** Read all frames of a capture file. Dies when it can not be read. */
void replay_capture_read(struct replay_case *c, const char *path);
/** Sort frames into streams; afterwards replay_derive. The set-up must have been read. */
void replay_capture_sort(struct replay_case *c);

/* ---- replay_setup.c ---- */

/**
 * Read what @p path says for the capture @p c->name: lines before the first `capture` and those
 * of its own part. Hosts are known by then (replay_capture_read). Dies with the line's number.
 */
void replay_setup_read(struct replay_case *c, const char *path);

/* ---- replay_derive.c ---- */

/** Messages, regions, initial and final memory of what replay_capture_sort has found. */
void replay_derive(struct replay_case *c);

/* ---- replay_card.c ---- */

/* Our card in the place of a host. */
struct replay_card
{
    struct replay_case *c;
    uint32_t host;
    struct rnic_device *dev;
    uint64_t now_ps;
    uint32_t pd, cq;
    uint32_t depth; /* of queues */
    uint32_t *qpns; /* ours, by stream; 0: not on this card */
    uint32_t *keys; /* ours, by region of the case; 0: not on this card */
    uint8_t *arena; /* local buffers */
    uint32_t arena_key;
    size_t arena_bytes, arena_used;
    REPLAY_ARRAY(void *) blocks;
    REPLAY_ARRAY(struct rnic_wc) wcs; /* completions, in order */
    struct wire_frame frame;          /* the last one pulled */
    uint8_t *payload;                 /* of it */
};

#define REPLAY_ARENA_VA 0x100000000000u

/** A card with the regions of @p host and the queue pairs of all streams that it answers. */
void replay_card_open_responder(struct replay_card *card, struct replay_case *c, uint32_t host,
                                size_t arena_bytes);
/** A card with the queue pair that requests one stream. @p arena_bytes: of local buffers. */
void replay_card_open_requester(struct replay_card *card, struct replay_case *c, uint32_t stream,
                                size_t arena_bytes);
void replay_card_close(struct replay_card *card);
/** Address handle of the peer of a stream, for a requester of datagrams. */
uint32_t replay_card_ah(struct replay_card *card, uint32_t stream);
/** A local buffer: entry for a work request. */
struct rnic_sge replay_card_buffer(struct replay_card *card, uint32_t bytes);
uint8_t *replay_card_bytes(const struct replay_card *card, uint64_t addr);
/** Deliver a captured frame now; queue pair number and keys become ours. */
enum wire_drop replay_card_deliver(struct replay_card *card, const struct replay_frame *frame);
/**
 * Pull the next frame that leaves within @p wait_ps from now into card->frame, queue pair numbers
 * inside it as in the capture. @return false: none; time has not passed then.
 */
bool replay_card_pull(struct replay_card *card, uint64_t wait_ps);
/** Whatever is due up to @p wait_ps from now, as long as no frame leaves; @return one may now. */
bool replay_card_wait(struct replay_card *card, uint64_t wait_ps);
void replay_card_poll(struct replay_card *card);
/** The stream that an answer of ours belongs to, or REPLAY_NONE. */
uint32_t replay_card_stream(const struct replay_card *card, const struct wire_frame *frame);

/* ---- replay_respond.c, replay_request.c ---- */

/** Our card in the place of a host that answers. */
void replay_respond(struct replay_case *c, uint32_t host);
/** Our card in the place of the host that requests a stream. */
void replay_request(struct replay_case *c, uint32_t stream);

/* ---- replay_compare.c ---- */

void replay_differs(struct replay_case *c, uint32_t frame, const char *key, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/**
 * Compare a frame of ours with a captured one, field by field.
 * @param kind "answer" or "request"
 */
void replay_compare_frame(struct replay_case *c, const char *kind, const struct wire_frame *ours,
                          const struct replay_frame *theirs);
/**
 * Compare all completions of the card, in order: with the lines of the set-up file when it has
 * some of this kind and host (and @p qpn, the captured number, unless that is REPLAY_NONE), else,
 * queue pair by queue pair, with @p derived. An id of REPLAY_NO_ID is not compared.
 */
void replay_compare_done(const struct replay_card *card, bool recv, uint32_t qpn,
                         const struct replay_done *derived, size_t n_derived);
/** State of the card's queue pair of a stream, as the set-up file wants it at the end. */
void replay_compare_state(const struct replay_card *card, uint32_t stream, uint32_t qpn);
/** Memory of ours at @p at differs from what is wanted: the first byte is told. */
void replay_compare_bytes(struct replay_case *c, const char *what, const uint8_t *ours,
                          const uint8_t *wanted, const uint8_t *known, size_t n);

/* ---- replay_depart.c ---- */

/* One difference that the table allows. */
struct replay_departure
{
    char row[32]; /* its id */
    char capture[REPLAY_NAME_BYTES];
    char key[REPLAY_KEY_BYTES];
    bool used; /* some capture had it */
};

struct replay_departures
{
    REPLAY_ARRAY(struct replay_departure) items;
    size_t rows, live; /* live: rows that no capture shows, seen against a living peer */
};

/** Read the table; dies when a row is not as it should be. */
void replay_departures_read(struct replay_departures *table, const char *path);
/** Mark the differences of @p c that the table covers. @return how many are left. */
size_t replay_departures_apply(struct replay_departures *table, struct replay_case *c);
/**
 * Print each difference of the table for a capture (@p name NULL: any) that none has shown.
 * @return how many.
 */
size_t replay_departures_stale(const struct replay_departures *table, const char *name, FILE *out);

/* ---- replay_run.c ---- */

enum replay_roles
{
    REPLAY_RESPONDER = 1,
    REPLAY_REQUESTER = 2
};

/**
 * Read capture and set-up, sort and derive. @p setup may be NULL. The case is the caller's to
 * free; replay_run may be called once.
 */
void replay_open(struct replay_case *c, const char *capture, const char *setup);
/** Sort and derive; between replay_open and this a test may change frames. */
void replay_prepare(struct replay_case *c);
/** Our card in each place, in the roles asked for: fills c->diffs and c->tally. */
void replay_run(struct replay_case *c, unsigned roles);

#endif
