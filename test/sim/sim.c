/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The simulation test as a program:
 * sim [--seed N] [--seeds A..B] [--spoil KIND] [--verbose] [--minimise]
 *
 * Without arguments seeds 1..1000. Many seeds run in a child, so that the parent can name the seed
 * and how to repeat it whatever ended the run: a check, an assertion, a sanitizer. One seed runs in
 * this process, for a debugger. Exit status: 0 all is well; 1 a seed failed; 2 bad arguments.
 */
#define _POSIX_C_SOURCE 200809L

#include "sim.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SEEDS_DEFAULT 1000u
#define SEEDS_SURE 1000u /* so many bring everything */
#define SECONDS_MAX 120u /* of one seed */
#define RUN_FAILED 3     /* of the child: it has said why (a sanitizer ends it with 1) */

struct arguments {
    uint64_t first, last;
    bool one, minimise;
    struct sim_options options;
};

static const struct {
    const char *name, *text;
} spoils[] = {
#define MAIN_SPOIL(id, name, text) {name, text},
    SIM_SPOILS(MAIN_SPOIL)
#undef MAIN_SPOIL
};

static int main_usage(const char *program)
{
    fprintf(stderr,
            "usage: %s [--seed N] [--seeds A..B] [--spoil KIND] [--verbose] [--minimise]\n"
            "  --seed N      one seed, in this process\n"
            "  --seeds A..B  seeds A to B; 1..%u without arguments\n"
            "  --verbose     tell the plan, every frame and every completion\n"
            "  --minimise    with --seed: the smallest part of its plan that still fails\n"
            "  --spoil KIND  break the run by hand; it must fail:\n",
            program, SEEDS_DEFAULT);
    for (size_t i = 0; i < sizeof spoils / sizeof spoils[0]; i++)
        fprintf(stderr, "      %-10s %s\n", spoils[i].name, spoils[i].text);
    return 2;
}

static bool main_number(const char **text, uint64_t *number)
{
    char *end;

    if (**text < '0' || **text > '9')
        return false;
    errno = 0;
    *number = strtoull(*text, &end, 10);
    *text = end;
    return errno == 0;
}

static bool main_seeds(const char *text, struct arguments *arguments, bool one)
{
    arguments->one = one;
    if (!main_number(&text, &arguments->first))
        return false;
    arguments->last = arguments->first;
    if (one)
        return *text == 0;
    return strncmp(text, "..", 2) == 0 && (text += 2, main_number(&text, &arguments->last)) &&
           *text == 0 && arguments->last >= arguments->first;
}

static bool main_spoil(const char *name, struct sim_options *options)
{
    for (size_t i = 0; i < sizeof spoils / sizeof spoils[0]; i++)
        if (strcmp(spoils[i].name, name) == 0) {
            options->spoil = (enum sim_spoil)i;
            return true;
        }
    return false;
}

static bool main_parse(int argc, char **argv, struct arguments *arguments)
{
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";

        if (strcmp(argv[i], "--verbose") == 0) {
            arguments->options.verbose = true;
            continue;
        }
        if (strcmp(argv[i], "--minimise") == 0) {
            arguments->minimise = true;
            continue;
        }
        i++;
        if (strcmp(argv[i - 1], "--seed") == 0 && main_seeds(value, arguments, true))
            continue;
        if (strcmp(argv[i - 1], "--seeds") == 0 && main_seeds(value, arguments, false))
            continue;
        if (strcmp(argv[i - 1], "--spoil") == 0 && main_spoil(value, &arguments->options))
            continue;
        return false;
    }
    return !arguments->minimise || arguments->one;
}

static void main_repeat(const char *program, const struct arguments *arguments, uint64_t seed)
{
    printf("repeat: %s --seed %ju", program, (uintmax_t)seed);
    if (arguments->options.spoil != SIM_SPOIL_NONE)
        printf(" --spoil %s", spoils[arguments->options.spoil].name);
    printf(" --verbose (or --minimise)\n");
}

/* Every member is a sum. */
static void main_add(struct sim_seen *sums, const struct sim_seen *seen)
{
    uint64_t *to = (uint64_t *)(void *)sums;
    const uint64_t *from = (const uint64_t *)(const void *)seen;

    for (size_t i = 0; i < sizeof *sums / sizeof *to; i++)
        to[i] += from[i];
}

/* Tell the sums. @return false: something that the seeds are meant to bring is missing */
static bool main_tell(const struct sim_seen *sums)
{
    static const char *const texts[] = {
#define MAIN_TEXT(name, text) text,
        SIM_SEEN(MAIN_TEXT)
#undef MAIN_TEXT
    };
    const uint64_t *sum = (const uint64_t *)(const void *)sums;
    bool all = true;

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        printf("%s%ju %s%s", i % 6 == 0 ? "   " : "", (uintmax_t)sum[i], texts[i],
               i % 6 == 5 ? "\n" : ", ");
        all = all && sum[i] > 0;
    }
    printf("\n");
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (sum[i] == 0)
            printf("never seen: %s\n", texts[i]);
    return all;
}

/* Run the seeds; each is announced on `progress` first (-1: nowhere). @return 0 or RUN_FAILED. */
static int main_run(const char *program, const struct arguments *arguments, int progress)
{
    struct sim_seen sums = {0};

    for (uint64_t seed = arguments->first;; seed++) {
        struct sim_result result;

        if (progress >= 0) {
            if (write(progress, &seed, sizeof seed) != (ssize_t)sizeof seed)
                return RUN_FAILED;
            alarm(SECONDS_MAX);
        }
        result = sim_run_seed(seed, &arguments->options);
        main_add(&sums, &result.seen);
        if (arguments->options.spoil != SIM_SPOIL_NONE && !result.spoiled)
            printf("seed %ju: gave no chance to spoil it\n", (uintmax_t)seed);
        if (result.failed) {
            printf("seed %ju failed: %s\n", (uintmax_t)seed, result.why);
            main_repeat(program, arguments, seed);
            return RUN_FAILED;
        }
        if (!arguments->one && (seed - arguments->first + 1) % 100 == 0) {
            printf("seed %ju: ok so far\n", (uintmax_t)seed);
            fflush(stdout);
        }
        if (seed == arguments->last)
            break;
    }
    if (!main_tell(&sums) && arguments->options.spoil == SIM_SPOIL_NONE &&
        arguments->last - arguments->first + 1 >= SEEDS_SURE)
        return RUN_FAILED;
    printf("ok sim: seeds %ju..%ju\n", (uintmax_t)arguments->first, (uintmax_t)arguments->last);
    return 0;
}

/* In a child, so that a crash has a seed too. */
static int main_guarded(const char *program, const struct arguments *arguments)
{
    uint64_t seed = arguments->first, next;
    int ends[2], status;
    pid_t child;

    if (pipe(ends) != 0 || (child = fork()) < 0) {
        perror(program);
        return 1;
    }
    if (child == 0) {
        close(ends[0]);
        status = main_run(program, arguments, ends[1]);
        fflush(stdout);
        exit(status);
    }
    close(ends[1]);
    while (read(ends[0], &next, sizeof next) == (ssize_t)sizeof next)
        seed = next;
    if (waitpid(child, &status, 0) != child) {
        perror(program);
        return 1;
    }
    if (WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == RUN_FAILED))
        return WEXITSTATUS(status) == 0 ? 0 : 1;
    printf("seed %ju: the run ended with %s %d\n", (uintmax_t)seed,
           WIFSIGNALED(status) ? "signal" : "status",
           WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    main_repeat(program, arguments, seed);
    return 1;
}

int main(int argc, char **argv)
{
    struct arguments arguments = {.first = 1, .last = SEEDS_DEFAULT, .options = {.again = 8}};

    if (!main_parse(argc, argv, &arguments))
        return main_usage(argv[0]);
    if (arguments.minimise)
        return sim_minimise(arguments.first, &arguments.options, NULL);
    if (arguments.one)
        return main_run(argv[0], &arguments, -1) == 0 ? 0 : 1;
    return main_guarded(argv[0], &arguments);
}
