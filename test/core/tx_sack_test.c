/* SPDX-License-Identifier: GPL-2.0-only */
/* Selective repeat, the sender: what is lost, once each, and when recovery is over. */
#include "check.h"
#include "rnic_tx_sack.h"
#include "wire_rng.h"

static struct rnic_mem mem;
static struct rnic_tx_sack sack;
static void *memory;

static void begin(uint32_t packets, wire_psn una)
{
    memory = aligned_alloc(64, 65536);
    CHECK(memory != NULL);
    mem = (struct rnic_mem){0};
    rnic_mem_add(&mem, memory, 65536);
    CHECK(rnic_tx_sack_open(&sack, &mem, packets));
    rnic_tx_sack_reset(&sack, una);
}

static void end(void)
{
    rnic_tx_sack_close(&sack, &mem);
    CHECK(sack.bits == NULL);
    free(memory);
}

static wire_psn psn(uint32_t v)
{
    return (wire_psn){v & WIRE_PSN_MASK};
}

/* The lost ones in their order, as a sender takes them. */
static uint32_t lost(wire_psn una, uint32_t *out, uint32_t room)
{
    uint32_t n = 0;
    wire_psn at;

    while (rnic_tx_sack_lost(&sack, una, &at)) {
        CHECK(n < room);
        out[n++] = at.v;
        rnic_tx_sack_sent(&sack, at, 1);
    }
    return n;
}

static void a_packet_is_lost_when_a_later_one_arrived(void)
{
    uint32_t out[16];

    begin(64, psn(0xFFFFFC));
    CHECK_EQ(lost(psn(0xFFFFFC), out, 16), 0);
    CHECK(rnic_tx_sack_report(&sack, psn(0xFFFFFC), psn(0xFFFFFE), psn(20)));
    CHECK_EQ(lost(psn(0xFFFFFC), out, 16), 2);
    CHECK_EQ(out[0], 0xFFFFFC);
    CHECK_EQ(out[1], 0xFFFFFD);
    /* Nothing twice; a later report names only what is new. */
    CHECK(!rnic_tx_sack_report(&sack, psn(0xFFFFFC), psn(0xFFFFFF), psn(20)));
    CHECK(rnic_tx_sack_report(&sack, psn(0xFFFFFC), psn(3), psn(20)));
    CHECK_EQ(lost(psn(0xFFFFFC), out, 16), 3);
    CHECK_EQ(out[0], 0);
    CHECK_EQ(out[1], 1);
    CHECK_EQ(out[2], 2);
    end();
}

static void recovery_ends_when_what_was_sent_by_then_is_acknowledged(void)
{
    uint32_t out[16];

    begin(64, psn(10));
    CHECK(rnic_tx_sack_report(&sack, psn(10), psn(12), psn(20)));
    CHECK(sack.recovering);
    rnic_tx_sack_advance(&sack, psn(10), psn(19));
    CHECK(sack.recovering);
    rnic_tx_sack_advance(&sack, psn(19), psn(20));
    CHECK(!sack.recovering);
    CHECK_EQ(lost(psn(20), out, 16), 0);
    /* The bit of 12 is gone: 76 has the same one. */
    CHECK(rnic_tx_sack_report(&sack, psn(70), psn(80), psn(90)));
    CHECK_EQ(lost(psn(70), out, 16), 10);
    end();
}

static void a_timeout_sends_the_oldest_and_what_is_known_to_be_lost(void)
{
    uint32_t out[16];

    begin(64, psn(0));
    rnic_tx_sack_again(&sack, psn(0), psn(8));
    CHECK_EQ(lost(psn(0), out, 16), 1); /* of the others nothing is known */
    CHECK_EQ(out[0], 0);
    CHECK(rnic_tx_sack_report(&sack, psn(0), psn(4), psn(8)));
    CHECK_EQ(lost(psn(0), out, 16), 3);
    rnic_tx_sack_again(&sack, psn(0), psn(8)); /* those were lost once more */
    CHECK_EQ(lost(psn(0), out, 16), 4);
    rnic_tx_sack_advance(&sack, psn(0), psn(2));
    CHECK_EQ(lost(psn(2), out, 16), 0);
    end();
}

static void too_far_ahead_for_the_bits_is_not_kept(void)
{
    begin(64, psn(0));
    CHECK(!rnic_tx_sack_report(&sack, psn(0), psn(64), psn(100)));
    CHECK(!sack.recovering);
    CHECK(rnic_tx_sack_report(&sack, psn(0), psn(63), psn(100)));
    end();
}

/* Against a plain set: random arrivals and acknowledges, across the wrap. */
static void agrees_with_a_plain_set(void)
{
    struct wire_rng rng = wire_rng_init(11, 0);

    for (uint32_t round = 0; round < 200; round++) {
        uint32_t base = 0xFFFFF0 + (uint32_t)(wire_rng_next(&rng) % 32), una = 0, sent = 0;
        bool arrived[4096] = {false}, again[4096] = {false};

        begin(100, psn(base));
        for (uint32_t step = 0; step < 300; step++) {
            uint32_t at;
            wire_psn found;

            while (sent < una + 100 && sent < 4000)
                sent++;
            at = una + 1 + (uint32_t)(wire_rng_next(&rng) % (sent - una - 1));
            arrived[at] = true;
            (void)rnic_tx_sack_report(&sack, psn(base + una), psn(base + at), psn(base + sent));
            while (rnic_tx_sack_lost(&sack, psn(base + una), &found)) {
                uint32_t i = (found.v - base) & WIRE_PSN_MASK;

                CHECK(i >= una && i < sent && !arrived[i] && !again[i]);
                again[i] = true;
                rnic_tx_sack_sent(&sack, found, 1);
            }
            for (uint32_t i = una; i < at; i++)
                CHECK(arrived[i] || again[i]);
            if (wire_rng_next(&rng) % 4 == 0 && sack.recovering) { /* the oldest arrives */
                uint32_t before = una;

                arrived[una] = true;
                while (arrived[una])
                    una++;
                rnic_tx_sack_advance(&sack, psn(base + before), psn(base + una));
                if (!sack.recovering)
                    memset(again, 0, sizeof again); /* the next recovery may send them again */
                if (una > 3800)
                    break;
            }
        }
        end();
    }
}

CHECK_SUITE(tx_sack, CHECK_CASE(a_packet_is_lost_when_a_later_one_arrived),
            CHECK_CASE(recovery_ends_when_what_was_sent_by_then_is_acknowledged),
            CHECK_CASE(a_timeout_sends_the_oldest_and_what_is_known_to_be_lost),
            CHECK_CASE(too_far_ahead_for_the_bits_is_not_kept), CHECK_CASE(agrees_with_a_plain_set))
