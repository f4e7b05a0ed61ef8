/* SPDX-License-Identifier: GPL-2.0-only */
#include "wire_frame.h"

static const struct {
    const char *name, *text;
} drops[WIRE_DROP_COUNT] = {
#define DROP_ENTRY(id, name, text) {name, text},
    WIRE_DROPS(DROP_ENTRY)
#undef DROP_ENTRY
};

const char *wire_drop_name(enum wire_drop drop)
{
    WIRE_ASSERT((unsigned)drop < WIRE_DROP_COUNT);
    return drops[drop].name;
}

const char *wire_drop_text(enum wire_drop drop)
{
    WIRE_ASSERT((unsigned)drop < WIRE_DROP_COUNT);
    return drops[drop].text;
}
