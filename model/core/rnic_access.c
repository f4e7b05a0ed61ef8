/* SPDX-License-Identifier: GPL-2.0-only */
#include "rnic_access.h"

#include <string.h>

/* Part of a message in one entry of a list. */
struct access_piece {
    struct rnic_mr *mr;
    uint64_t va;
    uint32_t bytes;
};

/* When the region's key and translations are on the card. */
static uint64_t access_ready(const struct rnic_access_path *path, struct rnic_mr *mr, uint64_t va,
                             uint32_t bytes, uint64_t in_ps)
{
    in_ps = rnic_cache_get(&path->mrs->cache, &mr->cache, in_ps);
    return rnic_table_page_ready(path->pages, mr, va, bytes, in_ps);
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
        piece->mr =
            rnic_table_mr_check(path->mrs, sges[i].lkey, pd, access, piece->va, piece->bytes);
        return piece->mr != NULL;
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

static uint64_t access_get(const struct rnic_access_path *path, const struct access_piece *piece,
                           uint8_t *to, uint64_t in_ps)
{
    uint64_t ready_ps = access_ready(path, piece->mr, piece->va, piece->bytes, in_ps);

    if (piece->mr->host != NULL && to != NULL)
        memcpy(to, piece->mr->host + (piece->va - piece->mr->va), piece->bytes);
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
        *backed = *backed && piece.mr->host != NULL && to != NULL;
        to = to == NULL ? NULL : to + piece.bytes;
        offset += piece.bytes;
        bytes -= piece.bytes;
    }
    return true;
}

static uint64_t access_put(const struct rnic_access_path *path, const struct access_piece *piece,
                           const uint8_t *from, uint64_t in_ps)
{
    uint64_t ready_ps = access_ready(path, piece->mr, piece->va, piece->bytes, in_ps);

    if (piece->mr->host != NULL && from != NULL)
        memcpy(piece->mr->host + (piece->va - piece->mr->va), from, piece->bytes);
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

bool rnic_access_write(const struct rnic_access_path *path, uint32_t pd, uint32_t rkey, uint64_t va,
                       uint32_t whole, uint32_t bytes, const uint8_t *from, uint64_t *done_ps)
{
    struct access_piece piece = {.va = va, .bytes = bytes};

    WIRE_ASSERT(bytes <= whole);
    if (whole == 0)
        return true;
    piece.mr = rnic_table_mr_check(path->mrs, rkey, pd, RNIC_ACCESS_REMOTE_WRITE, va, whole);
    if (piece.mr == NULL)
        return false;
    *done_ps = access_put(path, &piece, from, *done_ps);
    return true;
}
