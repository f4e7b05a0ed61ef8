/* SPDX-License-Identifier: GPL-2.0-only */
/* SplitMix64 against its published output; streams apart; the unit interval. */
#include "check.h"
#include "wire_rng.h"

static void published_sequence(void)
{
    static const uint64_t want[] = {6457827717110365317u, 3203168211198807973u,
                                    9817491932198370423u, 4593380528125082431u,
                                    16408922859458223821u};
    struct wire_rng rng = {1234567};

    for (size_t i = 0; i < 5; i++)
        CHECK_EQ(wire_rng_next(&rng), want[i]);
}

static void streams_differ_and_repeat(void)
{
    for (uint64_t stream = 0; stream < 100; stream++) {
        struct wire_rng a = wire_rng_init(1, stream), again = wire_rng_init(1, stream);
        struct wire_rng next = wire_rng_init(1, stream + 1), seed = wire_rng_init(2, stream);
        uint64_t first = wire_rng_next(&a);

        CHECK_EQ(first, wire_rng_next(&again));
        CHECK(first != wire_rng_next(&next));
        CHECK(first != wire_rng_next(&seed));
    }
}

static void uniform_stays_below_one(void)
{
    struct wire_rng rng = wire_rng_init(3, 0);
    double sum = 0;

    for (int i = 0; i < 100000; i++) {
        double u = wire_rng_uniform(&rng);

        CHECK(u >= 0 && u < 1);
        sum += u;
    }
    CHECK_NEAR(sum / 100000, 0.5, 0.005); /* 5 standard deviations */
}

CHECK_SUITE(rng, CHECK_CASE(published_sequence), CHECK_CASE(streams_differ_and_repeat),
            CHECK_CASE(uniform_stays_below_one))
