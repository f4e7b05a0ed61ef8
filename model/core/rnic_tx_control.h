/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * Control queue: acknowledges, NAKs and CNPs that wait for the MAC, before any data.
 *
 * A record holds all that the frame needs, so that it outlives its queue pair. Records of one
 * class leave in order; a class that is paused holds up no other. When all records are in use, the
 * newest acknowledge of the same queue pair takes over what a new one says; if it has none waiting,
 * or it is a NAK or CNP, an acknowledge that a later one of its queue pair repeats gives its record
 * up. If there is none either, the new record is lost and counted, as on a full card: the peer's
 * timer or the next marked packet makes up for it.
 *
 * Place  between RX (PSN check, placement, CNP generation) and the MAC
 * Owns   the records (one block of the arena)
 * Cost   O(1); a search only when full
 */
#ifndef RNIC_TX_CONTROL_H
#define RNIC_TX_CONTROL_H

#include "rnic_mem.h"
#include "rnic_path.h"
#include "wire_frame.h"

#define RNIC_TX_CONTROL_NONE 0xFFFFFFFFu
#define RNIC_TX_CONTROL_RECORDS 128u /* the RX pipeline holds fewer packets than that */

struct rnic_tx_control_record {
    uint64_t ready_ps; /* may leave from then on */
    uint32_t next;
    uint32_t qpn; /* ours */
    uint32_t dest_qpn;
    struct rnic_path path;
    uint32_t msn;
    wire_psn psn;
    uint8_t opcode, syndrome;
};

struct rnic_tx_control {
    struct rnic_tx_control_record *records;
    uint32_t free;    /* list of free records */
    uint32_t classes; /* bit c: class c has records */
    uint32_t first[WIRE_CLASSES], last[WIRE_CLASSES];
    uint64_t merged, lost;
};

/** @return false: out of memory. */
bool rnic_tx_control_init(struct rnic_tx_control *control, struct rnic_mem *mem);

/**
 * A record at the end of class @p prio for the caller to fill in at once (all but `next`).
 * @return NULL: all are in use; fill in one of your own and rnic_tx_control_push it
 */
static inline struct rnic_tx_control_record *rnic_tx_control_take(struct rnic_tx_control *control,
                                                                  uint32_t prio)
{
    uint32_t i = control->free;
    struct rnic_tx_control_record *record;

    if (WIRE_UNLIKELY(i == RNIC_TX_CONTROL_NONE))
        return NULL;
    record = &control->records[i];
    control->free = record->next;
    record->next = RNIC_TX_CONTROL_NONE;
    if (control->classes >> prio & 1)
        control->records[control->last[prio]].next = i;
    else
        control->first[prio] = i;
    control->last[prio] = i;
    control->classes |= 1u << prio;
    return record;
}

/** Queue a copy of a record in the class of its ToS, or what the banner says when none is free. */
void rnic_tx_control_push(struct rnic_tx_control *control,
                          const struct rnic_tx_control_record *record);

/** Earliest time a record of @p ready_classes may leave, WIRE_NEVER: none waits. */
uint64_t rnic_tx_control_next_ps(const struct rnic_tx_control *control, uint32_t ready_classes);

/**
 * Take the first record that may leave at @p now_ps, highest class first.
 * @return it, readable until the next record is queued; NULL: none may leave
 */
const struct rnic_tx_control_record *rnic_tx_control_pop(struct rnic_tx_control *control,
                                                         uint32_t ready_classes, uint64_t now_ps);

#endif
