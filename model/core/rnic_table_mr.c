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

/* A slot that is free, made if there is none. */
static struct rnic_mr *mr_slot(struct rnic_table_mr *table, struct rnic_mem *mem)
{
    void *array = table->mr;
    struct rnic_mr *mr;

    if (table->live < table->n)
        for (uint32_t i = 0; i < table->n; i++)
            if (!table->mr[i]->used)
                return table->mr[i];
    if (!rnic_mem_grow(mem, &array, &table->cap, table->n + 1, sizeof table->mr[0]))
        return NULL;
    table->mr = array;
    mr = rnic_mem_alloc(mem, sizeof *mr);
    if (mr == NULL)
        return NULL;
    mr->key = table->n << 8;
    table->mr[table->n++] = mr;
    return mr;
}

int rnic_table_mr_add(struct rnic_table_mr *table, struct rnic_mem *mem, uint32_t max_mr,
                      struct rnic_mr **mr_out)
{
    struct rnic_mr *mr;

    if (table->live == max_mr)
        return RNIC_ERR_LIMIT;
    if (!rnic_cache_reserve(&table->cache, mem, table->live + 1))
        return RNIC_ERR_NOMEM;
    mr = mr_slot(table, mem);
    if (mr == NULL)
        return RNIC_ERR_NOMEM;
    mr->variant++; /* never the key this slot had before; 256 registrations until it repeats */
    mr->key = (mr->key & ~0xFFu) | mr->variant;
    mr->used = true;
    mr->cache = (struct rnic_cache_entry){0};
    table->live++;
    *mr_out = mr;
    return 0;
}

void rnic_table_mr_remove(struct rnic_table_mr *table, struct rnic_mr *mr)
{
    WIRE_ASSERT(mr->used);
    rnic_cache_forget(&table->cache, &mr->cache);
    mr->used = false;
    table->live--;
}
