/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * Verbs: the host's half of the card, named as libibverbs names them. doc/verbs has a page for each
 * group, with tables and examples.
 *
 * For every call:
 *   - `dev` is a card of rnic_device_init(); pointers are not NULL unless said so.
 *   - `now_ps` is the time in picoseconds, never before that of the call before. Afterwards read
 *     rnic_tx_next() and rnic_next_wake() again: the card may have something to send or a timer.
 *   - It returns 0 (or a count) or a negative RNIC_ERR_*. On an error nothing has changed: no
 *     state, no attribute, no queue, and no out argument is written.
 *   - Errors are looked for in the order in which they are listed, but for RNIC_ERR_NOMEM.
 *   - RNIC_ERR_NOMEM means the card's arena is used up: hand it rnic_mem_wanted() more bytes with
 *     rnic_mem_give() and call again.
 *   - Objects are numbers from 1 on; 0 is none. A number of an object that is gone is
 *     RNIC_ERR_NOENT until another object gets it.
 *   - Structs and lists handed in are copied; they are the caller's again when the call returns.
 * What the peer or the wire does wrong is never an error here: it is a completion status or an
 * asynchronous event (rnic_event).
 *
 * Spec   IBTA Vol 1 ch. 10 and 11; libibverbs man pages
 */
#ifndef RNIC_VERBS_H
#define RNIC_VERBS_H

#include "wire_types.h"

struct rnic_device;

enum rnic_err {
    RNIC_ERR_INVAL = -1, /* an argument or attribute is out of range, or not legal in this state */
    RNIC_ERR_FULL = -2,  /* the queue has no free slot */
    RNIC_ERR_NOMEM = -3, /* arena used up; see above */
    RNIC_ERR_NOENT = -4, /* no such object */
    RNIC_ERR_BUSY = -5,  /* still referenced by another object */
    RNIC_ERR_LIMIT = -6, /* device limit reached (max_qp, max_mr, ...) */
    RNIC_ERR_UNSUPPORTED = -7, /* this device does not offer it */
};

/** Name of an error, "RNIC_ERR_INVAL"; "OK" for 0 and above. */
const char *rnic_err_name(int err);

enum rnic_access { /* values as in verbs.h */
                   RNIC_ACCESS_LOCAL_WRITE = 1,
                   RNIC_ACCESS_REMOTE_WRITE = 2,
                   RNIC_ACCESS_REMOTE_READ = 4,
                   RNIC_ACCESS_REMOTE_ATOMIC = 8,
                   RNIC_ACCESS_MW_BIND = 16, /* memory windows may be bound to the region */
};

enum rnic_qp_state {
    RNIC_QPS_RESET,
    RNIC_QPS_INIT,
    RNIC_QPS_RTR,
    RNIC_QPS_RTS,
    RNIC_QPS_SQD,
    RNIC_QPS_SQE,
    RNIC_QPS_ERR,
};

enum rnic_qp_type {
    RNIC_QPT_RC, /* Reliable Connection: everything below */
    RNIC_QPT_UC, /* Unreliable Connection: SEND and WRITE, no acknowledges, loss drops a message */
    RNIC_QPT_UD, /* Unreliable Datagram: SEND of one packet to any peer, by address handle */
};

/* What a requester (and, for the last two, its responder: both ends the same) does about loss. */
enum rnic_recovery {
    RNIC_RECOVER_GO_BACK_N, /* IBTA 9.7.5: again from the first missing packet */
    RNIC_RECOVER_GO_BACK_0, /* Guo16 4.1: again from the first packet of the message */
    RNIC_RECOVER_SELECTIVE, /* IRN (SIGCOMM'18): the missing packets alone; needs a window, and has
                               its own timeouts (rto_high_ps, rto_low_ps), not attribute timeout */
};

enum rnic_wr_opcode { /* values as in verbs.h */
                      RNIC_WR_RDMA_WRITE = 0,
                      RNIC_WR_RDMA_WRITE_WITH_IMM = 1,
                      RNIC_WR_SEND = 2,
                      RNIC_WR_SEND_WITH_IMM = 3,
                      RNIC_WR_RDMA_READ = 4,
                      RNIC_WR_ATOMIC_CMP_AND_SWP = 5,
                      RNIC_WR_ATOMIC_FETCH_AND_ADD = 6,
                      RNIC_WR_LOCAL_INV = 7,
                      RNIC_WR_BIND_MW = 8,
                      RNIC_WR_SEND_WITH_INV = 9,
};

enum rnic_send_flags {                      /* values as in verbs.h */
                       RNIC_SEND_FENCE = 1, /* not before all earlier READs and atomics are done */
                       RNIC_SEND_SIGNALED = 2,
                       RNIC_SEND_SOLICITED = 4,
                       RNIC_SEND_INLINE = 8, /* the bytes travel in the work request */
};

enum rnic_wc_status { /* order as in verbs.h */
                      RNIC_WC_SUCCESS,
                      RNIC_WC_LOC_LEN_ERR,
                      RNIC_WC_LOC_QP_OP_ERR,
                      RNIC_WC_LOC_EEC_OP_ERR,
                      RNIC_WC_LOC_PROT_ERR,
                      RNIC_WC_WR_FLUSH_ERR,
                      RNIC_WC_MW_BIND_ERR,
                      RNIC_WC_BAD_RESP_ERR,
                      RNIC_WC_LOC_ACCESS_ERR,
                      RNIC_WC_REM_INV_REQ_ERR,
                      RNIC_WC_REM_ACCESS_ERR,
                      RNIC_WC_REM_OP_ERR,
                      RNIC_WC_RETRY_EXC_ERR,
                      RNIC_WC_RNR_RETRY_EXC_ERR,
};

/** "SUCCESS", "REM_ACCESS_ERR", ... */
const char *rnic_wc_status_name(enum rnic_wc_status status);

enum rnic_wc_opcode { /* values as in verbs.h */
                      RNIC_WC_SEND = 0,
                      RNIC_WC_RDMA_WRITE = 1,
                      RNIC_WC_RDMA_READ = 2,
                      RNIC_WC_COMP_SWAP = 3,
                      RNIC_WC_FETCH_ADD = 4,
                      RNIC_WC_BIND_MW = 5,
                      RNIC_WC_LOCAL_INV = 6,
                      RNIC_WC_RECV = 128,
                      RNIC_WC_RECV_RDMA_WITH_IMM = 129,
};

struct rnic_sge {
    uint64_t addr;   /* virtual address in a registered region; INLINE: a pointer of the host, as a
                        number, or 0: phantom bytes */
    uint32_t length; /* bytes, up to 2^31 in all */
    uint32_t lkey;   /* INLINE: not looked at */
};

struct rnic_send_wr {
    uint64_t wr_id;
    enum rnic_wr_opcode opcode;
    unsigned send_flags; /* enum rnic_send_flags */
    union {
        uint32_t imm;             /* WITH_IMM: number whose big-endian bytes travel */
        uint32_t invalidate_rkey; /* WITH_INV: at the peer; LOCAL_INV: of this card */
    };
    uint32_t rkey;        /* WRITE, READ, atomics: of the peer; BIND_MW: the window's new key */
    uint64_t remote_addr; /* WRITE, READ, atomics */
    const struct rnic_sge *sg_list; /* READ, atomics: where the answer goes */
    uint32_t num_sge;
    union {
        struct {
            uint64_t compare_add, swap; /* FETCH_AND_ADD: compare_add is added */
        } atomic;
        struct {
            uint32_t ah, remote_qpn;
            uint32_t remote_qkey; /* bit 31 set: the queue pair's own is sent instead */
        } ud;
        struct {
            uint32_t mw;     /* the window's present key */
            uint32_t mr;     /* key of the region, registered with MW_BIND */
            uint64_t addr;   /* of the window, inside the region */
            uint64_t length; /* bytes; 0: unbind */
            unsigned access; /* REMOTE_*; writes and atomics need LOCAL_WRITE of the region */
        } bind_mw;
    };
};

struct rnic_recv_wr {
    uint64_t wr_id;
    const struct rnic_sge *sg_list;
    uint32_t num_sge;
};

enum {                  /* rnic_wc.wc_flags, values as in verbs.h */
       RNIC_WC_GRH = 1, /* UD: the first 40 bytes of the buffer are the GRH area */
       RNIC_WC_WITH_IMM = 2,
       RNIC_WC_WITH_INV = 8,
};

#define RNIC_GRH_BYTES 40u /* ahead of the data in a UD receive buffer */

struct rnic_wc { /* on an error only wr_id, status, qp_num and vendor_err are valid */
    uint64_t wr_id;
    enum rnic_wc_status status;
    enum rnic_wc_opcode opcode;
    uint32_t
        byte_len; /* receive: bytes that arrived, UD: GRH area included; send: of the message */
    union {
        uint32_t imm;
        uint32_t invalidated_rkey;
    };
    uint32_t qp_num;
    uint32_t src_qp; /* UD receive */
    unsigned wc_flags;
    uint32_t vendor_err; /* the peer's AETH syndrome when a NAK was the reason, else 0 */
};

#define RNIC_SELECTIVE_WINDOW_MAX 67108864u /* bytes; a queue pair keeps twice its window */

struct rnic_qp_init_attr {
    enum rnic_qp_type type;
    uint32_t pd;
    uint32_t send_cq, recv_cq;
    uint32_t max_send_wr, max_recv_wr; /* rounded up to a power of two; at least 1 */
    uint32_t max_send_sge, max_recv_sge;
    uint32_t max_inline_data; /* bytes, at most the device's max_inline */
    uint32_t srq;             /* receives come from there, and max_recv_wr counts for nothing;
                                 0: own receive queue */
    bool sq_sig_all;
    bool e2e_credits;            /* RC: heed and send end-to-end credits (IBTA 9.7.7.2) */
    enum rnic_recovery recovery; /* RC */
    uint32_t window_bytes;       /* RC: at most so many bytes unacknowledged, at least one packet;
                              0: no window. SELECTIVE needs one, the same at both ends: the BDP,
                              RNIC_SELECTIVE_WINDOW_MAX at most;
                              GO_BACK_0 may have none, and no credits: of an open message it takes
                              no acknowledge */
};

enum rnic_qp_attr_mask { /* names as in verbs.h */
                         RNIC_QP_STATE = 1 << 0,
                         RNIC_QP_CUR_STATE = 1 << 1,
                         RNIC_QP_EN_SQD_ASYNC_NOTIFY = 1 << 2,
                         RNIC_QP_ACCESS_FLAGS = 1 << 3,
                         RNIC_QP_PKEY_INDEX = 1 << 4,
                         RNIC_QP_PORT = 1 << 5,
                         RNIC_QP_QKEY = 1 << 6,
                         RNIC_QP_AV = 1 << 7,
                         RNIC_QP_PATH_MTU = 1 << 8,
                         RNIC_QP_TIMEOUT = 1 << 9,
                         RNIC_QP_RETRY_CNT = 1 << 10,
                         RNIC_QP_RNR_RETRY = 1 << 11,
                         RNIC_QP_RQ_PSN = 1 << 12,
                         RNIC_QP_MAX_QP_RD_ATOMIC = 1 << 13,
                         RNIC_QP_MIN_RNR_TIMER = 1 << 15,
                         RNIC_QP_SQ_PSN = 1 << 16,
                         RNIC_QP_MAX_DEST_RD_ATOMIC = 1 << 17,
                         RNIC_QP_DEST_QPN = 1 << 20,
                         RNIC_QP_RATE_LIMIT = 1 << 25,
};

struct rnic_av { /* address vector: where the peer is and how packets to it look */
    uint32_t dest_station;
    uint32_t next_hop;     /* station whose MAC the frame carries; the router's, or dest_station */
    uint8_t traffic_class; /* DSCP << 2; the ECN bits are the card's */
    uint8_t hop_limit;
    bool ipv6;          /* the stations' GIDs are IPv6 addresses */
    bool roce_v1;       /* EtherType 0x8915: stays in its broadcast domain; ipv6 must be false */
    uint16_t udp_sport; /* 0: the card computes 0xC000 | fold(lqpn x rqpn) as Linux does */
};

struct rnic_qp_attr {
    enum rnic_qp_state qp_state, cur_qp_state;
    bool en_sqd_async_notify; /* RTS to SQD: tell when drained (RNIC_EVENT_SQ_DRAINED) */
    unsigned qp_access_flags; /* enum rnic_access, the REMOTE_ ones */
    uint16_t pkey_index;      /* 0 */
    uint8_t port_num;         /* 1 */
    struct rnic_av av;
    uint32_t path_mtu_bytes; /* 256, 512, 1024, 2048, 4096 */
    uint32_t dest_qp_num;
    wire_psn rq_psn, sq_psn;
    uint8_t timeout, retry_cnt, rnr_retry, min_rnr_timer;
    uint8_t max_rd_atomic;      /* READs and atomics outstanding as requester */
    uint8_t max_dest_rd_atomic; /* remembered as responder */
    uint32_t qkey;              /* UD; values with bit 31 set are the kernel's and allowed */
    uint64_t rate_limit_bps;    /* static rate of what it sends; 0: none */
};

/* Counters of one queue pair since its last RESET. */
struct rnic_qp_counters {
    /* Requests and READ and atomic responses; line bytes without gap; retransmissions included. */
    uint64_t tx_packets, tx_bytes;
    uint64_t retransmitted_packets;
    uint64_t rx_packets;   /* requests accepted */
    uint64_t rx_responses; /* READ and atomic responses placed */
    uint64_t acks_tx, naks_tx, rnr_naks_tx;
    uint64_t acks_rx, naks_rx, rnr_naks_rx;
    uint64_t timeouts;
    uint64_t cnps_tx, cnps_rx, ce_rx;
};

/* ---- protection domains and regions (IBTA 10.2.3, 10.6; ibv_alloc_pd(3), ibv_reg_mr(3)) ---- */

/**
 * New protection domain: objects of one domain may use each other, others may not.
 * @param pd out: its number
 * @return 0, RNIC_ERR_NOMEM
 */
int rnic_alloc_pd(struct rnic_device *dev, uint32_t *pd, uint64_t now_ps);

/**
 * Give a domain back.
 * @return 0, RNIC_ERR_NOENT, RNIC_ERR_BUSY while a region, window, address handle, shared receive
 *         queue or queue pair of it is there
 */
int rnic_dealloc_pd(struct rnic_device *dev, uint32_t pd, uint64_t now_ps);

/**
 * Register @p length bytes at virtual address @p va.
 *
 * @param host    the bytes themselves (backed), which must outlive the region, or NULL (phantom:
 *                sizes only, same checks)
 * @param access  enum rnic_access; local reading is always allowed; REMOTE_WRITE and REMOTE_ATOMIC
 *                need LOCAL_WRITE
 * @param key     out: serves as lkey and rkey; index << 8 | variant, never the key this slot had
 *                before
 * @return 0; RNIC_ERR_INVAL: no bytes, va + length beyond 2^64 - 1, access; RNIC_ERR_NOENT (pd);
 *         RNIC_ERR_LIMIT: max_mr regions and windows; RNIC_ERR_NOMEM
 */
int rnic_reg_mr(struct rnic_device *dev, uint32_t pd, uint64_t va, uint64_t length, void *host,
                unsigned access, uint32_t *key, uint64_t now_ps);

/**
 * Register a list of host pages: virtual page i of the region is @p pages[i], wherever that lies.
 *
 * @param page_bytes  a power of two, 4096 at least; @p va + i * page_bytes (rounded down to a page)
 *                    is where page i begins
 * @param pages       one host pointer a page; NULL: not mapped, an access to it is refused. The
 *                    list is copied, the pages are the caller's and must outlive the region
 * @param n_pages     must cover [va, va + length) exactly
 * @return as rnic_reg_mr, with RNIC_ERR_INVAL for page size, count and no list too:
 *         RNIC_ERR_INVAL, RNIC_ERR_NOENT, RNIC_ERR_LIMIT, RNIC_ERR_NOMEM
 */
int rnic_reg_mr_pages(struct rnic_device *dev, uint32_t pd, uint64_t va, uint64_t length,
                      uint32_t page_bytes, void *const *pages, uint32_t n_pages, unsigned access,
                      uint32_t *key, uint64_t now_ps);

/**
 * The key opens nothing from now on, also for messages under way (they are refused at their next
 * packet); its slot gets another variant. Bytes placed before stay.
 * @return 0, RNIC_ERR_NOENT: no region of exactly this key, RNIC_ERR_BUSY while a window is bound
 *         to it
 */
int rnic_dereg_mr(struct rnic_device *dev, uint32_t key, uint64_t now_ps);

/* ---- memory windows, type 2: bound with RNIC_WR_BIND_MW, for the queue pair that bound
 * (IBTA 10.6.7; ibv_alloc_mw(3)) ---- */

/**
 * @param key out: rkey of a window that opens nothing yet
 * @return 0, RNIC_ERR_NOENT (pd), RNIC_ERR_LIMIT: max_mr regions and windows, RNIC_ERR_NOMEM
 */
int rnic_alloc_mw(struct rnic_device *dev, uint32_t pd, uint32_t *key, uint64_t now_ps);

/**
 * Unbind a window and give it back.
 * @param key any key of the window's slot: a bind may have changed its variant
 * @return 0, RNIC_ERR_NOENT: no window there
 */
int rnic_dealloc_mw(struct rnic_device *dev, uint32_t key, uint64_t now_ps);

/* ---- address handles, for UD (IBTA 10.2.2.4; ibv_create_ah(3)) ---- */

/**
 * @param av  where datagrams go; next_hop is not checked
 * @param ah  out: its number
 * @return 0; RNIC_ERR_INVAL: hop_limit 0, dest_station no station, roce_v1 with ipv6;
 *         RNIC_ERR_NOENT (pd); RNIC_ERR_NOMEM
 */
int rnic_create_ah(struct rnic_device *dev, uint32_t pd, const struct rnic_av *av, uint32_t *ah,
                   uint64_t now_ps);

/** Work requests already posted keep the address. @return 0, RNIC_ERR_NOENT */
int rnic_destroy_ah(struct rnic_device *dev, uint32_t ah, uint64_t now_ps);

/* ---- shared receive queues (IBTA 10.2.9; ibv_create_srq(3)) ---- */

struct rnic_srq_attr {
    uint32_t max_wr; /* rounded up to a power of two */
    uint32_t max_sge;
    uint32_t limit; /* RNIC_EVENT_SRQ_LIMIT once when fewer are left; then disarmed. 0: off */
};

/**
 * @param srq out: its number
 * @return 0; RNIC_ERR_INVAL: max_wr 0 or beyond the device's, max_sge beyond the device's, limit
 *         above max_wr; RNIC_ERR_NOENT (pd); RNIC_ERR_LIMIT: max_srq; RNIC_ERR_NOMEM
 */
int rnic_create_srq(struct rnic_device *dev, uint32_t pd, const struct rnic_srq_attr *attr,
                    uint32_t *srq, uint64_t now_ps);

/**
 * Arm the limit event or, @p limit 0, disarm it. It is looked at when a request is taken: fewer
 * than @p limit left then are told, fewer left now are not.
 * @return 0, RNIC_ERR_NOENT, RNIC_ERR_INVAL: @p limit above max_wr as rounded up
 */
int rnic_modify_srq(struct rnic_device *dev, uint32_t srq, uint32_t limit, uint64_t now_ps);

/**
 * @param attr   out, or NULL: max_wr as rounded up, limit 0 once it was told
 * @param queued out, or NULL: requests waiting
 * @return 0, RNIC_ERR_NOENT
 */
int rnic_query_srq(struct rnic_device *dev, uint32_t srq, struct rnic_srq_attr *attr,
                   uint32_t *queued);

/**
 * Requests that wait are forgotten without completions, its event too.
 * @return 0, RNIC_ERR_NOENT, RNIC_ERR_BUSY while a queue pair uses it
 */
int rnic_destroy_srq(struct rnic_device *dev, uint32_t srq, uint64_t now_ps);

/**
 * Post one receive request for whichever queue pair needs one first. Keys are checked when data
 * comes, against the domain of that queue pair.
 * @return 0, RNIC_ERR_NOENT, RNIC_ERR_INVAL: num_sge beyond max_sge, no list, more than 2^31 bytes;
 *         RNIC_ERR_FULL: max_wr requests wait
 */
int rnic_post_srq_recv(struct rnic_device *dev, uint32_t srq, const struct rnic_recv_wr *wr,
                       uint64_t now_ps);

/* ---- completion queues (IBTA 10.2.8, 11.4.2; ibv_create_cq(3), ibv_poll_cq(3)) ---- */

/**
 * @param entries 1 .. max_cqe completions, rounded up to a power of two
 * @param cq      out: its number
 * @return 0, RNIC_ERR_INVAL (entries), RNIC_ERR_LIMIT: max_cq, RNIC_ERR_NOMEM
 */
int rnic_create_cq(struct rnic_device *dev, uint32_t entries, uint32_t *cq, uint64_t now_ps);

/**
 * Completions not polled and events not taken are forgotten.
 * @return 0, RNIC_ERR_NOENT, RNIC_ERR_BUSY while a queue pair uses it
 */
int rnic_destroy_cq(struct rnic_device *dev, uint32_t cq, uint64_t now_ps);

/**
 * Take completions, oldest first. One of a send request gives its slot of the send queue back, and
 * those of the unsignalled requests before it. Never shows one before its data is in host memory.
 *
 * @param n   room in @p wc, in completions; 0 is allowed
 * @param wc  out: wc[0 .. return value)
 * @return number of completions visible at @p now_ps and taken, 0 .. n; RNIC_ERR_NOENT
 */
int rnic_poll_cq(struct rnic_device *dev, uint32_t cq, uint32_t n, struct rnic_wc *wc,
                 uint64_t now_ps);

/**
 * Arm for one event (RNIC_EVENT_CQ) at the next completion. Completions already visible do not
 * trigger it: arm, then poll once more.
 *
 * @param solicited_only  only for a receive whose sender said RNIC_SEND_SOLICITED, or for an error;
 *                        a queue that is armed for any stays so
 * @return 0, RNIC_ERR_NOENT
 */
int rnic_req_notify_cq(struct rnic_device *dev, uint32_t cq, bool solicited_only, uint64_t now_ps);

/* ---- queue pairs (IBTA 10.2.4, 10.3, 11.2.5; ibv_create_qp(3), ibv_modify_qp(3)) ---- */

/**
 * New queue pair in RESET.
 *
 * @param init  sizes at most the device's max_wr, max_sge, max_inline; recovery, window_bytes and
 *              e2e_credits count for RC only
 * @param qpn   out: its number, 2 at least; numbers go round before one comes again
 * @return 0; RNIC_ERR_UNSUPPORTED (type); RNIC_ERR_INVAL: a size 0 or beyond the device's, recovery
 *         unknown, SELECTIVE without a window, GO_BACK_0 with a window or credits; RNIC_ERR_NOENT
 *         (pd, cq, srq); RNIC_ERR_INVAL: a shared receive queue of another domain; RNIC_ERR_NOMEM;
 *         RNIC_ERR_LIMIT: max_qp
 */
int rnic_create_qp(struct rnic_device *dev, const struct rnic_qp_init_attr *init, uint32_t *qpn,
                   uint64_t now_ps);

/**
 * Change state and attributes; doc/verbs/queue-pairs.rst has the table of transitions with the
 * attributes that each must and may have (the code's is in rnic_table_qp.c).
 *
 * RESET forgets all work without completions, attributes and counters, and unbinds the windows it
 * has bound; ERR flushes both queues. RTS begins connect_ps later to send.
 *
 * @param attr  fields named by @p mask; the others are not looked at
 * @param mask  enum rnic_qp_attr_mask; without RNIC_QP_STATE the state stays, which must be a
 *              transition of the table too. RNIC_QP_CUR_STATE: only if cur_qp_state is the state
 * @return 0; RNIC_ERR_NOENT; RNIC_ERR_INVAL: the transition is not legal for the type, an attribute
 *         is missing, not allowed or out of range; RNIC_ERR_BUSY: max_dest_rd_atomic changes (SQD)
 *         while READs or atomics of the peer are still to be answered; RNIC_ERR_NOMEM
 */
int rnic_modify_qp(struct rnic_device *dev, uint32_t qpn, const struct rnic_qp_attr *attr,
                   unsigned mask, uint64_t now_ps);

/**
 * Changes nothing.
 * @param attr      out, or NULL: as modified since RESET; qp_state and cur_qp_state are the state
 * @param counters  out, or NULL
 * @return 0, RNIC_ERR_NOENT
 */
int rnic_query_qp(struct rnic_device *dev, uint32_t qpn, struct rnic_qp_attr *attr,
                  struct rnic_qp_counters *counters);

/**
 * Outstanding work is discarded without completions, and completions and events of it that nobody
 * took yet; frames already built, acknowledges and NAKs still leave. Its windows are unbound.
 * @return 0, RNIC_ERR_NOENT
 */
int rnic_destroy_qp(struct rnic_device *dev, uint32_t qpn, uint64_t now_ps);

/**
 * Current rate and congestion estimate of the QP's congestion control, which begins in RTR: READ
 * responses are paced too. The static rate (RNIC_QP_RATE_LIMIT) is not in it. Changes nothing.
 *
 * @param rate_bps  out: bits a second
 * @param alpha     out: 0 .. 1, in a control that has none 0
 * @return 0, RNIC_ERR_NOENT, RNIC_ERR_INVAL (before RTR; ERR)
 */
int rnic_query_rate(struct rnic_device *dev, uint32_t qpn, uint64_t *rate_bps, double *alpha,
                    uint64_t now_ps);

/* ---- posting (IBTA 10.8, 11.4.1; ibv_post_send(3), ibv_post_recv(3)) ---- */

/**
 * Post one send work request. What each service offers (IBTA table 12): RC all, UC SEND and WRITE
 * (plain, WITH_IMM) and the local ones, UD SEND and SEND_WITH_IMM. In SQD it is accepted and waits
 * for RTS; in ERR and SQE it is accepted and flushed at once. Keys are not looked at here but when
 * the card reads or writes (completion LOC_PROT_ERR); inline data is copied now.
 *
 * @param wr  local operations (LOCAL_INV, BIND_MW): sg_list is not looked at
 * @return 0; RNIC_ERR_NOENT (queue pair); RNIC_ERR_INVAL: state before RTS; opcode not of the
 *         service; flags; num_sge beyond max_send_sge or no list; total length beyond 2^31, UD:
 *         beyond the device's mtu_bytes, READ and GO_BACK_0 (RTS, SQD): beyond 2^23-1 packets,
 *         atomics: not 8 bytes; READ or atomic with max_rd_atomic 0 (RTS, SQD); INLINE with a READ,
 *         an atomic or more than max_inline_data; UD: remote_qpn beyond 24 bits; RNIC_ERR_NOENT
 *         (UD: address handle, also one of another domain); RNIC_ERR_FULL: max_send_wr requests
 *         whose completion, or that of a later one, was not polled
 */
int rnic_post_send(struct rnic_device *dev, uint32_t qpn, const struct rnic_send_wr *wr,
                   uint64_t now_ps);

/**
 * Post one receive request, from INIT on; in ERR it is accepted and flushed at once. The order of
 * posting is the order of use. UD: RNIC_GRH_BYTES of it are not data. Keys are checked when data
 * comes.
 *
 * @param wr  an empty list is legal: for messages without data and WRITE with immediate
 * @return 0; RNIC_ERR_NOENT; RNIC_ERR_INVAL: in RESET, with a shared receive queue, num_sge beyond
 *         max_recv_sge, no list, more than 2^31 bytes; RNIC_ERR_FULL: max_recv_wr requests wait
 */
int rnic_post_recv(struct rnic_device *dev, uint32_t qpn, const struct rnic_recv_wr *wr,
                   uint64_t now_ps);

#endif
