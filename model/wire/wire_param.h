/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * Parameters exist once: a block lists each as one line of an X-macro, and from that line come the
 * C struct field, the table entry, the ns-3 attribute, the scenario key and summary.json's line.
 *
 *   #define FOO_PARAMS(X)                                                                 \
 *       X(delay_ps, TIME, 1000000, 0, 1000000000000, "IEEE 802.3", "Propagation delay", NULL) \
 *       X(alpha, RATIO, 0.125, 0.0, 64.0, "HPCC", "Share of the free pool of a queue", NULL)
 *   struct foo_params { FOO_PARAMS(WIRE_PARAM_FIELD) };
 *   #define WIRE_PARAM_STRUCT struct foo_params
 *   const struct wire_param foo_param_table[] = {FOO_PARAMS(WIRE_PARAM_ENTRY)};
 *
 * Every value is held as a double-precision RATIO or as uint64_t in the base unit, so that one
 * offset and one unit are all a reader needs. A fitted value says "fitted" in its source, a
 * remembered one "unverified".
 */
#ifndef WIRE_PARAM_H
#define WIRE_PARAM_H

#include "wire_types.h"

enum wire_unit {
    WIRE_UNIT_TIME,  /* uint64_t picoseconds; written "1us" */
    WIRE_UNIT_RATE,  /* uint64_t bits a second; written "100Gbps" */
    WIRE_UNIT_BYTES, /* uint64_t; written "32MB", "64MiB" or a plain number of bytes */
    WIRE_UNIT_COUNT, /* uint64_t; a plain whole number */
    WIRE_UNIT_BOOL,  /* uint64_t 0 or 1; true or false */
    WIRE_UNIT_ENUM,  /* uint64_t index into `names`; written as the name */
    WIRE_UNIT_RATIO, /* double; a plain number */
};

/* Field name without its unit suffix (_ps, _bps, _bytes) is the scenario key. */
struct wire_param {
    const char *field; /* C field name, e.g. "delay_ps" */
    enum wire_unit unit;
    uint32_t offset; /* in the params struct */
    double def, min, max;
    const char *source; /* paper, clause, measurement, "fitted", "unverified" or "choice" */
    const char *text;   /* one line */
    const char *names;  /* ENUM: names in order, comma separated; else NULL */
};

#define WIRE_PARAM_TYPE_TIME uint64_t
#define WIRE_PARAM_TYPE_RATE uint64_t
#define WIRE_PARAM_TYPE_BYTES uint64_t
#define WIRE_PARAM_TYPE_COUNT uint64_t
#define WIRE_PARAM_TYPE_BOOL uint64_t
#define WIRE_PARAM_TYPE_ENUM uint64_t
#define WIRE_PARAM_TYPE_RATIO double

/* X(field, unit, default, min, max, source, text, enum names or NULL) */
#define WIRE_PARAM_FIELD(field, unit, def, min, max, source, text, names)                          \
    WIRE_PARAM_TYPE_##unit field;

/* Entry of the table of `struct NAME_params`; define WIRE_PARAM_STRUCT to the struct first. */
#define WIRE_PARAM_ENTRY(field, unit, def, min, max, source, text, names)                          \
    {#field,                                                                                       \
     WIRE_UNIT_##unit,                                                                             \
     (uint32_t)offsetof(WIRE_PARAM_STRUCT, field),                                                 \
     (double)(def),                                                                                \
     (double)(min),                                                                                \
     (double)(max),                                                                                \
     source,                                                                                       \
     text,                                                                                         \
     names},

/**
 * Fill @p params with the defaults of its table.
 */
void wire_param_defaults(const struct wire_param *table, size_t n, void *params);

/** @return NULL when every value is in range, else the first entry that is not. */
const struct wire_param *wire_param_check(const struct wire_param *table, size_t n,
                                          const void *params);

/** Value as a double in its base unit (exact up to 2^53). */
double wire_param_get(const struct wire_param *entry, const void *params);

/** Set from a base-unit value. @return false, nothing changed, when out of range or not whole. */
bool wire_param_set(const struct wire_param *entry, void *params, double value);

/** Scenario key: the field without _ps, _bps or _bytes, cut to @p size bytes with its zero. */
void wire_param_key(const struct wire_param *entry, char *key, size_t size);

/** @return the entry whose scenario key is @p key, or NULL. */
const struct wire_param *wire_param_find(const struct wire_param *table, size_t n, const char *key);

#endif
