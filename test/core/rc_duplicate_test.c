/* SPDX-License-Identifier: GPL-2.0-only */
/* Requests that come twice: answered again, never executed again. */
#include "card.h"
#include "rnic_internal.h"

static struct card_bench bench;
static struct card *const b = &bench.cards[1];

#define MTU 1024u
#define DEPTH 4u

static uint8_t data[16 * MTU];
static uint32_t data_n;

static enum card_tap_verdict tap(struct card_bench *on, struct card_flight *flight)
{
    const struct wire_frame *frame = &flight->frame;

    (void)on;
    if (flight->from == b && (wire_opcodes[frame->opcode].is & WIRE_IS_READ)) {
        CHECK(data_n + frame->payload_bytes <= sizeof data);
        memcpy(data + data_n, frame->payload, frame->payload_bytes);
        data_n += frame->payload_bytes;
    }
    return CARD_DROP;
}

static void begin(void)
{
    struct card_options options = card_options_ideal();

    options.access = CARD_ACCESS_ALL;
    options.rd_atomic = DEPTH;
    card_bench_open(&bench, 2, &options);
    card_fill(b->bytes, b->n_bytes, 11);
    bench.tap = tap;
    data_n = 0;
}

static void run(void)
{
    card_bench_run(&bench, bench.now_ps + 100000000);
}

static size_t sent(void)
{
    return card_log_count(&bench, b->station, false);
}

static const struct wire_frame *answer(size_t i)
{
    return &card_log_at(&bench, b->station, false, i)->frame;
}

static void check_answer(size_t i, uint8_t opcode, uint32_t psn)
{
    CHECK_EQ(answer(i)->opcode, opcode);
    CHECK_EQ(answer(i)->psn.v, (bench.options.psn + psn) & WIRE_PSN_MASK);
}

static void take(const struct wire_frame *frame)
{
    CHECK_EQ(card_deliver(&bench, b, frame), WIRE_DROP_NONE);
    run();
}

static void repeat(const struct wire_frame *frame)
{
    CHECK_EQ(card_deliver(&bench, b, frame), WIRE_DROP_DUPLICATE);
}

/* A WRITE of these 8 bytes to the start of the buffer. */
static struct wire_frame write_of(uint32_t psn, uint8_t bytes[8], uint8_t value)
{
    struct wire_frame frame = card_request(b, WIRE_OP_WRITE_ONLY, psn, 8);

    memset(bytes, value, 8);
    frame.payload = bytes;
    frame.flags |= WIRE_FRAME_BYTES;
    return frame;
}

/* The part of a READ of `bytes` at `psn` from its packet-th response on. */
static struct wire_frame rest_of_read(uint32_t psn, uint32_t bytes, uint32_t packet)
{
    struct wire_frame frame =
        card_request(b, WIRE_OP_READ_REQUEST, psn + packet, bytes - packet * MTU);

    frame.va += packet * MTU;
    return frame;
}

/*
 * known-bugs A1: WRITE at 0 acknowledged, READ at 1 answered, WRITE at 0 again: the acknowledge
 * says 0 and not 1, whose response may be lost; memory and MSN stay.
 */
static void a_repeated_write_is_acknowledged_with_its_own_psn(void)
{
    struct wire_frame write, read;
    uint8_t bytes[8], before[8];

    begin();
    write = write_of(0, bytes, 0x11);
    take(&write);
    read = card_request(b, WIRE_OP_READ_REQUEST, 1, 8);
    take(&read);
    memset(b->bytes, 0x22, 8); /* our host has gone on */
    memcpy(before, b->bytes, 8);
    repeat(&write);
    run();
    CHECK_EQ(sent(), 3);
    check_answer(2, WIRE_OP_ACKNOWLEDGE, 0);
    CHECK_EQ(answer(2)->syndrome, 0x1F);
    CHECK_EQ(answer(2)->msn, 2);
    CHECK_BYTES(b->bytes, before, 8);
    CHECK_EQ(rnic_query_counters(b->dev)->drops[WIRE_DROP_DUPLICATE], 1);
    CHECK_EQ(card_counters(b, b->qpn).acks_tx, 2);
    CHECK_EQ(card_counters(b, b->qpn).rx_packets, 2);
    card_bench_close(&bench);
}

/* A SEND uses its receive request once, also when only a part comes again. */
static void a_repeated_send_uses_no_second_request(void)
{
    struct wire_frame first, last;

    begin();
    card_recv(b, 1, 0, 4 * MTU);
    card_recv(b, 2, 0, 4 * MTU);
    first = card_request(b, WIRE_OP_SEND_FIRST, 0, MTU);
    last = card_request(b, WIRE_OP_SEND_LAST, 1, 8);
    take(&first);
    repeat(&first);
    take(&last);
    repeat(&first);
    repeat(&last);
    run();
    (void)card_expect(b, b->recv_cq, 1, RNIC_WC_SUCCESS);
    card_expect_none(b, b->recv_cq);
    CHECK_EQ(sent(), 5);
    check_answer(1, WIRE_OP_ACKNOWLEDGE, 0);
    check_answer(4, WIRE_OP_ACKNOWLEDGE, 1);
    CHECK_EQ(answer(4)->msn, 1);
    card_bench_close(&bench);
}

/* Its acknowledge is behind the responses of the READ before it, which are asked for again too. */
static void an_acknowledge_waits_for_a_read_that_is_repeated(void)
{
    struct wire_frame read, write;
    uint8_t bytes[8];

    begin();
    read = card_request(b, WIRE_OP_READ_REQUEST, 0, 3 * MTU);
    take(&read);
    write = write_of(3, bytes, 0x11);
    take(&write);
    CHECK_EQ(sent(), 4);
    repeat(&read);
    repeat(&write);
    run();
    CHECK_EQ(sent(), 8);
    check_answer(4, WIRE_OP_READ_RESP_FIRST, 0);
    check_answer(6, WIRE_OP_READ_RESP_LAST, 2);
    check_answer(7, WIRE_OP_ACKNOWLEDGE, 3);
    card_bench_close(&bench);
}

/* From any of its packets to its end: as the packets left the first time. */
static void a_read_goes_on_anywhere(void)
{
    const uint32_t bytes = 3 * MTU + 5;

    for (uint32_t packet = 0; packet < 4; packet++) {
        struct wire_frame read, again;

        begin();
        read = card_request(b, WIRE_OP_READ_REQUEST, 0, bytes);
        take(&read);
        CHECK_EQ(sent(), 4);
        data_n = 0;
        again = rest_of_read(0, bytes, packet);
        repeat(&again);
        run();
        CHECK_EQ(sent(), 8 - packet);
        CHECK_EQ(data_n, bytes - packet * MTU);
        CHECK_BYTES(data, b->bytes + packet * MTU, data_n);
        for (uint32_t i = packet; i < 4; i++) {
            CHECK_EQ(answer(4 + i - packet)->opcode, answer(i)->opcode);
            CHECK_EQ(answer(4 + i - packet)->psn.v, answer(i)->psn.v);
            CHECK_EQ(answer(4 + i - packet)->payload_bytes, answer(i)->payload_bytes);
            if (i == 0 || i == 3)
                CHECK_EQ(answer(4 + i - packet)->msn, 1);
        }
        card_bench_close(&bench);
    }
}

/* A repeat may end before the READ did; its last response is the LAST one. */
static void a_part_of_a_read_has_its_own_end(void)
{
    struct wire_frame read, part;

    begin();
    read = card_request(b, WIRE_OP_READ_REQUEST, 0, 5 * MTU);
    take(&read);
    CHECK_EQ(sent(), 5);
    data_n = 0;
    part = rest_of_read(0, 5 * MTU, 1);
    part.dma_bytes = MTU + 7;
    repeat(&part);
    run();
    CHECK_EQ(sent(), 7);
    check_answer(5, WIRE_OP_READ_RESP_MIDDLE, 1);
    check_answer(6, WIRE_OP_READ_RESP_LAST, 2);
    CHECK_EQ(answer(6)->payload_bytes, 7);
    CHECK_BYTES(data, b->bytes + MTU, MTU + 7);
    data_n = 0;
    repeat(&read); /* and all of it once more */
    run();
    CHECK_EQ(sent(), 12);
    CHECK_EQ(data_n, 5 * MTU);
    card_bench_close(&bench);
}

/* What is no part of a READ remembered is dropped: other key, place, length, PSN or kind. */
static void what_is_no_part_of_it_is_dropped(void)
{
    struct wire_frame read, bad, atomic, write;
    uint8_t bytes[8];
    uint32_t key;

    begin();
    CARD_OK(b, rnic_reg_mr(b->dev, b->pd, CARD_VA, 65536, b->bytes, CARD_ACCESS_ALL, &key, 0));
    write = write_of(0, bytes, 1);
    take(&write);
    read = card_request(b, WIRE_OP_READ_REQUEST, 1, 3 * MTU);
    take(&read);
    atomic = card_request(b, WIRE_OP_FETCH_ADD, 4, 0);
    take(&atomic);
    for (unsigned i = 0; i < 11; i++) {
        bad = i < 8 ? rest_of_read(1, 3 * MTU, 1) : atomic;
        switch (i) {
        case 0:
            bad.rkey = key;
            break;
        case 1:
            bad.va += 4;
            break;
        case 2:
            bad.dma_bytes++;
            break;
        case 3:
            bad.psn = wire_psn_add(bad.psn, 1); /* the place of another packet */
            break;
        case 4:
            bad.dma_bytes = 0;
            break;
        case 5:
            bad.psn = write.psn; /* no READ was there */
            break;
        case 6:
            bad = card_request(b, WIRE_OP_READ_REQUEST, 4, 8); /* an atomic was */
            break;
        case 7:
            bad = card_request(b, WIRE_OP_READ_REQUEST, 4, 0);
            break;
        case 8:
            bad.opcode = WIRE_OP_COMPARE_SWAP;
            break;
        case 9:
            bad.rkey = key;
            break;
        default:
            bad.va += 8;
        }
        repeat(&bad);
        run();
        CHECK_EQ(sent(), 5);
    }
    bad = card_request(b, WIRE_OP_FLUSH, 0, 8); /* nothing that was ever executed */
    repeat(&bad);
    run();
    CHECK_EQ(sent(), 5);
    CHECK_EQ(card_state(b, b->qpn), RNIC_QPS_RTS);
    card_bench_close(&bench);
}

static void a_forgotten_read_is_dropped(void)
{
    begin();
    for (uint32_t i = 0; i < DEPTH + 1; i++) {
        struct wire_frame read = card_request(b, WIRE_OP_READ_REQUEST, i, 8);

        take(&read);
    }
    for (uint32_t i = 0; i < DEPTH + 1; i++) {
        struct wire_frame read = card_request(b, WIRE_OP_READ_REQUEST, i, 8);

        repeat(&read);
        run();
    }
    CHECK_EQ(sent(), 2 * DEPTH + 1); /* all but the first once more */
    check_answer(DEPTH + 1, WIRE_OP_READ_RESP_ONLY, 1);
    card_bench_close(&bench);
}

/* It still waits, from there or from before: its answer will come once. */
static void a_read_that_waits_is_not_queued_twice(void)
{
    struct wire_frame read, rest;

    begin();
    b->ready_classes = 0;
    read = card_request(b, WIRE_OP_READ_REQUEST, 0, 4 * MTU);
    take(&read);
    rest = rest_of_read(0, 4 * MTU, 2);
    repeat(&rest);
    repeat(&read);
    repeat(&rest);
    rest = read; /* its beginning only: the end is still owed */
    rest.dma_bytes = MTU;
    repeat(&rest);
    b->ready_classes = 0xFF;
    run();
    CHECK_EQ(sent(), 4);
    check_answer(3, WIRE_OP_READ_RESP_LAST, 3);
    card_bench_close(&bench);
}

/* The repeat is refused: what was accepted behind it is not answered any more. */
static void a_refused_repeat_takes_what_is_behind_it(void)
{
    struct wire_frame read, later;
    uint32_t key;

    begin();
    CARD_OK(b, rnic_reg_mr(b->dev, b->pd, CARD_VA, 65536, b->bytes, CARD_ACCESS_ALL, &key, 0));
    read = card_request(b, WIRE_OP_READ_REQUEST, 0, 8);
    take(&read);
    b->ready_classes = 0;
    later = card_request(b, WIRE_OP_READ_REQUEST, 1, 3 * MTU);
    later.rkey = key; /* that one stays */
    take(&later);
    CHECK_EQ(rnic_dereg_mr(b->dev, b->key, bench.now_ps), 0);
    CHECK_EQ(card_deliver(&bench, b, &read), WIRE_DROP_REFUSED);
    b->ready_classes = 0xFF;
    run();
    CHECK_EQ(sent(), 2);
    check_answer(1, WIRE_OP_ACKNOWLEDGE, 0);
    CHECK_EQ(answer(1)->syndrome, 0x62);
    card_bench_close(&bench);
}

/* known-bugs A10: the key is looked up again for a repeat; gone: NAK, and nothing behind it. */
static void a_repeated_read_needs_its_key(void)
{
    struct wire_frame read, rest;

    begin();
    read = card_request(b, WIRE_OP_READ_REQUEST, 0, 3 * MTU);
    take(&read);
    CHECK_EQ(rnic_dereg_mr(b->dev, b->key, bench.now_ps), 0);
    rest = rest_of_read(0, 3 * MTU, 1);
    CHECK_EQ(card_deliver(&bench, b, &rest), WIRE_DROP_REFUSED);
    run();
    CHECK_EQ(sent(), 4);
    check_answer(3, WIRE_OP_ACKNOWLEDGE, 1);
    CHECK_EQ(answer(3)->syndrome, 0x62);
    CHECK_EQ(card_state(b, b->qpn), RNIC_QPS_ERR);
    CHECK_EQ(b->events[RNIC_EVENT_QP_ACCESS_ERR], 1);
    card_bench_close(&bench);

    begin(); /* of nothing: no key is looked at, ever */
    read = card_request(b, WIRE_OP_READ_REQUEST, 0, 0);
    take(&read);
    CHECK_EQ(rnic_dereg_mr(b->dev, b->key, bench.now_ps), 0);
    repeat(&read);
    run();
    check_answer(1, WIRE_OP_READ_RESP_ONLY, 0);
    card_bench_close(&bench);
}

static uint64_t word(void)
{
    uint64_t value;

    memcpy(&value, b->bytes, sizeof value);
    return value;
}

/* known-bugs A18: executed once, answered again with what it found then; too old: dropped. */
static void a_repeated_atomic_is_executed_once(void)
{
    struct wire_frame add, swap;
    uint64_t value = 10;

    begin();
    memcpy(b->bytes, &value, sizeof value);
    add = card_request(b, WIRE_OP_FETCH_ADD, 0, 0);
    add.swap_add = 5;
    take(&add);
    CHECK_EQ(word(), 15);
    repeat(&add);
    run();
    CHECK_EQ(word(), 15);
    CHECK_EQ(sent(), 2);
    check_answer(1, WIRE_OP_ATOMIC_ACKNOWLEDGE, 0);
    CHECK_EQ(answer(1)->orig, 10);
    CHECK_EQ(answer(1)->msn, 1);
    swap = card_request(b, WIRE_OP_COMPARE_SWAP, 1, 0);
    swap.compare = 15;
    swap.swap_add = 99;
    take(&swap);
    value = 15; /* it would succeed again */
    memcpy(b->bytes, &value, sizeof value);
    repeat(&swap);
    run();
    CHECK_EQ(word(), 15);
    CHECK_EQ(answer(3)->orig, 15);
    for (uint32_t i = 2; i < DEPTH + 1; i++) {
        struct wire_frame other = card_request(b, WIRE_OP_FETCH_ADD, i, 0);

        other.va += 64;
        take(&other);
    }
    repeat(&add); /* DEPTH others came since */
    run();
    CHECK_EQ(sent(), 4 + DEPTH - 1);
    CHECK_EQ(word(), 15);
    /* its saved answer needs no key: what it did was allowed then */
    CHECK_EQ(rnic_dereg_mr(b->dev, b->key, bench.now_ps), 0);
    repeat(&swap);
    run();
    CHECK_EQ(sent(), 4 + DEPTH);
    CHECK_EQ(answer(4 + DEPTH - 1)->orig, 15);
    card_bench_close(&bench);
}

/* A repeat while a NAK is out: it is answered, and starts no second NAK. */
static void a_repeat_ends_no_loss(void)
{
    struct wire_frame write, ahead;
    uint8_t bytes[8];

    begin();
    write = write_of(0, bytes, 1);
    take(&write);
    ahead = write_of(2, bytes, 2);
    CHECK_EQ(card_deliver(&bench, b, &ahead), WIRE_DROP_PSN_GAP);
    run();
    repeat(&write);
    CHECK_EQ(card_deliver(&bench, b, &ahead), WIRE_DROP_PSN_GAP);
    run();
    CHECK_EQ(sent(), 3);
    CHECK_EQ(answer(1)->syndrome, 0x60);
    check_answer(2, WIRE_OP_ACKNOWLEDGE, 0);
    CHECK_EQ(answer(2)->syndrome, 0x1F);
    card_bench_close(&bench);
}

/*
 * The peer had its answer, asked again all the same (its timer was early), and goes on: the slot is
 * needed for the new READ while the repeat waits. That is no error, the repeat is for nobody.
 */
static void a_new_read_takes_the_slot_of_a_repeat(void)
{
    struct wire_frame read;

    begin();
    for (uint32_t i = 0; i < DEPTH; i++) {
        read = card_request(b, WIRE_OP_READ_REQUEST, i, 8);
        take(&read);
    }
    b->ready_classes = 0;
    read = card_request(b, WIRE_OP_READ_REQUEST, 0, 8);
    repeat(&read);
    read = card_request(b, WIRE_OP_READ_REQUEST, DEPTH, 8);
    take(&read);
    b->ready_classes = 0xFF;
    run();
    CHECK_EQ(sent(), DEPTH + 1);
    check_answer(DEPTH, WIRE_OP_READ_RESP_ONLY, DEPTH);
    CHECK_EQ(card_state(b, b->qpn), RNIC_QPS_RTS);
    card_bench_close(&bench);
}

CHECK_SUITE(rc_duplicate, CHECK_CASE(a_repeated_write_is_acknowledged_with_its_own_psn),
            CHECK_CASE(a_repeated_send_uses_no_second_request),
            CHECK_CASE(an_acknowledge_waits_for_a_read_that_is_repeated),
            CHECK_CASE(a_read_goes_on_anywhere), CHECK_CASE(a_part_of_a_read_has_its_own_end),
            CHECK_CASE(what_is_no_part_of_it_is_dropped), CHECK_CASE(a_forgotten_read_is_dropped),
            CHECK_CASE(a_read_that_waits_is_not_queued_twice),
            CHECK_CASE(a_refused_repeat_takes_what_is_behind_it),
            CHECK_CASE(a_repeated_read_needs_its_key),
            CHECK_CASE(a_repeated_atomic_is_executed_once), CHECK_CASE(a_repeat_ends_no_loss),
            CHECK_CASE(a_new_read_takes_the_slot_of_a_repeat))
