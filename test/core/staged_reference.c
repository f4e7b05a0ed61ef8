/* SPDX-License-Identifier: GPL-2.0-only */
#include "staged_reference.h"

#include "check.h"

#define READY_MAX 1024u /* power of two, at least tx_fifo_frames */
#define EVENTS_MAX (1u << 20)
#define HEADER_BYTES 62u /* Ethernet, IPv4, UDP, BTH, ICRC, FCS */
#define RETH_BYTES 16u
#define ACK_FRAME_BYTES 66u

enum stage {
    POSTED,   /* doorbell reaches the card */
    WQE_HERE, /* WQE fetched */
    READ_BACK,
    DATA_HERE,
    AT_MAC,
    MAC_FREE,
    ARRIVED,
    CHECKED,
    ACK_AT_MAC,
    ACK_ARRIVED,
    ACK_CHECKED,
    WQE_BACK,
};

struct packet {
    struct staged_message *message;
    uint32_t bytes, frame_bytes;
    bool asks, last;
};

struct event {
    uint64_t time_ps, order;
    enum stage stage;
    struct packet packet;
};

/* A first-come first-served server; calls come in the order of time. */
struct queue {
    uint64_t free_ps;
};

struct sender {
    uint32_t messages[STAGED_MESSAGES]; /* of this queue pair, in order */
    uint32_t n, known;                  /* all, and those whose doorbell has come */
    uint32_t at, packet;                /* next to be given room */
    struct packet ready[READY_MAX];     /* at the MAC, in order */
    uint32_t ready_in, ready_out;
};

struct work { /* by message */
    bool asked, here;
    uint32_t issued, read; /* packets that have room, and those whose data was asked for */
};

static struct {
    const struct rnic_params *p;
    uint32_t mtu;
    uint64_t line_bps, delay_ps, now_ps, order;
    struct event heap[EVENTS_MAX];
    uint32_t events;
    struct sender senders[STAGED_QPS];
    struct work work[STAGED_MESSAGES];
    struct staged_message *messages;
    struct queue a_up, a_down, b_up, tx, a_rx, b_rx, b_line;
    uint32_t slots, turn, mac_turn;
    bool mac_busy;
} s;

static uint64_t time_of(uint64_t bytes, uint64_t bps)
{
    return (bytes * 8000 * 1000000 + bps / 1000 - 1) / (bps / 1000); /* small numbers only */
}

static uint64_t tlps(uint64_t bytes, uint64_t most)
{
    return bytes == 0 ? 1 : (bytes + most - 1) / most;
}

static uint64_t pcie_ps(uint64_t bytes)
{
    uint64_t all = bytes + tlps(bytes, s.p->pcie_max_payload_bytes) * s.p->pcie_tlp_bytes;

    return s.p->pcie_bps == 0 ? 0 : wire_line_time_ps(all, s.p->pcie_bps);
}

static uint64_t pcie_request_ps(uint64_t bytes)
{
    uint64_t all = tlps(bytes, s.p->pcie_max_read_bytes) * s.p->pcie_tlp_bytes;

    return s.p->pcie_bps == 0 ? 0 : wire_line_time_ps(all, s.p->pcie_bps);
}

static bool before(const struct event *x, const struct event *y)
{
    return x->time_ps != y->time_ps ? x->time_ps < y->time_ps : x->order < y->order;
}

static void at(uint64_t time_ps, enum stage stage, struct packet packet)
{
    uint32_t i = s.events++;
    struct event e = {time_ps, s.order++, stage, packet};

    CHECK(s.events < EVENTS_MAX && time_ps >= s.now_ps);
    for (; i > 0 && before(&e, &s.heap[(i - 1) / 2]); i = (i - 1) / 2)
        s.heap[i] = s.heap[(i - 1) / 2];
    s.heap[i] = e;
}

static struct event next(void)
{
    struct event first = s.heap[0], e = s.heap[--s.events];
    uint32_t i = 0, child;

    while ((child = 2 * i + 1) < s.events) {
        if (child + 1 < s.events && before(&s.heap[child + 1], &s.heap[child]))
            child++;
        if (!before(&s.heap[child], &e))
            break;
        s.heap[i] = s.heap[child];
        i = child;
    }
    s.heap[i] = e;
    return first;
}

/* Start of service for one that comes now. */
static uint64_t serve(struct queue *queue, uint64_t service_ps)
{
    uint64_t start_ps = queue->free_ps > s.now_ps ? queue->free_ps : s.now_ps;

    queue->free_ps = start_ps + service_ps;
    return start_ps;
}

/* Packet number `number` of a message. */
static struct packet packet_of(struct staged_message *message, uint32_t number)
{
    uint32_t left = message->bytes - number * s.mtu;
    uint32_t bytes = left < s.mtu ? left : s.mtu;
    uint32_t frame_bytes = HEADER_BYTES + (number == 0 ? RETH_BYTES : 0) + ((bytes + 3) & ~3u);
    bool last = left == bytes;

    return (struct packet){.message = message,
                           .bytes = bytes,
                           .frame_bytes = frame_bytes < 64 ? 64 : frame_bytes,
                           .asks = last || (number + 1) % s.p->ack_every == 0,
                           .last = last};
}

/* Fetch the WQE of the k-th message of a queue pair, if its doorbell has come. */
static void ask_wqe(const struct sender *q, uint32_t k)
{
    struct packet wqe = {0};

    if (k >= q->known || s.work[q->messages[k]].asked)
        return;
    s.work[q->messages[k]].asked = true;
    wqe.message = &s.messages[q->messages[k]];
    at(serve(&s.a_up, pcie_request_ps(s.p->wqe_bytes)) + s.p->dma_read_latency_ps, WQE_BACK, wqe);
}

/* The WQE is here: ask for the data of all its packets that have room. */
static void ask_data(uint32_t m)
{
    struct work *work = &s.work[m];

    for (; work->here && work->read < work->issued; work->read++) {
        struct packet packet = packet_of(&s.messages[m], work->read);

        at(serve(&s.a_up, pcie_request_ps(packet.bytes)) + s.p->dma_read_latency_ps, READ_BACK,
           packet);
    }
}

/* The next queue pair in turn that has something to send, or NULL. */
static struct sender *next_sender(void)
{
    for (uint32_t i = 1; i <= STAGED_QPS; i++) {
        struct sender *q = &s.senders[(s.turn + i) % STAGED_QPS];

        if (q->at < q->known) {
            s.turn = (s.turn + i) % STAGED_QPS;
            return q;
        }
    }
    return NULL;
}

/* Room in the TX FIFO goes to packets, in turn; each fetches its WQE, and the one behind it. */
static void issue(void)
{
    struct sender *q;

    while (s.slots > 0 && (q = next_sender()) != NULL) {
        uint32_t m = q->messages[q->at];

        s.slots--;
        ask_wqe(q, q->at);
        ask_wqe(q, q->at + 1);
        s.work[m].issued++;
        ask_data(m);
        if (packet_of(&s.messages[m], q->packet++).last) {
            q->at++;
            q->packet = 0;
        }
    }
}

/* The MAC is free: the next queue pair in turn sends, its room is free again. */
static void mac_send(void)
{
    for (uint32_t i = 1; i <= STAGED_QPS && !s.mac_busy; i++) {
        struct sender *q = &s.senders[(s.mac_turn + i) % STAGED_QPS];
        struct packet packet;

        if (q->ready_in == q->ready_out)
            continue;
        s.mac_turn = (s.mac_turn + i) % STAGED_QPS;
        packet = q->ready[q->ready_out++ % READY_MAX];
        s.mac_busy = true;
        s.slots++;
        at(s.now_ps + time_of(packet.frame_bytes + 20, s.line_bps), MAC_FREE, packet);
        at(s.now_ps + time_of(packet.frame_bytes + 8, s.line_bps) + s.delay_ps, ARRIVED, packet);
        issue();
        return;
    }
}

/* The packet is checked: its data goes to memory, and an acknowledge to the MAC. */
static void on_checked(struct packet packet)
{
    uint64_t done_ps =
        serve(&s.b_up, pcie_ps(packet.bytes)) + pcie_ps(packet.bytes) + s.p->dma_write_latency_ps;

    if (done_ps > packet.message->placed_ps)
        packet.message->placed_ps = done_ps;
    if (packet.asks)
        at(s.now_ps + s.p->tx_latency_ps, ACK_AT_MAC, packet);
}

static void on_event(const struct event *e)
{
    struct sender *q = &s.senders[e->packet.message->qp];
    struct packet packet = e->packet;
    uint64_t start_ps;

    switch (e->stage) {
    case POSTED:
        q->known++;
        issue();
        break;
    case WQE_BACK:
        start_ps = serve(&s.a_down, pcie_ps(s.p->wqe_bytes));
        at(start_ps + pcie_ps(s.p->wqe_bytes), WQE_HERE, packet);
        break;
    case WQE_HERE:
        s.work[packet.message - s.messages].here = true;
        ask_data((uint32_t)(packet.message - s.messages));
        break;
    case READ_BACK:
        start_ps = serve(&s.a_down, pcie_ps(packet.bytes));
        at(start_ps + pcie_ps(packet.bytes), DATA_HERE, packet);
        break;
    case DATA_HERE:
        at(serve(&s.tx, s.p->tx_service_ps) + s.p->tx_latency_ps, AT_MAC, packet);
        break;
    case AT_MAC:
        q->ready[q->ready_in++ % READY_MAX] = packet;
        mac_send();
        break;
    case MAC_FREE:
        s.mac_busy = false;
        mac_send();
        break;
    case ARRIVED:
        at(serve(&s.b_rx, s.p->rx_service_ps) + s.p->rx_latency_ps, CHECKED, packet);
        break;
    case CHECKED:
        on_checked(packet);
        break;
    case ACK_AT_MAC:
        start_ps = serve(&s.b_line, time_of(ACK_FRAME_BYTES + 20, s.line_bps));
        at(start_ps + time_of(ACK_FRAME_BYTES + 8, s.line_bps) + s.delay_ps, ACK_ARRIVED, packet);
        break;
    case ACK_ARRIVED:
        at(serve(&s.a_rx, s.p->rx_service_ps) + s.p->rx_latency_ps, ACK_CHECKED, packet);
        break;
    case ACK_CHECKED:
        if (packet.last)
            packet.message->acked_ps = serve(&s.a_up, pcie_ps(s.p->cqe_bytes)) +
                                       pcie_ps(s.p->cqe_bytes) + s.p->dma_write_latency_ps;
        break;
    }
}

void staged_run(const struct rnic_params *params, uint32_t mtu, uint64_t line_bps,
                uint64_t delay_ps, struct staged_message *messages, uint32_t n)
{
    memset(&s, 0, sizeof s);
    s.p = params;
    s.mtu = mtu;
    s.line_bps = line_bps;
    s.delay_ps = delay_ps;
    s.messages = messages;
    s.slots = (uint32_t)params->tx_fifo_frames;
    for (uint32_t i = 0; i < n; i++) {
        struct sender *q = &s.senders[messages[i].qp];

        q->messages[q->n++] = i;
        messages[i].placed_ps = messages[i].acked_ps = 0;
        at(messages[i].post_ps + params->doorbell_latency_ps, POSTED,
           (struct packet){.message = &messages[i]});
    }
    while (s.events > 0) {
        struct event e = next();

        s.now_ps = e.time_ps;
        on_event(&e);
    }
}
