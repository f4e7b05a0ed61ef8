/* SPDX-License-Identifier: GPL-2.0-only */
/* The card as a whole: making it, its counters, its walks as trace records, its memory. */
#include "card.h"

static struct card_bench bench;
static struct card *const a = &bench.cards[0], *const b = &bench.cards[1];

static void a_card_without_control_or_line_is_not_made(void)
{
    void *memory = aligned_alloc(64, (rnic_device_bytes() + 63) & ~(size_t)63);
    struct rnic_config config = {
        .params = rnic_params_default(), .cc = &rnic_cc_none, .cc_config = {.line_bps = 1}};

    CHECK(memory != NULL);
    CHECK(rnic_device_init(memory, &config) != NULL);
    config.cc = NULL;
    CHECK(rnic_device_init(memory, &config) == NULL);
    config.cc = &rnic_cc_none;
    config.cc_config.line_bps = 0;
    CHECK(rnic_device_init(memory, &config) == NULL);
    free(memory);
}

static void a_new_card_has_nothing_to_do(void)
{
    struct card_options options = card_options_default();
    struct rnic_event event;

    card_bench_open(&bench, 1, &options);
    CHECK_EQ(rnic_next_wake(a->dev), WIRE_NEVER);
    CHECK_EQ(rnic_tx_next(a->dev, 0xFF), WIRE_NEVER);
    CHECK(!rnic_event(a->dev, WIRE_NEVER - 1, &event));
    CHECK_EQ(rnic_frames_held(a->dev), 0);
    rnic_wake(a->dev, 0);
    card_bench_close(&bench);
}

/* Frames in, frames out, drops: nothing is lost between the counters. */
static void counters_add_up(void)
{
    struct card_options options = card_options_default();
    const struct rnic_counters *ca, *cb;
    uint64_t drops = 0, rx = 0;

    card_bench_open(&bench, 2, &options);
    for (uint64_t i = 0; i < 20; i++) {
        card_recv(b, i, 0, 8192);
        card_post(a, (enum rnic_wr_opcode)(i % 4), i, 0, 0, 8192);
    }
    card_bench_run(&bench, WIRE_NEVER);
    ca = rnic_query_counters(a->dev);
    cb = rnic_query_counters(b->dev);
    CHECK_EQ(ca->tx_frames + cb->tx_frames, bench.log_n);
    CHECK_EQ(ca->rx_frames, cb->tx_frames);
    CHECK_EQ(cb->rx_frames, ca->tx_frames);
    for (size_t d = 0; d < WIRE_DROP_COUNT; d++)
        drops += ca->drops[d] + cb->drops[d];
    CHECK_EQ(drops, 0);
    rx = card_counters(b, b->qpn).rx_packets;
    CHECK_EQ(card_counters(a, a->qpn).tx_packets, rx);
    CHECK_EQ(card_counters(a, a->qpn).acks_rx, card_counters(b, b->qpn).acks_tx);
    CHECK_EQ(ca->control_lost + cb->control_lost, 0);
    card_bench_close(&bench);
}

/* A passage never ends before it begins, and a packet's passages follow each other. */
static void passages_are_in_order(void)
{
    struct card_options options = card_options_default();
    struct rnic_event event;
    uint64_t last_out_ps = 0;
    uint32_t seen = 0, blocks = 0;

    card_bench_open(&bench, 2, &options);
    rnic_trace_enable(a->dev, 1u << RNIC_EVENT_PASSAGE);
    card_write(a, 1, 0, 0, 64);
    { /* by hand, so that no event is drained by the bench */
        struct wire_frame blank = {0}, *frame = &blank, *spare;
        uint64_t at_ps = rnic_tx_next(a->dev, 0xFF);

        (void)rnic_tx(a->dev, at_ps, 0xFF, &frame, &spare);
        while (rnic_event(a->dev, WIRE_NEVER - 1, &event)) {
            CHECK_EQ(event.type, RNIC_EVENT_PASSAGE);
            CHECK(event.time_ps >= event.in_ps);
            CHECK(event.in_ps >= last_out_ps);
            CHECK(event.in_ps >= options.params.doorbell_latency_ps);
            CHECK_EQ(event.qpn, a->qpn);
            last_out_ps = event.time_ps;
            blocks |= 1u << event.block;
            seen++;
        }
        CHECK_EQ(last_out_ps, blank.ready_ps);
        frame = NULL;
        if (rnic_frames_held(a->dev) > 0) {
            struct wire_frame second = {0};

            frame = &second;
            CHECK(rnic_tx(a->dev, blank.ready_ps, 0xFF, &frame, &spare));
            CHECK(frame == &blank);
        }
    }
    CHECK(seen >= 3);
    CHECK(blocks & 1u << RNIC_BLOCK_TX_SCHED);
    CHECK(blocks & 1u << RNIC_BLOCK_DMA);
    CHECK(blocks & 1u << RNIC_BLOCK_TX_BUILD);
    card_bench_close(&bench);
}

static void blocks_have_the_names_of_their_files(void)
{
    CHECK_STR(rnic_block_name(RNIC_BLOCK_RING), "ring");
    CHECK_STR(rnic_block_name(RNIC_BLOCK_TX_SCHED), "tx_sched");
    CHECK_STR(rnic_block_name(RNIC_BLOCK_TABLE_QP), "table_qp");
    CHECK_STR(rnic_block_name(RNIC_BLOCK_TX_REPLAY), "tx_replay");
    CHECK_STR(rnic_block_name(RNIC_BLOCK_RX_CNP), "rx_cnp");
    CHECK_STR(rnic_block_name(RNIC_BLOCK_CQ_EVENT), "cq_event");
    CHECK_STR(rnic_block_name(RNIC_BLOCKS), "unknown block");
}

static void an_opaque_frame_is_not_the_cards(void)
{
    struct card_options options = card_options_ideal();
    struct wire_frame frame = {.kind = WIRE_KIND_OPAQUE, .frame_bytes = 64};

    card_bench_open(&bench, 2, &options);
    CHECK_EQ(rnic_rx(a->dev, &frame, 0), WIRE_DROP_NONE);
    CHECK_EQ(rnic_query_counters(a->dev)->rx_frames, 1);
    card_bench_close(&bench);
}

/* The window of a queue pair: no more than max_in_flight, and no timer is needed to go on. */
static void a_small_window_is_kept_and_never_stalls(void)
{
    for (uint64_t window = 1; window <= 20; window++) {
        struct card_options options = card_options_ideal();
        uint32_t flying = 0;

        options.params.max_in_flight = window;
        options.params.ack_every = 16;
        options.delay_ps = 1000000;
        card_bench_open(&bench, 2, &options);
        card_write(a, 1, 0, 0, 100 * 1024);
        card_bench_run(&bench, 1000000000);
        card_expect(a, a->send_cq, 1, RNIC_WC_SUCCESS);
        CHECK_EQ(rnic_query_counters(a->dev)->timeouts, 0);
        for (size_t i = 0; i < bench.log_n; i++) { /* an upper bound from the log */
            if (bench.log[i].from == a->station)
                flying++;
            else
                flying = 0;
            CHECK(flying <= window);
        }
        card_bench_close(&bench);
    }
}

/* Acknowledges use the class of the queue pair, or the one that ack_dscp names. */
static void the_class_of_acknowledges_is_a_parameter(void)
{
    for (uint64_t dscp = 0; dscp <= 64; dscp += 8) {
        struct card_options options = card_options_ideal();
        const struct wire_frame *ack;

        options.params.ack_dscp = dscp;
        card_bench_open(&bench, 2, &options);
        card_write(a, 1, 0, 0, 8);
        card_bench_run(&bench, WIRE_NEVER);
        ack = &card_log_at(&bench, b->station, false, 0)->frame;
        CHECK_EQ(ack->tos >> 2, dscp < 64 ? dscp : options.params.dscp);
        CHECK_EQ(ack->prio, ack->tos >> 5);
        CHECK_EQ(ack->tos & WIRE_ECN_MASK, WIRE_ECN_NOT_ECT);
        card_bench_close(&bench);
    }
}

/* Latest news first: a retransmission is caused by its NAK and takes the card's time again. */
static enum card_tap_verdict drop_third(struct card_bench *on, struct card_flight *flight)
{
    return flight->from == a && on->scratch[0]++ == 2 ? CARD_DROP : CARD_PASS;
}

static void a_retransmission_is_fetched_again_after_its_nak(void)
{
    struct card_options options = card_options_default();
    const struct rnic_params *p = &options.params;
    uint64_t nak_ps = 0;

    options.mtu_bytes = 1024;
    card_bench_open(&bench, 2, &options);
    bench.tap = drop_third;
    card_write(a, 1, 0, 0, 64 * 1024);
    card_bench_run(&bench, WIRE_NEVER);
    card_expect(a, a->send_cq, 1, RNIC_WC_SUCCESS);
    for (size_t i = 0; i < bench.log_n; i++) {
        const struct card_log_entry *e = &bench.log[i];

        if (e->from == b->station && e->frame.syndrome == 0x60)
            nak_ps = e->left_ps + wire_line_time_ps(64 + 8, options.line_bps) + p->rx_latency_ps;
        if (nak_ps != 0 && e->from == a->station &&
            e->frame.psn.v == ((options.psn + 2) & WIRE_PSN_MASK)) {
            CHECK(e->left_ps >= nak_ps + p->dma_read_latency_ps + p->tx_latency_ps);
            CHECK(e->left_ps <= nak_ps + p->dma_read_latency_ps + p->tx_latency_ps + 300000);
            nak_ps = 0;
            bench.scratch[1]++;
        }
    }
    CHECK_EQ(bench.scratch[1], 1);
    card_bench_close(&bench);
}

/* Addresses of the card's book stand in the header area of a datagram, not the default ones. */
static void the_book_tells_the_addresses(void)
{
    static const struct wire_station entry = {
        .id = 5, .mac = {2, 0, 0, 0, 0, 9}, .gid = {[10] = 0xFF, [11] = 0xFF, 1, 2, 3, 4}};
    static const struct wire_addr_book book = {.entries = &entry, .n = 1};
    static _Alignas(64) uint8_t arena[1 << 20];
    uint8_t buffer[64] = {0};
    const struct rnic_config config = {.params = rnic_params_ideal(),
                                       .cc = &rnic_cc_none,
                                       .cc_config = {.line_bps = 100000000000},
                                       .station = 5,
                                       .book = &book};
    struct rnic_qp_init_attr init = {
        .type = RNIC_QPT_UD, .max_send_wr = 1, .max_recv_wr = 1, .max_recv_sge = 1};
    struct rnic_qp_attr attr = {.port_num = 1, .qkey = CARD_QKEY, .qp_state = RNIC_QPS_INIT};
    struct rnic_sge sge = {.addr = 0x1000, .length = sizeof buffer};
    const struct rnic_recv_wr recv = {.wr_id = 1, .sg_list = &sge, .num_sge = 1};
    void *memory = aligned_alloc(64, (rnic_device_bytes() + 63) & ~(size_t)63);
    struct rnic_device *dev;
    struct wire_frame frame;
    uint32_t qpn;

    CHECK(memory != NULL);
    dev = rnic_device_init(memory, &config);
    CHECK(dev != NULL);
    rnic_mem_give(dev, arena, sizeof arena);
    CHECK_EQ(rnic_alloc_pd(dev, &init.pd, 0), 0);
    CHECK_EQ(rnic_create_cq(dev, 4, &init.send_cq, 0), 0);
    init.recv_cq = init.send_cq;
    CHECK_EQ(rnic_reg_mr(dev, init.pd, 0x1000, sizeof buffer, buffer, RNIC_ACCESS_LOCAL_WRITE,
                         &sge.lkey, 0),
             0);
    CHECK_EQ(rnic_create_qp(dev, &init, &qpn, 0), 0);
    CHECK_EQ(rnic_modify_qp(dev, qpn, &attr,
                            RNIC_QP_STATE | RNIC_QP_PKEY_INDEX | RNIC_QP_PORT | RNIC_QP_QKEY, 0),
             0);
    attr.qp_state = RNIC_QPS_RTR;
    CHECK_EQ(rnic_modify_qp(dev, qpn, &attr, RNIC_QP_STATE, 0), 0);
    CHECK_EQ(rnic_post_recv(dev, qpn, &recv, 0), 0);
    frame = (struct wire_frame){.kind = WIRE_KIND_ROCE,
                                .opcode = WIRE_TRANSPORT_UD | WIRE_OP_SEND_ONLY,
                                .src = 7,
                                .dst = 5,
                                .eth_dst = 5,
                                .dest_qpn = qpn,
                                .pkey = 0xFFFF,
                                .ttl = 64,
                                .payload_bytes = 8};
    frame.frame_bytes = wire_frame_length(frame.opcode, 0, 8);
    frame.deth.qkey = CARD_QKEY;
    frame.deth.src_qpn = 3;
    CHECK_EQ(rnic_rx(dev, &frame, 0), WIRE_DROP_NONE);
    CHECK_BYTES(buffer + 36, ((const uint8_t[]){1, 2, 3, 4}), 4);  /* ours */
    CHECK_BYTES(buffer + 32, ((const uint8_t[]){10, 0, 0, 8}), 4); /* not in the book */
    free(memory);
}

CHECK_SUITE(device, CHECK_CASE(a_card_without_control_or_line_is_not_made),
            CHECK_CASE(a_new_card_has_nothing_to_do), CHECK_CASE(counters_add_up),
            CHECK_CASE(passages_are_in_order), CHECK_CASE(blocks_have_the_names_of_their_files),
            CHECK_CASE(an_opaque_frame_is_not_the_cards),
            CHECK_CASE(a_small_window_is_kept_and_never_stalls),
            CHECK_CASE(the_class_of_acknowledges_is_a_parameter),
            CHECK_CASE(a_retransmission_is_fetched_again_after_its_nak),
            CHECK_CASE(the_book_tells_the_addresses))
