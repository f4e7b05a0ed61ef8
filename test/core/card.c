/* SPDX-License-Identifier: GPL-2.0-only */
#include "card.h"

#define CARD_FIRST_STATION 10u
#define CARD_SETTLE_PS 10000000u /* until all that was written is visible */
#define CARD_STEPS_MAX 50000000u /* a run that needs more goes round in circles */

struct card_options card_options_ideal(void)
{
    return (struct card_options){
        .params = rnic_params_ideal(),
        .cc = &rnic_cc_none,
        .line_bps = 100000000000,
        .mtu_bytes = 1024,
        .psn = 0xFFFFFE, /* where bugs live */
        .depth = 64,
        .cqe = 1024,
        .sge = 4,
        .bytes = 1 << 20,
        .sig_all = true,
        .access = RNIC_ACCESS_LOCAL_WRITE | RNIC_ACCESS_REMOTE_WRITE,
    };
}

struct card_options card_options_default(void)
{
    struct card_options options = card_options_ideal();

    options.params = rnic_params_default();
    options.mtu_bytes = 4096;
    return options;
}

/* ---- making cards ---- */

static void *card_block(struct card *card, size_t bytes)
{
    void *block = aligned_alloc(64, (bytes + 63) & ~(size_t)63);

    CHECK(block != NULL && card->n_blocks < 64);
    memset(block, 0xA5, bytes);
    card->blocks[card->n_blocks++] = block;
    return block;
}

void card_feed(struct card *card)
{
    size_t wanted = rnic_mem_wanted(card->dev);
    size_t grown = (size_t)65536 << (card->n_blocks < 12 ? card->n_blocks : 12);

    CHECK(wanted > 0 && wanted <= (size_t)1 << 32);
    wanted = wanted > grown ? wanted : grown;
    rnic_mem_give(card->dev, card_block(card, wanted), wanted);
}

static void card_open(struct card_bench *bench, uint32_t i)
{
    const struct card_options *o = &bench->options;
    struct card *card = &bench->cards[i];
    struct rnic_config config = {.params = o->params,
                                 .cc = o->cc,
                                 .cc_config = {.line_bps = o->line_bps},
                                 .station = CARD_FIRST_STATION + i};

    wire_param_defaults(rnic_dcqcn_param_table, rnic_dcqcn_param_count, &config.cc_config.dcqcn);
    *card = (struct card){.bench = bench, .station = config.station, .ready_classes = 0xFF};
    card->dev = rnic_device_init(card_block(card, rnic_device_bytes()), &config);
    CHECK(card->dev != NULL);
    card->n_bytes = o->bytes;
    card->bytes = malloc(o->bytes);
    CHECK(card->bytes != NULL);
    memset(card->bytes, 0, o->bytes);
    CARD_OK(card, rnic_alloc_pd(card->dev, &card->pd, 0));
    CARD_OK(card, rnic_create_cq(card->dev, o->cqe, &card->send_cq, 0));
    CARD_OK(card, rnic_create_cq(card->dev, o->cqe, &card->recv_cq, 0));
    CARD_OK(card, rnic_reg_mr(card->dev, card->pd, CARD_VA, o->bytes,
                              o->phantom ? NULL : card->bytes, o->access, &card->key, 0));
    if (o->srq_depth > 0)
        CARD_OK(card,
                rnic_create_srq(card->dev, card->pd,
                                &(struct rnic_srq_attr){.max_wr = o->srq_depth, .max_sge = o->sge},
                                &card->srq, 0));
    card->qpn = card_new_qp(card, card->send_cq, card->recv_cq);
}

uint32_t card_new_qp(struct card *card, uint32_t send_cq, uint32_t recv_cq)
{
    const struct card_options *o = &card->bench->options;
    const struct rnic_qp_init_attr init = {.type = o->type,
                                           .pd = card->pd,
                                           .srq = card->srq,
                                           .e2e_credits = o->e2e_credits,
                                           .recovery = o->recovery,
                                           .window_bytes = o->window_bytes,
                                           .send_cq = send_cq,
                                           .recv_cq = recv_cq,
                                           .max_send_wr = o->depth,
                                           .max_recv_wr = o->depth,
                                           .max_send_sge = o->sge,
                                           .max_recv_sge = o->sge,
                                           .sq_sig_all = o->sig_all};
    uint32_t qpn;

    CARD_OK(card, rnic_create_qp(card->dev, &init, &qpn, card->bench->now_ps));
    return qpn;
}

struct rnic_qp_attr card_attr(const struct card *card, const struct card *peer, uint32_t qpn)
{
    const struct card_options *o = &card->bench->options;

    return (struct rnic_qp_attr){.qp_access_flags = o->access & ~(unsigned)RNIC_ACCESS_MW_BIND,
                                 .max_rd_atomic = o->rd_atomic,
                                 .max_dest_rd_atomic = o->rd_atomic,
                                 .qkey = CARD_QKEY,
                                 .port_num = 1,
                                 .av = {.dest_station = peer->station,
                                        .next_hop = peer->station,
                                        .traffic_class = (uint8_t)(o->params.dscp << 2),
                                        .hop_limit = (uint8_t)o->params.ttl},
                                 .path_mtu_bytes = o->mtu_bytes,
                                 .dest_qp_num = qpn,
                                 .rq_psn = {o->psn},
                                 .sq_psn = {o->psn},
                                 .timeout = (uint8_t)o->params.timeout,
                                 .retry_cnt = (uint8_t)o->params.retry_cnt,
                                 .rnr_retry = (uint8_t)o->params.rnr_retry,
                                 .min_rnr_timer = (uint8_t)o->params.min_rnr_timer};
}

void card_to_state(struct card *card, uint32_t qpn, const struct rnic_qp_attr *attr,
                   enum rnic_qp_state state)
{
    static const unsigned masks[3][RNIC_QPS_RTS + 1] = {
        [RNIC_QPT_RC] =
            {
                [RNIC_QPS_INIT] = RNIC_QP_PKEY_INDEX | RNIC_QP_PORT | RNIC_QP_ACCESS_FLAGS,
                [RNIC_QPS_RTR] = RNIC_QP_AV | RNIC_QP_PATH_MTU | RNIC_QP_DEST_QPN | RNIC_QP_RQ_PSN |
                                 RNIC_QP_MAX_DEST_RD_ATOMIC | RNIC_QP_MIN_RNR_TIMER,
                [RNIC_QPS_RTS] = RNIC_QP_SQ_PSN | RNIC_QP_MAX_QP_RD_ATOMIC | RNIC_QP_RETRY_CNT |
                                 RNIC_QP_RNR_RETRY | RNIC_QP_TIMEOUT,
            },
        [RNIC_QPT_UC] =
            {
                [RNIC_QPS_INIT] = RNIC_QP_PKEY_INDEX | RNIC_QP_PORT | RNIC_QP_ACCESS_FLAGS,
                [RNIC_QPS_RTR] = RNIC_QP_AV | RNIC_QP_PATH_MTU | RNIC_QP_DEST_QPN | RNIC_QP_RQ_PSN,
                [RNIC_QPS_RTS] = RNIC_QP_SQ_PSN,
            },
        [RNIC_QPT_UD] =
            {
                [RNIC_QPS_INIT] = RNIC_QP_PKEY_INDEX | RNIC_QP_PORT | RNIC_QP_QKEY,
                [RNIC_QPS_RTR] = 0,
                [RNIC_QPS_RTS] = RNIC_QP_SQ_PSN,
            },
    };
    enum rnic_qp_type type = card->bench->options.type;

    for (unsigned s = RNIC_QPS_INIT; s <= (unsigned)state; s++) {
        struct rnic_qp_attr step = *attr;

        step.qp_state = (enum rnic_qp_state)s;
        CARD_OK(card, rnic_modify_qp(card->dev, qpn, &step, RNIC_QP_STATE | masks[type][s],
                                     card->bench->now_ps));
    }
}

void card_join(struct card *a, uint32_t a_qpn, struct card *b, uint32_t b_qpn)
{
    struct rnic_qp_attr a_attr = card_attr(a, b, b_qpn), b_attr = card_attr(b, a, a_qpn);

    card_to_state(a, a_qpn, &a_attr, RNIC_QPS_RTS);
    card_to_state(b, b_qpn, &b_attr, RNIC_QPS_RTS);
}

void card_bench_open(struct card_bench *bench, uint32_t n, const struct card_options *options)
{
    CHECK(n <= CARD_CARDS);
    *bench = (struct card_bench){.n = n, .options = *options};
    for (uint32_t i = 0; i < n; i++)
        card_open(bench, i);
    if (n >= 2)
        card_join(&bench->cards[0], bench->cards[0].qpn, &bench->cards[1], bench->cards[1].qpn);
}

static void card_close(struct card *card)
{
    for (uint32_t i = 0; i < card->n_blocks; i++)
        free(card->blocks[i]);
    free(card->bytes);
}

static void card_list_free(struct card_flight *flight)
{
    while (flight != NULL) {
        struct card_flight *next = flight->next;

        card_flight_free(flight);
        flight = next;
    }
}

static struct card_flight *card_blank(struct card *card)
{
    struct card_flight *flight = calloc(1, sizeof *flight);

    CHECK(flight != NULL);
    memset(&flight->frame, 0xA5, sizeof flight->frame); /* a blank holds anything */
    flight->frame.payload = malloc(CARD_MTU_MAX);
    CHECK(flight->frame.payload != NULL);
    flight->from = card;
    return flight;
}

/* The flight a frame is part of. */
static struct card_flight *card_of(struct wire_frame *frame)
{
    return (struct card_flight *)(void *)((char *)frame - offsetof(struct card_flight, frame));
}

void card_bench_close(struct card_bench *bench)
{
    for (uint32_t i = 0; i < bench->n; i++) { /* frames still held come out first */
        struct card *card = &bench->cards[i];

        while (rnic_frames_held(card->dev) > 0) {
            struct card_flight *blank = card_blank(card);
            struct wire_frame *frame = &blank->frame, *spare;
            bool sent = rnic_tx(card->dev, WIRE_NEVER / 4, 0xFF, &frame, &spare);

            if (sent)
                card_flight_free(card_of(frame));
            else if (!sent && frame != NULL)
                card_flight_free(blank);
            if (spare != NULL)
                card_flight_free(blank);
        }
        card_close(card);
    }
    card_list_free(bench->flying);
    card_list_free(bench->kept);
    free(bench->log);
}

/* ---- posting, polling ---- */

struct rnic_send_wr card_wr(const struct card *card, enum rnic_wr_opcode opcode, uint64_t wr_id,
                            size_t from, size_t to, uint32_t bytes, struct rnic_sge *sge)
{
    const struct card *peer = &card->bench->cards[card == &card->bench->cards[0] ? 1 : 0];

    *sge = (struct rnic_sge){.addr = CARD_VA + from, .length = bytes, .lkey = card->key};
    return (struct rnic_send_wr){.wr_id = wr_id,
                                 .opcode = opcode,
                                 .imm = (uint32_t)wr_id ^ 0xDEADBEEF,
                                 .rkey = peer->key,
                                 .remote_addr = CARD_VA + to,
                                 .sg_list = sge,
                                 .num_sge = 1};
}

void card_post(struct card *card, enum rnic_wr_opcode opcode, uint64_t wr_id, size_t from,
               size_t to, uint32_t bytes)
{
    struct rnic_sge sge;
    struct rnic_send_wr wr = card_wr(card, opcode, wr_id, from, to, bytes, &sge);

    CHECK_EQ(rnic_post_send(card->dev, card->qpn, &wr, card->bench->now_ps), 0);
}

void card_recv(struct card *card, uint64_t wr_id, size_t to, uint32_t bytes)
{
    const struct rnic_sge sge = {.addr = CARD_VA + to, .length = bytes, .lkey = card->key};
    const struct rnic_recv_wr wr = {.wr_id = wr_id, .sg_list = &sge, .num_sge = 1};

    if (card->srq != 0)
        CHECK_EQ(rnic_post_srq_recv(card->dev, card->srq, &wr, card->bench->now_ps), 0);
    else
        CHECK_EQ(rnic_post_recv(card->dev, card->qpn, &wr, card->bench->now_ps), 0);
}

bool card_poll(struct card *card, uint32_t cq, struct rnic_wc *wc)
{
    int n = rnic_poll_cq(card->dev, cq, 1, wc, card->bench->now_ps);

    CHECK(n == 0 || n == 1);
    return n == 1;
}

struct rnic_wc card_expect(struct card *card, uint32_t cq, uint64_t wr_id,
                           enum rnic_wc_status status)
{
    struct rnic_wc wc;

    if (!card_poll(card, cq, &wc)) {
        fprintf(stderr, "completion of wr_id %" PRIu64 " is missing\n", wr_id);
        exit(1);
    }
    CHECK_EQ(wc.wr_id, wr_id);
    CHECK_STR(rnic_wc_status_name(wc.status), rnic_wc_status_name(status));
    return wc;
}

void card_expect_none(struct card *card, uint32_t cq)
{
    struct rnic_wc wc;

    if (card_poll(card, cq, &wc)) {
        fprintf(stderr, "completion of wr_id %" PRIu64 " with %s was not expected\n", wc.wr_id,
                rnic_wc_status_name(wc.status));
        exit(1);
    }
}

enum rnic_qp_state card_state(const struct card *card, uint32_t qpn)
{
    struct rnic_qp_attr attr;

    CHECK_EQ(rnic_query_qp(card->dev, qpn, &attr, NULL), 0);
    return attr.qp_state;
}

struct rnic_qp_counters card_counters(const struct card *card, uint32_t qpn)
{
    struct rnic_qp_counters counters;

    CHECK_EQ(rnic_query_qp(card->dev, qpn, NULL, &counters), 0);
    return counters;
}

/* ---- frames ---- */

void card_flight_free(struct card_flight *flight)
{
    if (flight->frame.kind != WIRE_KIND_OPAQUE)
        free(flight->frame.payload);
    free(flight);
}

struct card_flight *card_copy(const struct card_flight *flight)
{
    struct card_flight *copy = card_blank(flight->from);
    uint8_t *payload = copy->frame.payload;

    *copy = *flight;
    copy->frame.payload = payload;
    memcpy(payload, flight->frame.payload, CARD_MTU_MAX);
    return copy;
}

void card_fly(struct card_bench *bench, struct card_flight *flight)
{
    struct card_flight **at = &bench->flying;

    flight->arrives_ps = wire_max_ps(flight->arrives_ps, bench->now_ps);
    while (*at != NULL && (*at)->arrives_ps <= flight->arrives_ps)
        at = &(*at)->next;
    flight->next = *at;
    *at = flight;
}

static void card_log(struct card_bench *bench, const struct card_flight *flight)
{
    if (bench->log_n == bench->log_cap) {
        bench->log_cap = bench->log_cap ? 2 * bench->log_cap : 256;
        bench->log = realloc(bench->log, bench->log_cap * sizeof bench->log[0]);
        CHECK(bench->log != NULL);
    }
    bench->log[bench->log_n++] =
        (struct card_log_entry){flight->frame, flight->from->station, flight->left_ps};
}

void card_raw(struct card *card, uint8_t prio, uint32_t frame_bytes, uint32_t tag)
{
    struct card_flight *flight = card_blank(card);

    free(flight->frame.payload);
    memset(&flight->frame, 0, sizeof flight->frame);
    flight->frame.kind = WIRE_KIND_OPAQUE;
    flight->frame.prio = prio;
    flight->frame.frame_bytes = frame_bytes;
    flight->frame.eth_dst = WIRE_STATION_NONE;
    flight->frame.ip_id = (uint16_t)tag;
    rnic_post_raw(card->dev, &flight->frame, card->bench->now_ps);
}

/* A frame leaves at the present time. */
static void card_launch(struct card_bench *bench, struct card *card, struct card_flight *flight)
{
    const struct wire_frame *frame = &flight->frame;

    CHECK(frame->frame_bytes >= WIRE_MIN_FRAME_BYTES);
    CHECK(frame->kind == WIRE_KIND_OPAQUE ||
          frame->frame_bytes ==
              wire_frame_length(frame->opcode, frame->flags, frame->payload_bytes));
    flight->left_ps = bench->now_ps;
    flight->arrives_ps =
        bench->now_ps + bench->options.delay_ps +
        wire_line_time_ps(frame->frame_bytes + WIRE_PREAMBLE_BYTES, bench->options.line_bps);
    card->mac_free_ps = bench->now_ps + wire_line_time_ps(frame->frame_bytes + WIRE_GAP_BYTES,
                                                          bench->options.line_bps);
    flight->order = bench->flights++;
    card_log(bench, flight);
    switch (bench->tap != NULL ? bench->tap(bench, flight) : CARD_PASS) {
    case CARD_PASS:
        card_fly(bench, flight);
        break;
    case CARD_DROP:
        card_flight_free(flight);
        break;
    case CARD_KEEP:
        break;
    }
}

/* The MAC is free and pulls once. */
static void card_pull(struct card_bench *bench, struct card *card)
{
    struct card_flight *blank = card_blank(card);
    struct wire_frame *frame = &blank->frame, *spare;
    bool sent = rnic_tx(card->dev, bench->now_ps, card->ready_classes, &frame, &spare);

    if (!sent) {
        CHECK(spare == NULL && (frame == NULL || frame == &blank->frame));
        if (frame != NULL)
            card_flight_free(blank);
        return;
    }
    if (spare != NULL) {
        CHECK(spare == &blank->frame && frame != spare);
        card_flight_free(blank);
    }
    card_launch(bench, card, card_of(frame));
}

enum wire_drop card_deliver(struct card_bench *bench, struct card *to,
                            const struct wire_frame *frame)
{
    struct wire_frame copy = *frame;

    bench->last_drop = rnic_rx(to->dev, &copy, bench->now_ps);
    bench->drops[bench->last_drop]++;
    return bench->last_drop;
}

struct wire_frame card_ack(const struct card *to, uint32_t psn, uint8_t syndrome, uint32_t msn)
{
    const struct card_bench *bench = to->bench;
    const struct card *from = &bench->cards[to == &bench->cards[0] ? 1 : 0];

    return (struct wire_frame){.frame_bytes = 64,
                               .src = from->station,
                               .dst = to->station,
                               .eth_src = from->station,
                               .eth_dst = to->station,
                               .dest_qpn = to->qpn,
                               .pkey = 0xFFFF,
                               .kind = WIRE_KIND_ROCE,
                               .opcode = WIRE_OP_ACKNOWLEDGE,
                               .ttl = 64,
                               .psn = {psn & WIRE_PSN_MASK},
                               .syndrome = syndrome,
                               .msn = msn};
}

struct wire_frame card_request(const struct card *to, uint8_t opcode, uint32_t psn, uint32_t bytes)
{
    struct wire_frame frame = card_ack(to, to->bench->options.psn + psn, 0, 0);

    frame.opcode = opcode;
    frame.bth_flags = WIRE_BTH_ACKREQ;
    frame.payload_bytes = wire_opcodes[opcode].has & WIRE_HAS_PAYLOAD ? bytes : 0;
    frame.rkey = to->key;
    frame.dma_bytes = bytes;
    if (wire_opcodes[opcode].has & WIRE_HAS_DETH) {
        frame.deth.qkey = CARD_QKEY;
        frame.deth.src_qpn = 77;
    } else {
        frame.va = CARD_VA;
    }
    return frame;
}

/* ---- time ---- */

static bool card_has_value(enum rnic_event_type type)
{
    return type == RNIC_EVENT_QP_REQ_ERR || type == RNIC_EVENT_QP_ACCESS_ERR ||
           type == RNIC_EVENT_PLACED || type == RNIC_EVENT_CNP_RX || type == RNIC_EVENT_COMPLETION;
}

static void card_drain(struct card_bench *bench, struct card *card)
{
    struct rnic_event event;

    while (rnic_event(card->dev, bench->now_ps, &event)) {
        CHECK(event.type > RNIC_EVENT_NONE && event.type < RNIC_EVENT_TYPES);
        CHECK(event.time_ps <= bench->now_ps);
        CHECK(event.value == 0 || card_has_value(event.type));
        card->events[event.type]++;
        card->last[event.type] = event;
        if (bench->on_event != NULL)
            bench->on_event(bench, card, &event);
    }
}

/* When a card next does something by itself. */
static uint64_t card_next_pull(const struct card *card)
{
    uint64_t next_ps = rnic_tx_next(card->dev, card->ready_classes);

    return next_ps == WIRE_NEVER ? WIRE_NEVER : wire_max_ps(next_ps, card->mac_free_ps);
}

static uint64_t bench_next(const struct card_bench *bench)
{
    uint64_t next_ps = bench->flying != NULL ? bench->flying->arrives_ps : WIRE_NEVER;

    for (uint32_t i = 0; i < bench->n; i++) {
        next_ps = wire_min_ps(next_ps, rnic_next_wake(bench->cards[i].dev));
        next_ps = wire_min_ps(next_ps, card_next_pull(&bench->cards[i]));
    }
    return next_ps == WIRE_NEVER ? WIRE_NEVER : wire_max_ps(next_ps, bench->now_ps);
}

/* All that is due now, once: arrivals, timers, pulls. */
static void bench_step(struct card_bench *bench)
{
    while (bench->flying != NULL && bench->flying->arrives_ps <= bench->now_ps) {
        struct card_flight *flight = bench->flying;

        bench->flying = flight->next;
        for (uint32_t i = 0; i < bench->n; i++)
            if (bench->cards[i].station == flight->frame.eth_dst)
                (void)card_deliver(bench, &bench->cards[i], &flight->frame);
        card_flight_free(flight);
    }
    for (uint32_t i = 0; i < bench->n; i++) {
        struct card *card = &bench->cards[i];

        if (rnic_next_wake(card->dev) <= bench->now_ps) {
            rnic_wake(card->dev, bench->now_ps);
            card_drain(bench, card);
        }
        if (card_next_pull(card) <= bench->now_ps)
            card_pull(bench, card);
    }
}

void card_bench_run(struct card_bench *bench, uint64_t until_ps)
{
    for (uint64_t steps = 0;; steps++) {
        uint64_t next_ps = bench_next(bench);

        CHECK(steps < CARD_STEPS_MAX);
        if (next_ps == WIRE_NEVER || next_ps > until_ps)
            break;
        bench->now_ps = next_ps;
        bench_step(bench);
    }
    bench->now_ps = until_ps != WIRE_NEVER ? until_ps : bench->now_ps + CARD_SETTLE_PS;
}

/* ---- the log ---- */

static bool log_matches(const struct card_log_entry *entry, uint32_t station, bool request)
{
    return entry->from == station && entry->frame.kind == WIRE_KIND_ROCE &&
           ((wire_opcodes[entry->frame.opcode].is & WIRE_IS_REQUEST) != 0) == request;
}

size_t card_log_count(const struct card_bench *bench, uint32_t station, bool request)
{
    size_t n = 0;

    for (size_t i = 0; i < bench->log_n; i++)
        n += log_matches(&bench->log[i], station, request);
    return n;
}

const struct card_log_entry *card_log_at(const struct card_bench *bench, uint32_t station,
                                         bool request, size_t i)
{
    for (size_t at = 0; at < bench->log_n; at++)
        if (log_matches(&bench->log[at], station, request) && i-- == 0)
            return &bench->log[at];
    fprintf(stderr, "station %u sent less than the test asks for\n", station);
    exit(1);
}

void card_fill(uint8_t *bytes, size_t n, uint64_t seed)
{
    struct wire_rng rng = wire_rng_init(seed, 0);

    for (size_t i = 0; i < n; i++)
        bytes[i] = (uint8_t)wire_rng_next(&rng);
}
