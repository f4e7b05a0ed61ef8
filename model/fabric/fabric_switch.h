/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * The switch as its caller sees it: the same shape as the card, so that one MAC drives both.
 *
 * A switch routes, or with `l2` it bridges: MAC addresses and TTL stay as they are, stations are
 * learned (fabric_bridge.h), frames to everybody or to a station that is not known are flooded.
 * There is no spanning tree: bridges must be joined without a loop, else a flooded frame runs round
 * for ever.
 *
 * Owns   queued frames (handed back by fabric_tx), the shared buffer, routes, pause state it asked
 *        of its neighbours. The pause state a neighbour asked of us is the MAC's (ready_classes).
 */
#ifndef FABRIC_SWITCH_H
#define FABRIC_SWITCH_H

#include "wire_frame.h"
#include "wire_param.h"

/* X(field, unit, default, min, max, source, text, names) */
#define FABRIC_PARAMS(X)                                                                           \
    X(buffer_bytes, BYTES, 32000000, 1000, 1000000000000, "HPCC: 32 MB at 100G",                   \
      "Shared packet buffer", NULL)                                                                \
    X(reserved_bytes, BYTES, 4096, 0, 1000000000, "HPCC SwitchMmu: 4 KB per port and class",       \
      "Reserved for each ingress port and class", NULL)                                            \
    X(alpha, RATIO, 0.125, 0.0001, 1024, "HPCC: 1/8", "Dynamic threshold: share of the free pool", \
      NULL)                                                                                        \
    X(lossy_alpha, RATIO, 1.0, 0.0001, 1024, "HPCC: 1 without PFC",                                \
      "Dynamic threshold of an egress queue of a lossy class", NULL)                               \
    X(lossless, BOOL, 1, 0, 1, "choice", "PFC for the classes of lossless_classes", NULL)          \
    X(lossless_classes, COUNT, 8, 0, 255, "class 3: common RoCE deployment",                       \
      "Bit c set: class c is lossless", NULL)                                                      \
    X(headroom_bytes, BYTES, 0, 0, 1000000000, "802.1Q annex N; unverified, fabric_mmu.c",         \
      "Headroom of each port and lossless class; 0: computed from rate, delay and frame size",     \
      NULL)                                                                                        \
    X(xon_offset_bytes, BYTES, 3072, 0, 1000000000, "HPCC: 3 KB",                                  \
      "Resume when this far below the threshold", NULL)                                            \
    X(pause_quanta, COUNT, 65535, 1, 65535, "802.1Qbb",                                            \
      "Quanta of 512 bit times in a pause frame", NULL)                                            \
    X(pause_refresh, RATIO, 0.5, 0.01, 1.0, "choice: half of the pause time",                      \
      "A pause still needed is sent again after this share of its time", NULL)                     \
    X(ecn_kmin_bytes, BYTES, 400000, 0, 1000000000000, "HPCC at 100G",                             \
      "Queue length where marking begins", NULL)                                                   \
    X(ecn_kmax_bytes, BYTES, 1600000, 0, 1000000000000, "HPCC at 100G",                            \
      "Queue length above which every ECT packet is marked", NULL)                                 \
    X(ecn_pmax, RATIO, 0.2, 0.0, 1.0, "HPCC", "Probability of marking at ecn_kmax", NULL)          \
    X(ecn_per_rate_bps, RATE, 0, 0, 100000000000000, "HPCC: thresholds in proportion to rate",     \
      "Port rate ecn_kmin and ecn_kmax are meant for: they scale with each port's; 0: the same "   \
      "at every port",                                                                             \
      NULL)                                                                                        \
    X(ecn_at, ENUM, 0, 0, 1, "CoNEXT'16: real switches mark at departure",                         \
      "When marking is decided", "dequeue,enqueue")                                                \
    X(ecn, BOOL, 1, 0, 1, "choice", "Marking on", NULL)                                            \
    X(strict_classes, COUNT, 192, 0, 255, "802.1Qaz: control classes strict",                      \
      "Bit c set: class c is served before the others, highest first; the rest share by DWRR",     \
      NULL)                                                                                        \
    X(dwrr_quantum_bytes, BYTES, 4200, 64, 1000000, "choice: one 4096 B packet",                   \
      "Bytes a class may send per round, times its weight 1", NULL)                                \
    X(latency_ps, TIME, 0, 0, 1000000000, "real: 300-500 ns; 0 as in HPCC",                        \
      "From last bit in until it may leave", NULL)                                                 \
    X(l2, BOOL, 0, 0, 1, "choice", "Bridge instead of routing: no TTL, no MAC rewrite", NULL)      \
    X(l2_learn, BOOL, 1, 0, 1, "802.1D 7.8",                                                       \
      "A bridge learns stations and floods frames to others; off: it knows the routes that were "  \
      "set",                                                                                       \
      NULL)                                                                                        \
    X(l2_primed, BOOL, 1, 0, 1, "choice: ARP comes before RDMA",                                   \
      "A bridge that learns starts out knowing where every station is; off: it floods the first "  \
      "frames",                                                                                    \
      NULL)                                                                                        \
    X(l2_entries, COUNT, 16384, 1, 16777216, "choice: a small datacenter switch; unverified",      \
      "Stations a bridge can learn", NULL)                                                         \
    X(l2_age_ps, TIME, 300000000000000, 0, 1000000000000000000, "802.1D 7.9: 300 s",               \
      "A station not heard of for so long is forgotten; 0: never", NULL)                           \
    X(ecmp_seed, COUNT, 0, 0, 4294967295, "choice",                                                \
      "Hash seed; 0: from the run's seed and the "                                                 \
      "switch's number",                                                                           \
      NULL)

struct fabric_params {
    FABRIC_PARAMS(WIRE_PARAM_FIELD)
};

extern const struct wire_param fabric_param_table[];
extern const size_t fabric_param_count;

struct fabric_switch;

struct fabric_port_config {
    uint32_t station;      /* of this port; fabric ports have consecutive stations */
    uint32_t peer_station; /* at the other end; WIRE_STATION_NONE: unconnected */
    uint64_t rate_bps;
    uint64_t delay_ps;         /* one way, for headroom */
    uint64_t peer_reaction_ps; /* time the peer takes to stop, for headroom */
    uint32_t max_frame_bytes;  /* largest frame with FCS, for headroom */
};

/**
 * Make a switch of @p ports ports; unconnected until fabric_port_set. Memory comes from malloc
 * here and never later than fabric_start.
 * @return NULL: out of memory, or a parameter out of range.
 */
struct fabric_switch *fabric_create(const struct fabric_params *params, uint32_t ports,
                                    uint64_t seed, uint32_t number);
void fabric_destroy(struct fabric_switch *sw); /* queued frames are the caller's: fabric_flush */

void fabric_port_set(struct fabric_switch *sw, uint32_t port,
                     const struct fabric_port_config *config);

/**
 * Frames to station @p dest leave by one of ports[0 .. n), chosen per flow (ECMP). To a bridge this
 * is a static entry: it comes before what was learned.
 */
int fabric_route_set(struct fabric_switch *sw, uint32_t dest, const uint16_t *ports, uint32_t n);

/**
 * A bridge that learns: as if a frame of @p station had come in at @p port at time 0 (l2_primed is
 * the caller's to look at). Another switch takes no note.
 */
void fabric_learn(struct fabric_switch *sw, uint32_t station, uint32_t port);

/**
 * Check that reserved + headroom of all connected ports fit the buffer and fix the pools.
 * @return 0, or -1: @p why (size bytes) says which sum is how much too large, in bytes.
 */
int fabric_start(struct fabric_switch *sw, char *why, size_t size);

/**
 * The last bit of @p frame has arrived at @p port. Opaque frames obey the same rules: their dst
 * (l2: eth_dst), ttl, tos and prio must be set; tos and ttl change here, in the frame only.
 * @return WIRE_DROP_NONE: the frame is the switch's. Else it is still the caller's, discarded and
 *         counted. PFC frames never come here: they end at the MAC.
 */
enum wire_drop fabric_rx(struct fabric_switch *sw, uint32_t port, struct wire_frame *frame,
                         uint64_t now_ps);

/** Does this switch bridge, so that fabric_flood_next must be asked before fabric_rx? */
bool fabric_is_bridge(const struct fabric_switch *sw);

#define FABRIC_PORT_NONE UINT32_MAX

/**
 * A bridge floods: is @p frame, which arrives at @p port now, to leave by several ports? Each wants
 * a frame of its own, by fabric_rx_flood; fabric_rx takes only what is not flooded.
 * @return the first egress at or after @p from, FABRIC_PORT_NONE: none (and not from 0 on: not to
 *         be flooded, or nobody is there).
 */
uint32_t fabric_flood_next(const struct fabric_switch *sw, uint32_t port,
                           const struct wire_frame *frame, uint32_t from, uint64_t now_ps);

/**
 * As fabric_rx, for a frame (or a copy of it) that is flooded by egress @p out. Flooding never
 * pauses anybody: it is admitted as lossy traffic, charged to the first lossy class of its ingress,
 * and queued in the frame's own class.
 */
enum wire_drop fabric_rx_flood(struct fabric_switch *sw, uint32_t port, uint32_t out,
                               struct wire_frame *frame, uint64_t now_ps);

/**
 * The MAC of @p port is free and pulls; a pause frame that waits goes first and ignores pauses.
 * @param frame in: a blank (for a pause frame); out: what to send
 * @return true: send *frame (its blank, if another frame is sent, is in *spare); false: nothing.
 */
bool fabric_tx(struct fabric_switch *sw, uint32_t port, uint64_t now_ps, uint32_t ready_classes,
               struct wire_frame **frame, struct wire_frame **spare);

/** Earliest time a pull at @p port may succeed; WIRE_NEVER: nothing waits. */
uint64_t fabric_tx_next(const struct fabric_switch *sw, uint32_t port, uint32_t ready_classes);

/**
 * Ports whose fabric_tx_next may have become earlier since last asked (egress of a frame, ingress
 * that must pause or resume); call until it says no more after fabric_rx, _tx and _wake.
 * @return a port number, or -1
 */
int fabric_next_kick(struct fabric_switch *sw);

/** Earliest time fabric_wake must be called (pause refresh); WIRE_NEVER: none. */
uint64_t fabric_next_wake(const struct fabric_switch *sw);
void fabric_wake(struct fabric_switch *sw, uint64_t now_ps);

enum fabric_event_type {
    FABRIC_EVENT_NONE,
    FABRIC_EVENT_ECN,
    FABRIC_EVENT_PAUSE,
    FABRIC_EVENT_RESUME
};
struct fabric_event {
    enum fabric_event_type type;
    uint32_t port;
    uint8_t prio;
    uint64_t time_ps;
    uint64_t queue_bytes;
};
/** Trace records, when enabled. @return false: none. */
bool fabric_event(struct fabric_switch *sw, uint64_t now_ps, struct fabric_event *event);
void fabric_trace_enable(struct fabric_switch *sw, uint32_t mask);

struct fabric_counters {
    uint64_t drops[WIRE_DROP_COUNT];
    uint64_t rx_frames, tx_frames;             /* without pause frames; each copy of a flood */
    uint64_t flooded;                          /* of rx_frames, those that came to be flooded */
    uint64_t pauses, pause_refreshes, resumes; /* classes told so; counted as the frame leaves */
    uint64_t ecn_marked;
    uint64_t peak_buffer_bytes, peak_queue_bytes;
    uint64_t trace_lost; /* trace records nobody took in time */
};
const struct fabric_counters *fabric_query_counters(const struct fabric_switch *sw);

/** Size of the shared pool: the buffer without what is reserved and without headroom. */
uint64_t fabric_query_pool_bytes(const struct fabric_switch *sw);

/** Bytes queued at an egress port and class (frame bytes with FCS). */
uint64_t fabric_queue_bytes(const struct fabric_switch *sw, uint32_t port, uint32_t prio);
/** Largest fabric_queue_bytes of that port and class so far. */
uint64_t fabric_queue_peak_bytes(const struct fabric_switch *sw, uint32_t port, uint32_t prio);
/** Frames queued, counted by walking the queues. */
uint64_t fabric_frames_held(const struct fabric_switch *sw);
/** Take out one queued frame, or NULL when empty; for teardown. */
struct wire_frame *fabric_flush(struct fabric_switch *sw);

#endif
