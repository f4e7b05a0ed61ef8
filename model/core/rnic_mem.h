/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * Arena: the only memory a card uses, given by its caller.
 *
 * Blocks are powers of two from 64 bytes, 64-byte aligned; a freed block serves the next request
 * of its size, and a larger free block is split. Nothing is allocated on the packet path.
 *
 * Owns   every byte given by rnic_mem_add, for the life of the card
 * Cost   O(1) for a block of a size used before, O(log size) else
 */
#ifndef RNIC_MEM_H
#define RNIC_MEM_H

#include "wire_types.h"

#define RNIC_MEM_CLASSES 40u /* 64 B << 0 .. 39 */

struct rnic_mem {
    void *free_list[RNIC_MEM_CLASSES];
    size_t wanted; /* bytes to add before the last failed request can succeed */
};

/** Give @p bytes at @p memory (64-byte aligned); what is less than 64 bytes is lost. */
void rnic_mem_add(struct rnic_mem *mem, void *memory, size_t bytes);

/** @return a zeroed block of at least @p bytes, or NULL: nothing changed but mem->wanted. */
void *rnic_mem_alloc(struct rnic_mem *mem, size_t bytes);

/** Give back a block of rnic_mem_alloc(mem, bytes). NULL is allowed. */
void rnic_mem_free(struct rnic_mem *mem, void *block, size_t bytes);

/**
 * Grow an array of @p size-byte elements from *cap to at least @p need elements (doubling).
 * @return false: out of memory, nothing changed.
 */
bool rnic_mem_grow(struct rnic_mem *mem, void **array, uint32_t *cap, uint32_t need, size_t size);

#endif
