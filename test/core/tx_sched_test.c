/* SPDX-License-Identifier: GPL-2.0-only */
/* Who sends next: turns of queue pairs, of classes, of the raw ring; times; what is held. */
#include "card.h"
#include "rnic_tx_sched.h"

static struct card_bench bench;
static struct card *const a = &bench.cards[0], *const b = &bench.cards[1];

/* Queue pairs of card 0, each with its DSCP. */
static void make_qps(uint32_t n, const uint8_t *classes, uint32_t *qpn)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t peer = card_new_qp(b, b->send_cq, b->recv_cq);
        struct rnic_qp_attr attr;

        qpn[i] = card_new_qp(a, a->send_cq, a->recv_cq);
        attr = card_attr(a, b, peer);
        attr.av.traffic_class = (uint8_t)(classes[i] << 5);
        card_to_state(a, qpn[i], &attr, RNIC_QPS_RTS);
        attr = card_attr(b, a, qpn[i]);
        card_to_state(b, peer, &attr, RNIC_QPS_RTS);
    }
}

static void post(uint32_t qpn, uint32_t bytes)
{
    struct rnic_sge sge;
    struct rnic_send_wr wr = card_wr(a, RNIC_WR_RDMA_WRITE, qpn, 0, 0, bytes, &sge);

    CHECK_EQ(rnic_post_send(a->dev, qpn, &wr, bench.now_ps), 0);
}

/* Requests of the last message on the wire, by their peer's number. */
static uint32_t log_qpn(size_t i)
{
    return card_log_at(&bench, a->station, true, i)->frame.dest_qpn;
}

static void queue_pairs_take_turns_a_packet_each(void)
{
    static const uint8_t classes[4] = {3, 3, 3, 3};
    struct card_options options = card_options_ideal();
    uint32_t qpn[4];

    card_bench_open(&bench, 2, &options);
    make_qps(4, classes, qpn);
    a->ready_classes = 0;
    for (uint32_t i = 0; i < 4; i++)
        post(qpn[i], 10 * 1024);
    a->ready_classes = 0xFF;
    card_bench_run(&bench, WIRE_NEVER);
    CHECK_EQ(card_log_count(&bench, a->station, true), 40);
    for (size_t i = 4; i < 40; i++)
        CHECK_EQ(log_qpn(i), log_qpn(i - 4));
    for (size_t i = 0; i < 4; i++)
        for (size_t k = 0; k < i; k++)
            CHECK(log_qpn(i) != log_qpn(k));
    card_bench_close(&bench);
}

static void classes_take_turns_and_a_paused_one_stands_still(void)
{
    static const uint8_t classes[5] = {0, 3, 3, 3, 7};
    struct card_options options = card_options_ideal();
    uint32_t qpn[5], count[8] = {0};

    card_bench_open(&bench, 2, &options);
    make_qps(5, classes, qpn);
    a->ready_classes = 0;
    for (uint32_t i = 0; i < 5; i++)
        post(qpn[i], 60 * 1024);
    a->ready_classes = 0xFF;
    card_bench_run(&bench, 5000000);
    for (size_t i = 0; i < card_log_count(&bench, a->station, true); i++)
        count[card_log_at(&bench, a->station, true, i)->frame.prio]++;
    CHECK(count[0] >= 15);
    CHECK_NEAR(count[3], count[0], 1);
    CHECK_NEAR(count[7], count[0], 1);
    a->ready_classes = 0xFF & ~(1u << 3);
    bench.log_n = 0;
    card_bench_run(&bench, 8000000);
    CHECK(card_log_count(&bench, a->station, true) > 10);
    for (size_t i = 0; i < card_log_count(&bench, a->station, true); i++)
        CHECK(card_log_at(&bench, a->station, true, i)->frame.prio != 3);
    a->ready_classes = 0xFF;
    card_bench_run(&bench, WIRE_NEVER);
    CHECK_EQ(rnic_query_counters(a->dev)->retransmitted_packets, 0);
    for (uint32_t i = 0; i < 5; i++) {
        struct rnic_wc wc;

        CHECK(card_poll(a, a->send_cq, &wc));
        CHECK_EQ(wc.status, RNIC_WC_SUCCESS);
    }
    card_bench_close(&bench);
}

/* The raw ring and the queue pairs of a class take turns; raw frames keep their order. */
static void raw_frames_take_turns_with_queue_pairs(void)
{
    struct card_options options = card_options_ideal();
    uint32_t raw = 0, last_kind = 99, turns = 0;

    card_bench_open(&bench, 2, &options);
    a->ready_classes = 0;
    card_write(a, 1, 0, 0, 10 * 1024);
    for (uint32_t i = 0; i < 10; i++)
        card_raw(a, 3, 1000, i);
    CHECK_EQ(rnic_frames_held(a->dev), 10);
    a->ready_classes = 0xFF;
    card_bench_run(&bench, WIRE_NEVER);
    for (size_t i = 0; i < bench.log_n; i++) {
        const struct wire_frame *frame = &bench.log[i].frame;

        if (bench.log[i].from != a->station)
            continue;
        if (frame->kind == WIRE_KIND_OPAQUE)
            CHECK_EQ(frame->ip_id, raw++);
        turns += frame->kind != last_kind;
        last_kind = frame->kind;
    }
    CHECK_EQ(raw, 10);
    CHECK_EQ(turns, 20);
    CHECK_EQ(rnic_frames_held(a->dev), 0);
    card_bench_close(&bench);
}

/* A frame that is not ready is held; acknowledges, raw frames and other classes pass it. */
static void a_held_frame_is_overtaken(void)
{
    struct card_options options = card_options_default();
    struct wire_frame request, blank[2], *frame = &blank[0], *spare;
    uint64_t ready_ps;

    card_bench_open(&bench, 2, &options);
    memset(blank, 0, sizeof blank);
    card_write(a, 1, 0, 0, 8); /* everything is cold: it misses, and is not ready in time */
    ready_ps = rnic_tx_next(a->dev, 0xFF);
    CHECK(ready_ps > 0 && ready_ps != WIRE_NEVER);
    CHECK(!rnic_tx(a->dev, ready_ps, 0xFF, &frame, &spare));
    CHECK(frame == NULL); /* the card kept the blank */
    CHECK_EQ(rnic_frames_held(a->dev), 1);
    CHECK(rnic_tx_next(a->dev, 0xFF) > ready_ps);
    CHECK_EQ(rnic_tx_next(a->dev, 0xFF & ~(1u << 3)), WIRE_NEVER);

    request = card_ack(a, bench.options.psn, 0, 0);
    request.opcode = WIRE_OP_SEND_MIDDLE; /* refused: a NAK, of the same class */
    request.payload_bytes = 4096;
    request.psn.v += 5;
    CHECK_EQ(rnic_rx(a->dev, &request, ready_ps), WIRE_DROP_PSN_GAP);
    { /* as long as the RX and TX pipelines take */
        uint64_t nak_ps = rnic_tx_next(a->dev, 0xFF);

        frame = &blank[1];
        if (nak_ps < blank[0].ready_ps) {
            CHECK(rnic_tx(a->dev, nak_ps, 0xFF, &frame, &spare));
            CHECK(frame == &blank[1] && spare == NULL);
            CHECK_EQ(frame->opcode, WIRE_OP_ACKNOWLEDGE);
        }
    }
    frame = &blank[1];
    CHECK(rnic_tx(a->dev, blank[0].ready_ps + 5000000, 0xFF, &frame, &spare));
    while (frame != &blank[0]) {
        frame = &blank[1];
        CHECK(rnic_tx(a->dev, blank[0].ready_ps + 5000000, 0xFF, &frame, &spare));
    }
    CHECK(spare == &blank[1]);
    CHECK_EQ(frame->opcode, WIRE_OP_WRITE_ONLY);
    CHECK_EQ(rnic_frames_held(a->dev), 0);
    card_bench_close(&bench);
}

/* A pull before its time gives nothing and keeps nothing; rnic_tx_next names the time. */
static void a_pull_too_early_gives_the_blank_back(void)
{
    struct card_options options = card_options_default();
    struct wire_frame blank = {0}, *frame = &blank, *spare;
    uint64_t next_ps;

    card_bench_open(&bench, 2, &options);
    CHECK_EQ(rnic_tx_next(a->dev, 0xFF), WIRE_NEVER);
    CHECK(!rnic_tx(a->dev, 0, 0xFF, &frame, &spare));
    CHECK(frame == &blank && spare == NULL);
    card_write(a, 1, 0, 0, 8);
    next_ps = rnic_tx_next(a->dev, 0xFF);
    CHECK(next_ps >= options.params.doorbell_latency_ps);
    CHECK(!rnic_tx(a->dev, next_ps - 1, 0xFF, &frame, &spare));
    CHECK(frame == &blank && spare == NULL);
    CHECK_EQ(rnic_frames_held(a->dev), 0);
    card_bench_close(&bench);
}

/* A scheduler alone, with room for so many queue pairs, in 64 KiB at `memory`. */
static void open_sched(struct rnic_tx_sched *sched, struct rnic_mem *mem, void *memory,
                       struct rnic_dma *dma, const struct rnic_params *params, uint32_t qps)
{
    rnic_mem_add(mem, memory, 65536);
    rnic_dma_init(dma, params);
    CHECK(rnic_tx_sched_init(sched, mem, params, dma));
    CHECK(rnic_tx_sched_reserve(sched, mem, qps));
}

/* The heap gives the earliest first, whatever the order of adding and removing. */
static void limited_queue_pairs_leave_in_the_order_of_their_times(void)
{
    static struct rnic_qp qps[200];
    static struct rnic_wqe wqe;
    struct rnic_params params = rnic_params_ideal();
    struct rnic_tx_sched sched;
    struct rnic_mem mem = {0};
    struct rnic_dma dma = {0};
    void *memory = aligned_alloc(64, 65536);
    struct wire_rng rng = wire_rng_init(5, 0);

    CHECK(memory != NULL);
    open_sched(&sched, &mem, memory, &dma, &params, 200);
    wqe.length = 1;
    for (uint32_t round = 0; round < 50; round++) {
        uint64_t last_ps = 0;
        uint32_t n = 0, out = 0;

        for (uint32_t i = 0; i < 200; i++) {
            qps[i] = (struct rnic_qp){
                .qpn = i, .mtu_bytes = 1024, .mtu_shift = 10, .path = {.tos = 3 << 5}};
            qps[i].request.qp = &qps[i];
            qps[i].sq.head = 1;
            qps[i].sq.slots = (uint8_t *)&wqe;
            qps[i].cc.limited = true;
            qps[i].cc.next_send_ps = 1 + wire_rng_next(&rng) % 1000;
            rnic_tx_sched_add(&sched, &qps[i].request, 0, 0);
            n++;
        }
        for (uint32_t i = 0; i < 200; i += 1 + (uint32_t)(wire_rng_next(&rng) % 5)) {
            rnic_tx_sched_remove(&sched, &qps[i].request);
            rnic_tx_sched_remove(&sched, &qps[i].request); /* twice does not hurt */
            n--;
        }
        for (uint64_t now_ps = rnic_tx_sched_next_ps(&sched, 0xFF); now_ps != WIRE_NEVER;
             now_ps = rnic_tx_sched_next_ps(&sched, 0xFF)) {
            struct rnic_tx_pick pick;

            rnic_tx_sched_advance(&sched, wire_max_ps(now_ps, last_ps));
            pick = rnic_tx_sched_pick(&sched, 0xFF, wire_max_ps(now_ps, last_ps));
            CHECK_EQ(pick.what, RNIC_PICK_FLOW);
            CHECK(pick.flow->qp->cc.next_send_ps >= last_ps);
            last_ps = pick.flow->qp->cc.next_send_ps;
            out++;
        }
        CHECK_EQ(out, n);
        CHECK_EQ(sched.heap_n, 0);
    }
    free(memory);
}

/* A CNP that moves the time of a queue pair in the heap is seen when its old time comes. */
static void a_time_that_moved_is_corrected(void)
{
    static struct rnic_wqe wqe = {.length = 1};
    struct rnic_params params = rnic_params_ideal();
    struct rnic_qp qp = {.mtu_bytes = 1024, .mtu_shift = 10};
    struct rnic_tx_sched sched;
    struct rnic_mem mem = {0};
    struct rnic_dma dma = {0};
    void *memory = aligned_alloc(64, 65536);

    CHECK(memory != NULL);
    open_sched(&sched, &mem, memory, &dma, &params, 1);
    qp.sq.slots = (uint8_t *)&wqe;
    qp.sq.head = 1;
    qp.request.qp = &qp;
    qp.cc.limited = true;
    qp.cc.next_send_ps = 1000;
    rnic_tx_sched_add(&sched, &qp.request, 0, 0);
    CHECK_EQ(rnic_tx_sched_next_ps(&sched, 0xFF), 1000);
    qp.cc.next_send_ps = 3000;
    rnic_tx_sched_advance(&sched, 1000);
    CHECK_EQ(rnic_tx_sched_pick(&sched, 0xFF, 1000).what, RNIC_PICK_NOTHING);
    CHECK_EQ(rnic_tx_sched_next_ps(&sched, 0xFF), 3000);
    rnic_tx_sched_advance(&sched, 3000);
    CHECK_EQ(rnic_tx_sched_pick(&sched, 0xFF, 3000).what, RNIC_PICK_FLOW);
    free(memory);
}

/* Without memory the heap stays as it is, and says so. */
static void a_heap_without_memory(void)
{
    struct rnic_params params = rnic_params_ideal();
    struct rnic_tx_sched sched;
    struct rnic_mem mem = {0};
    struct rnic_dma dma = {0};
    void *memory = aligned_alloc(64, 65536);

    CHECK(memory != NULL);
    rnic_mem_add(&mem, memory, 1024);
    rnic_dma_init(&dma, &params);
    params.tx_fifo_frames = 1;
    CHECK(rnic_tx_sched_init(&sched, &mem, &params, &dma));
    CHECK(!rnic_tx_sched_reserve(&sched, &mem, 1000));
    CHECK_EQ(sched.heap_cap, 0);
    rnic_mem_add(&mem, (uint8_t *)memory + 1024, 65536 - 1024);
    CHECK(rnic_tx_sched_reserve(&sched, &mem, 1000));
    CHECK(sched.heap_cap >= 2000); /* requests and responses */
    CHECK(rnic_tx_sched_reserve(&sched, &mem, 1000));
    free(memory);
}

/* Both flows of a queue pair at the same time: its requests first, whichever came first. */
static void requests_go_before_responses(void)
{
    static struct rnic_wqe wqe = {.length = 1};
    struct rnic_params params = rnic_params_ideal();
    void *memory = aligned_alloc(64, 65536);

    CHECK(memory != NULL);
    for (uint32_t first = 0; first < 2; first++) {
        struct rnic_qp qp = {.mtu_bytes = 1024, .mtu_shift = 10};
        struct rnic_tx_flow *flows[2] = {&qp.request, &qp.response};
        struct rnic_resource *resource;
        struct rnic_tx_sched sched;
        struct rnic_mem mem = {0};
        struct rnic_dma dma = {0};

        open_sched(&sched, &mem, memory, &dma, &params, 1);
        CHECK(rnic_rx_respond_open(&qp.respond, &mem, 1));
        resource = rnic_rx_respond_add(&qp.respond);
        resource->packets = 1;
        resource->length = 1;
        rnic_rx_respond_queue(&qp.respond, resource, 0, 1);
        qp.sq.slots = (uint8_t *)&wqe;
        qp.sq.head = 1;
        qp.request = (struct rnic_tx_flow){.qp = &qp, .kind = RNIC_FLOW_REQUEST};
        qp.response = (struct rnic_tx_flow){.qp = &qp, .kind = RNIC_FLOW_RESPONSE};
        rnic_tx_sched_add(&sched, flows[first], 1000, 0);
        rnic_tx_sched_add(&sched, flows[1 - first], 1000, 0);
        CHECK_EQ(sched.heap_n, 2);
        rnic_tx_sched_advance(&sched, 999);
        CHECK_EQ(rnic_tx_sched_pick(&sched, 0xFF, 999).what, RNIC_PICK_NOTHING);
        rnic_tx_sched_advance(&sched, 1000);
        CHECK(rnic_tx_sched_pick(&sched, 0xFF, 1000).flow == &qp.request);
        CHECK(rnic_tx_sched_pick(&sched, 0xFF, 1000).flow == &qp.response);
        CHECK_EQ(rnic_tx_sched_pick(&sched, 0xFF, 1000).what, RNIC_PICK_NOTHING);
    }
    free(memory);
}

/* A paced packet is asked for a look-ahead before its time, and not before it was known. */
static void a_paced_packet_is_asked_for_in_time(void)
{
    static const struct {
        uint64_t next_ps, pull_ps, cause_ps;
    } cases[] = {
        {0, 1000 + 70000, 1000}, /* its time has come long ago: pulled when it is here */
        {1000 + 70000, 1000 + 70000, 1000},
        {90000, 90000, 1000}, /* within the look-ahead from the beginning */
        {120000, 120000, 1000},
        {121000, 121000, 1000},
        {121001, 121001, 1001},
        {1000000, 1000000, 1000000 - 120000},
    };
    static struct rnic_wqe wqe = {.length = 1, .flags = RNIC_SEND_INLINE};
    struct rnic_params params = rnic_params_ideal();
    void *memory = aligned_alloc(64, 65536);

    CHECK(memory != NULL);
    params.dma_read_latency_ps = 50000; /* of a fetch, and of the payload */
    params.tx_latency_ps = 20000;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rnic_qp qp = {.mtu_bytes = 1024, .mtu_shift = 10};
        struct rnic_tx_sched sched;
        struct rnic_mem mem = {0};
        struct rnic_dma dma = {0};

        open_sched(&sched, &mem, memory, &dma, &params, 1);
        CHECK_EQ(sched.lookahead_ps, 70000);
        sched.lookahead_ps = 120000;
        qp.sq.slots = (uint8_t *)&wqe;
        qp.sq.head = 1;
        qp.request.qp = &qp;
        qp.rate_next_ps = cases[i].next_ps;
        rnic_tx_sched_add(&sched, &qp.request, 1000, 0);
        CHECK_EQ(qp.request.pull_ps, cases[i].pull_ps);
        CHECK_EQ(qp.request.cause_ps, cases[i].cause_ps);
    }
    free(memory);
}

/* What the next packet takes: the fetch of its request, its own bytes and no more, the pipeline. */
static void each_packet_is_asked_for_by_its_own_length(void)
{
    static const struct {
        enum rnic_wr_opcode opcode; /* of the request; a response has the other columns */
        uint32_t length, packet;
        bool response, fetched, inlined;
        uint32_t bytes;
    } cases[] = {
        {RNIC_WR_RDMA_WRITE, 2500, 0, false, false, false, 1024},
        {RNIC_WR_RDMA_WRITE, 2500, 1, false, true, false, 1024},
        {RNIC_WR_RDMA_WRITE, 2500, 2, false, true, false, 452},
        {RNIC_WR_RDMA_WRITE, 2048, 1, false, true, false, 1024},
        {RNIC_WR_RDMA_WRITE, 0, 0, false, false, false, 0},
        {RNIC_WR_SEND, 100, 0, false, false, true, 0},
        {RNIC_WR_RDMA_READ, 2500, 0, false, false, false, 0},
        {RNIC_WR_ATOMIC_CMP_AND_SWP, 8, 0, false, true, false, 0},
        {RNIC_WR_ATOMIC_FETCH_AND_ADD, 8, 0, false, false, false, 0},
        {RNIC_WR_RDMA_READ, 2500, 0, true, true, false, 1024},
        {RNIC_WR_RDMA_READ, 2500, 1, true, true, false, 1024},
        {RNIC_WR_RDMA_READ, 2500, 2, true, true, false, 452},
        {RNIC_WR_RDMA_READ, 0, 0, true, true, false, 0},
    };
    struct rnic_params params = rnic_params_ideal();
    void *memory = aligned_alloc(64, 65536);

    CHECK(memory != NULL);
    params.pcie_bps = 8000000000; /* a byte is a nanosecond; TLPs of 256 B have 24 B more */
    params.dma_read_latency_ps = 50000;
    params.tx_latency_ps = 20000;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint32_t bytes = cases[i].bytes;
        uint64_t data_ps = bytes == 0 ? 0 : 50000 + 1000 * (bytes + 24 * ((bytes + 255) / 256));
        uint64_t fetch_ps = cases[i].fetched ? 0 : 50000 + 1000 * (64 + 24);
        struct rnic_wqe wqe = {.opcode = (uint8_t)cases[i].opcode,
                               .length = cases[i].length,
                               .flags = cases[i].inlined ? RNIC_SEND_INLINE : 0,
                               .fetched = cases[i].fetched};
        struct rnic_qp qp = {.mtu_bytes = 1024, .mtu_shift = 10, .cur_packet = cases[i].packet};
        struct rnic_tx_flow *flow = cases[i].response ? &qp.response : &qp.request;
        struct rnic_resource *resource;
        struct rnic_tx_sched sched;
        struct rnic_mem mem = {0};
        struct rnic_dma dma = {0};

        open_sched(&sched, &mem, memory, &dma, &params, 1);
        CHECK(rnic_rx_respond_open(&qp.respond, &mem, 1));
        resource = rnic_rx_respond_add(&qp.respond);
        resource->packets = 3;
        resource->length = cases[i].length;
        rnic_rx_respond_queue(&qp.respond, resource, cases[i].packet, 3);
        qp.sq.slots = (uint8_t *)&wqe;
        qp.sq.head = 1;
        *flow = (struct rnic_tx_flow){
            .qp = &qp, .kind = cases[i].response ? RNIC_FLOW_RESPONSE : RNIC_FLOW_REQUEST};
        rnic_tx_sched_add(&sched, flow, 1000, 0);
        CHECK_EQ(flow->cause_ps, 1000);
        CHECK_EQ(flow->pull_ps, 1000 + fetch_ps + data_ps + 20000);
    }
    free(memory);
}

/* A class that was served while it was alone has had its turn, too. */
static void turns_go_on_behind_the_class_served_last(void)
{
    static const uint8_t classes[3] = {0, 3, 7}, want[3][3] = {{3, 7, 0}, {7, 0, 3}, {0, 3, 7}};

    for (uint32_t first = 0; first < 3; first++) {
        struct card_options options = card_options_ideal();
        uint32_t qpn[3];

        card_bench_open(&bench, 2, &options);
        make_qps(3, classes, qpn);
        post(qpn[first], 100);
        card_bench_run(&bench, WIRE_NEVER);
        a->ready_classes = 0;
        for (uint32_t i = 0; i < 3; i++)
            post(qpn[i], 100);
        a->ready_classes = 0xFF;
        card_bench_run(&bench, WIRE_NEVER);
        CHECK_EQ(card_log_count(&bench, a->station, true), 4);
        for (size_t i = 0; i < 3; i++)
            CHECK_EQ(card_log_at(&bench, a->station, true, i + 1)->frame.prio, want[first][i]);
        card_bench_close(&bench);
    }
}

CHECK_SUITE(tx_sched, CHECK_CASE(queue_pairs_take_turns_a_packet_each),
            CHECK_CASE(classes_take_turns_and_a_paused_one_stands_still),
            CHECK_CASE(raw_frames_take_turns_with_queue_pairs),
            CHECK_CASE(a_held_frame_is_overtaken),
            CHECK_CASE(a_pull_too_early_gives_the_blank_back),
            CHECK_CASE(limited_queue_pairs_leave_in_the_order_of_their_times),
            CHECK_CASE(a_time_that_moved_is_corrected), CHECK_CASE(a_heap_without_memory),
            CHECK_CASE(requests_go_before_responses),
            CHECK_CASE(a_paced_packet_is_asked_for_in_time),
            CHECK_CASE(each_packet_is_asked_for_by_its_own_length),
            CHECK_CASE(turns_go_on_behind_the_class_served_last))
