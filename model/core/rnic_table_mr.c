/* SPDX-License-Identifier: GPL-2.0-only */
#include "rnic_table_mr.h"

int rnic_table_mr_pd_alloc(struct rnic_table_mr *table, struct rnic_mem *mem, uint32_t *pd)
{
    uint32_t i = 0;
    void *array = table->pd;

    while (i < table->pd_n && table->pd[i].used)
        i++;
    if (i == table->pd_n) {
        if (!rnic_mem_grow(mem, &array, &table->pd_cap, i + 1, sizeof table->pd[0]))
            return RNIC_ERR_NOMEM;
        table->pd = array;
        table->pd_n++;
    }
    table->pd[i] = (struct rnic_pd){.used = true};
    *pd = i + 1;
    return 0;
}

struct rnic_pd *rnic_table_mr_pd(struct rnic_table_mr *table, uint32_t pd)
{
    return pd >= 1 && pd <= table->pd_n && table->pd[pd - 1].used ? &table->pd[pd - 1] : NULL;
}

int rnic_table_mr_pd_free(struct rnic_table_mr *table, uint32_t pd)
{
    struct rnic_pd *domain = rnic_table_mr_pd(table, pd);

    if (domain == NULL)
        return RNIC_ERR_NOENT;
    if (domain->refs > 0)
        return RNIC_ERR_BUSY;
    domain->used = false;
    return 0;
}

/* A slot that is free, made if there is none; it stays on the free list. */
static struct rnic_mr *mr_slot(struct rnic_table_mr *table, struct rnic_mem *mem)
{
    void *array = table->mr;
    struct rnic_mr *mr;

    if (table->free != 0)
        return table->mr[table->free - 1];
    if (!rnic_mem_grow(mem, &array, &table->cap, table->n + 1, sizeof table->mr[0]))
        return NULL;
    table->mr = array;
    mr = rnic_mem_alloc(mem, sizeof *mr);
    if (mr == NULL)
        return NULL;
    mr->key = table->n << 8;
    table->mr[table->n++] = mr;
    table->free = table->n;
    return mr;
}

int rnic_table_mr_add(struct rnic_table_mr *table, struct rnic_mem *mem, uint32_t max_mr,
                      struct rnic_mr **mr_out)
{
    uint32_t last;
    struct rnic_mr *mr;
    uint8_t variant;

    if (table->live == max_mr)
        return RNIC_ERR_LIMIT;
    if (!rnic_cache_reserve(&table->cache, mem, table->live + 1))
        return RNIC_ERR_NOMEM;
    mr = mr_slot(table, mem);
    if (mr == NULL)
        return RNIC_ERR_NOMEM;
    table->free = mr->next_free;
    /* Never the key this slot had before, also when a bind had chosen that; 255 or 256 until one
     * repeats. */
    last = mr->key;
    variant = (uint8_t)(mr->variant + 1);
    if (variant == (last & 0xFF))
        variant++;
    *mr = (struct rnic_mr){.key = (last & ~0xFFu) | variant, .variant = variant, .used = true};
    table->live++;
    *mr_out = mr;
    return 0;
}

static void mr_unbind(struct rnic_table_mr *table, struct rnic_mr *window)
{
    if (window->region == NULL)
        return;
    window->region->windows--;
    window->region = NULL;
    window->va = window->length = 0;
    window->access = 0;
    table->bound--;
}

void rnic_table_mr_remove(struct rnic_table_mr *table, struct rnic_mr *mr)
{
    WIRE_ASSERT(mr->used && mr->windows == 0 && mr->host_pages == NULL);
    mr_unbind(table, mr);
    rnic_cache_forget(&table->cache, &mr->cache);
    mr->used = false;
    mr->next_free = table->free;
    table->free = (mr->key >> 8) + 1;
    table->live--;
}

bool rnic_table_mr_list(struct rnic_mem *mem, struct rnic_mr *mr, uint32_t page_bytes,
                        void *const *pages, uint32_t n_pages)
{
    uint8_t **list = rnic_mem_alloc(mem, n_pages * sizeof list[0]);

    WIRE_ASSERT(mr->host == NULL && mr->host_pages == NULL);
    if (list == NULL)
        return false;
    for (uint32_t i = 0; i < n_pages; i++)
        list[i] = pages[i];
    mr->host_pages = list;
    mr->host_page_bytes = page_bytes;
    mr->n_host_pages = n_pages;
    return true;
}

void rnic_table_mr_unlist(struct rnic_mem *mem, struct rnic_mr *mr)
{
    rnic_mem_free(mem, mr->host_pages, mr->n_host_pages * sizeof mr->host_pages[0]);
    mr->host_pages = NULL;
    mr->n_host_pages = 0;
}

/* The region a window with this access may be cut out of; NULL: not that, or a window. */
static struct rnic_mr *mr_bindable(const struct rnic_table_mr *table, uint32_t pd, uint32_t region,
                                   uint64_t va, uint64_t length, uint32_t access)
{
    const uint32_t writes = RNIC_ACCESS_REMOTE_WRITE | RNIC_ACCESS_REMOTE_ATOMIC;
    uint32_t needs = RNIC_ACCESS_MW_BIND | (access & writes ? RNIC_ACCESS_LOCAL_WRITE : 0u);

    return rnic_table_mr_check(table, region, pd, RNIC_QPN_LOCAL, needs, va, length);
}

bool rnic_table_mr_bind(struct rnic_table_mr *table, uint32_t pd, uint32_t qpn, uint32_t mw,
                        uint32_t key, uint32_t region, uint64_t va, uint64_t length,
                        uint32_t access)
{
    const uint32_t known =
        RNIC_ACCESS_REMOTE_WRITE | RNIC_ACCESS_REMOTE_READ | RNIC_ACCESS_REMOTE_ATOMIC;
    struct rnic_mr *window = rnic_table_mr_find(table, mw);
    struct rnic_mr *mr = NULL;

    if (window == NULL || !window->is_window || window->pd != pd || key >> 8 != mw >> 8 ||
        (access & ~known) || (window->region != NULL && window->qpn != qpn))
        return false;
    if (length > 0) {
        mr = mr_bindable(table, pd, region, va, length, access);
        if (mr == NULL)
            return false;
    }
    mr_unbind(table, window);
    window->key = key;
    if (mr != NULL) {
        window->region = mr;
        window->qpn = qpn;
        window->va = va;
        window->length = length;
        window->access = access;
        mr->windows++;
        table->bound++;
    }
    return true;
}

struct rnic_mr *rnic_table_mr_bound(const struct rnic_table_mr *table, uint32_t pd, uint32_t qpn,
                                    uint32_t key)
{
    struct rnic_mr *window = rnic_table_mr_find(table, key);

    if (window == NULL || window->region == NULL || window->pd != pd || window->qpn != qpn)
        return NULL;
    return window;
}

bool rnic_table_mr_invalidate(struct rnic_table_mr *table, uint32_t pd, uint32_t qpn, uint32_t key)
{
    struct rnic_mr *window = rnic_table_mr_bound(table, pd, qpn, key);

    if (window == NULL)
        return false;
    mr_unbind(table, window);
    return true;
}

void rnic_table_mr_unbind_qp(struct rnic_table_mr *table, uint32_t qpn)
{
    for (uint32_t i = 0; i < table->n && table->bound > 0; i++)
        if (table->mr[i]->used && table->mr[i]->region != NULL && table->mr[i]->qpn == qpn)
            mr_unbind(table, table->mr[i]);
}
