/* SPDX-License-Identifier: GPL-2.0-only */
#include "rnic_access.h"

#include <string.h>

#define ACCESS_HASH_SHIFT 58
static_assert(RNIC_ACCESS_ATOMICS == 1u << (64 - ACCESS_HASH_SHIFT), "a slot for every hash");

/* Part of a message in one entry of a list, or of a remote range. */
struct access_piece {
    struct rnic_mr *mr;
    uint64_t va;
    uint32_t bytes;
};

/* When the region's key and translations are on the card. */
WIRE_HOT uint64_t access_ready(const struct rnic_access_path *path, struct rnic_mr *mr, uint64_t va,
                               uint32_t bytes, uint64_t in_ps)
{
    in_ps = rnic_cache_get(&path->mrs->cache, &mr->cache, in_ps);
    return rnic_table_page_ready(path->pages, mr, va, bytes, in_ps);
}

/* The region has bytes, not only their number. */
static bool access_backed(const struct rnic_mr *mr)
{
    return mr->host != NULL || mr->host_pages != NULL;
}

/* Where the bytes from `va` lie in host memory, and how many of `bytes` follow each other there. */
static uint8_t *access_host(const struct rnic_mr *mr, uint64_t va, uint32_t bytes, uint32_t *run)
{
    uint32_t in_page;

    *run = bytes;
    if (mr->host_pages == NULL)
        return mr->host + (va - mr->va);
    in_page = (uint32_t)(va & (mr->host_page_bytes - 1));
    if (mr->host_page_bytes - in_page < bytes)
        *run = mr->host_page_bytes - in_page;
    return mr->host_pages[rnic_table_mr_page(mr, va)] + in_page;
}

/*
 * The piece of the list that holds message byte `offset`, cut to `bytes`; checked for `access`.
 * False: beyond the list, or refused.
 */
static bool access_piece(const struct rnic_access_path *path, uint32_t pd,
                         const struct rnic_sge *sges, uint32_t n, uint32_t offset, uint32_t bytes,
                         uint32_t access, struct access_piece *piece)
{
    for (uint32_t i = 0; i < n; i++) {
        if (offset >= sges[i].length) { /* also an entry of length 0 */
            offset -= sges[i].length;
            continue;
        }
        piece->va = sges[i].addr + offset;
        piece->bytes = sges[i].length - offset < bytes ? sges[i].length - offset : bytes;
        piece->mr = rnic_table_mr_check(path->mrs, sges[i].lkey, pd, RNIC_QPN_LOCAL, access,
                                        piece->va, piece->bytes);
        return piece->mr != NULL && rnic_table_mr_mapped(piece->mr, piece->va, piece->bytes);
    }
    return false;
}

/* All pieces of [offset, offset + bytes) may be accessed. */
static bool access_allowed(const struct rnic_access_path *path, uint32_t pd,
                           const struct rnic_sge *sges, uint32_t n, uint32_t offset, uint32_t bytes,
                           uint32_t access)
{
    struct access_piece piece;

    for (; bytes > 0; offset += piece.bytes, bytes -= piece.bytes)
        if (!access_piece(path, pd, sges, n, offset, bytes, access, &piece))
            return false;
    return true;
}

WIRE_HOT uint64_t access_get(const struct rnic_access_path *path, const struct access_piece *piece,
                             uint8_t *to, uint64_t in_ps)
{
    uint64_t ready_ps = access_ready(path, piece->mr, piece->va, piece->bytes, in_ps);
    bool copies = to != NULL && access_backed(piece->mr);

    for (uint32_t at = 0, run; copies && at < piece->bytes; at += run) {
        const uint8_t *from = access_host(piece->mr, piece->va + at, piece->bytes - at, &run);

        memcpy(to + at, from, run);
    }
    return rnic_dma_read(path->dma, ready_ps, piece->bytes);
}

bool rnic_access_gather(const struct rnic_access_path *path, uint32_t pd,
                        const struct rnic_sge *sges, uint32_t n, uint32_t offset, uint32_t bytes,
                        uint8_t *to, bool *backed, uint64_t *done_ps)
{
    uint64_t start_ps = *done_ps;
    struct access_piece piece;

    *backed = true;
    while (bytes > 0) {
        if (!access_piece(path, pd, sges, n, offset, bytes, 0, &piece))
            return false; /* what was read so far is dropped with the packet */
        *done_ps = wire_max_ps(*done_ps, access_get(path, &piece, to, start_ps));
        *backed = *backed && to != NULL && access_backed(piece.mr);
        to = to == NULL ? NULL : to + piece.bytes;
        offset += piece.bytes;
        bytes -= piece.bytes;
    }
    return true;
}

WIRE_HOT uint64_t access_put(const struct rnic_access_path *path, const struct access_piece *piece,
                             const uint8_t *from, uint64_t in_ps)
{
    uint64_t ready_ps = access_ready(path, piece->mr, piece->va, piece->bytes, in_ps);
    bool copies = from != NULL && access_backed(piece->mr);

    for (uint32_t at = 0, run; copies && at < piece->bytes; at += run) {
        uint8_t *to = access_host(piece->mr, piece->va + at, piece->bytes - at, &run);

        memcpy(to, from + at, run);
    }
    return rnic_dma_write(path->dma, ready_ps, piece->bytes);
}

bool rnic_access_scatter(const struct rnic_access_path *path, uint32_t pd,
                         const struct rnic_sge *sges, uint32_t n, uint32_t offset, uint32_t bytes,
                         const uint8_t *from, uint64_t *done_ps)
{
    uint64_t start_ps = *done_ps;
    struct access_piece piece;

    if (!access_allowed(path, pd, sges, n, offset, bytes, RNIC_ACCESS_LOCAL_WRITE))
        return false;
    for (; bytes > 0; offset += piece.bytes, bytes -= piece.bytes) {
        bool found =
            access_piece(path, pd, sges, n, offset, bytes, RNIC_ACCESS_LOCAL_WRITE, &piece);

        WIRE_ASSERT(found); /* it was allowed just now */
        if (!found)
            return false;
        *done_ps = wire_max_ps(*done_ps, access_put(path, &piece, from, start_ps));
        if (from != NULL)
            from += piece.bytes;
    }
    return true;
}

/*
 * The region behind a remote key, checked for `whole` bytes from `va`; *in_ps: when the context of
 * a window (the region's own comes with the access) is on the card. NULL: refused.
 */
WIRE_HOT struct rnic_mr *access_remote(const struct rnic_access_path *path,
                                       struct rnic_access_peer peer, uint32_t rkey, uint64_t va,
                                       uint64_t whole, uint32_t access, uint64_t *in_ps)
{
    struct rnic_mr *mr = rnic_table_mr_check(path->mrs, rkey, peer.pd, peer.qpn, access, va, whole);

    if (mr != NULL && WIRE_UNLIKELY(mr->key != rkey))
        *in_ps =
            rnic_cache_get(&path->mrs->cache, &rnic_table_mr_find(path->mrs, rkey)->cache, *in_ps);
    return mr;
}

bool rnic_access_open(const struct rnic_access_path *path, struct rnic_access_peer peer,
                      uint32_t rkey, uint64_t va, uint64_t bytes, uint32_t access)
{
    const struct rnic_mr *mr;

    if (bytes == 0)
        return true;
    mr = rnic_table_mr_check(path->mrs, rkey, peer.pd, peer.qpn, access, va, bytes);
    return mr != NULL && rnic_table_mr_mapped(mr, va, bytes);
}

bool rnic_access_read(const struct rnic_access_path *path, struct rnic_access_peer peer,
                      uint32_t rkey, uint64_t va, uint32_t bytes, uint8_t *to, bool *backed,
                      uint64_t *done_ps)
{
    struct access_piece piece = {.va = va, .bytes = bytes};
    uint64_t in_ps = *done_ps;

    *backed = true;
    if (bytes == 0)
        return true;
    piece.mr = access_remote(path, peer, rkey, va, bytes, RNIC_ACCESS_REMOTE_READ, &in_ps);
    if (piece.mr == NULL || !rnic_table_mr_mapped(piece.mr, va, bytes))
        return false;
    *backed = to != NULL && access_backed(piece.mr);
    *done_ps = access_get(path, &piece, to, in_ps);
    return true;
}

/* The atomic itself, in the host's byte order. @return what memory held before. */
static uint64_t access_modify(const struct rnic_mr *mr, uint64_t va,
                              const struct rnic_access_atomic *op)
{
    uint64_t held, next;
    uint8_t *host;
    uint32_t run;

    if (!access_backed(mr))
        return 0;
    host = access_host(mr, va, sizeof held, &run);
    WIRE_ASSERT(run == sizeof held); /* aligned: within a page */
    memcpy(&held, host, sizeof held);
    next = !op->swaps ? held + op->swap_add : held == op->compare ? op->swap_add : held;
    memcpy(host, &next, sizeof next);
    return held;
}

bool rnic_access_atomic(const struct rnic_access_path *path, struct rnic_access_peer peer,
                        uint32_t rkey, uint64_t va, const struct rnic_access_atomic *op,
                        uint64_t *orig, uint64_t *done_ps)
{
    uint64_t *over_ps = &path->atomics[(va >> 3) * 0x9E3779B97F4A7C15u >> ACCESS_HASH_SHIFT];
    uint64_t at_ps = *done_ps;
    struct rnic_mr *mr;

    WIRE_ASSERT(va % 8 == 0);
    mr = access_remote(path, peer, rkey, va, 8, RNIC_ACCESS_REMOTE_ATOMIC, &at_ps);
    if (mr == NULL || !rnic_table_mr_mapped(mr, va, 8))
        return false;
    at_ps = wire_max_ps(access_ready(path, mr, va, 8, at_ps), *over_ps);
    *orig = access_modify(mr, va, op);
    at_ps = rnic_dma_read(path->dma, at_ps, 8);
    at_ps = rnic_dma_write(path->dma, at_ps, 8);
    *over_ps = *done_ps = at_ps;
    return true;
}

bool rnic_access_write(const struct rnic_access_path *path, struct rnic_access_peer peer,
                       uint32_t rkey, uint64_t va, uint32_t whole, uint32_t bytes,
                       const uint8_t *from, uint64_t *done_ps)
{
    struct access_piece piece = {.va = va, .bytes = bytes};
    uint64_t in_ps = *done_ps;

    WIRE_ASSERT(bytes <= whole);
    if (whole == 0)
        return true;
    piece.mr = access_remote(path, peer, rkey, va, whole, RNIC_ACCESS_REMOTE_WRITE, &in_ps);
    if (piece.mr == NULL || !rnic_table_mr_mapped(piece.mr, va, bytes))
        return false;
    *done_ps = access_put(path, &piece, from, in_ps);
    return true;
}
