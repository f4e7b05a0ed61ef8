/* SPDX-License-Identifier: GPL-2.0-only */
/* rnic-live: work requests. */
#include "rnic-live.h"

#define MAX_POSTS 1024u
#define DEFAULT_QKEY 0x11111111u

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
    {"fetch_add", RNIC_WR_ATOMIC_FETCH_AND_ADD},
    {"cmp_swap", RNIC_WR_ATOMIC_CMP_AND_SWP},
    {"local_inv", RNIC_WR_LOCAL_INV},
    {"bind", RNIC_WR_BIND_MW},
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

    for (const char *at = text; at != NULL && *at != '\0'; at++)
    {
        const char *found = strchr(letters, *at);

        if (*at == 'u')
            all &= ~(unsigned)RNIC_SEND_SIGNALED;
        else if (found != NULL)
            all |= flags[found - letters];
        else
            live_error(live, words,
                       "%s: flags=%s: the letters are s (solicited), f (fence), i (inline), "
                       "u (unsignalled)",
                       words->name, text);
    }
    return all;
}

/* ---- what a command posts n times: number i has its bytes at off + i * step ---- */

struct batch
{
    const struct live_object *mr; /* NULL: no bytes */
    uint64_t off, len, n, step, id;
};

static struct batch batch_of(struct live *live, struct live_words *words)
{
    struct batch batch = {.n = live_words_number(live, words, "n", 1, 1, MAX_POSTS),
                          .step = live_words_number(live, words, "step", 0, 0, UINT32_MAX),
                          .id = live_words_number(live, words, "id", 0, 0, UINT64_MAX),
                          .off = live_words_number(live, words, "off", 0, 0, UINT64_MAX),
                          .len = live_words_number(live, words, "len", 0, 0, UINT32_MAX)};

    if (batch.len > 0 || live_words_text(words, "mr") != NULL)
        batch.mr = live_object_get(live, words, LIVE_MR);
    return batch;
}

/* No bounds are checked here, so that the card may; but inline bytes are this program's own. */
static bool is_inside(const struct batch *batch, uint64_t i)
{
    uint64_t begin = batch->off + i * batch->step;

    return begin <= batch->mr->length && batch->len <= batch->mr->length - begin;
}

static uint32_t sge_of(const struct batch *batch, uint64_t i, bool in_line, struct rnic_sge *sge)
{
    if (batch->len == 0)
        return 0;
    sge->length = (uint32_t)batch->len;
    sge->lkey = batch->mr->id;
    sge->addr = batch->mr->va + batch->off + i * batch->step;
    if (in_line)
        sge->addr = (uint64_t)(uintptr_t)(batch->mr->bytes + batch->off + i * batch->step);
    return 1;
}

/* Of several, those before the first that was refused are posted. */
static void told(struct live *live, struct live_words *words, const char *verb, uint64_t posted,
                 int error)
{
    if (error != 0)
        printf("posted=%" PRIu64 "\n", posted);
    (void)live_refused(live, words, verb, error);
}

/* recv qp=|srq= mr= off= len= n= step= id= */
void live_post_recv(struct live *live, struct live_words *words)
{
    bool shared = live_words_text(words, "srq") != NULL;
    const struct live_object *to = live_object_get(live, words, shared ? LIVE_SRQ : LIVE_QP);
    struct batch batch = batch_of(live, words);
    uint64_t i = 0;
    int error = 0;

    if (!live_words_done(live, words))
        return;
    for (; i < batch.n; i++)
    {
        struct rnic_sge sge;
        struct rnic_recv_wr wr = {.wr_id = batch.id + i, .sg_list = &sge};

        wr.num_sge = sge_of(&batch, i, false, &sge);
        if (shared)
            LIVE_VERB(live, error, rnic_post_srq_recv(live->card.dev, to->id, &wr, live->now_ps));
        else
            LIVE_VERB(live, error, rnic_post_recv(live->card.dev, to->id, &wr, live->now_ps));
        if (error != 0)
            break;
    }
    told(live, words, shared ? "rnic_post_srq_recv" : "rnic_post_recv", i, error);
}

/* ---- sends ---- */

/* A window's bind: mr= off= len= are what it shows, rkey= its new key, else the next one. */
static void set_bind(struct live *live, struct live_words *words, const struct batch *batch,
                     struct rnic_send_wr *wr, struct live_object **window)
{
    *window = live_object_get(live, words, LIVE_MW);
    wr->bind_mw.access = live_object_access(live, words, "wra");
    if (batch->mr == NULL)
        live_error(live, words, "%s: bind wants mr=, the region that it shows", words->name);
    if (words->bad)
        return;
    wr->rkey = live_words_number32(live, words, "rkey",
                                   ((*window)->id & ~0xFFu) | (((*window)->id + 1) & 0xFFu));
    wr->bind_mw.mw = (*window)->id;
    wr->bind_mw.mr = batch->mr->id;
    wr->bind_mw.addr = batch->mr->va + batch->off;
    wr->bind_mw.length = batch->len;
}

/* What the operation needs beyond its bytes. */
static void set_special(struct live *live, struct live_words *words, struct rnic_send_wr *wr)
{
    switch (wr->opcode)
    {
    case RNIC_WR_SEND_WITH_IMM:
    case RNIC_WR_RDMA_WRITE_WITH_IMM:
        wr->imm = live_words_number32(live, words, "imm", 0);
        return;
    case RNIC_WR_SEND_WITH_INV:
    case RNIC_WR_LOCAL_INV:
        wr->invalidate_rkey = live_words_number32(live, words, "inv", 0);
        return;
    case RNIC_WR_ATOMIC_FETCH_AND_ADD:
        wr->atomic.compare_add = live_words_number(live, words, "add", 0, 0, UINT64_MAX);
        return;
    case RNIC_WR_ATOMIC_CMP_AND_SWP:
        wr->atomic.compare_add = live_words_number(live, words, "cmp", 0, 0, UINT64_MAX);
        wr->atomic.swap = live_words_number(live, words, "swap", 0, 0, UINT64_MAX);
        return;
    case RNIC_WR_RDMA_WRITE:
    case RNIC_WR_SEND:
    case RNIC_WR_RDMA_READ:
    case RNIC_WR_BIND_MW:
    default:
        return;
    }
}

static void set_datagram(struct live *live, struct live_words *words, struct rnic_send_wr *wr)
{
    const struct live_object *ah = live_object_get(live, words, LIVE_AH);

    wr->ud.ah = ah != NULL ? ah->id : 0;
    wr->ud.remote_qpn = live_words_number32(live, words, "dqpn", 0);
    wr->ud.remote_qkey = live_words_number32(live, words, "qkey", DEFAULT_QKEY);
}

static bool has_remote(enum rnic_wr_opcode opcode)
{
    return opcode == RNIC_WR_RDMA_WRITE || opcode == RNIC_WR_RDMA_WRITE_WITH_IMM ||
           opcode == RNIC_WR_RDMA_READ || opcode == RNIC_WR_ATOMIC_FETCH_AND_ADD ||
           opcode == RNIC_WR_ATOMIC_CMP_AND_SWP;
}

static void post_sends(struct live *live, struct live_words *words, const struct batch *batch,
                       struct rnic_send_wr *wr, uint32_t qpn, uint64_t rstep)
{
    bool in_line = (wr->send_flags & RNIC_SEND_INLINE) != 0, local;
    uint64_t raddr = wr->remote_addr, i = 0;
    int error = 0;

    local = wr->opcode == RNIC_WR_BIND_MW || wr->opcode == RNIC_WR_LOCAL_INV;
    for (; i < batch->n; i++)
    {
        struct rnic_sge sge;

        if (in_line && batch->len > 0 && !is_inside(batch, i))
        {
            live_error(live, words, "%s: inline bytes outside of the region", words->name);
            return;
        }
        wr->wr_id = batch->id + i;
        wr->sg_list = &sge;
        wr->num_sge = local ? 0 : sge_of(batch, i, in_line, &sge);
        wr->remote_addr = raddr + i * rstep;
        LIVE_VERB(live, error, rnic_post_send(live->card.dev, qpn, wr, live->now_ps));
        if (error != 0)
            break;
    }
    told(live, words, "rnic_post_send", i, error);
}

/*
 * send qp= op= mr= off= len= n= step= id= raddr= rkey= rstep= flags= imm= inv= add= cmp= swap=
 *    ah= dqpn= qkey= mw= access=
 * The operation's name may stand in the place of send.
 */
void live_post_send(struct live *live, struct live_words *words)
{
    const char *op = live_words_text(words, "op");
    size_t which = operation(op != NULL ? op : words->name);
    const struct live_object *qp = live_object_get(live, words, LIVE_QP);
    struct batch batch = batch_of(live, words);
    uint64_t rstep = 0;
    struct live_object *window = NULL;
    struct rnic_send_wr wr = {.send_flags = flags_of(live, words)};

    if (which == OPERATIONS)
        live_error(live, words,
                   "send: op=%s: want send, send_imm, send_inv, write, write_imm, read, "
                   "fetch_add, cmp_swap, local_inv or bind",
                   op);
    if (words->bad)
        return;
    wr.opcode = operations[which].opcode;
    if (has_remote(wr.opcode))
    {
        wr.remote_addr = live_words_number(live, words, "raddr", 0, 0, UINT64_MAX);
        wr.rkey = live_words_number32(live, words, "rkey", 0);
        rstep = live_words_number(live, words, "rstep", 0, 0, UINT32_MAX);
    }
    set_special(live, words, &wr);
    if (wr.opcode == RNIC_WR_BIND_MW)
        set_bind(live, words, &batch, &wr, &window);
    else if (qp->type == RNIC_QPT_UD)
        set_datagram(live, words, &wr);
    if (!live_words_done(live, words))
        return;
    post_sends(live, words, &batch, &wr, qp->id, rstep);
    if (!words->bad && window != NULL)
    {
        window->id = wr.rkey;
        printf("rkey=0x%" PRIx32 "\n", wr.rkey);
    }
}
