/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * Parts of rnic-live: one card in real time on a socket or a TAP device, driven by commands.
 *
 * rnic-live.c           options, and the loop that waits for frames, time and commands
 * rnic-live-port.c      the line (live_line.h) with its capture
 * rnic-live-fault.c     frames lost, doubled, damaged or late on purpose
 * rnic-live-address.c   who is where: the address book, ARP, neighbour discovery, echo
 * rnic-live-card.c      the card: frames and time, in and out
 * rnic-live-word.c      one command as key=value words
 * rnic-live-command.c   which command a line is; those about line, card and completions
 * rnic-live-object.c    domains, queues, regions, windows, address handles; ending objects
 * rnic-live-pair.c      queue pairs: create, connect, change state, query
 * rnic-live-post.c      work requests
 * rnic-live-memory.c    bytes of a region
 *
 * Station 0 is this card. Each address seen on the line is one more station, so a host with an IPv4
 * and an IPv6 address is two.
 */
#ifndef RNIC_LIVE_H
#define RNIC_LIVE_H

#define _GNU_SOURCE /* ppoll, signalfd */

#include "live_line.h"
#include "rnic_device.h"
#include "wire_codec.h"
#include "wire_rng.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIVE_PEERS 62u
#define LIVE_OBJECTS 256u        /* of each kind */
#define LIVE_COMMAND_BYTES 8192u /* of a command, and of a word of it */
#define LIVE_WORDS 40u
#define LIVE_MS_PS 1000000000u

enum live_direction
{
    LIVE_OUT,
    LIVE_IN,
    LIVE_DIRECTIONS
};

struct live_frame /* bytes that wait, by a fault */
{
    struct live_frame *next;
    enum live_direction direction;
    uint64_t due_ps;
    uint32_t behind; /* leaves when so many frames have overtaken it; 0: by time only */
    size_t n;
    uint8_t bytes[];
};

struct live_port
{
    struct live_line line;
    uint64_t retry_ps; /* when to flush again; WIRE_NEVER: nothing waits */
    FILE *pcap;
    uint64_t pcap_epoch_ns; /* wall clock when the card's time was 0 */
};

enum live_fate
{
    LIVE_WHOLE,
    LIVE_LOSS,
    LIVE_DUP,
    LIVE_REORDER,
    LIVE_CORRUPT,
    LIVE_DELAY,
    LIVE_FATES
};

struct live_faults
{
    uint64_t seed;
    double part[LIVE_FATES]; /* of the RoCE frames; LIVE_WHOLE is not looked at */
    bool struck[LIVE_DIRECTIONS];
    uint64_t delay_ps;
    uint64_t seen[LIVE_DIRECTIONS]; /* RoCE frames: the number is the stream of its dice */
    struct live_frame *held;
    uint64_t count[LIVE_DIRECTIONS][LIVE_FATES];
};

struct live_book
{
    struct wire_addr_book wire;
    /* This card first and again last, with the address of the other family: see live_book_face. */
    struct wire_station entries[LIVE_PEERS + 2];
    uint32_t n;         /* stations, this card counted */
    uint8_t gid[2][16]; /* of this card: IPv4, IPv6 */
};

enum live_kind /* of objects, in the order in which they can be destroyed */
{
    LIVE_QP,
    LIVE_AH,
    LIVE_MW,
    LIVE_MR,
    LIVE_SRQ,
    LIVE_CQ,
    LIVE_PD,
    LIVE_KINDS
};

struct live_object
{
    bool used;   /* there is one */
    uint32_t id; /* the card's number or key; a key may be 0 */
    enum rnic_qp_type type;
    uint8_t *bytes; /* MR: the memory, its address and length */
    uint64_t va, length;
};

struct live_card
{
    struct rnic_device *dev;
    void **blocks;
    size_t n_blocks;
    struct wire_frame **frames; /* all there are */
    size_t n_frames;
    struct wire_frame *pool; /* blanks */
    struct wire_frame in;
    struct live_object objects[LIVE_KINDS][LIVE_OBJECTS];
    uint64_t refused[WIRE_DROP_COUNT]; /* RoCE frames that never reached the card */
    uint64_t other;                    /* frames that are not RoCE */
    uint64_t arp, neighbour, echo;     /* answers given */
};

struct live_options
{
    const char *unix_path[2], *tap, *udp[2], *pcap, *script, *faults;
    uint8_t mac[6];
    uint64_t in_flight, ack_every, linger_ms;
};

struct live
{
    struct live_options options;
    struct live_port port;
    struct live_faults faults;
    struct live_book book;
    struct live_card card;
    int stop_fd;
    bool stopped;
    uint64_t now_ps, start_ns;
    FILE *input;
    const char *input_name;
    uint64_t line;   /* of the input */
    uint64_t failed; /* commands */
    int status;      /* of the program */
    char why[512];   /* the last one failed */
};

/** Say why on standard error and end with status 2. */
#if defined(__GNUC__)
__attribute__((format(printf, 1, 2), noreturn))
#endif
void live_die(const char *format, ...);
/** @return memory, which is not NULL. */
void *live_need(void *memory);

/* ---- rnic-live.c ---- */

/** Read the clock: live->now_ps, which never goes back. */
void live_tick(struct live *live);
/**
 * Let the card and the line work, and wait for a frame or a timer, but not beyond @p until_ps.
 * @param input_fd  come back also when something can be read there; -1: no such thing
 */
void live_turn(struct live *live, uint64_t until_ps, int input_fd);

/* ---- rnic-live-port.c ---- */

void live_port_open(struct live *live);
/** Put a frame on the line; it waits in front of the line when there is no room. */
void live_port_send(struct live *live, const uint8_t *bytes, size_t n);
/** Send what waits, as far as there is room. */
void live_port_flush(struct live *live);
/** @return bytes of the next frame that has arrived, put into @p bytes; 0: none now. */
size_t live_port_receive(struct live *live, uint8_t *bytes, size_t capacity);
void live_port_close(struct live *live);

/* ---- rnic-live-fault.c ---- */

/** "seed=1,loss=0.01,..." or "off". @return NULL, or what is wrong with it. */
const char *live_fault_set(struct live *live, const char *text);
/** A frame comes by on its way out (to the line) or in (to the card). */
void live_fault_pass(struct live *live, enum live_direction direction, const uint8_t *bytes,
                     size_t n);
/** Let those go whose time has come. */
void live_fault_release(struct live *live);
/** When the next is due; WIRE_NEVER: none. */
uint64_t live_fault_next(const struct live *live);
void live_fault_close(struct live *live);
/**
 * @param begin  out: where the BTH is
 * @param end    out: behind the ICRC
 * @return whether it is a RoCE frame, by its EtherType or UDP port
 */
bool live_fault_is_roce(const uint8_t *bytes, size_t n, size_t *begin, size_t *end);

/* ---- rnic-live-address.c ---- */

/** Addresses of this card. */
void live_book_open(struct live *live, const uint8_t ipv4[16], const uint8_t ipv6[16]);
/** Station 0 has the address of this family from now on, for encoding and for the GRH area. */
void live_book_face(struct live *live, bool ipv6);
/** @return station of an address, or WIRE_STATION_NONE: not heard of yet. */
uint32_t live_book_find(const struct live *live, const uint8_t gid[16]);
/** An address is at this MAC now. @return its station; WIRE_STATION_NONE: the book is full. */
uint32_t live_book_learn(struct live *live, const uint8_t gid[16], const uint8_t mac[6]);
/** Learn from a RoCE frame to this card. @return whether something was new */
bool live_book_learn_roce(struct live *live, const uint8_t *bytes, size_t n);
/** Frames that are not RoCE: ARP, neighbour discovery and echo are answered. */
void live_address_take(struct live *live, const uint8_t *bytes, size_t n);
/** Ask the line who has this address. */
void live_address_ask(struct live *live, const uint8_t gid[16]);
bool live_address_is_ipv4(const uint8_t gid[16]);
/** "10.0.0.1", "fe80::1" or "02:00:00:00:00:01". @return whether it is one */
bool live_address_gid(const char *text, uint8_t gid[16]);
bool live_address_mac(const char *text, uint8_t mac[6]);

/* ---- rnic-live-card.c ---- */

void live_card_open(struct live *live);
/** Memory for the card, after RNIC_ERR_NOMEM. */
void live_card_feed(struct live *live);
/** A frame has arrived. */
void live_card_take(struct live *live, const uint8_t *bytes, size_t n);
/** Timers that are due, frames that may leave. */
void live_card_run(struct live *live);
/** When the card wants to be run next; WIRE_NEVER: not by itself. */
uint64_t live_card_next(const struct live *live);
void live_card_close(struct live *live);

/** Call a verb until it has the memory it asks for. */
#define LIVE_VERB(live, error, call)                                                               \
    while ((live_tick(live), (error) = (call)) == RNIC_ERR_NOMEM)                                  \
    live_card_feed(live)

/* ---- rnic-live-word.c ---- */

struct live_words
{
    char text[LIVE_COMMAND_BYTES]; /* cut into words */
    const char *name;              /* first word */
    const char *key[LIVE_WORDS], *value[LIVE_WORDS];
    bool used[LIVE_WORDS];
    uint32_t n;
    bool bad; /* error was printed: nothing more is to be said */
};

/** Cut a line. @return false: no command in it, or words->bad: it is none. */
bool live_words_read(struct live *live, struct live_words *words, const char *line);
/** Value of a key, NULL: not given. */
const char *live_words_text(struct live_words *words, const char *key);
/** A number, decimal or 0x; @p absent when not given. Sets words->bad when it is none in range. */
uint64_t live_words_number(struct live *live, struct live_words *words, const char *key,
                           uint64_t absent, uint64_t least, uint64_t most);
/** The same of 32 bits. */
uint32_t live_words_number32(struct live *live, struct live_words *words, const char *key,
                             uint32_t absent);
/** All keys were asked for? Otherwise words->bad. Call it behind the last key. @return !bad */
bool live_words_done(struct live *live, struct live_words *words);

/** Last line of an answer, "error: ...", and words->bad. The command makes no sense. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
void live_error(struct live *live, struct live_words *words, const char *format, ...);
/** The same of a command that could not be carried out. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
void live_failure(struct live *live, struct live_words *words, const char *format, ...);
/** The same for a verb that refused. @return whether it did */
bool live_refused(struct live *live, struct live_words *words, const char *verb, int error);

/* ---- commands: each prints its answer, all but the last line ---- */

typedef void live_command(struct live *live, struct live_words *words);

/** Carry out one line of input. @return false: the line says that there is no more to come */
bool live_command_line(struct live *live, const char *line);

live_command live_object_pd, live_object_cq, live_object_srq, live_object_mr, live_object_mw,
    live_object_ah, live_object_destroy, live_object_clear;
live_command live_pair_create, live_pair_connect, live_pair_modify, live_pair_query;
live_command live_post_send, live_post_recv;
live_command live_memory_fill, live_memory_check, live_memory_peek, live_memory_poke,
    live_memory_hash;

/** Whether it is an operation, as `send op=` has it. */
bool live_post_is_operation(const char *name);
/** The first domain and completion queue, which are there from the start. */
void live_object_open(struct live *live);
/** Object that the key of its kind names (0 when not given); NULL with words->bad: there is none */
struct live_object *live_object_get(struct live *live, struct live_words *words,
                                    enum live_kind kind);
/** The same by its number, under another key. */
struct live_object *live_object_at(struct live *live, struct live_words *words, enum live_kind kind,
                                   const char *key, uint64_t number);
/** A free place; NULL with words->bad: there is none */
struct live_object *live_object_room(struct live *live, struct live_words *words,
                                     enum live_kind kind);
/** Put a new object into its place and answer its number. */
void live_object_keep(struct live *live, enum live_kind kind, struct live_object *place,
                      struct live_object object);
/** Letters of access=: l local write, w remote write, r remote read, a atomics, b windows. */
unsigned live_object_access(struct live *live, struct live_words *words, const char *absent);
/** Address vector of dgid=, dmac=, tclass=, hop=, sport=, rocev1=; also ends the keys. */
struct rnic_av live_object_path(struct live *live, struct live_words *words);

#endif
