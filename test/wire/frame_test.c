/* SPDX-License-Identifier: GPL-2.0-only */
/* The frame's layout and the names of the drop reasons. */
#include "check.h"
#include "wire_frame.h"

static void two_cache_lines(void)
{
    CHECK_EQ(sizeof(struct wire_frame), 128);
    CHECK_EQ(offsetof(struct wire_frame, psn), 64);
}

static void drop_names_are_distinct_keys(void)
{
    CHECK_STR(wire_drop_name(WIRE_DROP_NONE), "none");
    CHECK_STR(wire_drop_name(WIRE_DROP_ICRC), "icrc");
    CHECK_STR(wire_drop_name((enum wire_drop)(WIRE_DROP_COUNT - 1)), "no_listener");
    for (unsigned a = 0; a < WIRE_DROP_COUNT; a++) {
        const char *name = wire_drop_name((enum wire_drop)a);

        CHECK(name[0] != '\0' &&
              strspn(name, "abcdefghijklmnopqrstuvwxyz_0123456789") == strlen(name));
        CHECK(wire_drop_text((enum wire_drop)a)[0] != '\0');
        for (unsigned b = 0; b < a; b++)
            CHECK(strcmp(name, wire_drop_name((enum wire_drop)b)) != 0);
    }
}

CHECK_SUITE(frame, CHECK_CASE(two_cache_lines), CHECK_CASE(drop_names_are_distinct_keys))
