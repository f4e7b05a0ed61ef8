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
    if (ref->active && ref->increase_at_ps < next_ps)
        next_ps = ref->increase_at_ps;
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

static void raise_rate(struct cc_dcqcn_reference *ref, uint64_t now_ps)
{
    uint64_t f = ref->params.fast_recovery;
    uint64_t t = ref->timer_events, b = ref->byte_events, top = ref->line * UNIT;
    wide target = ref->target;
    uint64_t to;

    if (t < f && b < f) {
        /* fast recovery */
    } else if (t > f && b > f && ref->params.rhai_bps != 0) {
        uint64_t i = (t <= b ? t : b) - f;

        target += (wide)ref->params.rhai_bps * i * UNIT;
    } else {
        target += (wide)ref->params.rai_bps * UNIT;
    }
    ref->target = target > top ? top : (uint64_t)target;
    to = (uint64_t)(((wide)ref->target + ref->current) / 2);
    if (top - to <= UNIT) {
        ref->target = to = top;
        ref->active = false;
        ref->timer_events = ref->byte_events = ref->bytes = 0;
    }
    change_rate(ref, to, now_ps);
}

void cc_dcqcn_reference_fire(struct cc_dcqcn_reference *ref)
{
    ref->fired++;
    if (ref->decaying && (!ref->active || ref->alpha_at_ps <= ref->increase_at_ps)) {
        ref->alpha = (uint64_t)((wide)ref->alpha * (ALPHA_1 - gain(ref)) / ALPHA_1);
        ref->alpha_at_ps += ref->params.alpha_timer_ps;
    } else {
        uint64_t now_ps = ref->increase_at_ps;

        ref->increase_at_ps = now_ps + ref->params.increase_timer_ps;
        if (ref->timer_events != COUNTER_END)
            ref->timer_events++;
        raise_rate(ref, now_ps);
    }
}

void cc_dcqcn_reference_run(struct cc_dcqcn_reference *ref, uint64_t now_ps)
{
    while (cc_dcqcn_reference_next(ref) <= now_ps)
        cc_dcqcn_reference_fire(ref);
}

void cc_dcqcn_reference_packet(struct cc_dcqcn_reference *ref, uint64_t bytes, uint64_t now_ps)
{
    wide per_byte, gap;

    ref->bytes += ref->active ? bytes : 0;
    while (ref->active && ref->params.byte_counter_bytes != 0 &&
           ref->bytes >= ref->params.byte_counter_bytes) {
        ref->bytes -= ref->params.byte_counter_bytes;
        if (ref->byte_events != COUNTER_END)
            ref->byte_events++;
        raise_rate(ref, now_ps);
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
    uint64_t bottom = ref->params.min_rate_bps * UNIT, top = ref->line * UNIT, cut, to;

    if (bottom > top)
        bottom = top;
    ref->target = ref->current;
    cut = (uint64_t)((wide)ref->current * ref->alpha / (2 * (wide)ALPHA_1));
    to = ref->current - cut;
    change_rate(ref, to < bottom ? bottom : to, now_ps);
    ref->alpha = (uint64_t)((wide)ref->alpha * (ALPHA_1 - gain(ref)) / ALPHA_1) + gain(ref);
    ref->active = ref->decaying = true;
    ref->timer_events = ref->byte_events = ref->bytes = 0;
    ref->alpha_at_ps = now_ps + ref->params.alpha_timer_ps;
    ref->increase_at_ps = now_ps + ref->params.increase_timer_ps;
}
