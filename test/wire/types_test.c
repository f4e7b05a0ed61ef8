/* SPDX-License-Identifier: GPL-2.0-only */
/* PSN arithmetic around the wrap, and bytes to picoseconds in closed form. */
#include "check.h"
#include "wire_types.h"

static wire_psn psn(uint32_t v)
{
    return (wire_psn){v};
}

static void psn_wraps(void)
{
    CHECK_EQ(wire_psn_add(psn(0xFFFFFE), 1).v, 0xFFFFFF);
    CHECK_EQ(wire_psn_add(psn(0xFFFFFE), 2).v, 0);
    CHECK_EQ(wire_psn_add(psn(0xFFFFFE), 3).v, 1);
    CHECK_EQ(wire_psn_add(psn(5), 0xFFFFFF).v, 4); /* minus one */
    CHECK_EQ(wire_psn_add(psn(5), 0x1000000).v, 5);
}

static void psn_distance_is_signed(void)
{
    CHECK_EQ(wire_psn_diff(psn(1), psn(0xFFFFFE)), 3);
    CHECK_EQ(wire_psn_diff(psn(0xFFFFFE), psn(1)), -3);
    CHECK_EQ(wire_psn_diff(psn(7), psn(7)), 0);
    CHECK_EQ(wire_psn_diff(psn(0x7FFFFF), psn(0)), 0x7FFFFF);  /* latest of the new */
    CHECK_EQ(wire_psn_diff(psn(0x800000), psn(0)), -0x800000); /* oldest duplicate */
    CHECK_EQ(wire_psn_diff(psn(0), psn(0x800000)), -0x800000);
    CHECK_EQ(wire_psn_diff(psn(0), psn(1)), -1);
}

/* rxe's form, ((a - b) << 8) as a signed 32-bit number, shifted back; all 2^24 distances. */
static void psn_distance_is_that_of_rxe(void)
{
    uint32_t base = 0xFFFF00;

    for (uint32_t d = 0; d <= WIRE_PSN_MASK; d++) {
        int64_t shifted = (int64_t)((uint32_t)(d << 8));

        if (shifted >= INT64_C(1) << 31)
            shifted -= INT64_C(1) << 32;
        CHECK_EQ(wire_psn_diff(wire_psn_add(psn(base), d), psn(base)), shifted / 256);
    }
}

static void line_time_at_whole_picoseconds(void)
{
    CHECK_EQ(wire_line_time_ps(1, 100000000000), 80);
    CHECK_EQ(wire_line_time_ps(4178, 100000000000), 334240);
    CHECK_EQ(wire_line_time_ps(1106 + 86, 100000000000), 95360);
    CHECK_EQ(wire_line_time_ps(1, 800000000000), 10);
    CHECK_EQ(wire_line_time_ps(4178, 400000000000), 83560);
    CHECK_EQ(wire_line_time_ps(1500, 10000000000), 1200000);
    CHECK_EQ(wire_line_time_ps(0, 1), 0);
    /* a quantum of pause is 512 bit times: 0xFFFF of them at 100G end after 335.5 us */
    CHECK_EQ(wire_line_time_ps(64 * 65535, 100000000000), 335539200);
    CHECK_EQ(wire_line_time_ps(64 * 65535, 400000000000), 83884800);
}

/* 2880G: 8000/2880 = 2 7/9 ps a byte. Up once for a whole frame, not once a byte. */
static void line_time_rounds_up_once(void)
{
    uint64_t bps = 2880000000000;

    CHECK_EQ(wire_line_time_ps(1, bps), 3);
    CHECK_EQ(wire_line_time_ps(9, bps), 25); /* exact */
    CHECK_EQ(wire_line_time_ps(10, bps), 28);
    CHECK_EQ(wire_line_time_ps(4178, bps), 11606); /* 11605.6 */
    CHECK_EQ(wire_line_time_ps(9000, bps), 25000);
    for (uint64_t bytes = 0; bytes < 10000; bytes++)
        CHECK_EQ(wire_line_time_ps(bytes, bps), (bytes * 25 + 8) / 9);
    CHECK_EQ(wire_line_time_ps(1, 3), 2666666666667);
}

static void line_time_of_huge_transfers(void)
{
    /* a 64-bit product would have wrapped at 2.3 MB */
    CHECK_EQ(wire_line_time_ps(UINT64_C(1) << 57, 100000000000), (UINT64_C(1) << 57) * 80);
    CHECK_EQ(wire_line_time_ps(5000000000, 100000000000), 400000000000);
}

static void smaller_and_larger(void)
{
    CHECK_EQ(wire_min_ps(3, WIRE_NEVER), 3);
    CHECK_EQ(wire_min_ps(WIRE_NEVER, 3), 3);
    CHECK_EQ(wire_max_ps(3, 4), 4);
    CHECK_EQ(wire_max_ps(4, 3), 4);
    CHECK_EQ(WIRE_GAP_BYTES, 20);
    CHECK_EQ(WIRE_PREAMBLE_BYTES, 8);
}

CHECK_SUITE(types, CHECK_CASE(psn_wraps), CHECK_CASE(psn_distance_is_signed),
            CHECK_CASE(psn_distance_is_that_of_rxe), CHECK_CASE(line_time_at_whole_picoseconds),
            CHECK_CASE(line_time_rounds_up_once), CHECK_CASE(line_time_of_huge_transfers),
            CHECK_CASE(smaller_and_larger))
