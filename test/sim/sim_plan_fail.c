/* SPDX-License-Identifier: GPL-2.0-only */
/* The one send of a queue pair that is to fail, and how. */
#include "sim_dice.h"
#include "sim_plan.h"

static void fail_opcode(struct sim_send *send, enum rnic_wr_opcode opcode)
{
    send->opcode = opcode;
    if (sim_plan_fetches(opcode) || sim_plan_is_local(opcode))
        send->inlined = false;
    if (sim_plan_is_atomic(opcode) || sim_plan_is_local(opcode) || send->bytes == 0) {
        send->bytes = sim_plan_is_local(opcode) ? 0 : sim_plan_is_atomic(opcode) ? 8 : 1;
        send->n = sim_plan_is_local(opcode) ? 0 : 1; /* no byte, no check */
        send->piece[0].bytes = send->bytes;
        send->inlined = false; /* there may be no room for it */
    }
}

static void fail_refused(struct sim_qp *qp, struct sim_send *send, struct wire_rng *rng)
{
    static const enum rnic_wr_opcode opcodes[] = {RNIC_WR_RDMA_WRITE, RNIC_WR_RDMA_WRITE_WITH_IMM,
                                                  RNIC_WR_RDMA_READ, RNIC_WR_ATOMIC_CMP_AND_SWP,
                                                  RNIC_WR_ATOMIC_FETCH_AND_ADD};

    fail_opcode(send, opcodes[sim_dice_below(rng, 5)]);
    qp->refusal = (enum sim_refusal)sim_dice_below(
        rng, sim_plan_is_atomic(send->opcode) ? SIM_REFUSALS : SIM_BAD_PLACE);
    send->reads_target = true;
}

static void fail_make(struct sim_qp *qp, struct sim_send *send, struct wire_rng *rng)
{
    switch (qp->ending) {
    case SIM_ENDS_REFUSED:
        fail_refused(qp, send, rng);
        break;
    case SIM_ENDS_NOT_READY:
        if (!sim_plan_consumes(send->opcode))
            fail_opcode(send, sim_dice_one_in(rng, 2) ? RNIC_WR_RDMA_WRITE_WITH_IMM : RNIC_WR_SEND);
        break;
    case SIM_ENDS_LOCAL:
        fail_opcode(send, send->opcode);
        send->inlined = false;
        break;
    case SIM_ENDS_TOO_LONG:
    case SIM_ENDS_RECV_KEY:
        fail_opcode(send, sim_dice_one_in(rng, 2) ? RNIC_WR_SEND : RNIC_WR_SEND_WITH_IMM);
        break;
    case SIM_ENDS_BIND:
        fail_opcode(send, RNIC_WR_BIND_MW);
        break;
    default:
        break;
    }
}

void sim_plan_fail(struct sim_plan *plan, struct wire_rng *rng)
{
    for (uint32_t q = 0; q < plan->n_qps; q++) {
        struct sim_qp *qp = &plan->qps[q];
        struct sim_flow *flow = &plan->flows[qp->failing][q];

        if (qp->ending < SIM_ENDS_REFUSED || qp->ending > SIM_ENDS_BIND)
            continue;
        if (flow->n_sends == 0)
            flow->sends[flow->n_sends++] =
                (struct sim_send){.opcode = RNIC_WR_SEND, .consumer = SIM_NONE, .dest = q};
        flow->fails_at = sim_dice_below(rng, flow->n_sends);
        flow->sends[flow->fails_at].bad_qkey = false;
        fail_make(qp, &flow->sends[flow->fails_at], rng);
    }
}
