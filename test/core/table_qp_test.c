/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The state machine against a table of its own, written from ibv_modify_qp(3): per service and pair
 * of states the attributes that must and may be there.
 */
#include "card.h"
#include "rnic_table_qp.h"

#define SEED 4u
#define STATES (RNIC_QPS_ERR + 1)

static struct card_bench bench;
static struct card *const a = &bench.cards[0], *const b = &bench.cards[1];

static const unsigned attributes[] = {RNIC_QP_ACCESS_FLAGS,  RNIC_QP_PKEY_INDEX,
                                      RNIC_QP_PORT,          RNIC_QP_AV,
                                      RNIC_QP_PATH_MTU,      RNIC_QP_TIMEOUT,
                                      RNIC_QP_RETRY_CNT,     RNIC_QP_RNR_RETRY,
                                      RNIC_QP_RQ_PSN,        RNIC_QP_MAX_QP_RD_ATOMIC,
                                      RNIC_QP_MIN_RNR_TIMER, RNIC_QP_SQ_PSN,
                                      RNIC_QP_DEST_QPN,      RNIC_QP_MAX_DEST_RD_ATOMIC,
                                      RNIC_QP_CUR_STATE,     RNIC_QP_EN_SQD_ASYNC_NOTIFY,
                                      RNIC_QP_QKEY,          RNIC_QP_RATE_LIMIT};

#define ATTRIBUTES (sizeof attributes / sizeof attributes[0])

/* One letter an attribute, in the order above: '-' not allowed, 'o' optional, 'R' required. */
static const struct {
    enum rnic_qp_state from, to;
    const char *rule[3]; /* RC, UC, UD; NULL: no such transition */
} rules[] = {
    {RNIC_QPS_RESET,
     RNIC_QPS_INIT,
     {"RRR---------------", "RRR---------------", "-RR-------------R-"}},
    {RNIC_QPS_INIT,
     RNIC_QPS_INIT,
     {"ooo---------------", "ooo---------------", "-oo-------------o-"}},
    {RNIC_QPS_INIT,
     RNIC_QPS_RTR,
     {"oo-RR---R-R-RR----", "oo-RR---R---R-----", "-o--------------o-"}},
    {RNIC_QPS_RTR,
     RNIC_QPS_RTS,
     {"o----RRR-RoR--o--o", "o----------R--o--o", "-----------R--o-oo"}},
    {RNIC_QPS_RTS,
     RNIC_QPS_RTS,
     {"o---------o---o--o", "o-------------o--o", "--------------o-oo"}},
    {RNIC_QPS_RTS,
     RNIC_QPS_SQD,
     {"---------------o--", "---------------o--", "---------------o--"}},
    {RNIC_QPS_SQD,
     RNIC_QPS_SQD,
     {"oooo-ooo-oo--o----", "oo-o--------------", "-o--------------o-"}},
    {RNIC_QPS_SQD,
     RNIC_QPS_RTS,
     {"o---------o---o---", "o-------------o---", "--------------o-o-"}},
    {RNIC_QPS_SQE, RNIC_QPS_RTS, {NULL, "o-------------o---", "--------------o-o-"}},
};

/* The rule of a transition; NULL: there is none. */
static const char *rule_of(enum rnic_qp_type type, enum rnic_qp_state from, enum rnic_qp_state to)
{
    if (type == RNIC_QPT_RC && from == RNIC_QPS_SQE)
        return NULL;
    if (to == RNIC_QPS_RESET || (to == RNIC_QPS_ERR && from != RNIC_QPS_RESET))
        return "------------------";
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (rules[i].from == from && rules[i].to == to)
            return rules[i].rule[type];
    return NULL;
}

static bool legal(const char *rule, unsigned mask)
{
    if (rule == NULL)
        return false;
    for (size_t i = 0; i < ATTRIBUTES; i++) {
        bool there = (mask & attributes[i]) != 0;

        if ((rule[i] == 'R' && !there) || (rule[i] == '-' && there))
            return false;
    }
    return true;
}

/* The attributes a transition needs (and, `all`, those it may have). */
static unsigned needs(const char *rule, bool all)
{
    unsigned mask = RNIC_QP_STATE;

    for (size_t i = 0; rule != NULL && i < ATTRIBUTES; i++)
        if (rule[i] == 'R' || (all && rule[i] == 'o'))
            mask |= attributes[i];
    return mask;
}

static void check_mask(enum rnic_qp_type type, enum rnic_qp_state from, enum rnic_qp_state to,
                       unsigned mask)
{
    CHECK_EQ(rnic_table_qp_transition(type, from, to, mask), legal(rule_of(type, from, to), mask));
}

/*
 * Every service and pair of states: what is needed, all that may be there, each attribute more or
 * less than that, and masks at random.
 */
static void every_transition_of_every_service(void)
{
    struct wire_rng rng = wire_rng_init(SEED, 0);

    printf("seed %u\n", SEED);
    for (int type = RNIC_QPT_RC; type <= RNIC_QPT_UD; type++)
        for (int pair = 0; pair < STATES * STATES; pair++) {
            enum rnic_qp_type t = (enum rnic_qp_type)type;
            enum rnic_qp_state from = (enum rnic_qp_state)(pair / STATES);
            enum rnic_qp_state to = (enum rnic_qp_state)(pair % STATES);
            const char *rule = rule_of(t, from, to);

            check_mask(t, from, to, needs(rule, false));
            check_mask(t, from, to, needs(rule, true));
            for (size_t i = 0; i < ATTRIBUTES; i++) {
                check_mask(t, from, to, needs(rule, false) ^ attributes[i]);
                check_mask(t, from, to, needs(rule, true) ^ attributes[i]);
            }
            for (uint32_t round = 0; round < 500; round++) {
                uint64_t bits = wire_rng_next(&rng);
                unsigned mask = round & 1 ? RNIC_QP_STATE : needs(rule, false);

                for (size_t i = 0; i < ATTRIBUTES; i++)
                    mask |= (bits >> (3 * i) & 7) == 0 ? attributes[i] : 0;
                check_mask(t, from, to, mask);
            }
            if (from != to) /* a change needs STATE */
                CHECK(!rnic_table_qp_transition(t, from, to,
                                                needs(rule, false) & ~(unsigned)RNIC_QP_STATE));
            for (unsigned bit = 0; bit < 32; bit++) { /* a bit nobody knows */
                unsigned known = RNIC_QP_STATE;

                for (size_t i = 0; i < ATTRIBUTES; i++)
                    known |= attributes[i];
                if (!(known >> bit & 1))
                    CHECK(!rnic_table_qp_transition(t, from, to, needs(rule, false) | 1u << bit));
            }
        }
}

static void open_bench(int type)
{
    struct card_options options = card_options_ideal();

    options.type = (enum rnic_qp_type)type;
    options.rd_atomic = 4;
    card_bench_open(&bench, 2, &options);
}

/* UC, UD: a request whose buffer is nobody's fails, and the send queue with it. */
static void fail_sends(uint32_t qpn, const struct rnic_qp_attr *attr)
{
    const struct rnic_sge bad = {.addr = 1, .length = 8, .lkey = 0xBAD};
    struct rnic_send_wr wr = {.wr_id = 99, .opcode = RNIC_WR_SEND, .sg_list = &bad, .num_sge = 1};

    CARD_OK(a, rnic_create_ah(a->dev, a->pd, &attr->av, &wr.ud.ah, bench.now_ps));
    CHECK_EQ(rnic_post_send(a->dev, qpn, &wr, bench.now_ps), 0);
    card_bench_run(&bench, WIRE_NEVER);
    card_expect(a, a->send_cq, 99, RNIC_WC_LOC_PROT_ERR);
    CHECK_EQ(rnic_destroy_ah(a->dev, wr.ud.ah, bench.now_ps), 0);
}

/* Bring a fresh queue pair of card 0 to a state. */
static uint32_t qp_in(enum rnic_qp_state state)
{
    uint32_t qpn = card_new_qp(a, a->send_cq, a->recv_cq);
    struct rnic_qp_attr attr = card_attr(a, b, b->qpn);

    if (state >= RNIC_QPS_SQD) {
        card_to_state(a, qpn, &attr, RNIC_QPS_RTS);
        attr.qp_state = state;
        if (state == RNIC_QPS_SQE)
            fail_sends(qpn, &attr);
        else
            CHECK_EQ(rnic_modify_qp(a->dev, qpn, &attr, RNIC_QP_STATE, bench.now_ps), 0);
    } else if (state != RNIC_QPS_RESET) {
        card_to_state(a, qpn, &attr, state);
    }
    CHECK_EQ(card_state(a, qpn), state);
    return qpn;
}

/* One modify of a fresh queue pair: as the rules say, and refused it changes nothing. */
static void check_modify(enum rnic_qp_state from, const struct rnic_qp_attr *attr, unsigned mask,
                         int want)
{
    uint32_t qpn = qp_in(from);
    struct rnic_qp_attr before, after;
    int err;

    CHECK_EQ(rnic_query_qp(a->dev, qpn, &before, NULL), 0);
    while ((err = rnic_modify_qp(a->dev, qpn, attr, mask, bench.now_ps)) == RNIC_ERR_NOMEM) {
        CHECK_EQ(rnic_query_qp(a->dev, qpn, &after, NULL), 0);
        CHECK_BYTES(&after, &before, sizeof before);
        card_feed(a);
    }
    CHECK_EQ(err, want);
    CHECK_EQ(rnic_query_qp(a->dev, qpn, &after, NULL), 0);
    if (err != 0)
        CHECK_BYTES(&after, &before, sizeof before);
    else
        CHECK_EQ(after.qp_state, attr->qp_state);
    CHECK_EQ(rnic_destroy_qp(a->dev, qpn, bench.now_ps), 0);
}

/* What is refused changes nothing; what is accepted is what query_qp shows. */
static void a_refused_modify_changes_nothing(void)
{
    for (int type = RNIC_QPT_RC; type <= RNIC_QPT_UD; type++) {
        open_bench(type);
        for (int pair = 0; pair < STATES * STATES; pair++) {
            enum rnic_qp_state from = (enum rnic_qp_state)(pair / STATES);
            enum rnic_qp_state to = (enum rnic_qp_state)(pair % STATES);
            const char *rule = rule_of((enum rnic_qp_type)type, from, to);
            struct rnic_qp_attr attr = card_attr(a, b, 77);

            if (type == RNIC_QPT_RC && from == RNIC_QPS_SQE)
                continue; /* never there */
            attr.qp_state = to;
            attr.cur_qp_state = from;
            attr.min_rnr_timer = 3;
            check_modify(from, &attr, needs(rule, false), rule == NULL ? RNIC_ERR_INVAL : 0);
            check_modify(from, &attr, needs(rule, true), rule == NULL ? RNIC_ERR_INVAL : 0);
            for (size_t i = 0; rule != NULL && i < ATTRIBUTES; i++)
                check_modify(from, &attr, needs(rule, true) ^ attributes[i],
                             rule[i] == 'o' ? 0 : RNIC_ERR_INVAL);
            if (rule != NULL && strchr(rule, 'o') != NULL) { /* not where it thinks it is */
                attr.cur_qp_state = from == RNIC_QPS_RTS ? RNIC_QPS_SQD : RNIC_QPS_RTS;
                check_modify(from, &attr, needs(rule, false) | RNIC_QP_CUR_STATE, RNIC_ERR_INVAL);
            }
        }
        card_bench_close(&bench);
    }
}

/* Each attribute one step out of range: which, and how. */
static unsigned spoil(unsigned how, struct rnic_qp_attr *attr)
{
    switch (how) {
    case 0:
        return attr->pkey_index = 1, RNIC_QP_PKEY_INDEX;
    case 1:
        return attr->port_num = 2, RNIC_QP_PORT;
    case 2:
        return attr->port_num = 0, RNIC_QP_PORT;
    case 3:
        return attr->qp_access_flags = RNIC_ACCESS_MW_BIND, RNIC_QP_ACCESS_FLAGS;
    case 4:
        return attr->av.hop_limit = 0, RNIC_QP_AV;
    case 5:
        return attr->av.dest_station = WIRE_STATION_NONE, RNIC_QP_AV;
    case 6:
        return attr->av.dest_station = WIRE_STATION_BROADCAST, RNIC_QP_AV;
    case 7:
        return attr->av.ipv6 = attr->av.roce_v1 = true, RNIC_QP_AV;
    case 8:
        return attr->path_mtu_bytes = 128, RNIC_QP_PATH_MTU;
    case 9:
        return attr->path_mtu_bytes = 8192, RNIC_QP_PATH_MTU;
    case 10:
        return attr->path_mtu_bytes = 1500, RNIC_QP_PATH_MTU;
    case 11:
        return attr->path_mtu_bytes = 0, RNIC_QP_PATH_MTU;
    case 12:
        return attr->dest_qp_num = 1 << 24, RNIC_QP_DEST_QPN;
    case 13:
        return attr->rq_psn.v = 1 << 24, RNIC_QP_RQ_PSN;
    case 14:
        return attr->min_rnr_timer = 32, RNIC_QP_MIN_RNR_TIMER;
    case 15:
        return attr->max_dest_rd_atomic = 5, RNIC_QP_MAX_DEST_RD_ATOMIC;
    case 16:
        return attr->sq_psn.v = 1 << 24, RNIC_QP_SQ_PSN;
    case 17:
        return attr->timeout = 32, RNIC_QP_TIMEOUT;
    case 18:
        return attr->retry_cnt = 8, RNIC_QP_RETRY_CNT;
    case 19:
        return attr->rnr_retry = 8, RNIC_QP_RNR_RETRY;
    case 20:
        return attr->max_rd_atomic = 5, RNIC_QP_MAX_QP_RD_ATOMIC;
    case 21:
        return attr->qp_state = (enum rnic_qp_state)77, RNIC_QP_STATE;
    default:
        return 0;
    }
}

/* In every transition that has it; in range it passes (the test above). */
static void every_attribute_out_of_range_is_refused(void)
{
    uint32_t tried = 0;

    for (int type = RNIC_QPT_RC; type <= RNIC_QPT_UD; type++) {
        struct card_options options = card_options_ideal();

        options.type = (enum rnic_qp_type)type;
        options.rd_atomic = 4;
        options.params.max_rd_atomic = 4;
        card_bench_open(&bench, 2, &options);
        for (size_t r = 0; r < sizeof rules / sizeof rules[0]; r++)
            for (unsigned how = 0;; how++) {
                struct rnic_qp_attr attr = card_attr(a, b, b->qpn);
                const char *rule = rules[r].rule[type];
                unsigned mask = needs(rule, true), spoilt;

                attr.qp_state = rules[r].to;
                attr.cur_qp_state = rules[r].from;
                spoilt = spoil(how, &attr);
                if (spoilt == 0)
                    break;
                if (rule == NULL || !(mask & spoilt))
                    continue;
                check_modify(rules[r].from, &attr, mask, RNIC_ERR_INVAL);
                tried++;
            }
        card_bench_close(&bench);
    }
    CHECK(tried > 60);
}

/* Without STATE a modify stays where it is. */
static void a_modify_without_state(void)
{
    struct rnic_qp_attr attr = {.min_rnr_timer = 9, .qp_state = RNIC_QPS_RESET};

    open_bench(RNIC_QPT_RC);
    CHECK_EQ(rnic_modify_qp(a->dev, a->qpn, &attr, RNIC_QP_MIN_RNR_TIMER, 0), 0);
    CHECK_EQ(rnic_query_qp(a->dev, a->qpn, &attr, NULL), 0);
    CHECK_EQ(attr.min_rnr_timer, 9);
    CHECK_EQ(attr.qp_state, RNIC_QPS_RTS);
    CHECK_EQ(attr.cur_qp_state, RNIC_QPS_RTS);
    CHECK_EQ(rnic_modify_qp(a->dev, a->qpn, &attr, RNIC_QP_TIMEOUT, 0), RNIC_ERR_INVAL);
    CHECK_EQ(rnic_modify_qp(a->dev, a->qpn, &attr, 1u << 30, 0), RNIC_ERR_INVAL);
    card_bench_close(&bench);
}

/* Who may post what in which state. */
static void posting_by_state(void)
{
    static const struct {
        enum rnic_qp_state state;
        int recv, send;
        bool recv_flushed, send_flushed;
    } cases[] = {{RNIC_QPS_RESET, RNIC_ERR_INVAL, RNIC_ERR_INVAL, false, false},
                 {RNIC_QPS_INIT, 0, RNIC_ERR_INVAL, false, false},
                 {RNIC_QPS_RTR, 0, RNIC_ERR_INVAL, false, false},
                 {RNIC_QPS_RTS, 0, 0, false, false},
                 {RNIC_QPS_SQD, 0, 0, false, false},
                 {RNIC_QPS_SQE, 0, 0, false, true},
                 {RNIC_QPS_ERR, 0, 0, true, true}};

    for (int type = RNIC_QPT_RC; type <= RNIC_QPT_UD; type++)
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
            const struct rnic_recv_wr recv = {.wr_id = 1};
            const struct rnic_av av = {.dest_station = 2, .hop_limit = 1};
            struct rnic_sge sge;
            struct rnic_send_wr wr;
            uint32_t qpn;

            if (type == RNIC_QPT_RC && cases[i].state == RNIC_QPS_SQE)
                continue;
            open_bench(type);
            qpn = qp_in(cases[i].state);
            wr = card_wr(a, RNIC_WR_SEND, 2, 0, 0, 8, &sge);
            CARD_OK(a, rnic_create_ah(a->dev, a->pd, &av, &wr.ud.ah, 0));
            CHECK_EQ(rnic_post_recv(a->dev, qpn, &recv, bench.now_ps), cases[i].recv);
            CHECK_EQ(rnic_post_send(a->dev, qpn, &wr, bench.now_ps), cases[i].send);
            if (cases[i].recv_flushed)
                card_expect(a, a->recv_cq, 1, RNIC_WC_WR_FLUSH_ERR);
            if (cases[i].send_flushed)
                card_expect(a, a->send_cq, 2, RNIC_WC_WR_FLUSH_ERR);
            card_expect_none(a, a->recv_cq);
            card_expect_none(a, a->send_cq);
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

CHECK_SUITE(table_qp, CHECK_CASE(every_transition_of_every_service),
            CHECK_CASE(a_refused_modify_changes_nothing),
            CHECK_CASE(every_attribute_out_of_range_is_refused), CHECK_CASE(a_modify_without_state),
            CHECK_CASE(posting_by_state), CHECK_CASE(queue_pair_numbers_go_round))
