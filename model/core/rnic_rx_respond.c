/* SPDX-License-Identifier: GPL-2.0-only */
#include "rnic_rx_respond.h"

#include "rnic_verbs.h"

static bool respond_pending(const struct rnic_resource *resource)
{
    return resource->next != resource->end;
}

/* The i-th newest resource, 0: the newest. */
static struct rnic_resource *respond_at(const struct rnic_rx_respond *respond, uint32_t i)
{
    return &respond->ring[(respond->made - 1 - i) % respond->depth];
}

static uint32_t respond_count(const struct rnic_rx_respond *respond)
{
    return respond->made < respond->depth ? respond->made : respond->depth;
}

static void respond_drop(struct rnic_rx_respond *respond, struct rnic_resource *resource)
{
    if (respond_pending(resource))
        respond->pending--;
    if (respond->turn == resource)
        respond->turn = NULL;
    resource->next = resource->end = 0;
}

bool rnic_rx_respond_open(struct rnic_rx_respond *respond, struct rnic_mem *mem, uint32_t depth)
{
    struct rnic_resource *ring = NULL;

    WIRE_ASSERT(respond->ring == NULL);
    if (depth > 0 && (ring = rnic_mem_alloc(mem, depth * sizeof ring[0])) == NULL)
        return false;
    *respond = (struct rnic_rx_respond){.ring = ring, .depth = depth};
    return true;
}

int rnic_rx_respond_resize(struct rnic_rx_respond *respond, struct rnic_mem *mem, uint32_t depth)
{
    struct rnic_rx_respond fresh = {0};

    if (depth == respond->depth)
        return 0;
    if (respond->pending > 0 || respond->held) /* what waits for later, waits for one of these */
        return RNIC_ERR_BUSY;
    if (!rnic_rx_respond_open(&fresh, mem, depth))
        return RNIC_ERR_NOMEM;
    if (respond->depth > 0) {
        uint32_t n = respond_count(respond) < depth ? respond_count(respond) : depth;

        for (fresh.made = 0; fresh.made < n; fresh.made++)
            fresh.ring[fresh.made] = *respond_at(respond, n - 1 - fresh.made);
        rnic_rx_respond_close(respond, mem);
    }
    *respond = fresh;
    return 0;
}

void rnic_rx_respond_close(struct rnic_rx_respond *respond, struct rnic_mem *mem)
{
    rnic_mem_free(mem, respond->ring, respond->depth * sizeof respond->ring[0]);
    *respond = (struct rnic_rx_respond){0};
}

void rnic_rx_respond_stop(struct rnic_rx_respond *respond)
{
    for (uint32_t i = 0; i < respond_count(respond); i++)
        respond_drop(respond, respond_at(respond, i));
    respond->later = false;
}

bool rnic_rx_respond_room(const struct rnic_rx_respond *respond)
{
    if (respond->made < respond->depth)
        return true;
    if (respond->depth == 0)
        return false;
    return respond_at(respond, respond->depth - 1)->answered;
}

struct rnic_resource *rnic_rx_respond_add(struct rnic_rx_respond *respond)
{
    struct rnic_resource *resource;

    WIRE_ASSERT(rnic_rx_respond_room(respond));
    if (respond->made >= respond->depth)
        respond_drop(respond, respond_at(respond, respond->depth - 1));
    /* Also the slot number goes round smoothly when the counter would: it stays below 2 rings. */
    if (++respond->made == 2 * respond->depth + 1)
        respond->made -= respond->depth;
    resource = respond_at(respond, 0);
    *resource = (struct rnic_resource){0};
    return resource;
}

struct rnic_resource *rnic_rx_respond_find(struct rnic_rx_respond *respond, wire_psn psn)
{
    for (uint32_t i = 0; i < respond_count(respond); i++) {
        struct rnic_resource *resource = respond_at(respond, i);

        if (((psn.v - resource->psn.v) & WIRE_PSN_MASK) < resource->packets)
            return resource;
    }
    return NULL;
}

wire_psn rnic_rx_respond_clear(const struct rnic_rx_respond *respond, wire_psn psn, wire_psn last)
{
    for (uint32_t i = 0; i < respond_count(respond); i++) {
        wire_psn asked = respond_at(respond, i)->psn;

        if (wire_psn_diff(asked, psn) > 0 && wire_psn_diff(asked, last) <= 0)
            last = wire_psn_add(asked, WIRE_PSN_MASK);
    }
    return last;
}

void rnic_rx_respond_queue(struct rnic_rx_respond *respond, struct rnic_resource *resource,
                           uint32_t from, uint32_t end)
{
    WIRE_ASSERT(from < end && end <= resource->packets);
    if (!respond_pending(resource)) {
        respond->turn = respond->pending == 0 ? resource : NULL; /* it may be the older one */
        respond->pending++;
        resource->next = from;
        resource->end = end;
        return;
    }
    resource->next = from < resource->next ? from : resource->next;
    resource->end = end > resource->end ? end : resource->end;
}

struct rnic_resource *rnic_rx_respond_next(struct rnic_rx_respond *respond)
{
    struct rnic_resource *resource;
    uint32_t i = respond_count(respond);

    if (respond->pending == 0 || respond->turn != NULL)
        return respond->turn;
    do {
        WIRE_ASSERT(i > 0);
        resource = respond_at(respond, --i);
    } while (!respond_pending(resource));
    respond->turn = resource;
    return resource;
}

void rnic_rx_respond_sent(struct rnic_rx_respond *respond, struct rnic_resource *resource)
{
    WIRE_ASSERT(respond_pending(resource));
    respond->held = true;
    respond->held_psn = wire_psn_add(resource->psn, resource->next);
    if (++resource->next != resource->end)
        return;
    respond->pending--;
    respond->turn = NULL;
    resource->answered = resource->answered || resource->next == resource->packets;
}

void rnic_rx_respond_cut(struct rnic_rx_respond *respond, wire_psn psn)
{
    for (uint32_t i = 0; i < respond_count(respond); i++) {
        struct rnic_resource *resource = respond_at(respond, i);
        int32_t keep = wire_psn_diff(psn, resource->psn); /* packets before it */

        if (keep <= (int32_t)resource->next)
            respond_drop(respond, resource);
        else if (keep < (int32_t)resource->end)
            resource->end = (uint32_t)keep;
    }
    if (respond->later && wire_psn_diff(respond->later_psn, psn) >= 0)
        respond->later = false;
}

bool rnic_rx_respond_waits(struct rnic_rx_respond *respond, wire_psn psn)
{
    const struct rnic_resource *first = rnic_rx_respond_next(respond);

    if (respond->held && wire_psn_diff(respond->held_psn, psn) <= 0)
        return true;
    return first != NULL && wire_psn_diff(wire_psn_add(first->psn, first->next), psn) < 0;
}

void rnic_rx_respond_defer(struct rnic_rx_respond *respond, wire_psn psn, uint8_t syndrome,
                           uint32_t msn, uint64_t at_ps)
{
    bool ahead = syndrome == (WIRE_AETH_NAK | WIRE_NAK_SELECTIVE);

    if (respond->later && wire_psn_diff(psn, respond->later_psn) < (ahead ? 1 : 0))
        return; /* what arrived ahead of a refused request does not make up for the refusal */
    respond->later = true;
    respond->later_psn = psn;
    respond->later_syndrome = syndrome;
    respond->later_msn = msn;
    respond->later_ps = at_ps;
}
