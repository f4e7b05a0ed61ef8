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

/* No record is free: let the newest acknowledge of the same queue pair say it. */
static void control_merge(struct rnic_tx_control *control, uint32_t prio,
                          const struct rnic_tx_control_record *record)
{
    uint32_t found = RNIC_TX_CONTROL_NONE;

    if (control_is_ack(record) && (control->classes >> prio & 1))
        for (uint32_t i = control->first[prio]; i != RNIC_TX_CONTROL_NONE;
             i = control->records[i].next)
            if (control->records[i].qpn == record->qpn && control_is_ack(&control->records[i]))
                found = i;
    if (found == RNIC_TX_CONTROL_NONE) {
        control->lost++;
        return;
    }
    if (wire_psn_diff(record->psn, control->records[found].psn) > 0) { /* not a repeated one */
        control->records[found].psn = record->psn;
        control->records[found].msn = record->msn;
        control->records[found].ready_ps = record->ready_ps;
    }
    control->merged++;
}

void rnic_tx_control_push(struct rnic_tx_control *control,
                          const struct rnic_tx_control_record *record)
{
    uint32_t prio = record->tos >> 5;
    uint32_t i = control->free;

    if (i == RNIC_TX_CONTROL_NONE) {
        control_merge(control, prio, record);
        return;
    }
    control->free = control->records[i].next;
    control->records[i] = *record;
    control->records[i].next = RNIC_TX_CONTROL_NONE;
    if (control->classes >> prio & 1)
        control->records[control->last[prio]].next = i;
    else
        control->first[prio] = i;
    control->last[prio] = i;
    control->classes |= 1u << prio;
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

bool rnic_tx_control_pop(struct rnic_tx_control *control, uint32_t ready_classes, uint64_t now_ps,
                         struct rnic_tx_control_record *record)
{
    uint32_t classes = control->classes & ready_classes;

    while (classes != 0) {
        uint32_t prio = 31u - (uint32_t)__builtin_clz(classes);
        uint32_t i = control->first[prio];
        struct rnic_tx_control_record *head = &control->records[i];

        classes &= ~(1u << prio);
        if (head->ready_ps > now_ps)
            continue;
        *record = *head;
        control->first[prio] = head->next;
        if (head->next == RNIC_TX_CONTROL_NONE)
            control->classes &= ~(1u << prio);
        head->next = control->free;
        control->free = i;
        return true;
    }
    return false;
}
