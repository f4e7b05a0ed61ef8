/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * MR/key table and key cache: who may touch which bytes.
 *
 * A key is index << 8 | variant and serves as lkey and rkey; a slot that is used again gets another
 * variant, so an old key never opens a new region. A region is backed (host != NULL) or phantom;
 * the checks are the same.
 *
 * In     key, address, length, protection domain, permission wanted
 * Out    the region, or why not
 * Owns   regions, protection domains, the key cache
 * Spec   IBTA Vol 1 10.6 (memory management), 11.2.8; C10-xx checks in the order key, PD,
 *        permission, bounds
 * Cost   O(1): one index, no hash
 */
#ifndef RNIC_TABLE_MR_H
#define RNIC_TABLE_MR_H

#include "rnic_cache.h"
#include "rnic_verbs.h"

struct rnic_mr {
    uint64_t va, length;
    uint8_t *host; /* NULL: phantom */
    uint32_t key;
    uint32_t pd;
    uint32_t access;
    bool used;
    uint8_t variant; /* of the last key of this slot */
    struct rnic_cache_entry cache;
    struct rnic_cache_entry *pages; /* translations, when the page cache is limited; else NULL */
    uint32_t n_pages;
    uint64_t first_page; /* va / page size */
};

struct rnic_pd {
    uint32_t refs;
    bool used;
};

struct rnic_table_mr {
    struct rnic_mr **mr; /* by index */
    uint32_t n, cap, live;
    struct rnic_pd *pd;
    uint32_t pd_n, pd_cap;
    struct rnic_cache cache;
};

int rnic_table_mr_pd_alloc(struct rnic_table_mr *table, struct rnic_mem *mem, uint32_t *pd);
int rnic_table_mr_pd_free(struct rnic_table_mr *table, uint32_t pd);
/** @return the domain, or NULL. */
struct rnic_pd *rnic_table_mr_pd(struct rnic_table_mr *table, uint32_t pd);

/** New region in a free slot; translations are the page table's to add. @return 0 or an error. */
int rnic_table_mr_add(struct rnic_table_mr *table, struct rnic_mem *mem, uint32_t max_mr,
                      struct rnic_mr **mr);
void rnic_table_mr_remove(struct rnic_table_mr *table, struct rnic_mr *mr);

/** @return the region of exactly this key, or NULL. */
static inline struct rnic_mr *rnic_table_mr_find(const struct rnic_table_mr *table, uint32_t key)
{
    uint32_t index = key >> 8;
    struct rnic_mr *mr;

    if (WIRE_UNLIKELY(index >= table->n))
        return NULL;
    mr = table->mr[index];
    return mr->used && mr->key == key ? mr : NULL;
}

/**
 * May a queue pair of domain @p pd use [va, va + bytes) of @p key with permission @p access
 * (enum rnic_access, 0: local read)?
 * @return the region, or NULL: unknown key, other domain, missing permission, out of bounds.
 */
static inline struct rnic_mr *rnic_table_mr_check(const struct rnic_table_mr *table, uint32_t key,
                                                  uint32_t pd, uint32_t access, uint64_t va,
                                                  uint64_t bytes)
{
    struct rnic_mr *mr = rnic_table_mr_find(table, key);

    if (mr == NULL || mr->pd != pd || (mr->access & access) != access)
        return NULL;
    if (va < mr->va || bytes > mr->length || va - mr->va > mr->length - bytes)
        return NULL;
    return mr;
}

#endif
