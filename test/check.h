/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * All a C test needs: checks that print both values, and a main() that runs a list of cases.
 *
 *   static void wraps(void) { CHECK_EQ(wire_psn_add((wire_psn){0xFFFFFF}, 1).v, 0); }
 *   CHECK_SUITE(psn, CHECK_CASE(wraps))
 *
 * Prints `ok suite/case` per case that passed; the first check that fails prints file:line and ends
 * the program with status 1. `./suite_test NAME` runs only the cases whose name holds NAME.
 */
#ifndef CHECK_H
#define CHECK_H

#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct check_case
{
    const char *name;
    void (*run)(void);
};

/* @p x holds. */
#define CHECK(x)                                                                                   \
    do                                                                                             \
    {                                                                                              \
        if (!(x))                                                                                  \
        {                                                                                          \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #x);                                \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

/* Two whole numbers are equal (compared as 64 bits: -1 equals UINT64_MAX). */
#define CHECK_EQ(a, b) check_eq((int64_t)(a), (int64_t)(b), #a " == " #b, __FILE__, __LINE__)

/* |a - b| <= tolerance, for real numbers. */
#define CHECK_NEAR(a, b, tolerance)                                                                \
    check_near((double)(a), (double)(b), (double)(tolerance), #a " ~ " #b, __FILE__, __LINE__)

/* Two strings are equal. */
#define CHECK_STR(a, b) check_str((a), (b), #a " == " #b, __FILE__, __LINE__)

/* n bytes are equal; the first that differs is printed. */
#define CHECK_BYTES(a, b, n) check_bytes((a), (b), (n), #a " == " #b, __FILE__, __LINE__)

static inline void check_eq(int64_t a, int64_t b, const char *what, const char *file, int line)
{
    if (a == b)
        return;
    fprintf(stderr, "%s:%d: %s (%" PRId64 " vs %" PRId64 ", 0x%" PRIx64 " vs 0x%" PRIx64 ")\n",
            file, line, what, a, b, (uint64_t)a, (uint64_t)b);
    exit(1);
}

static inline void check_near(double a, double b, double tolerance, const char *what,
                              const char *file, int line)
{
    if (a - b <= tolerance && b - a <= tolerance)
        return;
    fprintf(stderr, "%s:%d: %s (%.17g vs %.17g, tolerance %g)\n", file, line, what, a, b,
            tolerance);
    exit(1);
}

static inline void check_str(const char *a, const char *b, const char *what, const char *file,
                             int line)
{
    if (a != NULL && b != NULL && strcmp(a, b) == 0)
        return;
    fprintf(stderr, "%s:%d: %s (\"%s\" vs \"%s\")\n", file, line, what, a != NULL ? a : "(null)",
            b != NULL ? b : "(null)");
    exit(1);
}

static inline void check_bytes(const void *a, const void *b, size_t n, const char *what,
                               const char *file, int line)
{
    for (size_t i = 0; i < n; i++)
    {
        unsigned x = ((const unsigned char *)a)[i], y = ((const unsigned char *)b)[i];

        if (x != y)
        {
            fprintf(stderr, "%s:%d: %s (byte %zu: 0x%02x vs 0x%02x)\n", file, line, what, i, x, y);
            exit(1);
        }
    }
}

static inline int check_run(const char *suite, const struct check_case *cases, size_t n,
                            const char *only)
{
    size_t ran = 0;

    for (size_t i = 0; i < n; i++)
    {
        if (only != NULL && strstr(cases[i].name, only) == NULL)
            continue;
        cases[i].run();
        printf("ok %s/%s\n", suite, cases[i].name);
        fflush(stdout);
        ran++;
    }
    if (ran == 0)
        fprintf(stderr, "%s: no case matches %s\n", suite, only != NULL ? only : "(none)");
    return ran > 0 ? 0 : 1;
}

/* clang-format off */
#define CHECK_CASE(f) {#f, f}
/* clang-format on */
#define CHECK_SUITE(suite, ...)                                                                    \
    int main(int argc, char **argv)                                                                \
    {                                                                                              \
        static const struct check_case cases[] = {__VA_ARGS__};                                    \
                                                                                                   \
        return check_run(#suite, cases, sizeof(cases) / sizeof(cases[0]),                          \
                         argc > 1 ? argv[1] : NULL);                                               \
    }

#endif
