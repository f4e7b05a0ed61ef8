/* SPDX-License-Identifier: GPL-2.0-only */
#include "rnic_table_page.h"

bool rnic_table_page_add(struct rnic_table_page *table, struct rnic_mem *mem, struct rnic_mr *mr)
{
    uint64_t first = mr->va >> table->page_shift;
    uint64_t last = (mr->va + mr->length - 1) >> table->page_shift;
    uint64_t n = last - first + 1;

    mr->first_page = first;
    mr->n_pages = 0;
    mr->pages = NULL;
    if (table->cache.capacity == 0)
        return true;
    if (n > UINT32_MAX / sizeof mr->pages[0]) {
        mem->wanted = SIZE_MAX / 2; /* no caller has that much */
        return false;
    }
    if (!rnic_cache_reserve(&table->cache, mem, (uint32_t)wire_min_ps(table->live + n, UINT32_MAX)))
        return false;
    mr->pages = rnic_mem_alloc(mem, n * sizeof mr->pages[0]);
    if (mr->pages == NULL)
        return false;
    mr->n_pages = (uint32_t)n;
    table->live += n;
    return true;
}

void rnic_table_page_remove(struct rnic_table_page *table, struct rnic_mem *mem, struct rnic_mr *mr)
{
    for (uint32_t i = 0; i < mr->n_pages; i++)
        rnic_cache_forget(&table->cache, &mr->pages[i]);
    rnic_mem_free(mem, mr->pages, mr->n_pages * sizeof mr->pages[0]);
    table->live -= mr->n_pages;
    mr->pages = NULL;
    mr->n_pages = 0;
}

uint64_t rnic_table_page_walk(struct rnic_table_page *table, struct rnic_mr *mr, uint64_t va,
                              uint32_t bytes, uint64_t in_ps)
{
    uint64_t page = (va >> table->page_shift) - mr->first_page;
    uint64_t last = bytes == 0 ? page : ((va + bytes - 1) >> table->page_shift) - mr->first_page;
    uint64_t ready_ps = in_ps;

    WIRE_ASSERT(last < mr->n_pages || bytes == 0);
    for (; page <= last && page < mr->n_pages; page++)
        ready_ps = wire_max_ps(ready_ps, rnic_cache_get(&table->cache, &mr->pages[page], in_ps));
    return ready_ps;
}
