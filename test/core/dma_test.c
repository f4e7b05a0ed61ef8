/* SPDX-License-Identifier: GPL-2.0-only */
/* DMA and PCIe in closed form. */
#include "check.h"
#include "rnic_dma.h"

static struct rnic_dma dma_with(uint64_t bps, uint64_t payload, uint64_t read)
{
    struct rnic_params params = rnic_params_default();
    struct rnic_dma dma = {0};

    params.pcie_bps = bps;
    params.pcie_max_payload_bytes = payload;
    params.pcie_max_read_bytes = read;
    rnic_dma_init(&dma, &params);
    return dma;
}

/* 8 Gb/s: a byte is a nanosecond. */
static void a_write_is_its_tlps_and_the_latency(void)
{
    static const struct {
        uint32_t bytes, tlps;
    } cases[] = {{0, 1}, {1, 1}, {256, 1}, {257, 2}, {4096, 16}, {4097, 17}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rnic_dma dma = dma_with(8000000000, 256, 512);

        CHECK_EQ(rnic_dma_write(&dma, 5000, cases[i].bytes),
                 5000 + 1000 * (cases[i].bytes + 24 * cases[i].tlps) + 300000);
    }
}

static void a_read_is_latency_and_completions(void)
{
    static const struct {
        uint32_t bytes, tlps, asks;
    } cases[] = {{0, 1, 1},   {1, 1, 1},   {64, 1, 1},   {256, 1, 1},   {257, 2, 1},
                 {512, 2, 1}, {513, 3, 2}, {1500, 6, 3}, {4096, 16, 8}, {4097, 17, 9}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rnic_dma dma = dma_with(8000000000, 256, 512);
        uint64_t data_ps = 1000 * (cases[i].bytes + 24 * cases[i].tlps);

        CHECK_EQ(rnic_dma_read(&dma, 5000, cases[i].bytes), 5000 + 550000 + data_ps);
        CHECK_EQ(rnic_dma_nominal_ps(&dma, cases[i].bytes), 550000 + data_ps);
        /* a write of nothing behind it waits for its requests */
        CHECK_EQ(rnic_dma_write(&dma, 5000, 0), 5000 + 24000 * (cases[i].asks + 1) + 300000);
    }
}

/* Reads share the way down; their requests, and writes, share the way up. */
static void directions_are_shared_and_apart(void)
{
    struct rnic_dma dma = dma_with(8000000000, 256, 512);
    uint64_t first = rnic_dma_read(&dma, 0, 256);

    CHECK_EQ(first, 550000 + 280000);
    CHECK_EQ(rnic_dma_read(&dma, 0, 256), first + 280000);
    /* two requests of 24 B went up */
    CHECK_EQ(rnic_dma_write(&dma, 0, 256), 48000 + 280000 + 300000);
    CHECK_EQ(rnic_dma_write(&dma, 0, 256), 48000 + 560000 + 300000);
    /* a read behind those writes: its request waits for the way up */
    CHECK_EQ(rnic_dma_read(&dma, 1000, 100), 608000 + 550000 + 124000);
}

/* 64 B reads over PCIe 3 x8 (62.96 Gb/s): headers take their share of the rate. */
static void many_reads_reach_the_rate_of_the_bus(void)
{
    struct rnic_dma dma = dma_with(62960000000, 256, 512);
    uint64_t end_ps = 0;

    for (uint32_t i = 0; i < 10000; i++)
        end_ps = rnic_dma_read(&dma, 0, 64);
    CHECK_NEAR(64.0 * 8e12 * 10000 / (double)(end_ps - 550000), 62.96e9 * 64 / 88, 1e7);
}

static void unlimited_pcie_is_latency_only(void)
{
    struct rnic_dma dma = dma_with(0, 256, 512);

    for (uint32_t i = 0; i < 100; i++) {
        CHECK_EQ(rnic_dma_read(&dma, 7, 100000), 550007);
        CHECK_EQ(rnic_dma_write(&dma, 7, 100000), 300007);
    }
    CHECK_EQ(rnic_dma_nominal_ps(&dma, 4096), 550000);
    CHECK_EQ(dma.up.n + dma.down.n, 0);
}

/* Gen4 x16, the default: 4 KiB take 142.2 ns and 100G needs a fifth of the bus. */
static void the_default_numbers(void)
{
    struct rnic_dma dma = dma_with(252000000000, 256, 512);

    CHECK_EQ(rnic_dma_read(&dma, 0, 4096),
             550000 + wire_line_time_ps(4096 + 16 * 24, 252000000000));
    CHECK_EQ(wire_line_time_ps(4480, 252000000000), 142223);
}

CHECK_SUITE(dma, CHECK_CASE(a_write_is_its_tlps_and_the_latency),
            CHECK_CASE(a_read_is_latency_and_completions),
            CHECK_CASE(directions_are_shared_and_apart),
            CHECK_CASE(many_reads_reach_the_rate_of_the_bus),
            CHECK_CASE(unlimited_pcie_is_latency_only), CHECK_CASE(the_default_numbers))
