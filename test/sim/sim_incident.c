/* SPDX-License-Identifier: GPL-2.0-only */
/* What a host breaks in the middle of the traffic: states and keys. */
#include "sim.h"

#include <string.h>

static void incident_state(struct sim_host *host, uint32_t q, enum rnic_qp_state state)
{
    const struct sim_incident *incident = &host->sim->plan.qps[q].incident;
    const struct rnic_qp_attr attr = {.qp_state = state, .en_sqd_async_notify = incident->notify};
    unsigned mask = RNIC_QP_STATE;

    if (state == RNIC_QPS_SQD)
        mask |= RNIC_QP_EN_SQD_ASYNC_NOTIFY;
    sim_host_want(host,
                  rnic_modify_qp(host->dev, host->queues[q].qpn, &attr, mask, host->sim->now_ps),
                  "modify_qp");
}

/* The key opens nothing from now on: what lies there must stay as it is. */
static void incident_revoke(struct sim_host *host, const struct sim_region *region, uint32_t key)
{
    memcpy(host->kept + region->at, host->memory + region->at, region->bytes);
    sim_host_want(host, rnic_dereg_mr(host->dev, key, host->sim->now_ps), "dereg_mr");
}

static void incident_drain(struct sim_host *host, uint32_t q)
{
    struct sim_queue *queue = &host->queues[q];

    if (!queue->ready || queue->draining) { /* not in RTS yet: the next time; or the end of it */
        if (queue->draining)
            incident_state(host, q, RNIC_QPS_RTS);
        queue->draining = false;
        queue->broken = false;
        return;
    }
    host->sim->seen.drains++;
    incident_state(host, q, RNIC_QPS_SQD);
    queue->draining = queue->drains = true;
    if (!host->sim->plan.qps[q].incident.notify) /* else the event says when it goes on */
        queue->incident_ps = host->sim->now_ps + host->sim->plan.qps[q].incident.until_ps;
}

void sim_incident_step(struct sim_host *host, uint32_t q, uint64_t now_ps)
{
    struct sim *sim = host->sim;
    const struct sim_plan *plan = &sim->plan;
    struct sim_queue *queue = &host->queues[q];

    queue->incident_ps = WIRE_NEVER;
    queue->broken = true;
    sim_say(sim, "%s qp %u: incident %u", sim_side_name(host->side), q,
            (unsigned)plan->qps[q].incident.kind);
    switch (plan->qps[q].incident.kind) {
    case SIM_INCIDENT_DRAIN:
        incident_drain(host, q);
        break;
    case SIM_INCIDENT_ERR:
        sim->seen.kills++;
        incident_state(host, q, RNIC_QPS_ERR);
        break;
    case SIM_INCIDENT_RESET:
        sim->seen.resets++;
        incident_state(host, q, RNIC_QPS_RESET);
        queue->gone = true;
        break;
    case SIM_INCIDENT_DESTROY:
        sim->seen.destroys++;
        sim_host_want(host, rnic_destroy_qp(host->dev, queue->qpn, now_ps), "destroy_qp");
        queue->gone = true;
        break;
    case SIM_INCIDENT_NO_SOURCE:
        sim->seen.no_source++;
        incident_revoke(host, &plan->cards[host->side].source, host->source_key[q]);
        break;
    case SIM_INCIDENT_NO_TARGET:
        sim->seen.no_target++;
        incident_revoke(host, &plan->flows[1 - host->side][q].target, host->target_key[q]);
        break;
    case SIM_INCIDENT_NO_RESULTS:
        sim->seen.no_results++;
        incident_revoke(host, &plan->flows[host->side][q].results, host->results_key[q]);
        break;
    case SIM_INCIDENT_NO_SLOTS:
        sim->seen.no_slots++;
        incident_revoke(host, &plan->pools[host->side][q].slots, host->slots_key[q]);
        break;
    default:
        break;
    }
    host->recvs[SIM_SHARED].recv_ps = now_ps; /* what it held of the shared queue is gone */
}
