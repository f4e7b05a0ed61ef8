/* SPDX-License-Identifier: GPL-2.0-only */
/* The verbs of what queue pairs use: domains, regions, windows, handles, CQs, shared receives. */
#include "rnic_verbs_shared.h"

#include "rnic_cq_write.h"

#define OBJECTS_PAGE_MIN 4096u
#define OBJECTS_QP_EVENTS 6u /* FATAL, REQ_ERR, ACCESS_ERR, COMM_EST, SQ_DRAINED, LAST_WQE */
#define OBJECTS_CQ_EVENTS 2u /* CQ, CQ_ERR */
#define OBJECTS_SRQ_EVENTS 1u

bool rnic_verbs_objects_reserve(struct rnic_device *dev, uint32_t qps, uint32_t cqs, uint32_t srqs)
{
    return rnic_cq_event_reserve(&dev->events, &dev->mem,
                                 OBJECTS_QP_EVENTS * (dev->qps.live + qps) +
                                     OBJECTS_CQ_EVENTS * (dev->cqs.live + cqs) +
                                     OBJECTS_SRQ_EVENTS * (dev->srqs.live + srqs));
}

bool rnic_verbs_objects_length(const struct rnic_sge *sges, uint32_t n, uint32_t max,
                               uint64_t *length)
{
    *length = 0;
    if (n > max || (n > 0 && sges == NULL))
        return false;
    for (uint32_t i = 0; i < n; i++)
        *length += sges[i].length;
    return *length <= WIRE_MESSAGE_MAX;
}

/* ---- protection domains and regions ---- */

int rnic_alloc_pd(struct rnic_device *dev, uint32_t *pd, uint64_t now_ps)
{
    (void)now_ps;
    return rnic_table_mr_pd_alloc(&dev->mrs, &dev->mem, pd);
}

int rnic_dealloc_pd(struct rnic_device *dev, uint32_t pd, uint64_t now_ps)
{
    (void)now_ps;
    return rnic_table_mr_pd_free(&dev->mrs, pd);
}

/* A region without its bytes. */
static int objects_region(struct rnic_device *dev, uint32_t pd, uint64_t va, uint64_t length,
                          unsigned access, struct rnic_mr **mr_out)
{
    const unsigned known = RNIC_ACCESS_LOCAL_WRITE | RNIC_ACCESS_REMOTE_WRITE |
                           RNIC_ACCESS_REMOTE_READ | RNIC_ACCESS_REMOTE_ATOMIC |
                           RNIC_ACCESS_MW_BIND;
    bool remote_write = access & (RNIC_ACCESS_REMOTE_WRITE | RNIC_ACCESS_REMOTE_ATOMIC);
    struct rnic_pd *domain = rnic_table_mr_pd(&dev->mrs, pd);
    struct rnic_mr *mr;
    int err;

    if (length == 0 || va > UINT64_MAX - length || (access & ~known) ||
        (remote_write && !(access & RNIC_ACCESS_LOCAL_WRITE)))
        return RNIC_ERR_INVAL;
    if (domain == NULL)
        return RNIC_ERR_NOENT;
    err = rnic_table_mr_add(&dev->mrs, &dev->mem, (uint32_t)dev->params.max_mr, &mr);
    if (err < 0)
        return err;
    mr->va = va;
    mr->length = length;
    mr->pd = pd;
    mr->access = access;
    if (!rnic_table_page_add(&dev->pages, &dev->mem, mr)) {
        rnic_table_mr_remove(&dev->mrs, mr);
        return RNIC_ERR_NOMEM;
    }
    domain->refs++;
    *mr_out = mr;
    return 0;
}

static void objects_unregister(struct rnic_device *dev, struct rnic_mr *mr)
{
    rnic_table_mr_pd(&dev->mrs, mr->pd)->refs--;
    rnic_table_page_remove(&dev->pages, &dev->mem, mr);
    rnic_table_mr_unlist(&dev->mem, mr);
    rnic_table_mr_remove(&dev->mrs, mr);
}

int rnic_reg_mr(struct rnic_device *dev, uint32_t pd, uint64_t va, uint64_t length, void *host,
                unsigned access, uint32_t *key, uint64_t now_ps)
{
    struct rnic_mr *mr;
    int err = objects_region(dev, pd, va, length, access, &mr);

    (void)now_ps;
    if (err < 0)
        return err;
    mr->host = host;
    *key = mr->key;
    return 0;
}

int rnic_reg_mr_pages(struct rnic_device *dev, uint32_t pd, uint64_t va, uint64_t length,
                      uint32_t page_bytes, void *const *pages, uint32_t n_pages, unsigned access,
                      uint32_t *key, uint64_t now_ps)
{
    struct rnic_mr *mr;
    int err;

    (void)now_ps;
    if (page_bytes < OBJECTS_PAGE_MIN || (page_bytes & (page_bytes - 1)) != 0 || pages == NULL ||
        length == 0 || va > UINT64_MAX - length ||
        rnic_table_mr_pages(va, length, page_bytes) != n_pages)
        return RNIC_ERR_INVAL;
    err = objects_region(dev, pd, va, length, access, &mr);
    if (err < 0)
        return err;
    if (!rnic_table_mr_list(&dev->mem, mr, page_bytes, pages, n_pages)) {
        objects_unregister(dev, mr);
        return RNIC_ERR_NOMEM;
    }
    *key = mr->key;
    return 0;
}

int rnic_dereg_mr(struct rnic_device *dev, uint32_t key, uint64_t now_ps)
{
    struct rnic_mr *mr = rnic_table_mr_find(&dev->mrs, key);

    (void)now_ps;
    if (mr == NULL || mr->is_window)
        return RNIC_ERR_NOENT;
    if (mr->windows > 0)
        return RNIC_ERR_BUSY;
    objects_unregister(dev, mr);
    return 0;
}

/* ---- memory windows ---- */

int rnic_alloc_mw(struct rnic_device *dev, uint32_t pd, uint32_t *key, uint64_t now_ps)
{
    struct rnic_pd *domain = rnic_table_mr_pd(&dev->mrs, pd);
    struct rnic_mr *mw;
    int err;

    (void)now_ps;
    if (domain == NULL)
        return RNIC_ERR_NOENT;
    err = rnic_table_mr_add(&dev->mrs, &dev->mem, (uint32_t)dev->params.max_mr, &mw);
    if (err < 0)
        return err;
    mw->is_window = true;
    mw->pd = pd;
    domain->refs++;
    *key = mw->key;
    return 0;
}

int rnic_dealloc_mw(struct rnic_device *dev, uint32_t key, uint64_t now_ps)
{
    uint32_t index = key >> 8;
    struct rnic_mr *mw = index < dev->mrs.n ? dev->mrs.mr[index] : NULL;

    (void)now_ps;
    if (mw == NULL || !mw->used || !mw->is_window)
        return RNIC_ERR_NOENT;
    rnic_table_mr_pd(&dev->mrs, mw->pd)->refs--;
    rnic_table_mr_remove(&dev->mrs, mw);
    return 0;
}

/* ---- address handles ---- */

int rnic_create_ah(struct rnic_device *dev, uint32_t pd, const struct rnic_av *av, uint32_t *ah,
                   uint64_t now_ps)
{
    struct rnic_pd *domain = rnic_table_mr_pd(&dev->mrs, pd);
    int err;

    (void)now_ps;
    if (!rnic_path_valid(av))
        return RNIC_ERR_INVAL;
    if (domain == NULL)
        return RNIC_ERR_NOENT;
    err = rnic_table_ah_add(&dev->ahs, &dev->mem, pd, av, ah);
    if (err == 0)
        domain->refs++;
    return err;
}

int rnic_destroy_ah(struct rnic_device *dev, uint32_t number, uint64_t now_ps)
{
    const struct rnic_ah *ah = rnic_table_ah_find(&dev->ahs, number);

    (void)now_ps;
    if (ah == NULL)
        return RNIC_ERR_NOENT;
    rnic_table_mr_pd(&dev->mrs, ah->pd)->refs--;
    rnic_table_ah_remove(&dev->ahs, number);
    return 0;
}

/* ---- shared receive queues ---- */

int rnic_create_srq(struct rnic_device *dev, uint32_t pd, const struct rnic_srq_attr *attr,
                    uint32_t *number, uint64_t now_ps)
{
    struct rnic_pd *domain = rnic_table_mr_pd(&dev->mrs, pd);
    const struct rnic_params *params = &dev->params;
    struct rnic_srq *srq;
    int err;

    (void)now_ps;
    if (attr->max_wr == 0 || attr->max_wr > params->max_wr || attr->max_sge > params->max_sge ||
        attr->limit > attr->max_wr)
        return RNIC_ERR_INVAL;
    if (domain == NULL)
        return RNIC_ERR_NOENT;
    if (!rnic_verbs_objects_reserve(dev, 0, 0, 1))
        return RNIC_ERR_NOMEM;
    err = rnic_table_srq_add(&dev->srqs, &dev->mem, (uint32_t)params->max_srq, attr, &srq);
    if (err < 0)
        return err;
    srq->pd = pd;
    domain->refs++;
    *number = srq->number;
    return 0;
}

int rnic_modify_srq(struct rnic_device *dev, uint32_t number, uint32_t limit, uint64_t now_ps)
{
    struct rnic_srq *srq = rnic_table_srq_find(&dev->srqs, number);

    (void)now_ps;
    if (srq == NULL)
        return RNIC_ERR_NOENT;
    if (limit > srq->ring.mask + 1)
        return RNIC_ERR_INVAL;
    srq->limit = limit;
    return 0;
}

int rnic_query_srq(struct rnic_device *dev, uint32_t number, struct rnic_srq_attr *attr,
                   uint32_t *queued)
{
    const struct rnic_srq *srq = rnic_table_srq_find(&dev->srqs, number);

    if (srq == NULL)
        return RNIC_ERR_NOENT;
    if (attr != NULL)
        *attr = (struct rnic_srq_attr){
            .max_wr = srq->ring.mask + 1, .max_sge = srq->max_sge, .limit = srq->limit};
    if (queued != NULL)
        *queued = srq->ring.head - srq->ring.tail;
    return 0;
}

int rnic_destroy_srq(struct rnic_device *dev, uint32_t number, uint64_t now_ps)
{
    struct rnic_srq *srq = rnic_table_srq_find(&dev->srqs, number);

    (void)now_ps;
    if (srq == NULL)
        return RNIC_ERR_NOENT;
    if (srq->refs > 0)
        return RNIC_ERR_BUSY;
    rnic_table_mr_pd(&dev->mrs, srq->pd)->refs--;
    rnic_cq_event_forget_srq(&dev->events, number);
    rnic_table_srq_remove(&dev->srqs, &dev->mem, srq);
    return 0;
}

int rnic_post_srq_recv(struct rnic_device *dev, uint32_t number, const struct rnic_recv_wr *wr,
                       uint64_t now_ps)
{
    struct rnic_srq *srq = rnic_table_srq_find(&dev->srqs, number);
    uint64_t length;

    (void)now_ps;
    if (srq == NULL)
        return RNIC_ERR_NOENT;
    if (!rnic_verbs_objects_length(wr->sg_list, wr->num_sge, srq->max_sge, &length))
        return RNIC_ERR_INVAL;
    if (rnic_ring_full(&srq->ring))
        return RNIC_ERR_FULL;
    rnic_ring_post_recv(&srq->ring, wr, length);
    return 0;
}

/* ---- completion queues ---- */

int rnic_create_cq(struct rnic_device *dev, uint32_t entries, uint32_t *cq, uint64_t now_ps)
{
    (void)now_ps;
    if (entries == 0 || entries > dev->params.max_cqe)
        return RNIC_ERR_INVAL;
    if (!rnic_verbs_objects_reserve(dev, 0, 1, 0))
        return RNIC_ERR_NOMEM;
    return rnic_table_cq_add(&dev->cqs, &dev->mem, (uint32_t)dev->params.max_cq, entries, cq);
}

int rnic_destroy_cq(struct rnic_device *dev, uint32_t cq, uint64_t now_ps)
{
    int err = rnic_table_cq_remove(&dev->cqs, &dev->mem, cq);

    (void)now_ps;
    if (err == 0)
        rnic_cq_event_forget_cq(&dev->events, cq);
    return err;
}

/* A polled send completion gives its slots, and the unsignalled ones before it, back. */
static void objects_reclaim(struct rnic_device *dev, const struct rnic_cqe *cqe)
{
    struct rnic_qp *qp = rnic_table_qp_find(&dev->qps, cqe->wc.qp_num);

    WIRE_ASSERT(qp != NULL); /* destroying one discards its completions */
    if (cqe->is_send && (int32_t)(cqe->sq_next - qp->sq.tail) > 0)
        qp->sq.tail = cqe->sq_next;
}

int rnic_poll_cq(struct rnic_device *dev, uint32_t number, uint32_t n, struct rnic_wc *wc,
                 uint64_t now_ps)
{
    struct rnic_cq *cq = rnic_table_cq_find(&dev->cqs, number);
    uint32_t got = 0;

    if (cq == NULL)
        return RNIC_ERR_NOENT;
    while (got < n && cq->tail != cq->head) {
        const struct rnic_cqe *cqe = &cq->cqes[cq->tail & cq->mask];

        if (cqe->visible_ps > now_ps)
            break;
        cq->tail++;
        if (cqe->discarded)
            continue;
        objects_reclaim(dev, cqe);
        wc[got++] = cqe->wc;
    }
    return (int)got;
}

int rnic_req_notify_cq(struct rnic_device *dev, uint32_t number, bool solicited_only,
                       uint64_t now_ps)
{
    struct rnic_cq *cq = rnic_table_cq_find(&dev->cqs, number);

    if (cq == NULL)
        return RNIC_ERR_NOENT;
    rnic_cq_write_arm(cq, &dev->events, solicited_only, dev->params.event_latency_ps, now_ps);
    return 0;
}
