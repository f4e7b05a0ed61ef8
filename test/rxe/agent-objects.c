// SPDX-License-Identifier: GPL-2.0-only
// Everything but queue pairs: domains, queues, regions, windows, address handles; and destroying.
#include "agent.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

unsigned agent_objects_access(const char *letters)
{
    unsigned access = 0;
    for (; *letters != 0; letters++)
    {
        access |= *letters == 'l'   ? IBV_ACCESS_LOCAL_WRITE
                  : *letters == 'w' ? IBV_ACCESS_REMOTE_WRITE
                  : *letters == 'r' ? IBV_ACCESS_REMOTE_READ
                  : *letters == 'a' ? IBV_ACCESS_REMOTE_ATOMIC
                  : *letters == 'b' ? IBV_ACCESS_MW_BIND
                                    : 0u;
    }
    return access;
}

bool agent_objects_path(struct agent_call *call, struct ibv_ah_attr *path)
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    const char *gid = agent_text(call, "dgid");
    memset(path, 0, sizeof *path);
    if (gid == NULL || !agent_net_gid(gid, &path->grh.dgid))
    {
        return agent_fail(call, "dgid=: an IPv4 or IPv6 address");
    }
    bool v4 = memcmp(path->grh.dgid.raw, mapped, sizeof mapped) == 0;
    int index = v4 ? call->agent->gid4 : call->agent->gid6;
    path->is_global = 1;
    path->port_num = 1;
    path->grh.sgid_index = (uint8_t)agent_number(call, "gid", (uint64_t)index);
    path->grh.traffic_class = (uint8_t)agent_number(call, "tclass", 0);
    path->grh.hop_limit = (uint8_t)agent_number(call, "hop", 64);
    path->grh.flow_label = (uint32_t)agent_number(call, "flow", 0);
    return true;
}

bool agent_objects_pd(struct agent_call *call)
{
    return agent_keep(call, AGENT_PD, ibv_alloc_pd(call->agent->device), "alloc_pd");
}

// cq cqe=ENTRIES
bool agent_objects_cq(struct agent_call *call)
{
    int entries = (int)agent_number(call, "cqe", 4096);
    struct ibv_cq *queue = ibv_create_cq(call->agent->device, entries, NULL, NULL, 0);
    return agent_keep(call, AGENT_CQ, queue, "create_cq");
}

// srq pd= wr=REQUESTS sge= limit=(0: no event)
bool agent_objects_srq(struct agent_call *call)
{
    struct ibv_pd *domain = agent_object(call, AGENT_PD);
    if (domain == NULL)
    {
        return false;
    }
    struct ibv_srq_init_attr wanted = {.attr = {.max_wr = (uint32_t)agent_number(call, "wr", 128),
                                                .max_sge = (uint32_t)agent_number(call, "sge", 1)}};
    struct ibv_srq *queue = ibv_create_srq(domain, &wanted);
    struct ibv_srq_attr limit = {.srq_limit = (uint32_t)agent_number(call, "limit", 0)};
    if (queue != NULL && limit.srq_limit > 0)
    {
        int error = ibv_modify_srq(queue, &limit, IBV_SRQ_LIMIT);
        if (error != 0)
        {
            ibv_destroy_srq(queue);
            return agent_fail_errno(call, "modify_srq", error);
        }
    }
    return agent_keep(call, AGENT_SRQ, queue, "create_srq");
}

// mr pd= len=BYTES access=LETTERS (lwra): fresh memory, all zero. Answers addr= rkey= lkey=.
bool agent_objects_mr(struct agent_call *call)
{
    struct ibv_pd *domain = agent_object(call, AGENT_PD);
    const char *access = agent_text(call, "access");
    size_t len_bytes = agent_number(call, "len", 65536);
    if (domain == NULL)
    {
        return false;
    }
    void *bytes = mmap(NULL, len_bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (bytes == MAP_FAILED)
    {
        return agent_fail_errno(call, "mmap", errno);
    }
    struct ibv_mr *region = ibv_reg_mr(domain, bytes, len_bytes,
                                       agent_objects_access(access == NULL ? "lwra" : access));
    if (region == NULL)
    {
        int error = errno;
        munmap(bytes, len_bytes);
        return agent_fail_errno(call, "reg_mr", error);
    }
    fprintf(call->out, "addr=%#llx rkey=%#x lkey=%#x\n", (unsigned long long)(uintptr_t)bytes,
            region->rkey, region->lkey);
    return agent_keep(call, AGENT_MR, region, "reg_mr");
}

// mw pd= type=1|2: a window; `send op=bind` opens it. Answers rkey=.
bool agent_objects_mw(struct agent_call *call)
{
    struct ibv_pd *domain = agent_object(call, AGENT_PD);
    if (domain == NULL)
    {
        return false;
    }
    bool second = agent_number(call, "type", 2) == 2;
    struct ibv_mw *window = ibv_alloc_mw(domain, second ? IBV_MW_TYPE_2 : IBV_MW_TYPE_1);
    if (window != NULL)
    {
        fprintf(call->out, "rkey=%#x\n", window->rkey);
    }
    return agent_keep(call, AGENT_MW, window, "alloc_mw");
}

// ah pd= dgid= gid= tclass= hop= flow=
bool agent_objects_ah(struct agent_call *call)
{
    struct ibv_pd *domain = agent_object(call, AGENT_PD);
    struct ibv_ah_attr path;
    return domain != NULL && agent_objects_path(call, &path) &&
           agent_keep(call, AGENT_AH, ibv_create_ah(domain, &path), "create_ah");
}

// Returns an errno value.
static int objects_destroy(enum agent_kind kind, void *object)
{
    struct ibv_mr *region = object;
    void *bytes = kind == AGENT_MR ? region->addr : NULL;
    size_t len_bytes = kind == AGENT_MR ? region->length : 0;
    int error = 0;
    switch (kind)
    {
    case AGENT_QP:
        return ibv_destroy_qp(object);
    case AGENT_AH:
        return ibv_destroy_ah(object);
    case AGENT_MW:
        return ibv_dealloc_mw(object);
    case AGENT_MR:
        error = ibv_dereg_mr(object);
        if (error == 0)
        {
            munmap(bytes, len_bytes);
        }
        return error;
    case AGENT_SRQ:
        return ibv_destroy_srq(object);
    case AGENT_CQ:
        return ibv_destroy_cq(object);
    case AGENT_PD:
        return ibv_dealloc_pd(object);
    default:
        return EINVAL;
    }
}

// destroy KIND=NUMBER
bool agent_objects_destroy(struct agent_call *call)
{
    static const char *const names[AGENT_KINDS] = {"mw", "qp", "ah", "mr", "srq", "cq", "pd"};
    if (call->keys[0] == NULL || call->keys[1] != NULL)
    {
        return agent_fail(call, "destroy KIND=NUMBER, one of them");
    }
    enum agent_kind kind = 0;
    while (strcmp(names[kind], call->keys[0]) != 0)
    {
        kind++;
    }
    void *object = agent_object(call, kind);
    int error = object == NULL ? 0 : objects_destroy(kind, object);
    if (object == NULL || error != 0)
    {
        return object != NULL && agent_fail_errno(call, "destroy", error);
    }
    call->agent->objects[kind][agent_number(call, names[kind], 0)] = NULL;
    return true;
}

// clear: destroys everything, forgets asynchronous events; pd=0 and cq=0 are new.
bool agent_objects_clear(struct agent_call *call)
{
    for (enum agent_kind kind = 0; kind < AGENT_KINDS; kind++)
    {
        for (int i = 0; i < AGENT_OBJECTS; i++)
        {
            void **object = &call->agent->objects[kind][i];
            int error = *object == NULL ? 0 : objects_destroy(kind, *object);
            if (error != 0)
            {
                return agent_fail_errno(call, "destroy", error);
            }
            *object = NULL;
        }
    }
    FILE *answer = call->out;
    call->out = fopen("/dev/null", "w");
    agent_post_async(call);
    fclose(call->out);
    call->out = answer;
    return agent_objects_pd(call) && agent_objects_cq(call);
}
