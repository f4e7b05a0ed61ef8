/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * rnic-live: faults on this side of the line. Only RoCE frames are struck, each by one fault at
 * most. What befalls the k-th frame of a direction follows from seed, direction and k alone.
 */
#include "rnic-live.h"

#include "wire_bytes.h"

#define OVERTAKEN_MAX 4u            /* frames that overtake one that is reordered */
#define REORDER_PS (2 * LIVE_MS_PS) /* it waits so long at most */
#define DEFAULT_DELAY_MS 20u

static const char *const fate_names[LIVE_FATES] = {[LIVE_LOSS] = "loss",
                                                   [LIVE_DUP] = "dup",
                                                   [LIVE_REORDER] = "reorder",
                                                   [LIVE_CORRUPT] = "corrupt",
                                                   [LIVE_DELAY] = "delay"};

bool live_fault_is_roce(const uint8_t *bytes, size_t n, size_t *begin, size_t *end)
{
    size_t at = 14;
    uint32_t type, udp;

    if (n < 60)
        return false;
    type = wire_bytes_get16(bytes + 12);
    if (type == WIRE_ETHERTYPE_VLAN)
    {
        type = wire_bytes_get16(bytes + 16);
        at = 18;
    }
    udp = (uint32_t)at + (type == WIRE_ETHERTYPE_IPV4 ? 20 : 40);
    *begin = udp + 8;
    if (type == WIRE_ETHERTYPE_ROCE_V1)
    {
        *begin = at + 40;
        *end = *begin + wire_bytes_get16(bytes + at + 4);
        return *end <= n && *end > *begin + 16;
    }
    if (type != WIRE_ETHERTYPE_IPV4 && type != WIRE_ETHERTYPE_IPV6)
        return false;
    if (n < *begin + 16 ||
        bytes[at + (type == WIRE_ETHERTYPE_IPV4 ? 9 : 6)] != WIRE_IP_PROTOCOL_UDP ||
        wire_bytes_get16(bytes + udp + 2) != WIRE_ROCE_UDP_PORT)
        return false;
    *end = udp + wire_bytes_get16(bytes + udp + 4);
    return *end <= n && *end >= *begin + 16;
}

/* ---- setting ---- */

static const char *set_one(struct live_faults *faults, const char *key, const char *value)
{
    char *end;
    double number = strtod(value, &end);
    bool whole = value[0] >= '0' && value[0] <= '9' && *end == '\0';

    if (strcmp(key, "dir") == 0)
    {
        faults->struck[LIVE_OUT] = strcmp(value, "in") != 0;
        faults->struck[LIVE_IN] = strcmp(value, "out") != 0;
        return strcmp(value, "in") == 0 || strcmp(value, "out") == 0 || strcmp(value, "both") == 0
                   ? NULL
                   : "dir is in, out or both";
    }
    if (strcmp(key, "seed") == 0)
    {
        faults->seed = strtoull(value, &end, 10);
        return whole && *end == '\0' ? NULL : "seed is a whole number";
    }
    if (strcmp(key, "delay_ms") == 0)
    {
        if (!whole || number <= 0 || number > 10000)
            return "delay_ms is a number up to 10000";
        faults->delay_ps = (uint64_t)(number * LIVE_MS_PS);
        return NULL;
    }
    for (unsigned fate = LIVE_LOSS; fate < LIVE_FATES; fate++)
        if (strcmp(key, fate_names[fate]) == 0)
        {
            if (!whole || number > 1)
                return "loss, dup, reorder, corrupt and delay are parts of all frames, 0 to 1";
            faults->part[fate] = number;
            return NULL;
        }
    return "known are seed, loss, dup, reorder, corrupt, delay, delay_ms, dir";
}

const char *live_fault_set(struct live *live, const char *text)
{
    struct live_faults faults = {.struck = {true, true},
                                 .delay_ps = (uint64_t)DEFAULT_DELAY_MS * LIVE_MS_PS,
                                 .held = live->faults.held};
    char copy[256];
    char *save = NULL;
    double sum = 0;

    if (strlen(text) >= sizeof copy)
        return "too long";
    memcpy(copy, text, strlen(text) + 1);
    if (strcmp(text, "off") == 0)
        copy[0] = '\0';
    else if (text[0] == '\0')
        return "nothing is named; \"off\" ends them";
    for (char *word = strtok_r(copy, ",", &save); word != NULL; word = strtok_r(NULL, ",", &save))
    {
        char *value = strchr(word, '=');
        const char *wrong;

        if (value == NULL)
            return "want KEY=VALUE,KEY=VALUE...";
        *value++ = '\0';
        wrong = set_one(&faults, word, value);
        if (wrong != NULL)
            return wrong;
    }
    for (unsigned fate = LIVE_LOSS; fate < LIVE_FATES; fate++)
        sum += faults.part[fate];
    if (sum > 1)
        return "the parts are more than 1 together";
    memcpy(faults.count, live->faults.count, sizeof faults.count);
    live->faults = faults;
    return NULL;
}

/* ---- frames ---- */

static void go(struct live *live, enum live_direction direction, const uint8_t *bytes, size_t n)
{
    if (direction == LIVE_OUT)
        live_port_send(live, bytes, n);
    else
        live_card_take(live, bytes, n);
}

static void hold(struct live *live, enum live_direction direction, const uint8_t *bytes, size_t n,
                 uint64_t for_ps, uint32_t behind)
{
    struct live_frame *frame = live_need(malloc(sizeof *frame + n));
    struct live_frame **at = &live->faults.held;

    while (*at != NULL) /* in the order in which they came */
        at = &(*at)->next;
    *frame = (struct live_frame){
        .direction = direction, .due_ps = live->now_ps + for_ps, .behind = behind, .n = n};
    memcpy(frame->bytes, bytes, n);
    *at = frame;
}

/* One bit of what the ICRC covers; of the BTH all but its byte 4, which no CRC covers. */
static void corrupt(uint8_t *bytes, size_t begin, size_t end, struct wire_rng *rng)
{
    size_t at = begin + wire_rng_next(rng) % (end - begin);

    if (at == begin + 4)
        at++;
    bytes[at] ^= (uint8_t)(1u << wire_rng_next(rng) % 8);
}

static enum live_fate throw_dice(const struct live_faults *faults, struct wire_rng *rng)
{
    double value = wire_rng_uniform(rng);

    for (unsigned fate = LIVE_LOSS; fate < LIVE_FATES; fate++)
    {
        if (value < faults->part[fate])
            return (enum live_fate)fate;
        value -= faults->part[fate];
    }
    return LIVE_WHOLE;
}

/* One more has gone by: those that it has overtaken may be next. */
static void overtake(struct live *live, enum live_direction direction)
{
    for (struct live_frame *frame = live->faults.held; frame != NULL; frame = frame->next)
        if (frame->direction == direction && frame->behind > 0 && --frame->behind == 0)
            frame->due_ps = live->now_ps;
}

static void strike(struct live *live, enum live_direction direction, enum live_fate fate,
                   const uint8_t *bytes, size_t n, struct wire_rng *rng)
{
    uint32_t behind = 1 + (uint32_t)(wire_rng_next(rng) % OVERTAKEN_MAX);
    size_t begin, end;
    uint8_t *copy;

    switch (fate)
    {
    case LIVE_LOSS:
        return;
    case LIVE_DUP: /* the second one comes at once or some frames later */
        go(live, direction, bytes, n);
        if (behind == 1)
            go(live, direction, bytes, n);
        else
            hold(live, direction, bytes, n, REORDER_PS, behind);
        return;
    case LIVE_REORDER:
        hold(live, direction, bytes, n, REORDER_PS, behind);
        return;
    case LIVE_DELAY:
        hold(live, direction, bytes, n, live->faults.delay_ps, 0);
        return;
    case LIVE_CORRUPT:
        copy = live_need(malloc(n));
        memcpy(copy, bytes, n);
        if (live_fault_is_roce(copy, n, &begin, &end))
            corrupt(copy, begin, end, rng);
        go(live, direction, copy, n);
        free(copy);
        return;
    case LIVE_WHOLE:
    case LIVE_FATES:
    default:
        go(live, direction, bytes, n);
    }
}

void live_fault_pass(struct live *live, enum live_direction direction, const uint8_t *bytes,
                     size_t n)
{
    struct live_faults *faults = &live->faults;
    struct wire_rng rng;
    enum live_fate fate;
    size_t begin, end;

    if (!faults->struck[direction] || !live_fault_is_roce(bytes, n, &begin, &end))
    {
        go(live, direction, bytes, n);
        return;
    }
    rng = wire_rng_init(faults->seed, LIVE_DIRECTIONS * faults->seen[direction]++ + direction);
    fate = throw_dice(faults, &rng);
    faults->count[direction][fate]++;
    strike(live, direction, fate, bytes, n, &rng);
    if (fate != LIVE_REORDER && fate != LIVE_DELAY)
        overtake(live, direction);
    live_fault_release(live);
}

void live_fault_release(struct live *live)
{
    struct live_frame **at = &live->faults.held;

    while (*at != NULL)
    {
        struct live_frame *frame = *at;

        if (frame->due_ps > live->now_ps)
        {
            at = &frame->next;
            continue;
        }
        *at = frame->next;
        go(live, frame->direction, frame->bytes, frame->n);
        free(frame);
    }
}

uint64_t live_fault_next(const struct live *live)
{
    uint64_t next_ps = WIRE_NEVER;

    for (const struct live_frame *frame = live->faults.held; frame != NULL; frame = frame->next)
        next_ps = wire_min_ps(next_ps, frame->due_ps);
    return next_ps;
}

void live_fault_close(struct live *live)
{
    while (live->faults.held != NULL)
    {
        struct live_frame *frame = live->faults.held;

        live->faults.held = frame->next;
        free(frame);
    }
}
