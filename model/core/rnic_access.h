/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * One access to registered memory: key check, translation, DMA, in this order, for TX and RX alike.
 *
 * Every byte that moves between a frame and host memory passes here. A refused access has moved
 * none. Bytes are copied when both sides have them; phantom memory is checked all the same.
 *
 * A region that is a list of host pages is split at their borders; an unmapped page refuses the
 * access.
 *
 * In     a scatter/gather list or a remote address, and the time the access starts
 * Out    when the data is on the card (gather) or visible in host memory (scatter, write)
 * Spec   IBTA Vol 1 10.6.3.1 (local access), 10.6.3.2 (remote access)
 * Cost   O(pieces); one piece for one entry
 */
#ifndef RNIC_ACCESS_H
#define RNIC_ACCESS_H

#include "rnic_dma.h"
#include "rnic_table_mr.h"
#include "rnic_table_page.h"

struct rnic_access_path {
    struct rnic_table_mr *mrs;
    struct rnic_table_page *pages;
    struct rnic_dma *dma;
    uint64_t *atomics; /* RNIC_ACCESS_ATOMICS of them: when those of an address hash are over */
};

#define RNIC_ACCESS_ATOMICS 64u /* addresses that differ in their hash do not wait for each other */

/**
 * Read bytes [offset, offset + bytes) of the list into @p to.
 *
 * @param to      room for @p bytes, or NULL: no bytes are wanted
 * @param backed  out: all of it was copied
 * @param done_ps in: start; out: when it is on the card
 * @return false: an lkey, its domain or bounds are wrong; @p to holds nothing of use
 */
bool rnic_access_gather(const struct rnic_access_path *path, uint32_t pd,
                        const struct rnic_sge *sges, uint32_t n, uint32_t offset, uint32_t bytes,
                        uint8_t *to, bool *backed, uint64_t *done_ps);

/**
 * Write @p bytes to [offset, ...) of the list; LOCAL_WRITE is needed.
 * @param from  the bytes, or NULL: phantom data
 * @return false: refused, nothing was written
 */
bool rnic_access_scatter(const struct rnic_access_path *path, uint32_t pd,
                         const struct rnic_sge *sges, uint32_t n, uint32_t offset, uint32_t bytes,
                         const uint8_t *from, uint64_t *done_ps);

/** Who asks with a remote key: its domain, and for windows its number. */
struct rnic_access_peer {
    uint32_t pd, qpn;
};

/**
 * Is [va, va + bytes) of @p rkey open for @p access, all of it mapped? A zero-length range always
 * is (IBTA 9.7.4.1.5).
 */
bool rnic_access_open(const struct rnic_access_path *path, struct rnic_access_peer peer,
                      uint32_t rkey, uint64_t va, uint64_t bytes, uint32_t access);

/** Read @p bytes at remote address @p va of @p rkey; REMOTE_READ is needed. As gather. */
bool rnic_access_read(const struct rnic_access_path *path, struct rnic_access_peer peer,
                      uint32_t rkey, uint64_t va, uint32_t bytes, uint8_t *to, bool *backed,
                      uint64_t *done_ps);

/* A read-modify-write of 8 bytes in the host's byte order. */
struct rnic_access_atomic {
    bool swaps; /* COMPARE_SWAP, else FETCH_ADD */
    uint64_t swap_add, compare;
};

/**
 * Carry out an atomic at @p va, a multiple of 8; REMOTE_ATOMIC is needed. Atomics on one address
 * follow each other: each waits until the one before it has read and written.
 * @param orig     out: what memory held before (phantom: 0)
 * @param done_ps  in: start; out: when it has read and written
 * @return false: refused, nothing changed
 */
bool rnic_access_atomic(const struct rnic_access_path *path, struct rnic_access_peer peer,
                        uint32_t rkey, uint64_t va, const struct rnic_access_atomic *op,
                        uint64_t *orig, uint64_t *done_ps);

/**
 * Write @p bytes to remote address @p va of @p rkey; REMOTE_WRITE is needed for all @p whole bytes
 * from there (what is left of the message, at least @p bytes). As scatter.
 */
bool rnic_access_write(const struct rnic_access_path *path, struct rnic_access_peer peer,
                       uint32_t rkey, uint64_t va, uint32_t whole, uint32_t bytes,
                       const uint8_t *from, uint64_t *done_ps);

#endif
