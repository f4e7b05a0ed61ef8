/* SPDX-License-Identifier: GPL-2.0-only */
/* The card's parameters: defaults in range, the ideal card, and what the card refuses. */
#include "card.h"

static void the_table_is_whole(void)
{
    struct rnic_params params = rnic_params_default(), ideal = rnic_params_ideal();

    CHECK_EQ(rnic_param_count * sizeof(uint64_t), sizeof params);
    for (size_t i = 0; i < rnic_param_count; i++) {
        const struct wire_param *p = &rnic_param_table[i];
        char key[64];

        CHECK(p->min <= p->def && p->def <= p->max);
        CHECK(p->source[0] != 0 && p->text[0] != 0);
        CHECK_NEAR(wire_param_get(p, &params), p->def, 0);
        wire_param_key(p, key, sizeof key);
        CHECK(wire_param_find(rnic_param_table, rnic_param_count, key) == p); /* keys differ */
    }
    CHECK(wire_param_check(rnic_param_table, rnic_param_count, &params) == NULL);
    CHECK(wire_param_check(rnic_param_table, rnic_param_count, &ideal) == NULL);
}

/* The ideal card has no time left in it: whatever is a time and is the card's own
 * is 0; intervals and timeouts stay. */
static void the_ideal_card_has_no_latency(void)
{
    struct rnic_params ideal = rnic_params_ideal();

    for (size_t i = 0; i < rnic_param_count; i++) {
        const struct wire_param *p = &rnic_param_table[i];

        if (p->unit == WIRE_UNIT_TIME && strcmp(p->field, "cnp_interval_ps") != 0 &&
            strncmp(p->field, "rto_", 4) != 0)
            CHECK_NEAR(wire_param_get(p, &ideal), 0, 0);
    }
    CHECK_EQ(ideal.pcie_bps, 0);
    CHECK_EQ(ideal.qp_cache_entries + ideal.mr_cache_entries + ideal.page_cache_entries +
                 ideal.cq_cache_entries,
             0);
}

static void a_page_is_a_power_of_two(void)
{
    void *memory = aligned_alloc(64, (rnic_device_bytes() + 63) & ~(size_t)63);
    struct rnic_config config = {.params = rnic_params_default(),
                                 .cc = &rnic_cc_none,
                                 .cc_config = {.line_bps = 1000000000}};

    CHECK(memory != NULL);
    config.params.page_bytes = 5000;
    CHECK(rnic_device_init(memory, &config) == NULL);
    config.params.page_bytes = 8192;
    CHECK(rnic_device_init(memory, &config) != NULL);
    free(memory);
}

/* One step outside either border of each: no card. At the borders: a card that works. */
static void a_card_with_a_parameter_out_of_range_is_not_made(void)
{
    void *memory = aligned_alloc(64, (rnic_device_bytes() + 63) & ~(size_t)63);

    CHECK(memory != NULL);
    for (size_t i = 0; i < rnic_param_count; i++)
        for (unsigned side = 0; side < 4; side++) {
            const struct wire_param *p = &rnic_param_table[i];
            struct rnic_config config = {.params = rnic_params_default(),
                                         .cc = &rnic_cc_none,
                                         .cc_config = {.line_bps = 1000000000}};
            double value = side == 0   ? p->min - 1
                           : side == 1 ? p->max + 1
                           : side == 2 ? p->min
                                       : p->max;
            uint64_t raw;

            if (value < 0)
                continue;
            raw = (uint64_t)value;
            memcpy((char *)&config.params + p->offset, &raw, sizeof raw);
            CHECK_EQ(rnic_device_init(memory, &config) != NULL, side >= 2);
        }
    free(memory);
}

/* A transfer on a card with each parameter at either end of its range still arrives. */
static void every_border_of_every_parameter_still_works(void)
{
    static const char *const skip[] = {
        "max_qp", "max_mr",  "max_cq",
        "max_wr", "max_cqe", "max_sge"}; /* limits of what may be made at all */

    for (size_t i = 0; i < rnic_param_count; i++)
        for (unsigned side = 0; side < 2; side++) {
            static struct card_bench bench;
            const struct wire_param *p = &rnic_param_table[i];
            struct card_options options = card_options_default();
            uint64_t raw = (uint64_t)(side ? p->max : p->min);
            bool skipped = false;

            for (size_t k = 0; k < sizeof skip / sizeof skip[0]; k++)
                skipped |= strcmp(skip[k], p->field) == 0;
            if (skipped)
                continue;
            options.mtu_bytes = 1024;
            memcpy((char *)&options.params + p->offset, &raw, sizeof raw);
            card_bench_open(&bench, 2, &options);
            card_fill(bench.cards[0].bytes, 20000, i);
            card_recv(&bench.cards[1], 1, 0, 20000);
            card_send(&bench.cards[0], 1, 0, 20000);
            card_write(&bench.cards[0], 2, 0, 50000, 20000);
            card_bench_run(&bench, WIRE_NEVER);
            card_bench_run(&bench, bench.now_ps + 5000000000);
            card_expect(&bench.cards[0], bench.cards[0].send_cq, 1, RNIC_WC_SUCCESS);
            card_expect(&bench.cards[0], bench.cards[0].send_cq, 2, RNIC_WC_SUCCESS);
            CHECK_BYTES(bench.cards[1].bytes, bench.cards[0].bytes, 20000);
            CHECK_BYTES(bench.cards[1].bytes + 50000, bench.cards[0].bytes, 20000);
            card_bench_close(&bench);
        }
}

CHECK_SUITE(params, CHECK_CASE(the_table_is_whole), CHECK_CASE(the_ideal_card_has_no_latency),
            CHECK_CASE(a_page_is_a_power_of_two),
            CHECK_CASE(a_card_with_a_parameter_out_of_range_is_not_made),
            CHECK_CASE(every_border_of_every_parameter_still_works))
