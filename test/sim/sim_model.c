/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory as it must be. `after` of a side is moved on as work completes: WRITEs in the order of
 * their flow, receives and results when they are reported.
 */
#include "sim.h"
#include "sim_dice.h"

#include <string.h>

#define TRIES_MAX 200000u /* of the search for an order of atomics */
#define SEEN 4096u

void sim_model_gather(const struct sim *sim, uint32_t from, const struct sim_send *send,
                      uint8_t *message)
{
    for (uint32_t p = 0; p < send->n; p++) {
        memcpy(message, sim->plan.cards[from].before + send->piece[p].at, send->piece[p].bytes);
        message += send->piece[p].bytes;
    }
}

void sim_model_write(struct sim *sim, uint32_t from, uint32_t q, uint32_t end)
{
    static uint8_t message[SIM_MESSAGE_MAX];
    const struct sim_flow *flow = &sim->plan.flows[from][q];
    struct sim_progress *progress = &sim->progress[from][q];

    for (; progress->written < end; progress->written++) {
        const struct sim_send *send = &flow->sends[progress->written];

        if (!sim_plan_is_write(send->opcode))
            continue;
        sim_model_gather(sim, from, send, message);
        memcpy(sim->plan.cards[1 - from].after + send->remote, message, send->bytes);
    }
}

void sim_model_receive(struct sim *sim, uint32_t side, const struct sim_recv *recv, uint32_t skip,
                       const uint8_t *message, uint32_t bytes)
{
    for (uint32_t p = 0; p < recv->n && bytes > 0; p++) {
        uint32_t over = recv->to[p].bytes < skip ? recv->to[p].bytes : skip;
        uint32_t n = recv->to[p].bytes - over < bytes ? recv->to[p].bytes - over : bytes;

        memcpy(sim->plan.cards[side].after + recv->to[p].at + over, message, n);
        skip -= over;
        message += n;
        bytes -= n;
    }
}

/* ---- READs ---- */

/* Might the READ have fetched this byte later: after a WRITE behind it that did not wait for it? */
static bool model_overtaken(const struct sim *sim, uint32_t from, const struct sim_flow *flow,
                            uint32_t index, uint32_t at, uint8_t byte)
{
    static uint8_t message[SIM_MESSAGE_MAX];

    for (uint32_t i = index + 1; i < flow->n_sends && !flow->sends[i].fence; i++) {
        const struct sim_send *send = &flow->sends[i];

        if (!sim_plan_is_write(send->opcode) || at - send->remote >= send->bytes)
            continue;
        sim_model_gather(sim, from, send, message);
        if (message[at - send->remote] == byte)
            return true;
    }
    return false;
}

/* Put into the result what a fenced WRITE behind the READ wrote there. */
static void model_spoil_fence(struct sim *sim, uint32_t from, const struct sim_flow *flow,
                              uint32_t index, uint8_t *result)
{
    static uint8_t message[SIM_MESSAGE_MAX];
    const struct sim_send *read = &flow->sends[index];
    const uint8_t *after = sim->plan.cards[1 - from].after;
    uint32_t i = index + 1;

    while (i < flow->n_sends && !flow->sends[i].fence)
        i++;
    for (; i < flow->n_sends; i++) {
        const struct sim_send *send = &flow->sends[i];

        if (!sim_plan_is_write(send->opcode))
            continue;
        sim_model_gather(sim, from, send, message);
        for (uint32_t k = 0; k < read->bytes; k++) {
            uint32_t at = read->remote + k;

            if (at - send->remote >= send->bytes || after[at] == message[at - send->remote] ||
                model_overtaken(sim, from, flow, index, at, message[at - send->remote]))
                continue;
            sim->spoil_in = 0;
            if (sim_spoil_now(sim, SIM_SPOIL_FENCE))
                result[k] = message[at - send->remote];
            return;
        }
    }
}

static void model_read(struct sim *sim, uint32_t from, uint32_t q, uint32_t index, uint8_t *result)
{
    const struct sim_flow *flow = &sim->plan.flows[from][q];
    const struct sim_send *send = &flow->sends[index];
    const struct sim_card *peer = &sim->plan.cards[1 - from];

    if (send->reads_target)
        sim_model_write(sim, from, q, index);
    if (sim->spoil == SIM_SPOIL_FENCE && send->reads_target)
        model_spoil_fence(sim, from, flow, index, result);
    if (send->bytes > 0 && sim_spoil_now(sim, SIM_SPOIL_READ))
        result[0] ^= 0x80;
    sim->seen.read_written += send->reads_target && send->bytes > 0;
    for (uint32_t k = 0; k < send->bytes; k++) {
        uint32_t at = send->remote + k;

        if (WIRE_LIKELY(result[k] == peer->after[at]))
            continue;
        if (!send->reads_target || !model_overtaken(sim, from, flow, index, at, result[k])) {
            sim_fail(sim, "%s qp %u: READ %u brought 0x%02x as byte %u of %u, not 0x%02x",
                     sim_side_name(from), q, index, result[k], k, send->bytes, peer->after[at]);
            return;
        }
    }
}

void sim_model_fetched(struct sim *sim, uint32_t from, uint32_t q, uint32_t index)
{
    static uint8_t result[SIM_MESSAGE_MAX];
    struct sim_progress *progress = &sim->progress[from][q];
    const struct sim_send *send = &sim->plan.flows[from][q].sends[index];
    uint8_t *after = sim->plan.cards[from].after;
    uint32_t n = 0;

    if (sim->plan.phantom)
        return;
    for (uint32_t p = 0; p < send->n; p++) {
        memcpy(result + n, sim->hosts[from].memory + send->piece[p].at, send->piece[p].bytes);
        memcpy(after + send->piece[p].at, result + n, send->piece[p].bytes);
        n += send->piece[p].bytes;
    }
    if (send->opcode == RNIC_WR_RDMA_READ) {
        model_read(sim, from, q, index, result);
        return;
    }
    memcpy(&progress->got[index], result, 8);
    if (sim_spoil_now(sim, SIM_SPOIL_ATOMIC))
        progress->got[index] ^= UINT64_C(1) << 50;
    if (sim_spoil_now(sim, SIM_SPOIL_AGAIN)) {
        uint8_t *word = sim->hosts[1 - from].memory + sim->plan.cards[1 - from].words.at;

        word[8 * send->remote + 5] ^= 1;
    }
    sim->seen.swapped +=
        send->opcode == RNIC_WR_ATOMIC_CMP_AND_SWP && progress->got[index] == send->add;
    progress->finished |= 1u << index;
}

/* ---- atomics ---- */

struct model_search { /* for an order of all atomics on one word */
    const struct sim *sim;
    uint32_t from, word;
    uint32_t next[SIM_QPS_MAX]; /* of each queue pair: first send not yet in the order */
    uint64_t last;              /* what the word holds in the end */
    uint32_t tries;
    uint64_t seen[SEEN]; /* states from which there is no way on; by their hash */
};

static uint64_t search_hash(const struct model_search *search, uint64_t value)
{
    uint64_t hash = value;

    for (uint32_t q = 0; q < SIM_QPS_MAX; q++)
        sim_hash(&hash, search->next[q]);
    return hash;
}

/* Next atomic of a queue pair on the word that was posted, SIM_NONE. */
static uint32_t search_next(const struct model_search *search, uint32_t q)
{
    const struct sim_flow *flow = &search->sim->plan.flows[search->from][q];
    uint32_t i = search->next[q];

    while (i < search->sim->hosts[search->from].queues[q].posted &&
           !(sim_plan_is_atomic(flow->sends[i].opcode) && flow->sends[i].remote == search->word))
        i++;
    return i < search->sim->hosts[search->from].queues[q].posted ? i : SIM_NONE;
}

static uint64_t search_result(const struct sim_send *send, uint64_t value)
{
    if (send->opcode == RNIC_WR_ATOMIC_FETCH_AND_ADD)
        return value + send->add;
    return value == send->add ? send->swap : value;
}

/*
 * Each queue pair's atomics run in order; one that is done returned the word as it found it; one
 * that was broken off may have run or not, and then none behind it did.
 */
static bool search_from(struct model_search *search, uint64_t value)
{
    uint64_t hash = search_hash(search, value);
    bool left = false;

    if (++search->tries > TRIES_MAX)
        return true;
    if (search->seen[hash % SEEN] == hash)
        return false;
    for (uint32_t q = 0; q < search->sim->plan.n_qps; q++) {
        const struct sim_progress *progress = &search->sim->progress[search->from][q];
        uint32_t i = search_next(search, q), kept = search->next[q];
        const struct sim_send *send;
        bool done;

        if (i == SIM_NONE || search->sim->plan.qps[q].type != RNIC_QPT_RC)
            continue;
        send = &search->sim->plan.flows[search->from][q].sends[i];
        done = progress->finished >> i & 1;
        left |= done;
        if ((done && progress->got[i] != value) ||
            (i == search->sim->plan.flows[search->from][q].fails_at &&
             search->sim->plan.qps[q].ending == SIM_ENDS_REFUSED))
            continue;
        search->next[q] = i + 1;
        if (search_from(search, search_result(send, value)))
            return true;
        search->next[q] = kept;
        if (done && search_result(send, value) == value) {
            left = true; /* it changes nothing: the order without it first is no better */
            break;
        }
    }
    if (!left && value == search->last)
        return true;
    search->seen[hash % SEEN] = hash;
    return false;
}

void sim_model_atomics(struct sim *sim, uint32_t side)
{
    const struct sim_card *card = &sim->plan.cards[side];

    for (uint32_t word = 0; word < SIM_WORDS && !sim->plan.phantom; word++) {
        static struct model_search search; /* large for a stack */
        uint64_t value;
        bool found;

        memset(&search, 0, sizeof search);
        search.sim = sim;
        search.from = 1 - side;
        search.word = word;
        memcpy(&value, card->before + card->words.at + 8 * word, sizeof value);
        memcpy(&search.last, sim->hosts[side].memory + card->words.at + 8 * word, sizeof value);
        found = search_from(&search, value);

        if (search.tries > TRIES_MAX)
            sim_fail(sim, "%s word %u: too many orders to try", sim_side_name(side), word);
        else if (!found)
            sim_fail(sim, "%s word %u: no order of the atomics gives what they returned",
                     sim_side_name(side), word);
    }
}
