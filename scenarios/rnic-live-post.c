/* SPDX-License-Identifier: GPL-2.0-only */
/* rnic-live: commands that post work requests. */
#include "rnic-live.h"

#define MAX_POSTS 256u
#define ANY32 0xFFFFFFFFu
#define ANY64 UINT64_MAX

static const struct
{
    const char *name;
    enum rnic_wr_opcode opcode;
} operations[] = {
    {"send", RNIC_WR_SEND},
    {"send_imm", RNIC_WR_SEND_WITH_IMM},
    {"send_inv", RNIC_WR_SEND_WITH_INV},
    {"write", RNIC_WR_RDMA_WRITE},
    {"write_imm", RNIC_WR_RDMA_WRITE_WITH_IMM},
    {"read", RNIC_WR_RDMA_READ},
    {"fadd", RNIC_WR_ATOMIC_FETCH_AND_ADD},
    {"cswap", RNIC_WR_ATOMIC_CMP_AND_SWP},
};

#define OPERATIONS (sizeof operations / sizeof operations[0])

static size_t operation(const char *name)
{
    size_t i = 0;

    while (i < OPERATIONS && strcmp(operations[i].name, name) != 0)
        i++;
    return i;
}

bool live_post_is_operation(const char *name)
{
    return operation(name) < OPERATIONS;
}

static unsigned flags_of(struct live *live, struct live_words *words)
{
    static const char letters[] = "sfi";
    static const unsigned flags[] = {RNIC_SEND_SOLICITED, RNIC_SEND_FENCE, RNIC_SEND_INLINE};
    const char *text = live_words_text(words, "flags");
    unsigned all = RNIC_SEND_SIGNALED;

    for (; text != NULL && *text != '\0'; text++)
    {
        const char *found = strchr(letters, *text);

        if (*text == 'u')
            all &= ~(unsigned)RNIC_SEND_SIGNALED;
        else if (found == NULL)
            live_error(live, words,
                       "%s: flags= has the letters s (solicited), f (fence), i (inline), "
                       "u (unsignalled)",
                       words->name);
        else
            all |= flags[found - letters];
    }
    return all;
}

/* What the operation needs beyond the bytes. */
static void set_remote(struct live *live, struct live_words *words, struct rnic_send_wr *wr,
                       enum rnic_qp_type type)
{
    enum rnic_wr_opcode op = wr->opcode;
    bool atomic = op == RNIC_WR_ATOMIC_CMP_AND_SWP || op == RNIC_WR_ATOMIC_FETCH_AND_ADD;

    if (op == RNIC_WR_SEND_WITH_IMM || op == RNIC_WR_RDMA_WRITE_WITH_IMM)
        wr->imm = (uint32_t)live_words_number(live, words, "imm", 0, 0, ANY32);
    if (op == RNIC_WR_SEND_WITH_INV)
        wr->invalidate_rkey = (uint32_t)live_words_needed(live, words, "rkey", 0, ANY32);
    if (op == RNIC_WR_RDMA_WRITE || op == RNIC_WR_RDMA_WRITE_WITH_IMM || op == RNIC_WR_RDMA_READ ||
        atomic)
    {
        wr->remote_addr = live_words_needed(live, words, "raddr", 0, ANY64);
        wr->rkey = (uint32_t)live_words_needed(live, words, "rkey", 0, ANY32);
    }
    if (op == RNIC_WR_ATOMIC_FETCH_AND_ADD)
        wr->atomic.compare_add = live_words_needed(live, words, "add", 0, ANY64);
    if (op == RNIC_WR_ATOMIC_CMP_AND_SWP)
    {
        wr->atomic.compare_add = live_words_needed(live, words, "cmp", 0, ANY64);
        wr->atomic.swap = live_words_needed(live, words, "swap", 0, ANY64);
    }
    if (type == RNIC_QPT_UD)
    {
        uint64_t ah = live_words_needed(live, words, "ah", 0, LIVE_OBJECTS - 1);

        wr->ud.ah = live->card.ahs[ah];
        wr->ud.remote_qpn = (uint32_t)live_words_needed(live, words, "dqpn", 0, WIRE_PSN_MASK);
        wr->ud.remote_qkey = (uint32_t)live_words_number(live, words, "qkey", 0x11111111, 0, ANY32);
    }
}

struct batch /* what a command posts n times */
{
    struct live_region *mr;
    uint64_t off, len, n, stride, id;
};

static struct batch batch_of(struct live *live, struct live_words *words)
{
    struct batch batch = {.n = live_words_number(live, words, "n", 1, 1, MAX_POSTS),
                          .stride = live_words_number(live, words, "stride", 0, 0, ANY32),
                          .id = live_words_number(live, words, "id", 0, 0, ANY64)};

    if (words->bad)
        return batch;
    if (live_words_text(words, "mr") != NULL)
        batch.mr = live_object_range(live, words, &batch.off, &batch.len, batch.n, batch.stride);
    return batch;
}

static struct rnic_sge sge_of(const struct batch *batch, uint64_t i, bool in_line)
{
    struct rnic_sge sge = {.length = (uint32_t)batch->len};

    if (batch->mr == NULL)
        return sge;
    sge.lkey = batch->mr->key;
    sge.addr = batch->mr->va + batch->off + i * batch->stride;
    if (in_line)
        sge.addr = (uint64_t)(uintptr_t)(batch->mr->bytes + batch->off + i * batch->stride);
    return sge;
}

void live_post_send(struct live *live, struct live_words *words)
{
    const char *op = live_words_text(words, "op");
    size_t which = operation(op != NULL ? op : words->name);
    struct live_qp *qp = NULL;
    uint32_t qpn = live_object_qpn(live, words, &qp);
    struct batch batch = batch_of(live, words);
    uint64_t rstride = live_words_number(live, words, "rstride", batch.stride, 0, ANY32);
    struct rnic_send_wr wr = {.send_flags = flags_of(live, words)};
    uint64_t raddr;
    int error = 0;

    if (which == OPERATIONS)
        live_error(live, words,
                   "%s: op=%s: operations are send, send_imm, send_inv, write, "
                   "write_imm, read, fadd, cswap",
                   words->name, op);
    if (words->bad)
        return;
    wr.opcode = operations[which].opcode;
    set_remote(live, words, &wr, qp->type);
    if (!live_words_done(live, words))
        return;
    raddr = wr.remote_addr;
    for (uint64_t i = 0; i < batch.n && error == 0; i++)
    {
        struct rnic_sge sge = sge_of(&batch, i, wr.send_flags & RNIC_SEND_INLINE);

        wr.wr_id = batch.id + i;
        wr.sg_list = &sge;
        wr.num_sge = batch.mr != NULL;
        wr.remote_addr = raddr + i * rstride;
        LIVE_VERB(live, error, rnic_post_send(live->card.dev, qpn, &wr, live->now_ps));
    }
    if (!live_refused(live, words, "rnic_post_send", error))
        puts("ok");
}

void live_post_recv(struct live *live, struct live_words *words)
{
    struct live_qp *qp = NULL;
    uint32_t qpn = live_object_qpn(live, words, &qp);
    struct batch batch = batch_of(live, words);
    int error = 0;

    if (!live_words_done(live, words))
        return;
    for (uint64_t i = 0; i < batch.n && error == 0; i++)
    {
        struct rnic_sge sge = sge_of(&batch, i, false);
        struct rnic_recv_wr wr = {
            .wr_id = batch.id + i, .sg_list = &sge, .num_sge = batch.mr != NULL};

        LIVE_VERB(live, error, rnic_post_recv(live->card.dev, qpn, &wr, live->now_ps));
    }
    if (!live_refused(live, words, "rnic_post_recv", error))
        puts("ok");
}

/* A local operation, which sends nothing. */
static void post_local(struct live *live, struct live_words *words, uint32_t qpn,
                       struct rnic_send_wr *wr)
{
    int error;

    if (!live_words_done(live, words))
        return;
    LIVE_VERB(live, error, rnic_post_send(live->card.dev, qpn, wr, live->now_ps));
    if (!live_refused(live, words, "rnic_post_send", error))
        puts("ok");
}

void live_post_invalidate(struct live *live, struct live_words *words)
{
    struct live_qp *qp = NULL;
    uint32_t qpn = live_object_qpn(live, words, &qp);
    struct rnic_send_wr wr = {.opcode = RNIC_WR_LOCAL_INV,
                              .wr_id = live_words_number(live, words, "id", 0, 0, ANY64),
                              .send_flags = flags_of(live, words),
                              .invalidate_rkey =
                                  (uint32_t)live_words_needed(live, words, "rkey", 0, ANY32)};

    post_local(live, words, qpn, &wr);
}

void live_post_bind(struct live *live, struct live_words *words)
{
    struct live_qp *qp = NULL;
    uint32_t qpn = live_object_qpn(live, words, &qp);
    uint64_t off, len;
    struct rnic_send_wr wr = {
        .opcode = RNIC_WR_BIND_MW,
        .wr_id = live_words_number(live, words, "id", 0, 0, ANY64),
        .send_flags = flags_of(live, words),
        .rkey = (uint32_t)live_words_needed(live, words, "rkey", 0, ANY32),
        .bind_mw = {.mw = (uint32_t)live_words_needed(live, words, "mw", 0, ANY32),
                    .access = RNIC_ACCESS_REMOTE_WRITE | RNIC_ACCESS_REMOTE_READ |
                              RNIC_ACCESS_REMOTE_ATOMIC}};
    struct live_region *mr = live_object_range(live, words, &off, &len, 1, 0);

    if (mr == NULL)
        return;
    wr.bind_mw.mr = mr->key;
    wr.bind_mw.addr = mr->va + off;
    wr.bind_mw.length = len;
    post_local(live, words, qpn, &wr);
}
