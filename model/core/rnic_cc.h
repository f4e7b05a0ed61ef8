/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * Congestion control as a table of functions, one file each (rnic_cc_<name>.c).
 *
 * A control owns the reaction point of one queue pair: 64 bytes of state in the QP, and says when
 * the next packet may leave. It has no timers of its own: expiries are computed from time stamps
 * when a rate is next needed (lazy), so an idle or unlimited flow costs nothing. Reading never
 * changes state: rate_bps(now) works on a copy.
 *
 * Times given to one queue pair's control should not go back; if one does, the state is taken as
 * it is (no expiry is undone), which is what a block served slightly ahead of its clock needs.
 *
 * Place  behind rnic_tx_rate, which is the only caller
 * Owns   struct rnic_cc_state of each queue pair
 */
#ifndef RNIC_CC_H
#define RNIC_CC_H

#include "wire_param.h"

/* State of the DCQCN reaction point; what the numbers mean exactly: rnic_cc_dcqcn.c. */
struct rnic_dcqcn_state {
    uint64_t rate_q16;      /* RC in 1/65536 bit/s */
    uint64_t target_q16;    /* RT in 1/65536 bit/s */
    uint64_t gap_q32;       /* picoseconds a byte at RC, 32 fraction bits; 0: to be computed */
    uint64_t pending_ps;    /* end of the gap if RC stayed as it is; next_send_ps knows better */
    uint64_t alpha_due_ps;  /* next expiry of the alpha timer; WIRE_NEVER before the first CNP */
    uint64_t due_ps;        /* next cut or expiry of the increase timer; WIRE_NEVER: neither */
    uint32_t counted_bytes; /* since the last byte-counter event */
    uint32_t cut_phase_ps;  /* checks for a cut are at this, modulo cut_interval_ps */
    uint32_t alpha_q31;     /* alpha in 2^-31, as of alpha_due_ps - alpha_timer_ps */
    uint16_t timer_count;   /* T, stays at 65535 */
    uint16_t byte_count;    /* BC, stays at 65535 */
};

struct rnic_cc_state {
    uint64_t next_send_ps; /* 0 while not limited; maintained by the control, read by tx_rate */
    bool limited;          /* false: the line is the only limit, next_send_ps means nothing */
    uint8_t flags;         /* the control's own, beside its words */
    union {
        uint64_t words[8]; /* the control's own: a member here each, none larger than this */
        struct rnic_dcqcn_state dcqcn;
    };
};

static_assert(sizeof(struct rnic_dcqcn_state) == 64, "a control has 64 bytes in the queue pair");

/*
 * Parameters of the DCQCN reaction point. Its variants differ in these values only: the defaults
 * are the paper's, the presets (rnic_cc_dcqcn_presets.c) say what others have instead, and why.
 */
#define RNIC_DCQCN_PARAMS(X)                                                                       \
    X(g, RATIO, 0.00390625, 0.0000152587890625, 1.0, "DCQCN15 fig. 14: 1/256", "Gain of alpha",    \
      NULL)                                                                                        \
    X(initial_alpha, RATIO, 1.0, 0.0, 1.0, "DCQCN15 sec. 3", "Alpha before the first CNP", NULL)   \
    X(alpha_timer_ps, TIME, 55000000, 100000, 1000000000000, "DCQCN15: K = 55 us",                 \
      "Alpha decays when no CNP came for this long", NULL)                                         \
    X(increase_timer_ps, TIME, 55000000, 100000, 1000000000000, "DCQCN15 fig. 14: 55 us",          \
      "Period of the rate increase timer", NULL)                                                   \
    X(byte_counter_bytes, BYTES, 10000000, 0, 4000000000, "DCQCN15 fig. 14: 10 MB",                \
      "Bytes per byte-counter increase event; 0 is off", NULL)                                     \
    X(fast_recovery, COUNT, 5, 0, 1000, "DCQCN15: F = 5", "Stages of fast recovery", NULL)         \
    X(rai_bps, RATE, 40000000, 0, 1000000000000, "DCQCN15 fig. 14: 40 Mb/s at 40G",                \
      "Additive increase", NULL)                                                                   \
    X(rhai_bps, RATE, 0, 0, 1000000000000, "DCQCN15 gives none; 0 is off",                         \
      "Hyper increase step; 0: additive increase goes on", NULL)                                   \
    X(min_rate_bps, RATE, 100000000, 1000000, 1000000000000, "ns3-rdma: 100 Mb/s",                 \
      "Rate is never cut below", NULL)                                                             \
    X(step_per_rate_bps, RATE, 0, 0, 100000000000000, "choice: as written",                        \
      "Line rate that rai and rhai are meant for: they scale with the card's; 0: they do not",     \
      NULL)                                                                                        \
    X(stage_counted, ENUM, 0, 0, 1, "DCQCN15 fig. 7: before",                                      \
      "An increase event counts before or after it is compared with fast_recovery",                \
      "before,after")                                                                              \
    X(hyper_scaled, BOOL, 1, 0, 1, "QCN: i x R_HAI",                                               \
      "Hyper increase is by rhai times the stages past fast_recovery; else by rhai", NULL)         \
    X(cut_interval_ps, TIME, 0, 0, 4000000000, "DCQCN15 sec. 3: each CNP cuts",                    \
      "CNPs are noted, and a check each interval cuts once if there was one; 0: each cuts at "     \
      "once",                                                                                      \
      NULL)                                                                                        \
    X(cut_offset_ps, TIME, 0, 0, 1000000000, "choice: none",                                       \
      "The first check comes this much later than one interval after the first CNP", NULL)         \
    X(clamp, ENUM, 0, 0, 2, "DCQCN15 sec. 3: always",                                              \
      "When a cut sets the target to the rate before it",                                          \
      "always,after_increase,after_byte_increase")                                                 \
    X(alpha_bits, COUNT, 31, 1, 31, "choice: as good as exact", "Bits of alpha behind the point",  \
      NULL)                                                                                        \
    X(rpg_gd, COUNT, 11, 0, 15, "DCQCN15 sec. 3: half of alpha",                                   \
      "A cut takes the share alpha x 2^10 / 2^rpg_gd", NULL)                                       \
    X(min_dec_fac, RATIO, 0, 0, 1, "choice: no bound",                                             \
      "One cut leaves at least this share of the rate", NULL)

struct rnic_dcqcn_params {
    RNIC_DCQCN_PARAMS(WIRE_PARAM_FIELD)
};

extern const struct wire_param rnic_dcqcn_param_table[];
extern const size_t rnic_dcqcn_param_count;

/* What a control is told about its queue pair; constant over the life of the QP. */
struct rnic_cc_config {
    uint64_t line_bps; /* 1 .. 2^47 */
    struct rnic_dcqcn_params dcqcn;
};

struct rnic_cc_ops {
    const char *name; /* "none", "dcqcn": the scenario's cc.kind */
    /** Fresh state at time @p now_ps: unlimited. */
    void (*init)(const struct rnic_cc_config *config, struct rnic_cc_state *state, uint64_t now_ps);
    /** A CNP for this queue pair arrived. May move next_send_ps (the pending gap is rescaled). */
    void (*cnp)(const struct rnic_cc_config *config, struct rnic_cc_state *state, uint64_t now_ps);
    /**
     * A packet of @p line_bytes (frame + FCS + 20) was scheduled at @p now_ps: count it and set
     * next_send_ps, walking the timer expiries that come before it (an increase shortens the rest
     * of the gap). Need not be called while not limited; changes nothing then.
     */
    void (*sent)(const struct rnic_cc_config *config, struct rnic_cc_state *state,
                 uint32_t line_bytes, uint64_t now_ps);
    /** Current rate in bits a second; changes nothing. */
    uint64_t (*rate_bps)(const struct rnic_cc_config *config, const struct rnic_cc_state *state,
                         uint64_t now_ps);
    /** Control's own congestion estimate (DCQCN: alpha) in 0..1 for plots; changes nothing. */
    double (*alpha)(const struct rnic_cc_config *config, const struct rnic_cc_state *state,
                    uint64_t now_ps);
};

extern const struct rnic_cc_ops rnic_cc_none;
extern const struct rnic_cc_ops rnic_cc_dcqcn;

/** All controls, NULL-terminated; what a scenario may name. */
extern const struct rnic_cc_ops *const rnic_cc_all[];
/* What a card has when nobody says: of ns-3's attribute and of scenarios. */
#define RNIC_CC_DEFAULT "dcqcn"

/** @return the control of that name or NULL. */
const struct rnic_cc_ops *rnic_cc_find(const char *name);

/* One value of a preset that is not the table's default. */
struct rnic_dcqcn_preset_value {
    const char *field;
    double value;
    const char *source;
};

struct rnic_dcqcn_preset {
    const char *name; /* "paper-2015" */
    const char *text; /* one line */
    struct rnic_dcqcn_params params;
    uint64_t cnp_interval_ps; /* of the notification point it was made for: nic.cnp_interval */
    const char *cnp_source;
    const struct rnic_dcqcn_preset_value *values; /* where they come from; ended by field == NULL */
};

/** Named presets, ended by name == NULL. */
extern const struct rnic_dcqcn_preset rnic_dcqcn_presets[];

#endif
