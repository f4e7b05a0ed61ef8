/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * Address translation (MTT): one entry a page of a registered region, cached like every table.
 *
 * In     region, address, length of one access, already checked against the region
 * Out    when the translations of all its pages are on the card
 * Owns   the pages[] of every region
 * Spec   Guo16 4.4: 2K entries of 4 KB reach 8 MB, of 2 MB reach 4 GB
 * Cost   one cache access a page touched; nothing when the page cache is unlimited
 */
#ifndef RNIC_TABLE_PAGE_H
#define RNIC_TABLE_PAGE_H

#include "rnic_table_mr.h"

struct rnic_table_page {
    uint32_t page_shift;
    uint64_t live; /* translations of all regions */
    struct rnic_cache cache;
};

/** Give a new region its translations. @return false: out of memory, nothing changed. */
bool rnic_table_page_add(struct rnic_table_page *table, struct rnic_mem *mem, struct rnic_mr *mr);
void rnic_table_page_remove(struct rnic_table_page *table, struct rnic_mem *mem,
                            struct rnic_mr *mr);

/** Out-of-line part of rnic_table_page_ready. */
uint64_t rnic_table_page_walk(struct rnic_table_page *table, struct rnic_mr *mr, uint64_t va,
                              uint32_t bytes, uint64_t in_ps);

/** @return when [va, va + bytes) of @p mr is translated, for an access at @p in_ps. */
static inline uint64_t rnic_table_page_ready(struct rnic_table_page *table, struct rnic_mr *mr,
                                             uint64_t va, uint32_t bytes, uint64_t in_ps)
{
    return mr->pages == NULL ? in_ps : rnic_table_page_walk(table, mr, va, bytes, in_ps);
}

#endif
