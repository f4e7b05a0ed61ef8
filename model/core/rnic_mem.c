/* SPDX-License-Identifier: GPL-2.0-only */
#include "rnic_mem.h"

#include <string.h>

#define MEM_UNIT 64u

/* Smallest class whose block holds `bytes`. */
static uint32_t mem_class(size_t bytes)
{
    uint32_t c = 0;

    while (((size_t)MEM_UNIT << c) < bytes)
        c++;
    WIRE_ASSERT(c < RNIC_MEM_CLASSES);
    return c;
}

static void mem_push(struct rnic_mem *mem, uint32_t c, void *block)
{
    memcpy(block, &mem->free_list[c], sizeof(void *));
    mem->free_list[c] = block;
}

static void *mem_pop(struct rnic_mem *mem, uint32_t c)
{
    void *block = mem->free_list[c];

    memcpy(&mem->free_list[c], block, sizeof(void *));
    return block;
}

void rnic_mem_add(struct rnic_mem *mem, void *memory, size_t bytes)
{
    uint8_t *at = memory;

    WIRE_ASSERT(((uintptr_t)memory & (MEM_UNIT - 1)) == 0);
    while (bytes >= MEM_UNIT) {
        uint32_t c = 0;

        while (c + 1 < RNIC_MEM_CLASSES && ((size_t)MEM_UNIT << (c + 1)) <= bytes)
            c++;
        mem_push(mem, c, at);
        at += (size_t)MEM_UNIT << c;
        bytes -= (size_t)MEM_UNIT << c;
    }
}

void *rnic_mem_alloc(struct rnic_mem *mem, size_t bytes)
{
    uint32_t want = mem_class(bytes);
    uint32_t c = want;
    uint8_t *block;

    while (c < RNIC_MEM_CLASSES && mem->free_list[c] == NULL)
        c++;
    if (c == RNIC_MEM_CLASSES) {
        mem->wanted = (size_t)MEM_UNIT << want;
        return NULL;
    }
    block = mem_pop(mem, c);
    while (c > want) { /* split: keep the lower half */
        c--;
        mem_push(mem, c, block + ((size_t)MEM_UNIT << c));
    }
    memset(block, 0, (size_t)MEM_UNIT << want);
    return block;
}

void rnic_mem_free(struct rnic_mem *mem, void *block, size_t bytes)
{
    if (block != NULL)
        mem_push(mem, mem_class(bytes), block);
}

bool rnic_mem_grow(struct rnic_mem *mem, void **array, uint32_t *cap, uint32_t need, size_t size)
{
    uint32_t grown = *cap ? *cap : 4;
    void *fresh;

    if (need <= *cap)
        return true;
    while (grown < need)
        grown *= 2;
    fresh = rnic_mem_alloc(mem, grown * size);
    if (fresh == NULL)
        return false;
    if (*cap) {
        memcpy(fresh, *array, *cap * size);
        rnic_mem_free(mem, *array, *cap * size);
    }
    *array = fresh;
    *cap = grown;
    return true;
}
