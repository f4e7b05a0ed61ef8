/* SPDX-License-Identifier: GPL-2.0-only */
/* The parameter table: defaults, keys, ranges, whole numbers. */
#include "check.h"
#include "wire_param.h"

#include <math.h>

#define TOY_PARAMS(X)                                                                              \
    X(delay_ps, TIME, 1000000, 10, 1000000000000, "choice", "A time", NULL)                        \
    X(rate_bps, RATE, 100000000000, 1, 1e15, "choice", "A rate", NULL)                             \
    X(buffer_bytes, BYTES, 4096, 0, 1e12, "choice", "A size", NULL)                                \
    X(count, COUNT, 7, 1, 9, "choice", "A number", NULL)                                           \
    X(on, BOOL, 1, 0, 1, "choice", "A switch", NULL)                                               \
    X(mode, ENUM, 1, 0, 2, "choice", "A choice", "red,green,blue")                                 \
    X(alpha, RATIO, 0.125, -1.5, 64.0, "choice", "A real number", NULL)                            \
    X(_ps, COUNT, 0, 0, 0x1p63, "choice", "A name that is nothing but a suffix", NULL)

struct toy_params {
    TOY_PARAMS(WIRE_PARAM_FIELD)
};

#define WIRE_PARAM_STRUCT struct toy_params
static const struct wire_param table[] = {TOY_PARAMS(WIRE_PARAM_ENTRY)};
#define TABLE (sizeof(table) / sizeof(table[0]))

static struct toy_params toy(void)
{
    struct toy_params params;

    memset(&params, 0xA5, sizeof(params));
    wire_param_defaults(table, TABLE, &params);
    return params;
}

static const struct wire_param *named(const char *key)
{
    const struct wire_param *entry = wire_param_find(table, TABLE, key);

    CHECK(entry != NULL);
    return entry;
}

static void defaults_fill_every_field(void)
{
    struct toy_params params = toy();

    CHECK_EQ(params.delay_ps, 1000000);
    CHECK_EQ(params.rate_bps, 100000000000);
    CHECK_EQ(params.buffer_bytes, 4096);
    CHECK_EQ(params.count, 7);
    CHECK_EQ(params.on, 1);
    CHECK_EQ(params.mode, 1);
    CHECK(params.alpha == 0.125);
    CHECK_EQ(params._ps, 0);
    CHECK(wire_param_check(table, TABLE, &params) == NULL);
}

static void keys_have_no_unit_suffix(void)
{
    static const char *const keys[] = {"delay", "rate", "buffer", "count",
                                       "on",    "mode", "alpha",  "_ps"};
    char key[16];

    for (size_t i = 0; i < TABLE; i++) {
        wire_param_key(&table[i], key, sizeof(key));
        CHECK_STR(key, keys[i]);
        CHECK(wire_param_find(table, TABLE, keys[i]) == &table[i]);
    }
    CHECK(wire_param_find(table, TABLE, "delay_ps") == NULL);
    CHECK(wire_param_find(table, TABLE, "dela") == NULL);
    CHECK(wire_param_find(table, TABLE, "delayx") == NULL);
    CHECK(wire_param_find(table, TABLE, "") == NULL);
    CHECK(wire_param_find(table, 0, "delay") == NULL);
}

static void key_is_cut_to_its_buffer(void)
{
    char key[4] = "xyz";

    wire_param_key(named("buffer"), key, 0);
    CHECK_STR(key, "xyz");
    wire_param_key(named("buffer"), key, 1);
    CHECK_STR(key, "");
    wire_param_key(named("buffer"), key, 4);
    CHECK_STR(key, "buf");
}

static void set_and_get(void)
{
    struct toy_params params = toy();

    CHECK(wire_param_set(named("delay"), &params, 10));
    CHECK_EQ(params.delay_ps, 10);
    CHECK(wire_param_get(named("delay"), &params) == 10.0);
    CHECK(wire_param_set(named("rate"), &params, 1e15));
    CHECK_EQ(params.rate_bps, 1000000000000000);
    CHECK(wire_param_set(named("alpha"), &params, -1.5));
    CHECK(wire_param_get(named("alpha"), &params) == -1.5);
    CHECK(wire_param_set(named("mode"), &params, 2));
    CHECK_EQ(params.mode, 2);
    CHECK(wire_param_set(named("_ps"), &params, 0x1p63));
    CHECK_EQ(params._ps, UINT64_C(1) << 63);
}

static void set_refuses_and_changes_nothing(void)
{
    struct toy_params params = toy(), before = toy();
    struct wire_param no_limit = *named("count");

    CHECK(!wire_param_set(named("count"), &params, 0));
    CHECK(!wire_param_set(named("count"), &params, 10));
    CHECK(!wire_param_set(named("count"), &params, 1.5));
    CHECK(!wire_param_set(named("count"), &params, 8.999999));
    CHECK(!wire_param_set(named("count"), &params, (double)NAN));
    CHECK(!wire_param_set(named("buffer"), &params, -1));
    CHECK(!wire_param_set(named("on"), &params, 2));
    CHECK(!wire_param_set(named("mode"), &params, 3));
    CHECK(!wire_param_set(named("alpha"), &params, 64.01));
    CHECK(!wire_param_set(named("alpha"), &params, (double)NAN));
    no_limit.min = -1e300; /* a table that allows what 64 bits do not hold */
    no_limit.max = 1e300;
    CHECK(!wire_param_set(&no_limit, &params, -1));
    CHECK(!wire_param_set(&no_limit, &params, 0x1p64));
    CHECK_BYTES(&params, &before, sizeof(params));
}

static void check_names_the_first_bad_entry(void)
{
    struct toy_params params = toy();

    params.alpha = (double)NAN;
    CHECK(wire_param_check(table, TABLE, &params) == named("alpha"));
    params.mode = 3;
    CHECK(wire_param_check(table, TABLE, &params) == named("mode"));
    params.delay_ps = 9;
    CHECK(wire_param_check(table, TABLE, &params) == named("delay"));
    CHECK(wire_param_check(table, 0, &params) == NULL);
}

CHECK_SUITE(param, CHECK_CASE(defaults_fill_every_field), CHECK_CASE(keys_have_no_unit_suffix),
            CHECK_CASE(key_is_cut_to_its_buffer), CHECK_CASE(set_and_get),
            CHECK_CASE(set_refuses_and_changes_nothing),
            CHECK_CASE(check_names_the_first_bad_entry))
