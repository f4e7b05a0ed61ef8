// SPDX-License-Identifier: GPL-2.0-only
// Queue pairs: create, connect, change state, query.
#include "agent.h"

#include <errno.h>
#include <string.h>

static bool qp_to_init(struct agent_call *call, struct ibv_qp *qp)
{
    const char *access = agent_text(call, "access");
    struct ibv_qp_attr wanted = {.qp_state = IBV_QPS_INIT,
                                 .port_num = 1,
                                 .qkey = (uint32_t)agent_number(call, "qkey", 0x11111111),
                                 .qp_access_flags =
                                     agent_objects_access(access == NULL ? "lwra" : access)};
    int own = qp->qp_type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS;
    int error = ibv_modify_qp(qp, &wanted, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | own);
    return error == 0 || agent_fail_errno(call, "modify_qp to INIT", error);
}

// qp pd= type=rc|uc|ud scq= rcq= srq= swr= rwr= sge= inline=BYTES all=(1: every send completes)
//    access=LETTERS qkey=
// The new queue pair is in INIT. Answers qpn=.
bool agent_qp_create(struct agent_call *call)
{
    static const char *const names[] = {"rc", "uc", "ud"};
    static const enum ibv_qp_type types[] = {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD};
    struct ibv_pd *domain = agent_object(call, AGENT_PD);
    const char *type = agent_text(call, "type");
    struct ibv_qp_init_attr wanted = {
        .cap = {.max_send_wr = (uint32_t)agent_number(call, "swr", 128),
                .max_recv_wr = (uint32_t)agent_number(call, "rwr", 128),
                .max_send_sge = (uint32_t)agent_number(call, "sge", 1),
                .max_recv_sge = (uint32_t)agent_number(call, "sge", 1),
                .max_inline_data = (uint32_t)agent_number(call, "inline", 128)},
        .sq_sig_all = agent_number(call, "all", 0) != 0};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
    {
        wanted.qp_type = type != NULL && strcmp(type, names[i]) == 0 ? types[i] : wanted.qp_type;
    }
    uint64_t send_cq = agent_number(call, "scq", 0);
    uint64_t recv_cq = agent_number(call, "rcq", send_cq);
    if (send_cq < AGENT_OBJECTS && recv_cq < AGENT_OBJECTS)
    {
        wanted.send_cq = call->agent->objects[AGENT_CQ][send_cq];
        wanted.recv_cq = call->agent->objects[AGENT_CQ][recv_cq];
    }
    bool shared = agent_text(call, "srq") != NULL;
    wanted.srq = shared ? agent_object(call, AGENT_SRQ) : NULL;
    if (domain == NULL || wanted.qp_type == 0 || wanted.send_cq == NULL || wanted.recv_cq == NULL ||
        (shared && wanted.srq == NULL))
    {
        return agent_fail(call, "type=rc|uc|ud, and a pd, scq, rcq (srq) that exist");
    }
    struct ibv_qp *qp = ibv_create_qp(domain, &wanted);
    if (qp == NULL)
    {
        return agent_fail_errno(call, "create_qp", errno);
    }
    if (!qp_to_init(call, qp))
    {
        ibv_destroy_qp(qp);
        return false;
    }
    fprintf(call->out, "qpn=%#x\n", qp->qp_num);
    return agent_keep(call, AGENT_QP, qp, "create_qp");
}

// Path MTU as verbs number it; 0: it is none.
static enum ibv_mtu qp_mtu(uint64_t bytes)
{
    for (enum ibv_mtu mtu = IBV_MTU_256; mtu <= IBV_MTU_4096; mtu++)
    {
        if (bytes == 128u << mtu)
        {
            return mtu;
        }
    }
    return 0;
}

static bool qp_to_rtr(struct agent_call *call, struct ibv_qp *qp)
{
    struct ibv_qp_attr wanted = {.qp_state = IBV_QPS_RTR,
                                 .path_mtu = qp_mtu(agent_number(call, "mtu", 1024)),
                                 .dest_qp_num = (uint32_t)agent_number(call, "dqpn", 0),
                                 .rq_psn = (uint32_t)agent_number(call, "rq_psn", 0),
                                 .max_dest_rd_atomic =
                                     (uint8_t)agent_number(call, "dest_rd_atomic", 16),
                                 .min_rnr_timer = (uint8_t)agent_number(call, "min_rnr", 12)};
    int mask = IBV_QP_STATE;
    if (qp->qp_type != IBV_QPT_UD)
    {
        mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
        if (!agent_objects_path(call, &wanted.ah_attr))
        {
            return false;
        }
    }
    if (qp->qp_type == IBV_QPT_RC)
    {
        mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    }
    if (wanted.path_mtu == 0)
    {
        return agent_fail(call, "mtu=256|512|1024|2048|4096");
    }
    int error = ibv_modify_qp(qp, &wanted, mask);
    return error == 0 || agent_fail_errno(call, "modify_qp to RTR", error);
}

static bool qp_to_rts(struct agent_call *call, struct ibv_qp *qp)
{
    struct ibv_qp_attr wanted = {.qp_state = IBV_QPS_RTS,
                                 .sq_psn = (uint32_t)agent_number(call, "sq_psn", 0),
                                 .timeout = (uint8_t)agent_number(call, "timeout", 18),
                                 .retry_cnt = (uint8_t)agent_number(call, "retry", 7),
                                 .rnr_retry = (uint8_t)agent_number(call, "rnr_retry", 7),
                                 .max_rd_atomic = (uint8_t)agent_number(call, "rd_atomic", 16)};
    int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
    if (qp->qp_type == IBV_QPT_RC)
    {
        mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
    }
    int error = ibv_modify_qp(qp, &wanted, mask);
    return error == 0 || agent_fail_errno(call, "modify_qp to RTS", error);
}

// connect qp= dqpn= dgid=ADDRESS gid=(index; else that of our address of the same sort) mtu=1024
//    sq_psn= rq_psn= timeout=18 retry=7 rnr_retry=7 min_rnr=12 rd_atomic=16 dest_rd_atomic=16
//    tclass= hop=64 flow= to=rtr|rts
// INIT to RTR to RTS. The peer's MAC is asked for here: ARP or neighbour discovery must be
// answered. When only the second step fails the queue pair stays in RTR. UD needs qp= alone.
bool agent_qp_connect(struct agent_call *call)
{
    struct ibv_qp *qp = agent_object(call, AGENT_QP);
    const char *to = agent_text(call, "to");
    bool half = to != NULL && strcmp(to, "rtr") == 0;
    return qp != NULL && qp_to_rtr(call, qp) && (half || qp_to_rts(call, qp));
}

// modify qp= to=reset|init|rts|sqd|err (init: also access= qkey=)
bool agent_qp_modify(struct agent_call *call)
{
    static const char *const names[] = {"reset", "rts", "sqd", "err"};
    static const enum ibv_qp_state states[] = {IBV_QPS_RESET, IBV_QPS_RTS, IBV_QPS_SQD,
                                               IBV_QPS_ERR};
    struct ibv_qp *qp = agent_object(call, AGENT_QP);
    const char *to = agent_text(call, "to");
    if (qp == NULL)
    {
        return false;
    }
    if (to != NULL && strcmp(to, "init") == 0)
    {
        return qp_to_init(call, qp);
    }
    for (size_t i = 0; to != NULL && i < sizeof states / sizeof states[0]; i++)
    {
        struct ibv_qp_attr wanted = {.qp_state = states[i]};
        if (strcmp(to, names[i]) == 0)
        {
            int error = ibv_modify_qp(qp, &wanted, IBV_QP_STATE);
            return error == 0 || agent_fail_errno(call, "modify_qp", error);
        }
    }
    return agent_fail(call, "to=reset|init|rts|sqd|err");
}

// query qp=: state=, PSNs that come next, and how it is connected.
bool agent_qp_query(struct agent_call *call)
{
    static const char *const states[] = {"reset", "init", "rtr", "rts", "sqd", "sqe", "err"};
    struct ibv_qp *qp = agent_object(call, AGENT_QP);
    struct ibv_qp_attr found;
    struct ibv_qp_init_attr unused;
    if (qp == NULL)
    {
        return false;
    }
    int error = ibv_query_qp(qp, &found, IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_RQ_PSN, &unused);
    if (error != 0)
    {
        return agent_fail_errno(call, "query_qp", error);
    }
    unsigned state = found.qp_state;
    fprintf(call->out, "state=%s sq_psn=%#x rq_psn=%#x dqpn=%#x mtu=%d rd_atomic=%u\n",
            state < sizeof states / sizeof states[0] ? states[state] : "unknown", found.sq_psn,
            found.rq_psn, found.dest_qp_num, 128 << found.path_mtu, found.max_rd_atomic);
    return true;
}
