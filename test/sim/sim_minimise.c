/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The smallest part of a plan that still fails in the same way: parts are left out as long as it
 * does (delta debugging). Each try runs in a child, so that a crash is a failure like any other.
 */
#define _POSIX_C_SOURCE 200809L

#include "sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define TRIES_MAX 3000u
#define ROUNDS_MAX 6u
#define SECONDS_MAX 60u /* of one try */
#define ITEMS_MAX (SIM_SIDES * SIM_QPS_MAX * SIM_SENDS_MAX)

struct minimise {
    uint64_t seed;
    struct sim_options options;
    struct sim_edit edit;     /* the smallest that failed */
    struct sim_faults faults; /* its script, once there is one */
    struct sim_faults seen;   /* what the line did in the last try */
    char kind[200];           /* of failure */
    uint32_t tries;
    bool changed;
};

/* ---- one try ---- */

static bool pipe_write(int fd, const void *bytes, size_t n)
{
    const char *at = bytes;

    while (n > 0) {
        ssize_t done = write(fd, at, n);

        if (done <= 0)
            return false;
        at += done;
        n -= (size_t)done;
    }
    return true;
}

static bool pipe_read(int fd, void *bytes, size_t n)
{
    char *at = bytes;

    while (n > 0) {
        ssize_t done = read(fd, at, n);

        if (done <= 0)
            return false;
        at += done;
        n -= (size_t)done;
    }
    return true;
}

static void try_child(struct minimise *min, const struct sim_edit *edit, int fd)
{
    struct sim_options options = min->options;
    struct sim_faults faults = {0};
    struct sim_result result;
    uint32_t n;

    if (freopen("/dev/null", "w", stdout) == NULL || freopen("/dev/null", "w", stderr) == NULL)
        _exit(1);
    alarm(SECONDS_MAX);
    options.edit = edit;
    options.faults = &faults;
    options.verbose = false;
    result = sim_run_seed(min->seed, &options);
    n = faults.n;
    if (pipe_write(fd, &result, sizeof result) && pipe_write(fd, &n, sizeof n))
        (void)pipe_write(fd, faults.list, n * sizeof faults.list[0]);
    _exit(0);
}

static void try_faults(struct minimise *min, int fd)
{
    uint32_t n;

    min->seen.n = 0;
    if (!pipe_read(fd, &n, sizeof n) || n == 0)
        return;
    if (n > min->seen.cap) {
        min->seen.cap = n;
        min->seen.list = realloc(min->seen.list, n * sizeof min->seen.list[0]);
        if (min->seen.list == NULL)
            abort();
    }
    if (pipe_read(fd, min->seen.list, n * sizeof min->seen.list[0]))
        min->seen.n = n;
}

/* How a run with this edit ends: its kind of failure, "" without one. */
static void try_run(struct minimise *min, const struct sim_edit *edit, char *kind, size_t size)
{
    struct sim_result result;
    int ends[2], status;
    pid_t child;

    min->tries++;
    fflush(stdout);
    if (pipe(ends) != 0 || (child = fork()) < 0)
        abort();
    if (child == 0) {
        close(ends[0]);
        try_child(min, edit, ends[1]);
    }
    close(ends[1]);
    if (pipe_read(ends[0], &result, sizeof result)) {
        snprintf(kind, size, "%s", result.failed ? result.kind : "");
        try_faults(min, ends[0]);
    } else {
        kind[0] = 0;
    }
    close(ends[0]);
    if (waitpid(child, &status, 0) != child)
        abort();
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        snprintf(kind, size, "the run ended with %s %d", WIFSIGNALED(status) ? "signal" : "status",
                 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

/* Does it still fail so? Then that is the smallest now. */
static bool try_edit(struct minimise *min, const struct sim_edit *edit)
{
    char kind[sizeof min->kind];

    if (min->tries >= TRIES_MAX)
        return false;
    try_run(min, edit, kind, sizeof kind);
    if (strcmp(kind, min->kind) != 0)
        return false;
    if (edit != &min->edit)
        min->edit = *edit;
    min->changed = true;
    return true;
}

/* ---- what may be left out ---- */

static void leave_flags(struct minimise *min)
{
    static const size_t flags[] = {
        offsetof(struct sim_edit, no_fabric),    offsetof(struct sim_edit, plain_cards),
        offsetof(struct sim_edit, no_pauses),    offsetof(struct sim_edit, no_gaps),
        offsetof(struct sim_edit, no_incidents), offsetof(struct sim_edit, no_wire),
        offsetof(struct sim_edit, no_cuts)};

    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        struct sim_edit edit = min->edit;
        bool *flag = (bool *)(void *)((char *)&edit + flags[i]);

        if (*flag)
            continue;
        *flag = true;
        (void)try_edit(min, &edit);
    }
}

static void leave_flows(struct minimise *min)
{
    for (uint32_t s = 0; s < SIM_SIDES; s++)
        for (uint32_t q = 0; q < SIM_QPS_MAX; q++) {
            struct sim_edit edit = min->edit;

            if (edit.drop[s][q] == UINT32_MAX)
                continue;
            edit.drop[s][q] = UINT32_MAX;
            (void)try_edit(min, &edit);
        }
}

/* Leave out chunks of sends, half of them first, one by one in the end. */
static void leave_sends(struct minimise *min)
{
    for (uint32_t chunk = ITEMS_MAX / 2; chunk > 0; chunk /= 2)
        for (uint32_t first = 0; first < ITEMS_MAX; first += chunk) {
            struct sim_edit edit = min->edit;

            for (uint32_t i = first; i < first + chunk && i < ITEMS_MAX; i++) {
                uint32_t flow = i / SIM_SENDS_MAX;

                edit.drop[flow / SIM_QPS_MAX][flow % SIM_QPS_MAX] |= 1u << i % SIM_SENDS_MAX;
            }
            if (memcmp(edit.drop, min->edit.drop, sizeof edit.drop) != 0)
                (void)try_edit(min, &edit);
        }
}

static void leave_bytes(struct minimise *min)
{
    static const uint32_t caps[] = {1, 8, 64, 256, 1024, 4096, 16384};

    for (uint32_t s = 0; s < SIM_SIDES; s++)
        for (uint32_t q = 0; q < SIM_QPS_MAX; q++)
            for (size_t i = 0; i < sizeof caps / sizeof caps[0]; i++) {
                struct sim_edit edit = min->edit;

                if (edit.drop[s][q] == UINT32_MAX ||
                    (edit.cap_bytes[s][q] > 0 && edit.cap_bytes[s][q] <= caps[i]))
                    break;
                edit.cap_bytes[s][q] = caps[i];
                if (try_edit(min, &edit))
                    break;
            }
}

/* From chances to the list of what they brought. */
static void script_start(struct minimise *min)
{
    struct sim_edit edit = min->edit;
    char kind[sizeof min->kind];

    if (edit.scripted)
        return;
    try_run(min, &edit, kind, sizeof kind); /* for what the line did */
    free(min->faults.list);
    min->faults = min->seen;
    min->seen = (struct sim_faults){0};
    edit.scripted = true;
    edit.faults = min->faults.list;
    edit.n_faults = min->faults.n;
    (void)try_edit(min, &edit);
}

static void leave_faults(struct minimise *min)
{
    struct sim_fault *list;

    if (!min->edit.scripted || min->faults.n == 0)
        return;
    list = malloc(min->faults.n * sizeof list[0]);
    if (list == NULL)
        abort();
    for (uint32_t chunk = min->faults.n; chunk > 0; chunk /= 2)
        for (uint32_t first = 0; first < min->faults.n;) {
            struct sim_edit edit = min->edit;
            uint32_t end = first + chunk < min->faults.n ? first + chunk : min->faults.n;
            uint32_t n = min->faults.n - (end - first);

            memcpy(list, min->faults.list, first * sizeof list[0]);
            memcpy(list + first, min->faults.list + end, (min->faults.n - end) * sizeof list[0]);
            edit.faults = list;
            edit.n_faults = n;
            if (try_edit(min, &edit)) {
                memcpy(min->faults.list, list, n * sizeof list[0]);
                min->faults.n = n;
                min->edit.faults = min->faults.list;
            } else {
                first = end;
            }
        }
    free(list);
}

/* ---- the result ---- */

/* In a child too: it may crash. */
static void tell_smallest(struct minimise *min)
{
    struct sim_options options = min->options;
    struct sim_result result;
    int status;
    pid_t child;

    fflush(stdout);
    child = fork();
    if (child < 0)
        abort();
    if (child == 0) {
        options.verbose = true;
        options.once = true;
        options.edit = &min->edit;
        result = sim_run_seed(min->seed, &options);
        if (result.failed)
            printf("fails: %s\n", result.why);
        fflush(stdout);
        _exit(0);
    }
    (void)waitpid(child, &status, 0);
    for (uint32_t i = 0; i < min->edit.n_faults; i++) {
        const struct sim_fault *fault = &min->edit.faults[i];

        printf("fault: frame %u of %s%s %s\n", fault->frame, sim_side_name(fault->side),
               fault->copy > 0 ? " (a copy)" : "", sim_line_fault_name(fault->kind));
    }
}

static uint32_t count_sends(uint64_t seed, const struct sim_edit *edit)
{
    static struct sim_plan plan; /* too large for a stack */
    uint32_t n = 0;

    if (!sim_plan_make(&plan, seed, edit))
        abort();
    for (uint32_t s = 0; s < SIM_SIDES; s++)
        for (uint32_t q = 0; q < plan.n_qps; q++)
            n += plan.flows[s][q].n_sends;
    sim_plan_free(&plan);
    return n;
}

int sim_minimise(uint64_t seed, const struct sim_options *options, struct sim_smallest *smallest)
{
    struct minimise min = {.seed = seed, .options = *options};

    min.options.again = 0;
    try_run(&min, NULL, min.kind, sizeof min.kind);
    if (min.kind[0] == 0) {
        printf("seed %ju does not fail\n", (uintmax_t)seed);
        free(min.seen.list);
        return 1;
    }
    printf("seed %ju fails: %s\n", (uintmax_t)seed, min.kind);
    for (uint32_t round = 0; round < ROUNDS_MAX; round++) {
        min.changed = false;
        leave_flags(&min);
        leave_flows(&min);
        leave_sends(&min);
        if (round > 0)
            script_start(&min);
        leave_faults(&min);
        leave_bytes(&min);
        printf("round %u: %u runs, %u faults left\n", round + 1, min.tries, min.edit.n_faults);
        if (!min.changed && round > 0)
            break;
    }
    printf("the smallest schedule that fails so:\n");
    tell_smallest(&min);
    if (smallest != NULL)
        *smallest = (struct sim_smallest){.sends_before = count_sends(seed, NULL),
                                          .sends = count_sends(seed, &min.edit),
                                          .faults = min.edit.n_faults};
    free(min.faults.list);
    free(min.seen.list);
    return 0;
}
