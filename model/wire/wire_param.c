/* SPDX-License-Identifier: GPL-2.0-only */
#include "wire_param.h"

#include <string.h>

#define TWO_TO_64 0x1p64

double wire_param_get(const struct wire_param *entry, const void *params)
{
    const char *field = (const char *)params + entry->offset;
    uint64_t whole;
    double real;

    if (entry->unit == WIRE_UNIT_RATIO) {
        memcpy(&real, field, sizeof(real));
        return real;
    }
    memcpy(&whole, field, sizeof(whole));
    return (double)whole;
}

/* NaN is in no range. */
static bool param_in_range(const struct wire_param *entry, double value)
{
    return value >= entry->min && value <= entry->max;
}

bool wire_param_set(const struct wire_param *entry, void *params, double value)
{
    char *field = (char *)params + entry->offset;
    uint64_t whole;

    WIRE_ASSERT(entry->min <= entry->max);
    if (!param_in_range(entry, value))
        return false;
    if (entry->unit == WIRE_UNIT_RATIO) {
        memcpy(field, &value, sizeof(value));
        return true;
    }
    if (value < 0 || value >= TWO_TO_64)
        return false;
    whole = (uint64_t)value;
    if ((double)whole != value) /* equal only when nothing was cut off */
        return false;
    memcpy(field, &whole, sizeof(whole));
    return true;
}

void wire_param_defaults(const struct wire_param *table, size_t n, void *params)
{
    WIRE_ASSERT(n == 0 || (table != NULL && params != NULL));
    for (size_t i = 0; i < n; i++) {
        bool fits = wire_param_set(&table[i], params, table[i].def);

        WIRE_ASSERT(fits);
        (void)fits;
    }
}

const struct wire_param *wire_param_check(const struct wire_param *table, size_t n,
                                          const void *params)
{
    WIRE_ASSERT(n == 0 || (table != NULL && params != NULL));
    for (size_t i = 0; i < n; i++) {
        if (!param_in_range(&table[i], wire_param_get(&table[i], params)))
            return &table[i];
    }
    return NULL;
}

/* Length of the field name without its unit suffix. */
static size_t param_key_length(const struct wire_param *entry)
{
    static const char *const suffixes[] = {"_ps", "_bps", "_bytes"};
    size_t n = strlen(entry->field);

    for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
        size_t k = strlen(suffixes[i]);

        if (n > k && memcmp(entry->field + n - k, suffixes[i], k) == 0)
            return n - k;
    }
    return n;
}

void wire_param_key(const struct wire_param *entry, char *key, size_t size)
{
    size_t n = param_key_length(entry);

    WIRE_ASSERT(key != NULL || size == 0);
    if (size == 0)
        return;
    if (n > size - 1)
        n = size - 1;
    memcpy(key, entry->field, n);
    key[n] = '\0';
}

const struct wire_param *wire_param_find(const struct wire_param *table, size_t n, const char *key)
{
    size_t length = strlen(key);

    WIRE_ASSERT(n == 0 || table != NULL);
    for (size_t i = 0; i < n; i++) {
        if (param_key_length(&table[i]) == length && memcmp(table[i].field, key, length) == 0)
            return &table[i];
    }
    return NULL;
}
