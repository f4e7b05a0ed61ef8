// SPDX-License-Identifier: GPL-2.0-only
// Posting requests, polling completions and asynchronous events.
#include "agent.h"

#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum
{
    POST_MOST = 1024, // requests of one command
    POST_WAIT_US = 200
};

// Request number i reads or writes len= bytes at off= + i * step= of mr=; no bounds are checked
// here, so that the device may. len=0: no entry. Returns entries, -1: the error is noted.
static int post_entry(struct agent_call *call, uint64_t i, struct ibv_sge *entry)
{
    uint64_t len_bytes = agent_number(call, "len", 0);
    if (len_bytes == 0)
    {
        return 0;
    }
    const struct ibv_mr *region = agent_object(call, AGENT_MR);
    if (region == NULL)
    {
        return -1;
    }
    entry->addr =
        (uintptr_t)region->addr + agent_number(call, "off", 0) + i * agent_number(call, "step", 0);
    entry->length = (uint32_t)len_bytes;
    entry->lkey = region->lkey;
    return 1;
}

// recv qp=|srq= mr= off= len= n= step= id=
// n requests; number i has wr_id id + i and its place at off + i * step. Of several, those before
// the first that was refused are posted: posted=.
bool agent_post_recv(struct agent_call *call)
{
    bool shared = agent_text(call, "srq") != NULL;
    void *queue = agent_object(call, shared ? AGENT_SRQ : AGENT_QP);
    uint64_t count = agent_number(call, "n", 1);
    for (uint64_t i = 0; queue != NULL && i < count; i++)
    {
        struct ibv_sge entry;
        struct ibv_recv_wr request = {.wr_id = agent_number(call, "id", 0) + i, .sg_list = &entry};
        struct ibv_recv_wr *bad;
        request.num_sge = post_entry(call, i, &entry);
        if (request.num_sge < 0)
        {
            return false;
        }
        int error = shared ? ibv_post_srq_recv(queue, &request, &bad)
                           : ibv_post_recv(queue, &request, &bad);
        if (error != 0)
        {
            fprintf(call->out, "posted=%llu\n", (unsigned long long)i);
            return agent_fail_errno(call, "post_recv", error);
        }
    }
    return queue != NULL;
}

static const struct
{
    const char *name;
    enum ibv_wr_opcode opcode;
} post_operations[] = {
    {"send", IBV_WR_SEND},
    {"send_imm", IBV_WR_SEND_WITH_IMM},
    {"send_inv", IBV_WR_SEND_WITH_INV},
    {"write", IBV_WR_RDMA_WRITE},
    {"write_imm", IBV_WR_RDMA_WRITE_WITH_IMM},
    {"read", IBV_WR_RDMA_READ},
    {"fetch_add", IBV_WR_ATOMIC_FETCH_AND_ADD},
    {"cmp_swap", IBV_WR_ATOMIC_CMP_AND_SWP},
    {"local_inv", IBV_WR_LOCAL_INV},
    {"bind", IBV_WR_BIND_MW},
};

static bool post_opcode(struct agent_call *call, enum ibv_wr_opcode *opcode)
{
    const char *name = agent_text(call, "op");
    for (size_t i = 0; i < sizeof post_operations / sizeof post_operations[0]; i++)
    {
        if (name != NULL && strcmp(name, post_operations[i].name) == 0)
        {
            *opcode = post_operations[i].opcode;
            return true;
        }
    }
    return agent_fail(call, "op=: send send_imm send_inv write write_imm read fetch_add cmp_swap "
                            "local_inv bind");
}

static unsigned post_flags(const char *letters)
{
    unsigned flags = IBV_SEND_SIGNALED;
    for (; letters != NULL && *letters != 0; letters++)
    {
        flags |= *letters == 's'   ? IBV_SEND_SOLICITED
                 : *letters == 'f' ? IBV_SEND_FENCE
                 : *letters == 'i' ? IBV_SEND_INLINE
                                   : 0;
        flags &= *letters == 'u' ? ~(unsigned)IBV_SEND_SIGNALED : ~0u;
    }
    return flags;
}

// What only one operation has.
static bool post_special(struct agent_call *call, uint64_t i, struct ibv_send_wr *request)
{
    uint64_t remote = agent_number(call, "raddr", 0) + i * agent_number(call, "rstep", 0);
    uint32_t rkey = (uint32_t)agent_number(call, "rkey", 0);
    bool compares = request->opcode == IBV_WR_ATOMIC_CMP_AND_SWP;
    switch (request->opcode)
    {
    case IBV_WR_SEND_WITH_INV:
    case IBV_WR_LOCAL_INV:
        request->invalidate_rkey = (uint32_t)agent_number(call, "inv", 0);
        return true;
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
    case IBV_WR_ATOMIC_CMP_AND_SWP:
        request->wr.atomic.remote_addr = remote;
        request->wr.atomic.rkey = rkey;
        request->wr.atomic.compare_add = agent_number(call, compares ? "cmp" : "add", 0);
        request->wr.atomic.swap = agent_number(call, "swap", 0);
        return true;
    case IBV_WR_BIND_MW:
    {
        const char *access = agent_text(call, "access");
        struct ibv_mw *window = agent_object(call, AGENT_MW);
        struct ibv_mr *region = agent_object(call, AGENT_MR);
        if (window == NULL || region == NULL)
        {
            return false;
        }
        request->num_sge = 0;
        request->bind_mw.mw = window;
        request->bind_mw.rkey = rkey != 0 ? rkey : ibv_inc_rkey(window->rkey);
        request->bind_mw.bind_info.mr = region;
        request->bind_mw.bind_info.addr = (uintptr_t)region->addr + agent_number(call, "off", 0);
        request->bind_mw.bind_info.length = agent_number(call, "len", 0);
        request->bind_mw.bind_info.mw_access_flags =
            agent_objects_access(access == NULL ? "wra" : access);
        return true;
    }
    default:
        request->imm_data = htobe32((uint32_t)agent_number(call, "imm", 0));
        request->wr.rdma.remote_addr = remote;
        request->wr.rdma.rkey = rkey;
        return true;
    }
}

static bool post_build(struct agent_call *call, uint64_t i, struct ibv_qp *qp,
                       struct ibv_send_wr *request, struct ibv_sge *entry)
{
    request->wr_id = agent_number(call, "id", 0) + i;
    request->sg_list = entry;
    request->num_sge = post_entry(call, i, entry);
    request->send_flags = post_flags(agent_text(call, "flags"));
    if (request->num_sge < 0 || !post_opcode(call, &request->opcode) ||
        !post_special(call, i, request))
    {
        return false;
    }
    if (qp->qp_type == IBV_QPT_UD)
    {
        request->wr.ud.ah = agent_object(call, AGENT_AH);
        request->wr.ud.remote_qpn = (uint32_t)agent_number(call, "dqpn", 0);
        request->wr.ud.remote_qkey = (uint32_t)agent_number(call, "qkey", 0x11111111);
        return request->wr.ud.ah != NULL;
    }
    return true;
}

// send qp= op= mr= off= len= n= step= id= raddr= rkey= rstep= flags=LETTERS
//    imm= (send_imm, write_imm) inv=RKEY (send_inv, local_inv) add= (fetch_add) cmp= swap=
//    (cmp_swap) ah= dqpn= qkey= (UD) mw= access= (bind: mr off len are what it shows, rkey= its
//    key, else the next one, which is answered)
// n requests in one list: number i at off + i * step, at the peer at raddr + i * rstep.
// Flags: s solicited, f fence, i inline, u unsignaled.
bool agent_post_send(struct agent_call *call)
{
    struct ibv_qp *qp = agent_object(call, AGENT_QP);
    uint64_t count = agent_number(call, "n", 1);
    if (qp == NULL || count == 0 || count > POST_MOST)
    {
        return qp != NULL && agent_fail(call, "n=1 to %d", POST_MOST);
    }
    struct ibv_send_wr *requests = calloc(count, sizeof *requests);
    struct ibv_sge *entries = calloc(count, sizeof *entries);
    struct ibv_send_wr *bad = requests;
    bool built = requests != NULL && entries != NULL;
    for (uint64_t i = 0; built && i < count; i++)
    {
        requests[i].next = i + 1 < count ? &requests[i + 1] : NULL;
        built = post_build(call, i, qp, &requests[i], &entries[i]);
    }
    int error = built ? ibv_post_send(qp, requests, &bad) : 0;
    if (error != 0)
    {
        fprintf(call->out, "posted=%td\n", bad - requests);
        agent_fail_errno(call, "post_send", error);
    }
    else if (built && requests[0].opcode == IBV_WR_BIND_MW)
    {
        requests[0].bind_mw.mw->rkey = requests[0].bind_mw.rkey;
        fprintf(call->out, "rkey=%#x\n", requests[0].bind_mw.rkey);
    }
    free(requests);
    free(entries);
    return built && error == 0;
}

static const char *post_name(const char *const *names, size_t count, unsigned value)
{
    return value < count ? names[value] : "UNKNOWN";
}

static void post_tell(struct agent_call *call, const struct ibv_wc *wc)
{
    static const char *const statuses[] = {
        "SUCCESS",        "LOC_LEN_ERR", "LOC_QP_OP_ERR", "LOC_EEC_OP_ERR",   "LOC_PROT_ERR",
        "WR_FLUSH_ERR",   "MW_BIND_ERR", "BAD_RESP_ERR",  "LOC_ACCESS_ERR",   "REM_INV_REQ_ERR",
        "REM_ACCESS_ERR", "REM_OP_ERR",  "RETRY_EXC_ERR", "RNR_RETRY_EXC_ERR"};
    static const char *const sends[] = {"SEND",      "RDMA_WRITE", "RDMA_READ", "COMP_SWAP",
                                        "FETCH_ADD", "BIND_MW",    "LOCAL_INV"};
    static const char *const receives[] = {"RECV", "RECV_RDMA_WITH_IMM"};
    const char *opcode = wc->opcode >= IBV_WC_RECV
                             ? post_name(receives, 2, (unsigned)wc->opcode - IBV_WC_RECV)
                             : post_name(sends, 7, wc->opcode);
    fprintf(call->out, "wc id=%llu status=%s", (unsigned long long)wc->wr_id,
            post_name(statuses, sizeof statuses / sizeof statuses[0], wc->status));
    fprintf(call->out, " qpn=%#x", wc->qp_num);
    if (wc->status == IBV_WC_SUCCESS) // else nothing more is defined
    {
        fprintf(call->out, " opcode=%s len=%u", opcode, wc->byte_len);
    }
    // rxe sets the flags where it sends too, and there is nothing behind them.
    if (wc->status == IBV_WC_SUCCESS && wc->opcode >= IBV_WC_RECV)
    {
        fprintf(call->out, " src_qp=%#x grh=%d", wc->src_qp, (wc->wc_flags & IBV_WC_GRH) != 0);
        if (wc->wc_flags & IBV_WC_WITH_IMM)
        {
            fprintf(call->out, " imm=%#x", be32toh(wc->imm_data));
        }
        if (wc->wc_flags & IBV_WC_WITH_INV)
        {
            fprintf(call->out, " inv=%#x", wc->invalidated_rkey);
        }
    }
    fputs("\n", call->out);
}

static uint64_t post_now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

// poll cq= n=COMPLETIONS (1) ms=TIME (0): until there were n or the time is over.
// A record `wc` each: id status qpn, on success opcode len, of receives src_qp grh, imm or inv
// where there is one. Answers n=, how many there were.
bool agent_post_poll(struct agent_call *call)
{
    struct ibv_cq *queue = agent_object(call, AGENT_CQ);
    uint64_t wanted = agent_number(call, "n", 1);
    uint64_t end_us = post_now_us() + agent_number(call, "ms", 0) * 1000;
    uint64_t seen = 0;
    while (queue != NULL && seen < wanted)
    {
        struct ibv_wc wc;
        int found = ibv_poll_cq(queue, 1, &wc);
        if (found < 0)
        {
            return agent_fail(call, "poll_cq failed");
        }
        if (found > 0)
        {
            post_tell(call, &wc);
            seen++;
        }
        else if (post_now_us() >= end_us)
        {
            break;
        }
        else
        {
            usleep(POST_WAIT_US);
        }
    }
    fprintf(call->out, "n=%llu\n", (unsigned long long)seen);
    return queue != NULL;
}

// async: records `event type=NUMBER text=WORDS-OF-IT`, those of queue pairs with qpn=.
bool agent_post_async(struct agent_call *call)
{
    struct pollfd ready = {.fd = call->agent->device->async_fd, .events = POLLIN};
    struct ibv_async_event event;
    while (poll(&ready, 1, 0) > 0 && ibv_get_async_event(call->agent->device, &event) == 0)
    {
        fprintf(call->out, "event type=%d text=", event.event_type);
        for (const char *at = ibv_event_type_str(event.event_type); *at != 0; at++)
        {
            fputc(*at == ' ' ? '-' : *at, call->out);
        }
        bool of_qp = (event.event_type >= IBV_EVENT_QP_FATAL &&
                      event.event_type <= IBV_EVENT_PATH_MIG_ERR) ||
                     event.event_type == IBV_EVENT_QP_LAST_WQE_REACHED;
        fprintf(call->out, of_qp ? " qpn=%#x\n" : "\n", of_qp ? event.element.qp->qp_num : 0);
        ibv_ack_async_event(&event);
    }
    return true;
}
