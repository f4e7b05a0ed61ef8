/* SPDX-License-Identifier: GPL-2.0-only */
#include "rnic_table_qp.h"

int rnic_table_qp_add(struct rnic_table_qp *table, struct rnic_mem *mem, uint32_t max_qp,
                      const struct rnic_qp_init_attr *init, struct rnic_qp **qp_out)
{
    size_t sq_stride = rnic_ring_wqe_bytes(init->max_send_sge, init->max_inline_data);
    size_t rq_stride = sizeof(struct rnic_rqe) + init->max_recv_sge * sizeof(struct rnic_sge);
    size_t qp_bytes = (sizeof(struct rnic_qp) + 63) & ~(size_t)63;
    size_t sq_bytes = rnic_ring_bytes(init->max_send_wr, sq_stride);
    uint32_t rq_slots = init->srq != 0 ? 1 : init->max_recv_wr;
    size_t bytes = qp_bytes + sq_bytes + rnic_ring_bytes(rq_slots, rq_stride);
    uint32_t qpn = table->next > RNIC_QPN_FIRST ? table->next : RNIC_QPN_FIRST;
    void *array = table->qp;
    struct rnic_qp *qp;

    if (table->live == max_qp)
        return RNIC_ERR_LIMIT;
    /* Numbers go round, so that late packets of a dead queue pair do not find a new one. */
    if (qpn >= max_qp + RNIC_QPN_FIRST)
        qpn = RNIC_QPN_FIRST;
    while (qpn < table->n && table->qp[qpn] != NULL)
        qpn = qpn + 1 == max_qp + RNIC_QPN_FIRST ? RNIC_QPN_FIRST : qpn + 1;
    if (!rnic_cache_reserve(&table->cache, mem, table->live + 1) ||
        !rnic_mem_grow(mem, &array, &table->cap, qpn + 1, sizeof table->qp[0]))
        return RNIC_ERR_NOMEM;
    table->qp = array;
    qp = rnic_mem_alloc(mem, bytes);
    if (qp == NULL)
        return RNIC_ERR_NOMEM;
    qp->qpn = qpn;
    qp->type = (uint8_t)init->type;
    qp->request = (struct rnic_tx_flow){.qp = qp, .kind = RNIC_FLOW_REQUEST};
    qp->response = (struct rnic_tx_flow){.qp = qp, .kind = RNIC_FLOW_RESPONSE};
    qp->init = *init;
    qp->block_bytes = bytes;
    rnic_ring_init(&qp->sq, (uint8_t *)qp + qp_bytes, init->max_send_wr, sq_stride);
    rnic_ring_init(&qp->rq, (uint8_t *)qp + qp_bytes + sq_bytes, rq_slots, rq_stride);
    table->qp[qpn] = qp;
    table->n = qpn >= table->n ? qpn + 1 : table->n;
    table->next = qpn + 1;
    table->live++;
    *qp_out = qp;
    return 0;
}

void rnic_table_qp_remove(struct rnic_table_qp *table, struct rnic_mem *mem, struct rnic_qp *qp)
{
    WIRE_ASSERT(table->qp[qp->qpn] == qp);
    rnic_cache_forget(&table->cache, &qp->cache);
    table->qp[qp->qpn] = NULL;
    table->live--;
    rnic_mem_free(mem, qp, qp->block_bytes);
}

/* Attributes of a transition, for the types in `types`. */
struct qp_transition {
    uint8_t from, to, types;
    unsigned required, optional;
};

#define QP_RC (1u << RNIC_QPT_RC)
#define QP_UC (1u << RNIC_QPT_UC)
#define QP_UD (1u << RNIC_QPT_UD)
#define QP_CONNECTED (QP_RC | QP_UC)
#define QP_ALL (QP_RC | QP_UC | QP_UD)

#define QP_RTR_UC (RNIC_QP_AV | RNIC_QP_PATH_MTU | RNIC_QP_DEST_QPN | RNIC_QP_RQ_PSN)
#define QP_RTR_RC (QP_RTR_UC | RNIC_QP_MAX_DEST_RD_ATOMIC | RNIC_QP_MIN_RNR_TIMER)
#define QP_RETRIES (RNIC_QP_TIMEOUT | RNIC_QP_RETRY_CNT | RNIC_QP_RNR_RETRY)
#define QP_RTS_RC (RNIC_QP_SQ_PSN | RNIC_QP_MAX_QP_RD_ATOMIC | QP_RETRIES)
/* Optional on every way to RTS. */
#define QP_LIVE_UD (RNIC_QP_CUR_STATE | RNIC_QP_QKEY)
#define QP_LIVE_UC (RNIC_QP_CUR_STATE | RNIC_QP_ACCESS_FLAGS)
#define QP_LIVE_RC (QP_LIVE_UC | RNIC_QP_MIN_RNR_TIMER)
#define QP_DRAINED_UC (RNIC_QP_AV | RNIC_QP_ACCESS_FLAGS | RNIC_QP_PKEY_INDEX)
#define QP_DRAINED_RC                                                                              \
    (QP_DRAINED_UC | RNIC_QP_PORT | QP_RETRIES | RNIC_QP_MAX_QP_RD_ATOMIC |                        \
     RNIC_QP_MAX_DEST_RD_ATOMIC | RNIC_QP_MIN_RNR_TIMER)

/*
 * ibv_modify_qp(3), and for RATE_LIMIT ibv_modify_qp_rate_limit(3). To RESET and to ERR: STATE
 * alone. A row applies to its types only; a pair of states has one row a type at most.
 */
static const struct qp_transition qp_transitions[] = {
    {RNIC_QPS_RESET, RNIC_QPS_INIT, QP_CONNECTED,
     RNIC_QP_PKEY_INDEX | RNIC_QP_PORT | RNIC_QP_ACCESS_FLAGS, 0},
    {RNIC_QPS_RESET, RNIC_QPS_INIT, QP_UD, RNIC_QP_PKEY_INDEX | RNIC_QP_PORT | RNIC_QP_QKEY, 0},
    {RNIC_QPS_INIT, RNIC_QPS_INIT, QP_CONNECTED, 0,
     RNIC_QP_PKEY_INDEX | RNIC_QP_PORT | RNIC_QP_ACCESS_FLAGS},
    {RNIC_QPS_INIT, RNIC_QPS_INIT, QP_UD, 0, RNIC_QP_PKEY_INDEX | RNIC_QP_PORT | RNIC_QP_QKEY},
    {RNIC_QPS_INIT, RNIC_QPS_RTR, QP_RC, QP_RTR_RC, RNIC_QP_ACCESS_FLAGS | RNIC_QP_PKEY_INDEX},
    {RNIC_QPS_INIT, RNIC_QPS_RTR, QP_UC, QP_RTR_UC, RNIC_QP_ACCESS_FLAGS | RNIC_QP_PKEY_INDEX},
    {RNIC_QPS_INIT, RNIC_QPS_RTR, QP_UD, 0, RNIC_QP_PKEY_INDEX | RNIC_QP_QKEY},
    {RNIC_QPS_RTR, RNIC_QPS_RTS, QP_RC, QP_RTS_RC, QP_LIVE_RC | RNIC_QP_RATE_LIMIT},
    {RNIC_QPS_RTR, RNIC_QPS_RTS, QP_UC, RNIC_QP_SQ_PSN, QP_LIVE_UC | RNIC_QP_RATE_LIMIT},
    {RNIC_QPS_RTR, RNIC_QPS_RTS, QP_UD, RNIC_QP_SQ_PSN, QP_LIVE_UD | RNIC_QP_RATE_LIMIT},
    {RNIC_QPS_RTS, RNIC_QPS_RTS, QP_RC, 0, QP_LIVE_RC | RNIC_QP_RATE_LIMIT},
    {RNIC_QPS_RTS, RNIC_QPS_RTS, QP_UC, 0, QP_LIVE_UC | RNIC_QP_RATE_LIMIT},
    {RNIC_QPS_RTS, RNIC_QPS_RTS, QP_UD, 0, QP_LIVE_UD | RNIC_QP_RATE_LIMIT},
    {RNIC_QPS_RTS, RNIC_QPS_SQD, QP_ALL, 0, RNIC_QP_EN_SQD_ASYNC_NOTIFY},
    {RNIC_QPS_SQD, RNIC_QPS_SQD, QP_RC, 0, QP_DRAINED_RC},
    {RNIC_QPS_SQD, RNIC_QPS_SQD, QP_UC, 0, QP_DRAINED_UC},
    {RNIC_QPS_SQD, RNIC_QPS_SQD, QP_UD, 0, RNIC_QP_PKEY_INDEX | RNIC_QP_QKEY},
    {RNIC_QPS_SQD, RNIC_QPS_RTS, QP_RC, 0, QP_LIVE_RC},
    {RNIC_QPS_SQD, RNIC_QPS_RTS, QP_UC, 0, QP_LIVE_UC},
    {RNIC_QPS_SQD, RNIC_QPS_RTS, QP_UD, 0, QP_LIVE_UD},
    {RNIC_QPS_SQE, RNIC_QPS_RTS, QP_UC, 0, QP_LIVE_UC},
    {RNIC_QPS_SQE, RNIC_QPS_RTS, QP_UD, 0, QP_LIVE_UD},
    {RNIC_QPS_RESET, RNIC_QPS_RESET, QP_ALL, 0, 0},
    {RNIC_QPS_INIT, RNIC_QPS_RESET, QP_ALL, 0, 0},
    {RNIC_QPS_RTR, RNIC_QPS_RESET, QP_ALL, 0, 0},
    {RNIC_QPS_RTS, RNIC_QPS_RESET, QP_ALL, 0, 0},
    {RNIC_QPS_SQD, RNIC_QPS_RESET, QP_ALL, 0, 0},
    {RNIC_QPS_SQE, RNIC_QPS_RESET, QP_UC | QP_UD, 0, 0},
    {RNIC_QPS_ERR, RNIC_QPS_RESET, QP_ALL, 0, 0},
    {RNIC_QPS_INIT, RNIC_QPS_ERR, QP_ALL, 0, 0},
    {RNIC_QPS_RTR, RNIC_QPS_ERR, QP_ALL, 0, 0},
    {RNIC_QPS_RTS, RNIC_QPS_ERR, QP_ALL, 0, 0},
    {RNIC_QPS_SQD, RNIC_QPS_ERR, QP_ALL, 0, 0},
    {RNIC_QPS_SQE, RNIC_QPS_ERR, QP_UC | QP_UD, 0, 0},
    {RNIC_QPS_ERR, RNIC_QPS_ERR, QP_ALL, 0, 0},
};

bool rnic_table_qp_transition(enum rnic_qp_type type, enum rnic_qp_state from,
                              enum rnic_qp_state to, unsigned mask)
{
    unsigned attrs = mask & ~(unsigned)RNIC_QP_STATE;

    if (!(mask & RNIC_QP_STATE) && from != to)
        return false;
    for (size_t i = 0; i < sizeof qp_transitions / sizeof qp_transitions[0]; i++) {
        const struct qp_transition *t = &qp_transitions[i];

        if (t->from == from && t->to == to && (t->types >> type & 1))
            return (attrs & t->required) == t->required &&
                   (attrs & ~(t->required | t->optional)) == 0;
    }
    return false;
}

static bool qp_mtu_valid(uint32_t mtu)
{
    return mtu >= 256 && mtu <= 4096 && (mtu & (mtu - 1)) == 0;
}

bool rnic_table_qp_attr_valid(const struct rnic_qp_attr *attr, unsigned mask,
                              const struct rnic_params *params)
{
    const unsigned access = RNIC_ACCESS_LOCAL_WRITE | RNIC_ACCESS_REMOTE_WRITE |
                            RNIC_ACCESS_REMOTE_READ | RNIC_ACCESS_REMOTE_ATOMIC;

    return !(
        ((mask & RNIC_QP_PKEY_INDEX) && attr->pkey_index != 0) ||
        ((mask & RNIC_QP_PORT) && attr->port_num != 1) ||
        ((mask & RNIC_QP_ACCESS_FLAGS) && (attr->qp_access_flags & ~access)) ||
        ((mask & RNIC_QP_AV) && !rnic_path_valid(&attr->av)) ||
        ((mask & RNIC_QP_PATH_MTU) && !qp_mtu_valid(attr->path_mtu_bytes)) ||
        ((mask & RNIC_QP_DEST_QPN) && attr->dest_qp_num > WIRE_PSN_MASK) ||
        ((mask & RNIC_QP_RQ_PSN) && attr->rq_psn.v > WIRE_PSN_MASK) ||
        ((mask & RNIC_QP_SQ_PSN) && attr->sq_psn.v > WIRE_PSN_MASK) ||
        ((mask & RNIC_QP_MIN_RNR_TIMER) && attr->min_rnr_timer > 31) ||
        ((mask & RNIC_QP_TIMEOUT) && attr->timeout > 31) ||
        ((mask & RNIC_QP_RETRY_CNT) && attr->retry_cnt > 7) ||
        ((mask & RNIC_QP_RNR_RETRY) && attr->rnr_retry > 7) ||
        ((mask & RNIC_QP_MAX_QP_RD_ATOMIC) && attr->max_rd_atomic > params->max_rd_atomic) ||
        ((mask & RNIC_QP_MAX_DEST_RD_ATOMIC) && attr->max_dest_rd_atomic > params->max_rd_atomic));
}
