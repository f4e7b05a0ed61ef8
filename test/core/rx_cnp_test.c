/* SPDX-License-Identifier: GPL-2.0-only */
/* The notification point of one queue pair against the rule, computed from the whole list. */
#include "check.h"
#include "rnic_rx_cnp.h"
#include "wire_rng.h"

#define N_PS 50000000u /* 50 us */

static void the_first_ce_is_answered_at_once(void)
{
    struct rnic_rx_cnp_state s = {0};

    CHECK(!rnic_rx_cnp_open(&s));
    CHECK(!rnic_rx_cnp_due(&s, WIRE_NEVER));
    CHECK(rnic_rx_cnp_ce(&s, N_PS, 0)); /* also at time 0 */
    CHECK(rnic_rx_cnp_open(&s));
    CHECK_EQ(s.window_end_ps, N_PS);
    CHECK(!rnic_rx_cnp_due(&s, N_PS - 1));
    CHECK(rnic_rx_cnp_due(&s, N_PS));
}

static void a_quiet_window_closes_and_the_next_ce_is_a_first_one(void)
{
    struct rnic_rx_cnp_state s = {0};

    CHECK(rnic_rx_cnp_ce(&s, N_PS, 1000));
    CHECK(!rnic_rx_cnp_window_end(&s, N_PS, 1000 + N_PS));
    CHECK(!rnic_rx_cnp_open(&s));
    CHECK(rnic_rx_cnp_ce(&s, N_PS, 1000 + N_PS)); /* same instant, after the end */
    CHECK_EQ(s.window_end_ps, 1000 + 2 * (uint64_t)N_PS);
}

static void a_burst_gets_one_cnp_at_the_window_end(void)
{
    struct rnic_rx_cnp_state s = {0};

    CHECK(rnic_rx_cnp_ce(&s, N_PS, 1000));
    for (uint64_t i = 0; i < 100; i++)
        CHECK(!rnic_rx_cnp_ce(&s, N_PS, 1000 + i));
    CHECK(rnic_rx_cnp_window_end(&s, N_PS, 1000 + N_PS));
    CHECK_EQ(s.window_end_ps, 1000 + 2 * (uint64_t)N_PS); /* and the window begins again */
    CHECK(!rnic_rx_cnp_window_end(&s, N_PS, s.window_end_ps));
    CHECK(!rnic_rx_cnp_open(&s));
}

static void interval_0_answers_every_ce(void)
{
    struct rnic_rx_cnp_state s = {0};

    for (uint64_t i = 0; i < 100; i++) {
        CHECK(rnic_rx_cnp_ce(&s, 0, i / 2));
        CHECK(!rnic_rx_cnp_open(&s));
    }
}

static void a_window_end_served_late_still_keeps_the_interval(void)
{
    struct rnic_rx_cnp_state s = {0};

    CHECK(rnic_rx_cnp_ce(&s, N_PS, 1000));
    CHECK(!rnic_rx_cnp_ce(&s, N_PS, 1000 + N_PS + 7)); /* counts for the window that is due */
    CHECK(rnic_rx_cnp_window_end(&s, N_PS, 1000 + N_PS + 9));
    CHECK_EQ(s.window_end_ps, 1000 + 2 * (uint64_t)N_PS + 9);
}

/* The paper's rule on the list of all CE times: no state, no timer. @return number of CNPs. */
static size_t cnps_of(const uint64_t *ce_ps, size_t n, uint64_t interval_ps, uint64_t *cnp_ps)
{
    size_t sent = 0, i = 0;

    while (i < n) {
        uint64_t at_ps = ce_ps[i++];

        cnp_ps[sent++] = at_ps;
        for (;;) {
            size_t inside = 0;

            while (i + inside < n && ce_ps[i + inside] < at_ps + interval_ps)
                inside++;
            if (inside == 0)
                break;
            i += inside;
            at_ps += interval_ps;
            cnp_ps[sent++] = at_ps;
        }
    }
    return sent;
}

static void random_trains_agree_with_the_rule(void)
{
    enum { CES = 400 };

    for (uint64_t seed = 1; seed <= 2000; seed++) {
        struct wire_rng rng = wire_rng_init(seed, 0);
        struct rnic_rx_cnp_state s = {0};
        uint64_t ce_ps[CES], want_ps[2 * CES], got_ps[2 * CES];
        uint64_t interval_ps = 1 + wire_rng_next(&rng) % 50, now_ps = wire_rng_next(&rng) % 3;
        size_t want, got = 0;

        for (size_t i = 0; i < CES; i++) {
            uint64_t spread = wire_rng_next(&rng) % 8 == 0 ? 4 * interval_ps : interval_ps / 4 + 1;

            ce_ps[i] = now_ps;
            now_ps += wire_rng_next(&rng) % spread;
        }
        want = cnps_of(ce_ps, CES, interval_ps, want_ps);
        for (size_t i = 0; i <= CES; i++) {
            uint64_t until_ps = i < CES ? ce_ps[i] : now_ps + 10 * interval_ps;

            while (rnic_rx_cnp_due(&s, until_ps)) {
                uint64_t end_ps = s.window_end_ps;

                if (rnic_rx_cnp_window_end(&s, interval_ps, end_ps))
                    got_ps[got++] = end_ps;
            }
            if (i < CES && rnic_rx_cnp_ce(&s, interval_ps, until_ps))
                got_ps[got++] = until_ps;
        }
        if (got != want || memcmp(got_ps, want_ps, got * sizeof *got_ps) != 0)
            fprintf(stderr, "seed %" PRIu64 "\n", seed);
        CHECK_EQ(got, want);
        CHECK_BYTES(got_ps, want_ps, got * sizeof *got_ps);
        CHECK(!rnic_rx_cnp_open(&s));
    }
    printf("   seeds 1..2000\n");
}

CHECK_SUITE(rx_cnp, CHECK_CASE(the_first_ce_is_answered_at_once),
            CHECK_CASE(a_quiet_window_closes_and_the_next_ce_is_a_first_one),
            CHECK_CASE(a_burst_gets_one_cnp_at_the_window_end),
            CHECK_CASE(interval_0_answers_every_ce),
            CHECK_CASE(a_window_end_served_late_still_keeps_the_interval),
            CHECK_CASE(random_trains_agree_with_the_rule))
