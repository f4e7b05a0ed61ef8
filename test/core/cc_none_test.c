/* SPDX-License-Identifier: GPL-2.0-only */
/* The list of controls, and the one that does nothing. */
#include "check.h"
#include "rnic_cc.h"

static void every_control_is_found_by_its_name(void)
{
    size_t n = 0;

    for (; rnic_cc_all[n]; n++) {
        CHECK(rnic_cc_find(rnic_cc_all[n]->name) == rnic_cc_all[n]);
        CHECK(rnic_cc_all[n]->init && rnic_cc_all[n]->cnp && rnic_cc_all[n]->sent);
        CHECK(rnic_cc_all[n]->rate_bps && rnic_cc_all[n]->alpha);
    }
    CHECK_EQ(n, 2);
    CHECK(rnic_cc_find("none") == &rnic_cc_none);
    CHECK(rnic_cc_find("dcqcn") == &rnic_cc_dcqcn);
    CHECK(rnic_cc_find("DCQCN") == NULL);
    CHECK(rnic_cc_find("") == NULL);
}

static void none_is_never_limited(void)
{
    struct rnic_cc_config config = {.line_bps = 100000000000};
    struct rnic_cc_state state;

    memset(&state, 0xA5, sizeof state);
    rnic_cc_none.init(&config, &state, 5);
    for (uint64_t now_ps = 5; now_ps < 1000; now_ps++) {
        rnic_cc_none.cnp(&config, &state, now_ps);
        rnic_cc_none.sent(&config, &state, 4186, now_ps);
        CHECK(!state.limited);
        CHECK_EQ(state.next_send_ps, 0);
        CHECK_EQ(rnic_cc_none.rate_bps(&config, &state, now_ps), 100000000000);
        CHECK_NEAR(rnic_cc_none.alpha(&config, &state, now_ps), 0.0, 0.0);
    }
}

CHECK_SUITE(cc_none, CHECK_CASE(every_control_is_found_by_its_name),
            CHECK_CASE(none_is_never_limited))
