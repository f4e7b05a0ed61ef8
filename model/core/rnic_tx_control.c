/* SPDX-License-Identifier: GPL-2.0-only */
#include "rnic_tx_control.h"

#include "wire_opcode.h"

bool rnic_tx_control_init(struct rnic_tx_control *control, struct rnic_mem *mem)
{
    struct rnic_tx_control_record *records =
        rnic_mem_alloc(mem, RNIC_TX_CONTROL_RECORDS * sizeof records[0]);

    if (records == NULL)
        return false;
    for (uint32_t i = 0; i < RNIC_TX_CONTROL_RECORDS; i++)
        records[i].next = i + 1 < RNIC_TX_CONTROL_RECORDS ? i + 1 : RNIC_TX_CONTROL_NONE;
    *control = (struct rnic_tx_control){.records = records};
    return true;
}

static bool control_is_ack(const struct rnic_tx_control_record *record)
{
    return record->opcode == WIRE_OP_ACKNOWLEDGE && record->syndrome <= 0x1F;
}

/*
 * No record is free: let the newest acknowledge of the same queue pair say it (and never less than
 * it says: a repeated request's acknowledge may be older). False: it has none waiting.
 */
static bool control_merge(struct rnic_tx_control *control, uint32_t prio,
                          const struct rnic_tx_control_record *record)
{
    struct rnic_tx_control_record *found = NULL;

    if (!control_is_ack(record) || !(control->classes >> prio & 1))
        return false;
    for (uint32_t i = control->first[prio]; i != RNIC_TX_CONTROL_NONE; i = control->records[i].next)
        if (control->records[i].qpn == record->qpn && control_is_ack(&control->records[i]))
            found = &control->records[i];
    if (found == NULL)
        return false;
    if (wire_psn_diff(record->psn, found->psn) > 0) {
        found->psn = record->psn;
        found->msn = record->msn;
        found->ready_ps = wire_max_ps(found->ready_ps, record->ready_ps);
    }
    control->merged++;
    return true;
}

/* Does a record behind this one, of the same queue pair, acknowledge all that it does? */
static bool control_is_repeated(const struct rnic_tx_control *control,
                                const struct rnic_tx_control_record *record)
{
    if (!control_is_ack(record))
        return false;
    for (uint32_t i = record->next; i != RNIC_TX_CONTROL_NONE; i = control->records[i].next) {
        const struct rnic_tx_control_record *later = &control->records[i];

        if (later->qpn == record->qpn && control_is_ack(later) &&
            wire_psn_diff(later->psn, record->psn) >= 0)
            return true;
    }
    return false;
}

/* Free the oldest acknowledge that is repeated behind it. False: there is none. */
static bool control_make_room(struct rnic_tx_control *control)
{
    for (uint32_t prio = 0; prio < WIRE_CLASSES; prio++) {
        uint32_t *link = &control->first[prio];

        if (!(control->classes >> prio & 1))
            continue;
        for (; *link != RNIC_TX_CONTROL_NONE; link = &control->records[*link].next) {
            uint32_t i = *link;

            if (!control_is_repeated(control, &control->records[i]))
                continue;
            *link = control->records[i].next; /* never the last of its class */
            control->records[i].next = control->free;
            control->free = i;
            control->merged++;
            return true;
        }
    }
    return false;
}

void rnic_tx_control_push(struct rnic_tx_control *control,
                          const struct rnic_tx_control_record *record)
{
    uint32_t prio = rnic_path_prio(record->path.tos);
    struct rnic_tx_control_record *slot;
    uint32_t next;

    if (control->free == RNIC_TX_CONTROL_NONE) {
        if (control_merge(control, prio, record))
            return;
        if (!control_make_room(control)) {
            control->lost++;
            return;
        }
    }
    slot = rnic_tx_control_take(control, prio);
    next = slot->next;
    *slot = *record;
    slot->next = next;
}

uint64_t rnic_tx_control_next_ps(const struct rnic_tx_control *control, uint32_t ready_classes)
{
    uint32_t classes = control->classes & ready_classes;
    uint64_t next_ps = WIRE_NEVER;

    for (; classes != 0; classes &= classes - 1) {
        uint32_t prio = (uint32_t)__builtin_ctz(classes);

        next_ps = wire_min_ps(next_ps, control->records[control->first[prio]].ready_ps);
    }
    return next_ps;
}

const struct rnic_tx_control_record *rnic_tx_control_pop(struct rnic_tx_control *control,
                                                         uint32_t ready_classes, uint64_t now_ps)
{
    uint32_t classes = control->classes & ready_classes;

    while (classes != 0) {
        uint32_t prio = 31u - (uint32_t)__builtin_clz(classes);
        uint32_t i = control->first[prio];
        struct rnic_tx_control_record *head = &control->records[i];

        classes &= ~(1u << prio);
        if (head->ready_ps > now_ps)
            continue;
        control->first[prio] = head->next;
        if (head->next == RNIC_TX_CONTROL_NONE)
            control->classes &= ~(1u << prio);
        head->next = control->free;
        control->free = i;
        return head;
    }
    return NULL;
}
