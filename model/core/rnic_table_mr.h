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
 * Spec   IBTA Vol 1 10.6 (memory management), 11.2.8; checks in the order key, PD, permission,
 *        bounds
 * Cost   O(1): one index, no hash
 */
#ifndef RNIC_TABLE_MR_H
#define RNIC_TABLE_MR_H

#include "rnic_cache.h"
#include "rnic_verbs.h"

/* A region, or a window on one. */
struct rnic_mr {
    uint64_t va, length;
    uint8_t *host;        /* NULL: phantom, or pages */
    uint8_t **host_pages; /* registered as a list: one pointer a page, NULL: not mapped */
    uint32_t host_page_bytes;
    uint32_t n_host_pages;
    bool is_window;
    struct rnic_mr *region; /* window: what it is bound to, NULL: unbound */
    uint32_t qpn;           /* window: queue pair that bound it */
    uint32_t windows;       /* region: windows bound to it */
    uint32_t key;
    uint32_t pd;
    uint32_t access;
    bool used;
    uint8_t variant;    /* of the last key this table gave the slot; a bind brings its own */
    uint32_t next_free; /* index + 1; 0: none */
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
    uint32_t free;  /* index + 1 of the free slot to use next; 0: none */
    uint32_t bound; /* windows bound */
    struct rnic_pd *pd;
    uint32_t pd_n, pd_cap;
    struct rnic_cache cache;
};

int rnic_table_mr_pd_alloc(struct rnic_table_mr *table, struct rnic_mem *mem, uint32_t *pd);
int rnic_table_mr_pd_free(struct rnic_table_mr *table, uint32_t pd);
/** @return the domain, or NULL. */
struct rnic_pd *rnic_table_mr_pd(struct rnic_table_mr *table, uint32_t pd);

/**
 * New region or window, all zero but its key and access to nothing; translations are the page
 * table's to add. @p max_mr counts both. @return 0, RNIC_ERR_LIMIT or RNIC_ERR_NOMEM
 */
int rnic_table_mr_add(struct rnic_table_mr *table, struct rnic_mem *mem, uint32_t max_mr,
                      struct rnic_mr **mr);
/** Its key opens nothing any more; a window is unbound. No window may be bound to a region. */
void rnic_table_mr_remove(struct rnic_table_mr *table, struct rnic_mr *mr);

/**
 * Copy the list of host pages of a region (va and length are set).
 * @return false: out of memory, nothing changed
 */
bool rnic_table_mr_list(struct rnic_mem *mem, struct rnic_mr *mr, uint32_t page_bytes,
                        void *const *pages, uint32_t n_pages);
/** Give the list back, if there is one. */
void rnic_table_mr_unlist(struct rnic_mem *mem, struct rnic_mr *mr);

/** Host pages of @p page_bytes that [va, va + length) touches. */
static inline uint64_t rnic_table_mr_pages(uint64_t va, uint64_t length, uint32_t page_bytes)
{
    int shift = __builtin_ctz(page_bytes);

    return ((va + length - 1) >> shift) - (va >> shift) + 1;
}

/** Index of the host page that holds @p va. */
static inline uint64_t rnic_table_mr_page(const struct rnic_mr *mr, uint64_t va)
{
    int shift = __builtin_ctz(mr->host_page_bytes);

    return (va >> shift) - (mr->va >> shift);
}

/** Are all host pages of [va, va + bytes), inside the region, mapped? Always without a list. */
static inline bool rnic_table_mr_mapped(const struct rnic_mr *mr, uint64_t va, uint64_t bytes)
{
    uint64_t first, n;

    if (WIRE_LIKELY(mr->host_pages == NULL) || bytes == 0)
        return true;
    first = rnic_table_mr_page(mr, va);
    n = rnic_table_mr_pages(va, bytes, mr->host_page_bytes);
    for (uint64_t i = first; i < first + n; i++)
        if (mr->host_pages[i] == NULL)
            return false;
    return true;
}

/** @return the region or window of exactly this key, or NULL. */
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
 * Bind, bind anew or (length 0) unbind a window, as RNIC_WR_BIND_MW asks.
 *
 * @param mw    the window's present key, exactly
 * @param key   its new key: the same index, any variant
 * @return false: nothing changed; no such window or region, other domain, bound by another queue
 *         pair, region without MW_BIND or (for writes and atomics) without LOCAL_WRITE, access that
 *         is not REMOTE_, not inside the region
 */
bool rnic_table_mr_bind(struct rnic_table_mr *table, uint32_t pd, uint32_t qpn, uint32_t mw,
                        uint32_t key, uint32_t region, uint64_t va, uint64_t length,
                        uint32_t access);

/**
 * The window of exactly this @p key, bound by queue pair @p qpn: what it may invalidate.
 * @return NULL: another key, unbound, or no window: a region that was registered with rnic_reg_mr
 *         is not invalidated (IBTA 10.6.5, only fast registrations are).
 */
struct rnic_mr *rnic_table_mr_bound(const struct rnic_table_mr *table, uint32_t pd, uint32_t qpn,
                                    uint32_t key);

/**
 * Unbind that window, as LOCAL_INV and SEND with invalidate ask. @return false: there is none,
 * nothing changed.
 */
bool rnic_table_mr_invalidate(struct rnic_table_mr *table, uint32_t pd, uint32_t qpn, uint32_t key);

/** Queue pair @p qpn is reset or gone: unbind its windows. */
void rnic_table_mr_unbind_qp(struct rnic_table_mr *table, uint32_t qpn);

#define RNIC_QPN_LOCAL 0u /* for local access: a window is no lkey */

/**
 * May queue pair @p qpn of domain @p pd use [va, va + bytes) of @p key with permission @p access
 * (enum rnic_access, 0: local read)?
 * @return the region (a window's own is behind it), or NULL: unknown key, other domain, missing
 *         permission, out of bounds.
 */
static inline struct rnic_mr *rnic_table_mr_check(const struct rnic_table_mr *table, uint32_t key,
                                                  uint32_t pd, uint32_t qpn, uint32_t access,
                                                  uint64_t va, uint64_t bytes)
{
    struct rnic_mr *mr = rnic_table_mr_find(table, key);

    if (mr == NULL || mr->pd != pd || (mr->access & access) != access)
        return NULL;
    if (va < mr->va || bytes > mr->length || va - mr->va > mr->length - bytes)
        return NULL;
    if (WIRE_UNLIKELY(mr->is_window))
        return mr->qpn == qpn ? mr->region : NULL;
    return mr;
}

#endif
