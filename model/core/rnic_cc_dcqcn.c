/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * DCQCN reaction point, lazy: its timers are walked when a rate or a send time is next needed.
 *
 * CNP             RT = RC; RC = max(Rmin, RC - RC alpha / 2) with the old alpha; then
 *                 alpha = (1 - g) alpha + g; both timers restart, T = BC = 0, byte counter 0.
 * Alpha timer     alpha = (1 - g) alpha; restart. Runs from the first CNP on, for ever.
 * Increase event  the timer expires (T++) or byte_counter_bytes were sent (BC++; what is over
 *                 counts for the next), then: max(T, BC) < F: RT stays; min(T, BC) > F and RHAI
 *                 set: RT += (min(T, BC) - F) RHAI; else RT += RAI. RT = min(RT, line);
 *                 RC = (RT + RC) / 2.
 * Release         an increase event that brings RC within 1 bit/s of the line sets RC = RT = line,
 *                 stops the increase timer and clears T, BC and the byte counter: the limiter is
 *                 inactive until the next CNP, as it is before the first. A gap that is pending is
 *                 still kept, up to the next packet; that one adds none. Alpha goes on decaying,
 *                 so the next CNP finds the right one.
 *
 * Order at one instant: alpha timer, increase timer, then what the caller brings (CNP or packet).
 * A packet that completes the byte counter leaves its gap at the new rate.
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
 *        ("DCQCN15"), section 3 and figure 7
 */
#include "rnic_cc.h"

__extension__ typedef unsigned __int128 u128;

#define ONE_Q31 0x80000000u
#define ONE_BPS_Q16 0x10000u
#define COUNT_MAX UINT16_MAX

#define WIRE_PARAM_STRUCT struct rnic_dcqcn_params
const struct wire_param rnic_dcqcn_param_table[] = {RNIC_DCQCN_PARAMS(WIRE_PARAM_ENTRY)};
const size_t rnic_dcqcn_param_count =
    sizeof rnic_dcqcn_param_table / sizeof rnic_dcqcn_param_table[0];

/* The table's defaults are the paper's values. */
#define PRESET_DEFAULT(field, unit, def, min, max, source, text, names) .field = (def),
const struct rnic_dcqcn_preset rnic_dcqcn_presets[] = {
    {"paper-2015", {RNIC_DCQCN_PARAMS(PRESET_DEFAULT)}},
    {.name = NULL},
};

static uint32_t ratio_q31(double ratio)
{
    WIRE_ASSERT(ratio >= 0.0 && ratio <= 1.0);
    return (uint32_t)(ratio * (double)ONE_Q31 + 0.5);
}

static uint32_t decay(uint32_t alpha_q31, uint32_t g_q31)
{
    WIRE_ASSERT(g_q31 > 0 && g_q31 <= ONE_Q31);
    return (uint32_t)(((uint64_t)alpha_q31 * (ONE_Q31 - g_q31)) >> 31);
}

/* Alpha with every expiry up to and including @p now_ps. */
static uint32_t alpha_at(const struct rnic_cc_config *config, const struct rnic_dcqcn_state *s,
                         uint64_t now_ps)
{
    uint32_t g_q31 = ratio_q31(config->dcqcn.g), alpha_q31 = s->alpha_q31;
    uint64_t expiries;

    if (now_ps < s->alpha_due_ps)
        return alpha_q31;
    expiries = (now_ps - s->alpha_due_ps) / config->dcqcn.alpha_timer_ps + 1;
    for (; expiries > 0 && alpha_q31 > 0; expiries--)
        alpha_q31 = decay(alpha_q31, g_q31);
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

static void release(struct rnic_cc_state *state)
{
    struct rnic_dcqcn_state *s = &state->dcqcn;

    state->limited = false;
    s->increase_due_ps = WIRE_NEVER;
    s->counted_bytes = 0;
    s->timer_count = 0;
    s->byte_count = 0;
}

/* Step of RT at an increase event that leaves the counters at @p timer and @p bytes. */
static uint64_t target_step_q16(const struct rnic_cc_config *config, uint32_t timer, uint32_t bytes)
{
    const struct rnic_dcqcn_params *p = &config->dcqcn;
    uint32_t least = timer < bytes ? timer : bytes, most = timer < bytes ? bytes : timer;
    uint64_t step_bps = p->rai_bps;

    if (most < p->fast_recovery)
        return 0;
    if (least > p->fast_recovery && p->rhai_bps > 0)
        step_bps = (least - p->fast_recovery) * p->rhai_bps;
    return (step_bps < config->line_bps ? step_bps : config->line_bps) << 16;
}

/* One increase event at @p at_ps; its counter is already counted. */
static void increase(const struct rnic_cc_config *config, struct rnic_cc_state *state,
                     uint64_t at_ps)
{
    struct rnic_dcqcn_state *s = &state->dcqcn;
    uint64_t line_q16 = config->line_bps << 16, rate_q16;

    WIRE_ASSERT(state->limited);
    WIRE_ASSERT(s->rate_q16 <= s->target_q16 && s->target_q16 <= line_q16);
    s->target_q16 += target_step_q16(config, s->timer_count, s->byte_count);
    if (s->target_q16 > line_q16)
        s->target_q16 = line_q16;
    rate_q16 = (s->target_q16 + s->rate_q16) / 2;
    if (rate_q16 + ONE_BPS_Q16 >= line_q16) {
        s->target_q16 = line_q16;
        rate_q16 = line_q16;
        release(state);
    }
    set_rate(s, rate_q16, at_ps);
}

static void timer_expires(const struct rnic_cc_config *config, struct rnic_cc_state *state)
{
    struct rnic_dcqcn_state *s = &state->dcqcn;
    uint64_t at_ps = s->increase_due_ps;

    s->increase_due_ps += config->dcqcn.increase_timer_ps;
    if (s->timer_count < COUNT_MAX)
        s->timer_count++;
    increase(config, state, at_ps);
}

/*
 * Apply all timer expiries up to @p now_ps that do nothing but add one constant step to RT and RC.
 *
 * With d = RT - RC and the step a, one event makes d' = ceil((d + a) / 2) whatever RT is, and once
 * d' = d it adds exactly a to both, until RT meets the line. a is constant once T >= F and
 * min(T, BC) no longer moves. Nothing is skipped while a gap is pending, as each change rounds it,
 * nor within 1 bit/s of the line, where the limiter is released.
 */
static void skip_increases(const struct rnic_cc_config *config, struct rnic_dcqcn_state *s,
                           uint64_t now_ps)
{
    const struct rnic_dcqcn_params *p = &config->dcqcn;
    uint64_t line_q16 = config->line_bps << 16;
    uint64_t distance = s->target_q16 - s->rate_q16, step, skipped;

    if (s->timer_count < p->fast_recovery || s->pending_ps > s->increase_due_ps)
        return;
    if (p->rhai_bps > 0 && s->byte_count > p->fast_recovery && s->timer_count < s->byte_count)
        return;
    step = target_step_q16(config, s->timer_count, s->byte_count);
    if ((distance + step + 1) / 2 != distance || s->target_q16 + ONE_BPS_Q16 >= line_q16)
        return;
    skipped = (now_ps - s->increase_due_ps) / p->increase_timer_ps + 1;
    if (step > 0 && skipped > (line_q16 - ONE_BPS_Q16 - 1 - s->target_q16) / step)
        skipped = (line_q16 - ONE_BPS_Q16 - 1 - s->target_q16) / step;
    if (skipped == 0)
        return;
    s->target_q16 += skipped * step;
    s->rate_q16 += skipped * step;
    s->gap_q32 = 0;
    s->increase_due_ps += skipped * p->increase_timer_ps;
    s->timer_count =
        (uint16_t)(skipped < (uint64_t)(COUNT_MAX - s->timer_count) ? s->timer_count + skipped
                                                                    : COUNT_MAX);
}

/* Bring RC and RT to @p now_ps; expiries at @p now_ps itself are in. */
static void advance(const struct rnic_cc_config *config, struct rnic_cc_state *state,
                    uint64_t now_ps)
{
    while (state->dcqcn.increase_due_ps <= now_ps) {
        skip_increases(config, &state->dcqcn, now_ps);
        if (state->dcqcn.increase_due_ps <= now_ps)
            timer_expires(config, state);
    }
}

/* End of the pending gap with the expiries that come before it; changes nothing. */
static uint64_t walk_gap(const struct rnic_cc_config *config, const struct rnic_cc_state *state)
{
    struct rnic_cc_state copy;

    if (WIRE_LIKELY(state->dcqcn.pending_ps <= state->dcqcn.increase_due_ps))
        return state->dcqcn.pending_ps;
    copy = *state;
    while (copy.dcqcn.increase_due_ps < copy.dcqcn.pending_ps)
        timer_expires(config, &copy);
    return copy.dcqcn.pending_ps;
}

static void dcqcn_init(const struct rnic_cc_config *config, struct rnic_cc_state *state,
                       uint64_t now_ps)
{
    (void)now_ps;
    WIRE_ASSERT(config->line_bps > 0 && config->line_bps <= (uint64_t)1 << 47);
    WIRE_ASSERT(config->dcqcn.alpha_timer_ps > 0 && config->dcqcn.increase_timer_ps > 0);
    *state = (struct rnic_cc_state){.dcqcn = {.rate_q16 = config->line_bps << 16,
                                              .target_q16 = config->line_bps << 16,
                                              .alpha_due_ps = WIRE_NEVER,
                                              .increase_due_ps = WIRE_NEVER,
                                              .alpha_q31 = ratio_q31(config->dcqcn.initial_alpha)}};
}

static void dcqcn_cnp(const struct rnic_cc_config *config, struct rnic_cc_state *state,
                      uint64_t now_ps)
{
    const struct rnic_dcqcn_params *p = &config->dcqcn;
    struct rnic_dcqcn_state *s = &state->dcqcn;
    uint32_t g_q31 = ratio_q31(p->g), alpha_q31 = alpha_at(config, s, now_ps);
    uint64_t min_bps = p->min_rate_bps < config->line_bps ? p->min_rate_bps : config->line_bps;
    uint64_t rate_q16;

    advance(config, state, now_ps);
    s->target_q16 = s->rate_q16;
    rate_q16 = s->rate_q16 - (uint64_t)(((u128)s->rate_q16 * alpha_q31) >> 32);
    if (rate_q16 < min_bps << 16)
        rate_q16 = min_bps << 16;
    set_rate(s, rate_q16, now_ps);
    WIRE_ASSERT(s->rate_q16 <= s->target_q16);

    s->alpha_q31 = decay(alpha_q31, g_q31) + g_q31;
    s->alpha_due_ps = now_ps + p->alpha_timer_ps;
    s->increase_due_ps = now_ps + p->increase_timer_ps;
    s->counted_bytes = 0;
    s->timer_count = 0;
    s->byte_count = 0;
    state->limited = true;
    state->next_send_ps = walk_gap(config, state);
}

static void count_bytes(const struct rnic_cc_config *config, struct rnic_cc_state *state,
                        uint32_t line_bytes, uint64_t now_ps)
{
    struct rnic_dcqcn_state *s = &state->dcqcn;
    uint64_t period = config->dcqcn.byte_counter_bytes;

    s->counted_bytes += line_bytes;
    while (WIRE_UNLIKELY(period > 0 && s->counted_bytes >= period)) {
        s->counted_bytes -= period;
        if (s->byte_count < COUNT_MAX)
            s->byte_count++;
        increase(config, state, now_ps); /* a release clears counted_bytes */
    }
}

static void dcqcn_sent(const struct rnic_cc_config *config, struct rnic_cc_state *state,
                       uint32_t line_bytes, uint64_t now_ps)
{
    struct rnic_dcqcn_state *s = &state->dcqcn;
    uint64_t gap_ps;

    if (!state->limited)
        return;
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
    return (double)alpha_at(config, &state->dcqcn, now_ps) / (double)ONE_Q31;
}

const struct rnic_cc_ops rnic_cc_dcqcn = {
    .name = "dcqcn",
    .init = dcqcn_init,
    .cnp = dcqcn_cnp,
    .sent = dcqcn_sent,
    .rate_bps = dcqcn_rate_bps,
    .alpha = dcqcn_alpha,
};
