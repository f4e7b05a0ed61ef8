/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The state machine against a table of its own, written from ibv_modify_qp(3): per pair of states
 * the attributes that must and may be there.
 */
#include "card.h"
#include "rnic_table_qp.h"

static struct card_bench bench;
static struct card *const a = &bench.cards[0], *const b = &bench.cards[1];

static const unsigned attributes[] = {
    RNIC_QP_ACCESS_FLAGS, RNIC_QP_PKEY_INDEX,        RNIC_QP_PORT,          RNIC_QP_AV,
    RNIC_QP_PATH_MTU,     RNIC_QP_TIMEOUT,           RNIC_QP_RETRY_CNT,     RNIC_QP_RNR_RETRY,
    RNIC_QP_RQ_PSN,       RNIC_QP_MAX_QP_RD_ATOMIC,  RNIC_QP_MIN_RNR_TIMER, RNIC_QP_SQ_PSN,
    RNIC_QP_DEST_QPN,     RNIC_QP_MAX_DEST_RD_ATOMIC};

#define ATTRIBUTES (sizeof attributes / sizeof attributes[0])

/* One letter an attribute, in the order above: '-' not allowed, 'o' optional, 'R' required. */
static const struct {
    enum rnic_qp_state from, to;
    const char *rule;
} rules[] = {
    {RNIC_QPS_RESET, RNIC_QPS_INIT, "RRR-----------"},
    {RNIC_QPS_INIT, RNIC_QPS_INIT, "ooo-----------"},
    {RNIC_QPS_INIT, RNIC_QPS_RTR, "oo-RR---R-R-RR"},
    {RNIC_QPS_RTR, RNIC_QPS_RTS, "o----RRR-RoR--"},
    {RNIC_QPS_RTS, RNIC_QPS_RTS, "o---------o---"},
    {RNIC_QPS_RESET, RNIC_QPS_RESET, "--------------"},
    {RNIC_QPS_INIT, RNIC_QPS_RESET, "--------------"},
    {RNIC_QPS_RTR, RNIC_QPS_RESET, "--------------"},
    {RNIC_QPS_RTS, RNIC_QPS_RESET, "--------------"},
    {RNIC_QPS_ERR, RNIC_QPS_RESET, "--------------"},
    {RNIC_QPS_INIT, RNIC_QPS_ERR, "--------------"},
    {RNIC_QPS_RTR, RNIC_QPS_ERR, "--------------"},
    {RNIC_QPS_RTS, RNIC_QPS_ERR, "--------------"},
    {RNIC_QPS_ERR, RNIC_QPS_ERR, "--------------"},
};

static bool legal(enum rnic_qp_state from, enum rnic_qp_state to, unsigned mask)
{
    const char *rule = NULL;

    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (rules[i].from == from && rules[i].to == to)
            rule = rules[i].rule;
    if (rule == NULL)
        return false;
    for (size_t i = 0; i < ATTRIBUTES; i++) {
        bool there = (mask & attributes[i]) != 0;

        if ((rule[i] == 'R' && !there) || (rule[i] == '-' && there))
            return false;
    }
    return true;
}

/* Every pair of states with every one of the 2^14 masks. */
static void every_transition_with_every_mask(void)
{
    for (int from = RNIC_QPS_RESET; from <= RNIC_QPS_ERR; from++)
        for (int to = RNIC_QPS_RESET; to <= RNIC_QPS_ERR; to++)
            for (unsigned set = 0; set < 1u << ATTRIBUTES; set++) {
                unsigned mask = RNIC_QP_STATE;

                for (size_t i = 0; i < ATTRIBUTES; i++)
                    mask |= set >> i & 1 ? attributes[i] : 0;
                CHECK_EQ(rnic_table_qp_transition((enum rnic_qp_state)from, (enum rnic_qp_state)to,
                                                  mask),
                         legal((enum rnic_qp_state)from, (enum rnic_qp_state)to, mask));
            }
}

/* Bring a fresh queue pair of card 0 to a state. */
static uint32_t qp_in(enum rnic_qp_state state)
{
    uint32_t qpn = card_new_qp(a, a->send_cq, a->recv_cq);
    struct rnic_qp_attr attr = card_attr(a, b, b->qpn);

    if (state == RNIC_QPS_ERR) {
        card_to_state(a, qpn, &attr, RNIC_QPS_RTS);
        attr.qp_state = RNIC_QPS_ERR;
        CHECK_EQ(rnic_modify_qp(a->dev, qpn, &attr, RNIC_QP_STATE, 0), 0);
    } else if (state != RNIC_QPS_RESET) {
        card_to_state(a, qpn, &attr, state);
    }
    CHECK_EQ(card_state(a, qpn), state);
    return qpn;
}

static const enum rnic_qp_state states[] = {RNIC_QPS_RESET, RNIC_QPS_INIT, RNIC_QPS_RTR,
                                            RNIC_QPS_RTS, RNIC_QPS_ERR};

/* What is refused changes nothing; what is accepted is what query_qp shows. */
static void a_refused_modify_changes_nothing(void)
{
    struct card_options options = card_options_ideal();

    for (size_t f = 0; f < 5; f++)
        for (int to = RNIC_QPS_RESET; to <= RNIC_QPS_ERR; to++)
            for (unsigned drop = 0; drop <= ATTRIBUTES; drop++) {
                struct rnic_qp_attr attr, before, after;
                unsigned mask = RNIC_QP_STATE;
                uint32_t qpn;
                int err;

                card_bench_open(&bench, 2, &options);
                qpn = qp_in(states[f]);
                attr = card_attr(a, b, 77);
                attr.qp_state = (enum rnic_qp_state)to;
                attr.min_rnr_timer = 3;
                for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
                    if (rules[i].from == states[f] && (int)rules[i].to == to)
                        for (size_t k = 0; k < ATTRIBUTES; k++)
                            if (rules[i].rule[k] == 'R' && k != drop)
                                mask |= attributes[k];
                CHECK_EQ(rnic_query_qp(a->dev, qpn, &before, NULL), 0);
                err = rnic_modify_qp(a->dev, qpn, &attr, mask, 0);
                CHECK_EQ(rnic_query_qp(a->dev, qpn, &after, NULL), 0);
                CHECK_EQ(err, legal(states[f], attr.qp_state, mask) ? 0 : RNIC_ERR_INVAL);
                if (err != 0)
                    CHECK_BYTES(&after, &before, sizeof before);
                else
                    CHECK_EQ(after.qp_state, attr.qp_state);
                card_bench_close(&bench);
            }
}

/* Each attribute one step out of range, in an otherwise good modify. */
static void every_attribute_out_of_range_is_refused(void)
{
    struct card_options options = card_options_ideal();

    for (unsigned bad = 0; bad < 18; bad++) {
        static const unsigned masks[] = {
            RNIC_QP_PKEY_INDEX | RNIC_QP_PORT | RNIC_QP_ACCESS_FLAGS,
            RNIC_QP_AV | RNIC_QP_PATH_MTU | RNIC_QP_DEST_QPN | RNIC_QP_RQ_PSN |
                RNIC_QP_MAX_DEST_RD_ATOMIC | RNIC_QP_MIN_RNR_TIMER,
            RNIC_QP_SQ_PSN | RNIC_QP_MAX_QP_RD_ATOMIC | RNIC_QP_RETRY_CNT | RNIC_QP_RNR_RETRY |
                RNIC_QP_TIMEOUT};
        struct rnic_qp_attr attr, before, after;
        unsigned step = bad < 3 ? 0 : bad < 13 ? 1 : 2;
        uint32_t qpn;

        card_bench_open(&bench, 2, &options);
        qpn = qp_in(states[step]);
        attr = card_attr(a, b, b->qpn);
        attr.qp_state = states[step + 1];
        switch (bad) {
        case 0:
            attr.pkey_index = 1;
            break;
        case 1:
            attr.port_num = 2;
            break;
        case 2:
            attr.qp_access_flags = 16;
            break;
        case 3:
            attr.av.hop_limit = 0;
            break;
        case 4:
            attr.av.dest_station = WIRE_STATION_NONE;
            break;
        case 5:
            attr.av.dest_station = WIRE_STATION_BROADCAST;
            break;
        case 6:
            attr.path_mtu_bytes = 128;
            break;
        case 7:
            attr.path_mtu_bytes = 8192;
            break;
        case 8:
            attr.path_mtu_bytes = 1500;
            break;
        case 9:
            attr.path_mtu_bytes = 0;
            break;
        case 10:
            attr.dest_qp_num = 1 << 24;
            break;
        case 11:
            attr.rq_psn.v = 1 << 24;
            break;
        case 12:
            attr.min_rnr_timer = 32;
            break;
        case 13:
            attr.sq_psn.v = 1 << 24;
            break;
        case 14:
            attr.timeout = 32;
            break;
        case 15:
            attr.retry_cnt = 8;
            break;
        case 16:
            attr.rnr_retry = 8;
            break;
        case 17:
            attr.qp_state = (enum rnic_qp_state)77;
            break;
        }
        CHECK_EQ(rnic_query_qp(a->dev, qpn, &before, NULL), 0);
        CHECK_EQ(rnic_modify_qp(a->dev, qpn, &attr, RNIC_QP_STATE | masks[step], 0),
                 RNIC_ERR_INVAL);
        CHECK_EQ(rnic_query_qp(a->dev, qpn, &after, NULL), 0);
        CHECK_BYTES(&after, &before, sizeof before);
        card_bench_close(&bench);
    }
}

/* Without STATE a modify stays where it is; bits nobody knows are refused. */
static void a_modify_without_state(void)
{
    struct card_options options = card_options_ideal();
    struct rnic_qp_attr attr = {.min_rnr_timer = 9, .qp_state = RNIC_QPS_RESET};

    card_bench_open(&bench, 2, &options);
    CHECK_EQ(rnic_modify_qp(a->dev, a->qpn, &attr, RNIC_QP_MIN_RNR_TIMER, 0), 0);
    CHECK_EQ(rnic_query_qp(a->dev, a->qpn, &attr, NULL), 0);
    CHECK_EQ(attr.min_rnr_timer, 9);
    CHECK_EQ(attr.qp_state, RNIC_QPS_RTS);
    CHECK_EQ(rnic_modify_qp(a->dev, a->qpn, &attr, RNIC_QP_TIMEOUT, 0), RNIC_ERR_INVAL);
    CHECK_EQ(rnic_modify_qp(a->dev, a->qpn, &attr, 1u << 1, 0), RNIC_ERR_INVAL);
    CHECK_EQ(rnic_modify_qp(a->dev, a->qpn, &attr, 1u << 30, 0), RNIC_ERR_INVAL);
    card_bench_close(&bench);
}

/* Who may post what in which state. */
static void posting_by_state(void)
{
    static const struct {
        enum rnic_qp_state state;
        int recv, send;
        bool flushed;
    } cases[] = {{RNIC_QPS_RESET, RNIC_ERR_INVAL, RNIC_ERR_INVAL, false},
                 {RNIC_QPS_INIT, 0, RNIC_ERR_INVAL, false},
                 {RNIC_QPS_RTR, 0, RNIC_ERR_INVAL, false},
                 {RNIC_QPS_RTS, 0, 0, false},
                 {RNIC_QPS_ERR, 0, 0, true}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct card_options options = card_options_ideal();
        const struct rnic_recv_wr recv = {.wr_id = 1};
        struct rnic_sge sge;
        struct rnic_send_wr wr;
        uint32_t qpn;

        card_bench_open(&bench, 2, &options);
        qpn = qp_in(cases[i].state);
        wr = card_wr(a, RNIC_WR_RDMA_WRITE, 2, 0, 0, 8, &sge);
        CHECK_EQ(rnic_post_recv(a->dev, qpn, &recv, 0), cases[i].recv);
        CHECK_EQ(rnic_post_send(a->dev, qpn, &wr, 0), cases[i].send);
        if (cases[i].flushed) {
            card_expect(a, a->recv_cq, 1, RNIC_WC_WR_FLUSH_ERR);
            card_expect(a, a->send_cq, 2, RNIC_WC_WR_FLUSH_ERR);
        }
        card_bench_close(&bench);
    }
}

/* Numbers go round: a number comes back only when all others were used. */
static void queue_pair_numbers_go_round(void)
{
    struct card_options options = card_options_ideal();
    uint32_t first, n;

    options.params.max_qp = 10;
    card_bench_open(&bench, 2, &options);
    first = card_new_qp(a, a->send_cq, a->recv_cq);
    CHECK_EQ(rnic_destroy_qp(a->dev, first, 0), 0);
    for (n = 1; n < 20; n++) {
        uint32_t qpn = card_new_qp(a, a->send_cq, a->recv_cq);

        CHECK(qpn >= 2 && qpn < 12 && qpn != a->qpn);
        CHECK_EQ(rnic_destroy_qp(a->dev, qpn, 0), 0);
        if (qpn == first)
            break;
    }
    CHECK_EQ(n, 9);
    card_bench_close(&bench);
}

CHECK_SUITE(table_qp, CHECK_CASE(every_transition_with_every_mask),
            CHECK_CASE(a_refused_modify_changes_nothing),
            CHECK_CASE(every_attribute_out_of_range_is_refused), CHECK_CASE(a_modify_without_state),
            CHECK_CASE(posting_by_state), CHECK_CASE(queue_pair_numbers_go_round))
