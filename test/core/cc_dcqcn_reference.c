/* SPDX-License-Identifier: GPL-2.0-only */
#include "cc_dcqcn_reference.h"

#include <math.h>

__extension__ typedef unsigned __int128 wide;

static const uint64_t UNIT = 65536;         /* of a rate */
static const uint64_t ALPHA_1 = 2147483648; /* 1.0 */
static const uint64_t COUNTER_END = 65535;

static uint64_t gain(const struct cc_dcqcn_reference *ref)
{
    return (uint64_t)floor(ref->params.g * 2147483648.0 + 0.5);
}

void cc_dcqcn_reference_start(struct cc_dcqcn_reference *ref, const struct rnic_cc_config *config)
{
    *ref = (struct cc_dcqcn_reference){.params = config->dcqcn, .line = config->line_bps};
    ref->current = ref->target = ref->line * UNIT;
    ref->alpha = (uint64_t)floor(ref->params.initial_alpha * 2147483648.0 + 0.5);
}

uint64_t cc_dcqcn_reference_next(const struct cc_dcqcn_reference *ref)
{
    uint64_t next_ps = WIRE_NEVER;

    if (ref->decaying)
        next_ps = ref->alpha_at_ps;
    if (ref->counting && ref->increase_at_ps < next_ps)
        next_ps = ref->increase_at_ps;
    if (ref->decaying && ref->check_at_ps < next_ps)
        next_ps = ref->check_at_ps;
    return next_ps;
}

static void change_rate(struct cc_dcqcn_reference *ref, uint64_t to, uint64_t now_ps)
{
    if (ref->gate_ps > now_ps) {
        wide product = (wide)(ref->gate_ps - now_ps) * ref->current;
        uint64_t rest_ps = (uint64_t)(product / to);

        if (product % to != 0)
            rest_ps++;
        ref->gate_ps = now_ps + rest_ps;
    }
    ref->current = to;
}

/* How far RT moves; t and b are the stages this event is judged by. */
static wide target_step(const struct cc_dcqcn_reference *ref, uint64_t t, uint64_t b)
{
    uint64_t f = ref->params.fast_recovery;
    bool bytes_count = ref->params.byte_counter_bytes != 0;
    wide step;

    if (t < f && b < f)
        return 0;
    if (t > f && (b > f || !bytes_count) && ref->params.rhai_bps != 0) {
        uint64_t i = (bytes_count && b < t ? b : t) - f;

        step = ref->params.rhai_bps;
        if (ref->params.hyper_scaled)
            step *= i;
    } else {
        step = ref->params.rai_bps;
    }
    if (ref->params.step_per_rate_bps != 0)
        step = step * ref->line / ref->params.step_per_rate_bps;
    return step;
}

static void raise_rate(struct cc_dcqcn_reference *ref, uint64_t *stage, uint64_t now_ps)
{
    uint64_t before = *stage, top = ref->line * UNIT, to;
    wide target = ref->target;

    if (*stage != COUNTER_END)
        ++*stage;
    if (ref->params.stage_counted == 1) { /* judged by what it was, counted all the same */
        uint64_t after = *stage;

        *stage = before;
        target += target_step(ref, ref->timer_events, ref->byte_events) * UNIT;
        *stage = after;
    } else {
        target += target_step(ref, ref->timer_events, ref->byte_events) * UNIT;
    }
    ref->target = target > top ? top : (uint64_t)target;
    to = (uint64_t)(((wide)ref->target + ref->current) / 2);
    if (top - to <= UNIT) {
        ref->target = to = top;
        ref->counting = false;
        ref->active = ref->news_for_cut;
        ref->timer_events = ref->byte_events = ref->bytes = 0;
    }
    change_rate(ref, to, now_ps);
}

static uint64_t alpha_step(const struct cc_dcqcn_reference *ref, bool congested)
{
    uint64_t grain = UINT64_C(1) << (31 - ref->params.alpha_bits);
    uint64_t alpha = (uint64_t)((wide)ref->alpha * (ALPHA_1 - gain(ref)) / ALPHA_1);

    alpha = alpha / grain * grain;
    return congested ? alpha + gain(ref) : alpha;
}

static void cut_rate(struct cc_dcqcn_reference *ref, uint64_t now_ps)
{
    uint64_t bottom = ref->params.min_rate_bps * UNIT, top = ref->line * UNIT, kept, to;
    wide cut = ((wide)ref->current * ref->alpha * 1024 / ALPHA_1) >> ref->params.rpg_gd;
    bool moves = ref->byte_events > 0 || (ref->params.clamp == 1 && ref->timer_events > 0);

    if (bottom > top)
        bottom = top;
    if (ref->params.clamp == 0 || moves)
        ref->target = ref->current;
    kept = (uint64_t)floor(ref->params.min_dec_fac * 2147483648.0 + 0.5);
    kept = (uint64_t)((wide)ref->current * kept / ALPHA_1);
    to = cut > ref->current ? 0 : ref->current - (uint64_t)cut;
    if (to < kept)
        to = kept;
    change_rate(ref, to < bottom ? bottom : to, now_ps);
    ref->timer_events = ref->byte_events = ref->bytes = 0;
    ref->counting = true;
    ref->increase_at_ps = now_ps + ref->params.increase_timer_ps;
    ref->news_for_cut = false;
}

/* At one instant: alpha, increase, check. */
void cc_dcqcn_reference_fire(struct cc_dcqcn_reference *ref)
{
    uint64_t now_ps = cc_dcqcn_reference_next(ref);

    ref->fired++;
    if (ref->decaying && ref->alpha_at_ps == now_ps) {
        ref->alpha = alpha_step(ref, ref->news_for_alpha);
        ref->news_for_alpha = false;
        ref->alpha_at_ps += ref->params.alpha_timer_ps;
    } else if (ref->counting && ref->increase_at_ps == now_ps) {
        ref->increase_at_ps = now_ps + ref->params.increase_timer_ps;
        raise_rate(ref, &ref->timer_events, now_ps);
    } else {
        ref->check_at_ps += ref->params.cut_interval_ps;
        if (ref->news_for_cut)
            cut_rate(ref, now_ps);
    }
}

void cc_dcqcn_reference_run(struct cc_dcqcn_reference *ref, uint64_t now_ps)
{
    while (cc_dcqcn_reference_next(ref) <= now_ps)
        cc_dcqcn_reference_fire(ref);
}

void cc_dcqcn_reference_packet(struct cc_dcqcn_reference *ref, uint64_t bytes, uint64_t now_ps)
{
    bool counts = ref->params.byte_counter_bytes != 0;
    wide per_byte, gap;

    ref->bytes += ref->active && counts ? bytes : 0;
    while (ref->active && counts && ref->bytes >= ref->params.byte_counter_bytes) {
        ref->bytes -= ref->params.byte_counter_bytes;
        raise_rate(ref, &ref->byte_events, now_ps);
    }
    if (!ref->active) {
        ref->gate_ps = 0;
        return;
    }
    /* 8e12 ps bits a byte, over bit/s, in 2^-32 ps; then whole ps, rounded up */
    per_byte = (wide)8000000000000u * UNIT * 4294967296u / ref->current;
    gap = (per_byte * bytes + 4294967295u) / 4294967296u;
    if (ref->gate_ps < now_ps)
        ref->gate_ps = now_ps;
    ref->gate_ps += (uint64_t)gap;
}

void cc_dcqcn_reference_cnp(struct cc_dcqcn_reference *ref, uint64_t now_ps)
{
    bool first = !ref->decaying;

    ref->active = ref->decaying = true;
    if (ref->params.cut_interval_ps == 0) {
        cut_rate(ref, now_ps);
        ref->alpha = alpha_step(ref, true);
        ref->alpha_at_ps = now_ps + ref->params.alpha_timer_ps;
        ref->check_at_ps = WIRE_NEVER;
        return;
    }
    ref->news_for_cut = true;
    if (first) {
        ref->alpha_at_ps = now_ps + ref->params.alpha_timer_ps;
        ref->check_at_ps = now_ps + ref->params.cut_interval_ps + ref->params.cut_offset_ps;
    } else {
        ref->news_for_alpha = true;
    }
}
