/* SPDX-License-Identifier: GPL-2.0-only */
/* Reorder buffer: copies, not the caller's frame; by PSN; what does not fit must come again. */
#include "check.h"
#include "rnic_rx_hold.h"

static struct rnic_mem mem;
static struct rnic_rx_hold hold;
static void *memory;
static uint8_t payload[256];

static void begin(void)
{
    memory = aligned_alloc(64, 65536);
    CHECK(memory != NULL);
    mem = (struct rnic_mem){0};
    rnic_mem_add(&mem, memory, 65536);
    CHECK(rnic_rx_hold_open(&hold, &mem, 30, 256)); /* 32 slots */
}

static void end(void)
{
    rnic_rx_hold_close(&hold, &mem);
    CHECK_EQ(hold.block_bytes, 0);
    rnic_rx_hold_close(&hold, &mem); /* twice does not hurt */
    free(memory);
}

static struct wire_frame frame_with(uint32_t psn, uint32_t bytes)
{
    memset(payload, (int)(psn & 0xFF), sizeof payload);
    return (struct wire_frame){
        .psn = {psn}, .flags = WIRE_FRAME_BYTES, .payload = payload, .payload_bytes = bytes};
}

static void packets_come_out_by_their_psn_with_their_bytes(void)
{
    const struct wire_frame *got;
    struct wire_frame frame;

    begin();
    for (uint32_t i = 1; i < 32; i++) {
        frame = frame_with((0xFFFFF8 + i) & WIRE_PSN_MASK, 256);
        CHECK(rnic_rx_hold_put(&hold, (wire_psn){0xFFFFF8}, &frame));
    }
    CHECK_EQ(hold.held, 31);
    CHECK(rnic_rx_hold_take(&hold, (wire_psn){0xFFFFF8}) == NULL);
    memset(payload, 0xEE, sizeof payload);
    for (uint32_t i = 1; i < 32; i++) {
        wire_psn psn = {(0xFFFFF8 + i) & WIRE_PSN_MASK};

        CHECK(rnic_rx_hold_has(&hold, psn));
        got = rnic_rx_hold_take(&hold, psn);
        CHECK(got != NULL && got->psn.v == psn.v);
        for (uint32_t k = 0; k < 256; k++)
            CHECK_EQ(got->payload[k], psn.v & 0xFF);
        CHECK(rnic_rx_hold_take(&hold, psn) == NULL);
    }
    CHECK_EQ(hold.held, 0);
    end();
}

static void what_does_not_fit_is_refused(void)
{
    struct wire_frame frame = frame_with(32, 10);

    begin();
    CHECK(!rnic_rx_hold_put(&hold, (wire_psn){0}, &frame));
    CHECK(rnic_rx_hold_put(&hold, (wire_psn){1}, &frame));
    CHECK(rnic_rx_hold_put(&hold, (wire_psn){1}, &frame)); /* again: still one */
    CHECK_EQ(hold.held, 1);
    frame = frame_with(5, 257);
    CHECK(!rnic_rx_hold_put(&hold, (wire_psn){0}, &frame)); /* longer than the path MTU */
    rnic_rx_hold_clear(&hold);
    CHECK_EQ(hold.held, 0);
    CHECK(!rnic_rx_hold_has(&hold, (wire_psn){32}));
    end();
}

static void a_closed_one_holds_nothing(void)
{
    struct rnic_rx_hold closed = {0};

    CHECK(!rnic_rx_hold_has(&closed, (wire_psn){0}));
    CHECK(rnic_rx_hold_take(&closed, (wire_psn){0}) == NULL);
    rnic_rx_hold_clear(&closed);
}

/* Slots go round: what stands in one is not what lies a turn behind or before it. */
static void a_slot_holds_its_own_psn_alone(void)
{
    struct wire_frame frame = frame_with(40, 10);

    begin();
    CHECK(rnic_rx_hold_put(&hold, (wire_psn){30}, &frame));
    CHECK(rnic_rx_hold_has(&hold, (wire_psn){40}));
    CHECK(!rnic_rx_hold_has(&hold, (wire_psn){40 - 32}));
    CHECK(!rnic_rx_hold_has(&hold, (wire_psn){40 + 32}));
    CHECK(rnic_rx_hold_take(&hold, (wire_psn){40 + 32}) == NULL);
    CHECK_EQ(hold.held, 1);
    CHECK(rnic_rx_hold_take(&hold, (wire_psn){40}) != NULL);
    end();
}

/* Not one slot keeps its packet, whichever is filled first after it. */
static void what_is_forgotten_does_not_come_back(void)
{
    for (uint32_t first = 32; first < 64; first++) {
        struct wire_frame frame;

        begin();
        for (uint32_t i = 0; i < 31; i++) { /* all slots but one, which are all there may be */
            frame = frame_with(first + i, 10);
            CHECK(rnic_rx_hold_put(&hold, (wire_psn){first - 1}, &frame));
        }
        rnic_rx_hold_clear(&hold);
        frame = frame_with(first + 31, 10);
        CHECK(rnic_rx_hold_put(&hold, (wire_psn){first}, &frame));
        CHECK_EQ(hold.held, 1);
        for (uint32_t i = 0; i < 31; i++)
            CHECK(!rnic_rx_hold_has(&hold, (wire_psn){first + i}));
        CHECK(rnic_rx_hold_take(&hold, (wire_psn){first + 31}) != NULL);
        CHECK_EQ(hold.held, 0);
        end();
    }
}

CHECK_SUITE(rx_hold, CHECK_CASE(packets_come_out_by_their_psn_with_their_bytes),
            CHECK_CASE(what_does_not_fit_is_refused), CHECK_CASE(a_closed_one_holds_nothing),
            CHECK_CASE(a_slot_holds_its_own_psn_alone),
            CHECK_CASE(what_is_forgotten_does_not_come_back))
