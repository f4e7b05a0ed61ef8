/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * What both files of the verbs use: rnic_verbs.c (queue pairs, posting) and rnic_verbs_objects.c
 * (domains, regions, windows, address handles, completion and shared receive queues).
 */
#ifndef RNIC_VERBS_SHARED_H
#define RNIC_VERBS_SHARED_H

#include "rnic_internal.h"

/**
 * Room for every event that must not be lost, with so many more objects of each kind than now.
 * @return false: out of memory
 */
bool rnic_verbs_objects_reserve(struct rnic_device *dev, uint32_t qps, uint32_t cqs, uint32_t srqs);

/**
 * Sum of a list, in 64 bits.
 * @return false: more than @p max entries, no list, or more than 2^31 bytes
 */
bool rnic_verbs_objects_length(const struct rnic_sge *sges, uint32_t n, uint32_t max,
                               uint64_t *length);

#endif
