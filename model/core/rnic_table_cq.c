/* SPDX-License-Identifier: GPL-2.0-only */
#include "rnic_table_cq.h"

static struct rnic_cq *cq_slot(struct rnic_table_cq *table, struct rnic_mem *mem)
{
    void *array = table->cq;
    struct rnic_cq *cq;

    for (uint32_t i = 0; i < table->n; i++)
        if (!table->cq[i]->used)
            return table->cq[i];
    if (!rnic_mem_grow(mem, &array, &table->cap, table->n + 1, sizeof table->cq[0]))
        return NULL;
    table->cq = array;
    cq = rnic_mem_alloc(mem, sizeof *cq);
    if (cq == NULL)
        return NULL;
    cq->number = table->n + 1;
    table->cq[table->n++] = cq;
    return cq;
}

int rnic_table_cq_add(struct rnic_table_cq *table, struct rnic_mem *mem, uint32_t max_cq,
                      uint32_t entries, uint32_t *number)
{
    uint32_t size = 1;
    struct rnic_cq *cq;
    struct rnic_cqe *cqes;

    if (table->live == max_cq)
        return RNIC_ERR_LIMIT;
    while (size < entries)
        size *= 2;
    if (!rnic_cache_reserve(&table->cache, mem, table->live + 1))
        return RNIC_ERR_NOMEM;
    cq = cq_slot(table, mem);
    cqes = cq == NULL ? NULL : rnic_mem_alloc(mem, size * sizeof cqes[0]);
    if (cqes == NULL)
        return RNIC_ERR_NOMEM;
    *cq = (struct rnic_cq){.cqes = cqes,
                           .mask = size - 1,
                           .number = cq->number,
                           .used = true,
                           .event_again_ps = WIRE_NEVER};
    table->live++;
    *number = cq->number;
    return 0;
}

int rnic_table_cq_remove(struct rnic_table_cq *table, struct rnic_mem *mem, uint32_t number)
{
    struct rnic_cq *cq = rnic_table_cq_find(table, number);

    if (cq == NULL)
        return RNIC_ERR_NOENT;
    if (cq->refs > 0)
        return RNIC_ERR_BUSY;
    rnic_cache_forget(&table->cache, &cq->cache);
    rnic_mem_free(mem, cq->cqes, (cq->mask + 1) * sizeof cq->cqes[0]);
    cq->used = false;
    table->live--;
    return 0;
}

void rnic_table_cq_discard(struct rnic_cq *cq, uint32_t qpn)
{
    for (uint32_t i = cq->tail; i != cq->head; i++)
        if (cq->cqes[i & cq->mask].wc.qp_num == qpn)
            cq->cqes[i & cq->mask].discarded = true;
}
