/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * DCQCN reaction point, lazy: its timers are walked when a rate or a send time is next needed.
 *
 * CNP, cut_interval 0   a cut; then alpha = (1 - g) alpha + g; the alpha timer restarts.
 *      else             is noted. The first one only starts the alpha timer and the checks: at
 *                       cut_interval + cut_offset from then, and each cut_interval after.
 * Check           if a CNP was noted since the last one: a cut.
 * Cut             clamp allowing, RT = RC; RC = RC - RC alpha 2^10 / 2^gd, not below min_dec_fac RC
 *                 nor Rmin; the increase timer restarts, T = BC = 0, byte counter 0.
 * Alpha timer     alpha = (1 - g) alpha, + g if a CNP was noted since it last expired; rounded down
 *                 to alpha_bits; restart. Runs from the first CNP on, for ever.
 * Increase event  the timer expires (T++) or byte_counter_bytes were sent (BC++; what is over
 *                 counts for the next). The count is raised before or after it is compared
 *                 (stage_counted): max(T, BC) < F: RT stays; min(T, BC) > F and RHAI set:
 *                 RT += RHAI, times min(T, BC) - F if hyper_scaled; else RT += RAI.
 *                 RT = min(RT, line); RC = (RT + RC) / 2. With the byte counter off, T stands for
 *                 both.
 * Release         an increase event that brings RC within 1 bit/s of the line sets RC = RT = line,
 *                 stops the increase timer and clears T, BC and the byte counter: the limiter is
 *                 inactive until the next CNP, as it is before the first; a CNP that is noted keeps
 *                 it active. A gap that is pending is still kept, up to the next packet; that one
 *                 adds none. Alpha goes on decaying, so the next CNP finds the right one.
 *
 * Order at one instant: alpha timer, increase timer, check, then what the caller brings (CNP or
 * packet). A packet that completes the byte counter leaves its gap at the new rate.
 *
 * Timers          A cut restarts the increase timer. So of the increase timer and a check that will
 *                 cut only the sooner matters: due_ps is that one. An expiry that comes before the
 *                 check finds its time again from the phase.
 *
 * Pacing          A packet adds ceil(bytes * P / 2^32) ps to max(now, end of the pending gap), with
 *                 P = floor(8e12 * 2^48 / RC_q16) ps per byte in 2^-32. Each change of RC before
 *                 the end rescales the rest: rest = ceil(rest * RC_old / RC_new). pending_ps is the
 *                 end as the eager timer would know it now; next_send_ps has the expiries that
 *                 come before the end applied to it, on a copy, since a CNP may yet prevent them.
 *                 So `limited` may stay true after a release until the next packet or CNP; the
 *                 send time that goes with it is right, or past.
 *
 * Arithmetic      Integers only: RC and RT in 2^-16 bit/s, alpha and g in 2^-31, each division
 *                 rounded down unless ceil is said; so the result is the same on every compiler
 *                 and equals one event per expiry, bit for bit.
 * Long idle       Alpha reaches 0 after at most (ln(2^31 g) + 1) / g decays and stays there. Once
 *                 RT - RC has settled under a constant step, all expiries up to the line are added
 *                 at once (skip_increases says why that is exact).
 *
 * Cost   rnic_tx_rate_sent: 6 ns a packet while limited, under 1 ns when not (measured: gcc 12 -O2,
 *        one core at 100G, a CNP every 400 us; expiries and CNPs included)
 * Spec   Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015
 *        ("DCQCN15"), section 3 and figure 7; rnic_cc_dcqcn_presets.c for the variants
 */
#include "rnic_cc.h"

__extension__ typedef unsigned __int128 u128;

#define ONE_Q31 0x80000000u
#define ONE_BPS_Q16 0x10000u
#define COUNT_MAX UINT16_MAX

enum {                      /* state->flags */
       NOTED_FOR_ALPHA = 1, /* a CNP came since the alpha timer last expired */
       NOTED_FOR_CUT = 2,   /* a CNP came since the last check */
       CHECK_IS_NEXT = 4,   /* due_ps is a check; else the increase timer */
};

enum { COUNT_BEFORE, COUNT_AFTER };                               /* stage_counted */
enum { CLAMP_ALWAYS, CLAMP_AFTER_ANY, CLAMP_AFTER_BYTE_COUNTER }; /* clamp */

static uint32_t ratio_q31(double ratio)
{
    WIRE_ASSERT(ratio >= 0.0 && ratio <= 1.0);
    return (uint32_t)(ratio * (double)ONE_Q31 + 0.5);
}

/* Alpha at an expiry of its timer without a CNP; with one, raise(). */
static uint32_t decay(const struct rnic_dcqcn_params *p, uint32_t g_q31, uint32_t alpha_q31)
{
    WIRE_ASSERT(g_q31 > 0 && g_q31 <= ONE_Q31);
    return (uint32_t)(((uint64_t)alpha_q31 * (ONE_Q31 - g_q31)) >> 31) >>
           (31 - p->alpha_bits) << (31 - p->alpha_bits);
}

static uint32_t raise(const struct rnic_dcqcn_params *p, uint32_t g_q31, uint32_t alpha_q31)
{
    uint32_t raised_q31 = decay(p, g_q31, alpha_q31) + g_q31;

    WIRE_ASSERT(raised_q31 <= ONE_Q31);
    return raised_q31;
}

/* Expiries of the alpha timer up to and including @p now_ps. */
static uint64_t alpha_expiries(const struct rnic_cc_config *config,
                               const struct rnic_dcqcn_state *s, uint64_t now_ps)
{
    return now_ps < s->alpha_due_ps ? 0
                                    : (now_ps - s->alpha_due_ps) / config->dcqcn.alpha_timer_ps + 1;
}

/* Alpha with every expiry up to and including @p now_ps. */
static uint32_t alpha_at(const struct rnic_cc_config *config, const struct rnic_cc_state *state,
                         uint64_t now_ps)
{
    const struct rnic_dcqcn_params *p = &config->dcqcn;
    uint64_t expiries = alpha_expiries(config, &state->dcqcn, now_ps);
    uint32_t g_q31 = ratio_q31(p->g), alpha_q31 = state->dcqcn.alpha_q31;

    if (expiries > 0 && (state->flags & NOTED_FOR_ALPHA) != 0) {
        alpha_q31 = raise(p, g_q31, alpha_q31);
        expiries--;
    }
    for (; expiries > 0 && alpha_q31 > 0; expiries--)
        alpha_q31 = decay(p, g_q31, alpha_q31);
    return alpha_q31;
}

static void set_rate(struct rnic_dcqcn_state *s, uint64_t rate_q16, uint64_t now_ps)
{
    WIRE_ASSERT(rate_q16 > 0);
    if (rate_q16 == s->rate_q16)
        return;
    if (s->pending_ps > now_ps) {
        u128 rest = (u128)(s->pending_ps - now_ps) * s->rate_q16;

        s->pending_ps = now_ps + (uint64_t)((rest + rate_q16 - 1) / rate_q16);
    }
    s->rate_q16 = rate_q16;
    s->gap_q32 = 0;
}

/* ---- what comes next ---- */

/* First check after @p at_ps, which is not before the first CNP. */
static uint64_t check_after(const struct rnic_cc_config *config, const struct rnic_dcqcn_state *s,
                            uint64_t at_ps)
{
    uint64_t interval_ps = config->dcqcn.cut_interval_ps;

    WIRE_ASSERT(interval_ps > 0 && s->cut_phase_ps < interval_ps);
    return at_ps + interval_ps - (at_ps + interval_ps - s->cut_phase_ps) % interval_ps;
}

static void set_due(struct rnic_cc_state *state, uint64_t increase_ps, uint64_t check_ps)
{
    state->flags &= (uint8_t)~CHECK_IS_NEXT;
    if (check_ps < increase_ps)
        state->flags |= CHECK_IS_NEXT;
    state->dcqcn.due_ps = wire_min_ps(increase_ps, check_ps);
}

/* RC has come to the line at @p at_ps. */
static void release(const struct rnic_cc_config *config, struct rnic_cc_state *state,
                    uint64_t at_ps)
{
    struct rnic_dcqcn_state *s = &state->dcqcn;

    s->counted_bytes = 0;
    s->timer_count = 0;
    s->byte_count = 0;
    if ((state->flags & CHECK_IS_NEXT) != 0)
        return;
    state->limited = (state->flags & NOTED_FOR_CUT) != 0;
    set_due(state, WIRE_NEVER, state->limited ? check_after(config, s, at_ps) : WIRE_NEVER);
}

/* ---- increase ---- */

/* Step of RT at an increase event that finds T and BC at @p timer and @p bytes. */
static uint64_t target_step_q16(const struct rnic_cc_config *config, uint32_t timer, uint32_t bytes)
{
    const struct rnic_dcqcn_params *p = &config->dcqcn;
    uint32_t most = timer < bytes ? bytes : timer, least = timer < bytes ? timer : bytes;
    u128 step_bps = p->rai_bps;

    if (most < p->fast_recovery)
        return 0;
    if (p->byte_counter_bytes == 0)
        least = timer;
    if (least > p->fast_recovery && p->rhai_bps > 0)
        step_bps = (p->hyper_scaled ? least - p->fast_recovery : 1) * p->rhai_bps;
    if (p->step_per_rate_bps > 0)
        step_bps = step_bps * config->line_bps / p->step_per_rate_bps;
    return (step_bps < config->line_bps ? (uint64_t)step_bps : config->line_bps) << 16;
}

/* One increase event at @p at_ps, of the timer (@p count is T) or the byte counter (BC). */
static void increase(const struct rnic_cc_config *config, struct rnic_cc_state *state,
                     uint16_t *count, uint64_t at_ps)
{
    struct rnic_dcqcn_state *s = &state->dcqcn;
    uint64_t line_q16 = config->line_bps << 16, rate_q16;
    uint16_t counted = (uint16_t)(*count < COUNT_MAX ? *count + 1 : COUNT_MAX);

    WIRE_ASSERT(state->limited);
    WIRE_ASSERT(s->rate_q16 <= s->target_q16 && s->target_q16 <= line_q16);
    if (config->dcqcn.stage_counted == COUNT_BEFORE)
        *count = counted;
    s->target_q16 += target_step_q16(config, s->timer_count, s->byte_count);
    *count = counted;
    if (s->target_q16 > line_q16)
        s->target_q16 = line_q16;
    rate_q16 = (s->target_q16 + s->rate_q16) / 2;
    if (rate_q16 + ONE_BPS_Q16 >= line_q16) {
        s->target_q16 = line_q16;
        rate_q16 = line_q16;
        release(config, state, at_ps);
    }
    set_rate(s, rate_q16, at_ps);
}

/* The increase timer expires at due_ps. */
static void timer_expires(const struct rnic_cc_config *config, struct rnic_cc_state *state)
{
    struct rnic_dcqcn_state *s = &state->dcqcn;
    uint64_t at_ps = s->due_ps, check_ps = WIRE_NEVER;

    if ((state->flags & NOTED_FOR_CUT) != 0)
        check_ps = check_after(config, s, at_ps - 1); /* at at_ps itself it is still to come */
    set_due(state, at_ps + config->dcqcn.increase_timer_ps, check_ps);
    increase(config, state, &s->timer_count, at_ps);
}

/*
 * Apply all timer expiries up to @p now_ps that do nothing but add one constant step to RT and RC.
 *
 * With d = RT - RC and the step a, one event makes d' = ceil((d + a) / 2) whatever RT is, and once
 * d' = d it adds exactly a to both, until RT meets the line. a is constant once T > F and what a
 * scaled hyper increase counts no longer moves. Nothing is skipped while a gap is pending, as each
 * change rounds it, while a check will cut, nor within 1 bit/s of the line, where the limiter is
 * released.
 */
static void skip_increases(const struct rnic_cc_config *config, struct rnic_cc_state *state,
                           uint64_t now_ps)
{
    const struct rnic_dcqcn_params *p = &config->dcqcn;
    struct rnic_dcqcn_state *s = &state->dcqcn;
    uint32_t last = p->byte_counter_bytes > 0 ? s->byte_count : COUNT_MAX; /* T moves up to it */
    uint64_t line_q16 = config->line_bps << 16;
    uint64_t distance = s->target_q16 - s->rate_q16, step, skipped;

    if (s->timer_count <= p->fast_recovery || s->pending_ps > s->due_ps ||
        (state->flags & NOTED_FOR_CUT) != 0)
        return;
    if (p->rhai_bps > 0 && p->hyper_scaled && last > p->fast_recovery && s->timer_count < last)
        return;
    step = target_step_q16(config, s->timer_count, s->byte_count);
    if ((distance + step + 1) / 2 != distance || s->target_q16 + ONE_BPS_Q16 >= line_q16)
        return;
    skipped = (now_ps - s->due_ps) / p->increase_timer_ps + 1;
    if (step > 0 && skipped > (line_q16 - ONE_BPS_Q16 - 1 - s->target_q16) / step)
        skipped = (line_q16 - ONE_BPS_Q16 - 1 - s->target_q16) / step;
    if (skipped == 0)
        return;
    s->target_q16 += skipped * step;
    s->rate_q16 += skipped * step;
    s->gap_q32 = 0;
    s->due_ps += skipped * p->increase_timer_ps;
    s->timer_count =
        (uint16_t)(skipped < (uint64_t)(COUNT_MAX - s->timer_count) ? s->timer_count + skipped
                                                                    : COUNT_MAX);
}

/* ---- cut ---- */

static bool clamps(const struct rnic_dcqcn_params *p, const struct rnic_dcqcn_state *s)
{
    return p->clamp == CLAMP_ALWAYS || s->byte_count > 0 ||
           (p->clamp == CLAMP_AFTER_ANY && s->timer_count > 0);
}

static void cut(const struct rnic_cc_config *config, struct rnic_cc_state *state,
                uint32_t alpha_q31, uint64_t at_ps)
{
    const struct rnic_dcqcn_params *p = &config->dcqcn;
    struct rnic_dcqcn_state *s = &state->dcqcn;
    uint64_t least_q16 = wire_min_ps(p->min_rate_bps, config->line_bps) << 16, rate_q16;
    u128 cut_q16 = ((u128)s->rate_q16 * alpha_q31) >> (21 + p->rpg_gd);

    if (clamps(p, s))
        s->target_q16 = s->rate_q16;
    if (p->min_dec_fac > 0)
        least_q16 = wire_max_ps(least_q16,
                                (uint64_t)(((u128)s->rate_q16 * ratio_q31(p->min_dec_fac)) >> 31));
    rate_q16 = cut_q16 < s->rate_q16 ? s->rate_q16 - (uint64_t)cut_q16 : 0;
    set_rate(s, wire_max_ps(rate_q16, least_q16), at_ps);
    WIRE_ASSERT(s->rate_q16 <= s->target_q16);
    s->counted_bytes = 0;
    s->timer_count = 0;
    s->byte_count = 0;
    state->flags &= (uint8_t)~NOTED_FOR_CUT;
    set_due(state, at_ps + p->increase_timer_ps, WIRE_NEVER);
}

/* A CNP that only leaves its mark, for the alpha timer and for the next check. */
static void note_cnp(const struct rnic_cc_config *config, struct rnic_cc_state *state,
                     uint64_t now_ps)
{
    const struct rnic_dcqcn_params *p = &config->dcqcn;
    struct rnic_dcqcn_state *s = &state->dcqcn;
    uint64_t check_ps;

    if (s->alpha_due_ps == WIRE_NEVER) {
        s->alpha_due_ps = now_ps + p->alpha_timer_ps;
        s->cut_phase_ps = (uint32_t)((now_ps + p->cut_offset_ps) % p->cut_interval_ps);
        check_ps = now_ps + p->cut_interval_ps + p->cut_offset_ps;
    } else {
        s->alpha_q31 = alpha_at(config, state, now_ps);
        s->alpha_due_ps += alpha_expiries(config, s, now_ps) * p->alpha_timer_ps;
        state->flags |= NOTED_FOR_ALPHA;
        check_ps = check_after(config, s, now_ps);
    }
    if ((state->flags & NOTED_FOR_CUT) == 0) {
        state->flags |= NOTED_FOR_CUT;
        set_due(state, s->due_ps, check_ps);
    }
}

/* ---- the walk ---- */

/* What is at due_ps happens. */
static void expire(const struct rnic_cc_config *config, struct rnic_cc_state *state)
{
    uint64_t at_ps = state->dcqcn.due_ps;

    if (WIRE_UNLIKELY((state->flags & CHECK_IS_NEXT) != 0))
        cut(config, state, alpha_at(config, state, at_ps), at_ps);
    else
        timer_expires(config, state);
}

/* Bring RC and RT to @p now_ps; expiries at @p now_ps itself are in. */
static void advance(const struct rnic_cc_config *config, struct rnic_cc_state *state,
                    uint64_t now_ps)
{
    while (state->dcqcn.due_ps <= now_ps) {
        skip_increases(config, state, now_ps);
        if (state->dcqcn.due_ps <= now_ps)
            expire(config, state);
    }
}

/* End of the pending gap with the expiries that come before it; changes nothing. */
static uint64_t walk_gap(const struct rnic_cc_config *config, const struct rnic_cc_state *state)
{
    struct rnic_cc_state copy;

    if (WIRE_LIKELY(state->dcqcn.pending_ps <= state->dcqcn.due_ps))
        return state->dcqcn.pending_ps;
    copy = *state;
    while (copy.dcqcn.due_ps < copy.dcqcn.pending_ps)
        expire(config, &copy);
    return copy.dcqcn.pending_ps;
}

/* ---- contract ---- */

static void dcqcn_init(const struct rnic_cc_config *config, struct rnic_cc_state *state,
                       uint64_t now_ps)
{
    (void)now_ps;
    WIRE_ASSERT(config->line_bps > 0 && config->line_bps <= (uint64_t)1 << 47);
    WIRE_ASSERT(config->dcqcn.alpha_timer_ps > 0 && config->dcqcn.increase_timer_ps > 0);
    *state = (struct rnic_cc_state){.dcqcn = {.rate_q16 = config->line_bps << 16,
                                              .target_q16 = config->line_bps << 16,
                                              .alpha_due_ps = WIRE_NEVER,
                                              .due_ps = WIRE_NEVER,
                                              .alpha_q31 = ratio_q31(config->dcqcn.initial_alpha)}};
}

static void dcqcn_cnp(const struct rnic_cc_config *config, struct rnic_cc_state *state,
                      uint64_t now_ps)
{
    const struct rnic_dcqcn_params *p = &config->dcqcn;
    struct rnic_dcqcn_state *s = &state->dcqcn;

    advance(config, state, now_ps);
    if (p->cut_interval_ps > 0) {
        note_cnp(config, state, now_ps);
    } else {
        uint32_t alpha_q31 = alpha_at(config, state, now_ps);

        cut(config, state, alpha_q31, now_ps);
        s->alpha_q31 = raise(p, ratio_q31(p->g), alpha_q31);
        s->alpha_due_ps = now_ps + p->alpha_timer_ps;
    }
    state->limited = true;
    state->next_send_ps = walk_gap(config, state);
}

static void count_bytes(const struct rnic_cc_config *config, struct rnic_cc_state *state,
                        uint32_t line_bytes, uint64_t now_ps)
{
    struct rnic_dcqcn_state *s = &state->dcqcn;
    uint32_t period = (uint32_t)config->dcqcn.byte_counter_bytes;

    if (period == 0)
        return;
    s->counted_bytes += line_bytes;
    while (WIRE_UNLIKELY(s->counted_bytes >= period)) {
        s->counted_bytes -= period;
        increase(config, state, &s->byte_count, now_ps); /* a release clears counted_bytes */
    }
}

static void dcqcn_sent(const struct rnic_cc_config *config, struct rnic_cc_state *state,
                       uint32_t line_bytes, uint64_t now_ps)
{
    struct rnic_dcqcn_state *s = &state->dcqcn;
    uint64_t gap_ps;

    if (!state->limited)
        return;
    if (WIRE_UNLIKELY(s->due_ps <= now_ps))
        advance(config, state, now_ps);
    if (state->limited)
        count_bytes(config, state, line_bytes, now_ps);
    if (!state->limited) {
        s->pending_ps = 0;
        state->next_send_ps = 0;
        return;
    }
    if (s->gap_q32 == 0)
        s->gap_q32 = (uint64_t)(((u128)8000000000000u << 48) / s->rate_q16);
    WIRE_ASSERT(s->gap_q32 > 0);
    gap_ps = (uint64_t)(((u128)line_bytes * s->gap_q32 + UINT32_MAX) >> 32);
    s->pending_ps = wire_max_ps(s->pending_ps, now_ps) + gap_ps;
    state->next_send_ps = walk_gap(config, state);
}

static uint64_t dcqcn_rate_bps(const struct rnic_cc_config *config,
                               const struct rnic_cc_state *state, uint64_t now_ps)
{
    struct rnic_cc_state copy = *state;

    advance(config, &copy, now_ps);
    WIRE_ASSERT(copy.limited || copy.dcqcn.rate_q16 == config->line_bps << 16);
    return copy.dcqcn.rate_q16 >> 16;
}

static double dcqcn_alpha(const struct rnic_cc_config *config, const struct rnic_cc_state *state,
                          uint64_t now_ps)
{
    return (double)alpha_at(config, state, now_ps) / (double)ONE_Q31;
}

const struct rnic_cc_ops rnic_cc_dcqcn = {
    .name = "dcqcn",
    .init = dcqcn_init,
    .cnp = dcqcn_cnp,
    .sent = dcqcn_sent,
    .rate_bps = dcqcn_rate_bps,
    .alpha = dcqcn_alpha,
};
