/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Every capture of test/vectors replayed in both roles: no difference but those that
 * departures.md names, all of which are shown. Then the captures are spoiled, one bit, one PSN,
 * one frame at a time: each time the frame must be told.
 */
#include "replay.h"

#include "check.h"

#include <dirent.h>

#define VECTORS "test/vectors/"
#define SETUP "test/replay/captures.setup"
#define DEPARTURES "test/replay/departures.md"
#define BOTH (REPLAY_RESPONDER | REPLAY_REQUESTER)
#define PATH_BYTES 512
#define SPOILED_BYTES 8192

/* Call @p visit with each capture of the folder. @return how many. */
static size_t each_capture(void (*visit)(const char *path, void *user), void *user)
{
    DIR *folder = opendir(VECTORS);
    size_t n = 0;

    if (folder == NULL)
        fprintf(stderr, "run this in the top folder: " VECTORS " does not open\n");
    CHECK(folder != NULL);
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder))
    {
        size_t length = strlen(entry->d_name);
        char path[PATH_BYTES];

        if (length < 6 || strcmp(entry->d_name + length - 5, ".pcap") != 0)
            continue;
        snprintf(path, sizeof path, VECTORS "%s", entry->d_name);
        visit(path, user);
        n++;
    }
    closedir(folder);
    return n;
}

static void print_diffs(const struct replay_case *c)
{
    for (size_t i = 0; i < c->diffs.n; i++)
        if (!c->diffs.at[i].covered)
            fprintf(stderr, "%s: %s  [%s]\n", c->name, c->diffs.at[i].text, c->diffs.at[i].key);
}

/* ---- as captured ---- */

/* Nothing of the capture was left out. */
static void check_all_compared(const struct replay_case *c)
{
    size_t answers = 0, requests = 0, asked = 0, absent = 0;

    for (size_t i = 0; i < c->frames.n; i++)
    {
        const struct replay_frame *frame = &c->frames.at[i];

        CHECK(frame->stream != REPLAY_NONE);
        asked += frame->request;
        if (frame->request)
            requests += !frame->copy;
        else
            answers += !frame->copy;
    }
    for (size_t i = 0; i < c->diffs.n; i++)
        absent += strstr(c->diffs.at[i].key, " absent ") != NULL;
    CHECK_EQ(c->tally.requests_fed, asked);
    CHECK_EQ(c->tally.answers_compared + absent, answers);
    CHECK_EQ(c->tally.requests_compared, requests);
    CHECK(c->tally.completions > 0);
}

static void replay_one(const char *path, void *user)
{
    struct replay_departures *table = user;
    struct replay_case c;

    replay_open(&c, path, SETUP);
    replay_prepare(&c);
    replay_run(&c, BOTH);
    if (replay_departures_apply(table, &c) != 0)
        print_diffs(&c);
    for (size_t i = 0; i < c.diffs.n; i++)
        CHECK(c.diffs.at[i].covered);
    check_all_compared(&c);
    replay_case_free(&c);
}

static void every_capture_in_both_roles(void)
{
    struct replay_departures table = {0};

    replay_departures_read(&table, DEPARTURES);
    CHECK(each_capture(replay_one, &table) > 0);
    CHECK_EQ(replay_departures_stale(&table, NULL, stderr), 0);
    CHECK(table.live > 0 && table.rows > table.live);
    free(table.items.at);
}

static void row_that_nothing_shows_is_told(void)
{
    struct replay_departures table = {0};
    struct replay_departure *item;
    FILE *hole = fopen("/dev/null", "w");

    CHECK(hole != NULL);
    replay_departures_read(&table, DEPARTURES);
    (void)each_capture(replay_one, &table);
    item = REPLAY_ADD(&table.items);
    snprintf(item->row, sizeof item->row, "none");
    snprintf(item->capture, sizeof item->capture, "rc_read_lat_64B_ib_read_lat");
    snprintf(item->key, sizeof item->key, "answer 23 msn 0x2/0x1");
    CHECK_EQ(replay_departures_stale(&table, NULL, hole), 1);
    CHECK_EQ(replay_departures_stale(&table, "rc_read_lat_64B_ib_read_lat", hole), 1);
    CHECK_EQ(replay_departures_stale(&table, "rc_send_bw_1B_ib_send_bw", hole), 0);
    fclose(hole);
    free(table.items.at);
}

/* ---- the responder's side alone, from the capture alone ---- */

static const char *const needs_setup[] = {
    "rc_loss_atomic_response_drop_every_2nd",        /* what was lost before the tap */
    "rc_loss_read_response_drop_every_7th_read_32k", /* the same */
    "rc_nak_send_longer_than_recv_buffer_vpeer",     /* size of the receive */
    "rc_send_with_invalidate_vpeer",                 /* that the invalidation fails */
    "rc_timeout_retry_exceeded_no_such_qp_vpeer",    /* that the queue pair is gone */
};

static void replay_alone(const char *path, void *user)
{
    size_t *needing = user;
    struct replay_departures table = {0};
    struct replay_case c;
    bool listed = false;

    replay_departures_read(&table, DEPARTURES);
    replay_open(&c, path, NULL);
    replay_prepare(&c);
    replay_run(&c, REPLAY_RESPONDER);
    for (size_t i = 0; i < sizeof needs_setup / sizeof needs_setup[0]; i++)
        listed = listed || strcmp(needs_setup[i], c.name) == 0;
    if ((replay_departures_apply(&table, &c) != 0) != listed)
    {
        print_diffs(&c);
        fprintf(stderr, "%s: %s\n", c.name, listed ? "no difference" : "differs");
    }
    CHECK_EQ(replay_departures_apply(&table, &c) != 0, listed);
    *needing += listed;
    replay_case_free(&c);
    free(table.items.at);
}

static void capture_alone_is_enough_for_the_responder(void)
{
    size_t needing = 0;

    CHECK(each_capture(replay_alone, &needing) > needing);
    CHECK_EQ(needing, sizeof needs_setup / sizeof needs_setup[0]);
}

/* ---- spoiled ---- */

enum spoil
{
    SPOIL_BIT,
    SPOIL_PSN,
    SPOIL_DROP,
    SPOILS
};

/* The frame says something else now, with a right ICRC. */
static void spoil_frame(struct replay_frame *frame, enum spoil spoil, bool odd)
{
    struct wire_packet packet = frame->packet;
    uint8_t *bytes = replay_zeroed(SPOILED_BYTES, 1);

    packet.icrc_auto = true;
    if (spoil == SPOIL_PSN)
        packet.psn.v ^= 1;
    else if (frame->request || !(wire_opcodes[packet.opcode].has & WIRE_HAS_AETH))
        packet.pkey ^= 0x0100;
    else if (odd)
        packet.msn ^= 1;
    else
        packet.syndrome ^= 1;
    frame->n = (uint32_t)wire_encode(&packet, bytes, SPOILED_BYTES);
    CHECK(frame->n > 0);
    free(frame->bytes);
    frame->bytes = bytes;
    CHECK_EQ(wire_decode(bytes, frame->n, 0, &frame->packet), WIRE_DROP_NONE);
}

static void drop_frame(struct replay_case *c, size_t index)
{
    free(c->frames.at[index].bytes);
    for (size_t i = index; i + 1 < c->frames.n; i++)
        c->frames.at[i] = c->frames.at[i + 1];
    c->frames.n--;
}

/* Index of the frame that is number @p which of three among requests, or among answers. */
static size_t choose(const struct replay_case *c, bool request, unsigned which)
{
    size_t n = 0, wanted, found = c->frames.n;

    for (size_t i = 0; i < c->frames.n; i++)
        n += c->frames.at[i].request == request && !c->frames.at[i].copy;
    if (n == 0)
        return found;
    wanted = which * (n - 1) / 2;
    for (size_t i = 0; i < c->frames.n && found == c->frames.n; i++)
        if (c->frames.at[i].request == request && !c->frames.at[i].copy && wanted-- == 0)
            found = i;
    return found;
}

static bool told(const struct replay_case *c, uint32_t number)
{
    for (size_t i = 0; i < c->diffs.n; i++)
        if (!c->diffs.at[i].covered && c->diffs.at[i].frame == number)
            return true;
    return false;
}

/* @return false: the capture has no such frame. */
static bool spoil_one(const char *path, bool request, unsigned which, enum spoil spoil)
{
    struct replay_departures table = {0};
    struct replay_case c;
    FILE *hole = fopen("/dev/null", "w");
    uint32_t number;
    size_t index, left;
    bool named;

    CHECK(hole != NULL);
    replay_open(&c, path, SETUP);
    index = choose(&c, request, which);
    if (index == c.frames.n || (request && spoil == SPOIL_DROP && c.setup.posts.n > 0))
    {
        fclose(hole);
        replay_case_free(&c);
        return false;
    }
    number = c.frames.at[index].number;
    if (spoil == SPOIL_DROP)
        drop_frame(&c, index);
    else
        spoil_frame(&c.frames.at[index], spoil, which & 1);
    replay_prepare(&c);
    replay_run(&c, request ? BOTH : REPLAY_RESPONDER);
    replay_departures_read(&table, DEPARTURES);
    left = replay_departures_apply(&table, &c);
    if (left == 0 && !request) /* a departure that is not shown any more tells it as well */
        left = replay_departures_stale(&table, c.name, hole);
    /* where frames were lost before the tap, another one may be blamed */
    named = spoil == SPOIL_DROP || c.setup.lost_answers > 0 || told(&c, number);
    if (left == 0 || !named)
        fprintf(stderr, "%s: frame %u, spoiled in way %d: not told\n", c.name, number, spoil);
    CHECK(left > 0 && named);
    fclose(hole);
    free(table.items.at);
    replay_case_free(&c);
    return true;
}

static void spoil_answers(const char *path, void *user)
{
    size_t *n = user;

    for (unsigned which = 0; which < 3; which++)
        for (enum spoil spoil = SPOIL_BIT; spoil < SPOILS; spoil++)
            *n += spoil_one(path, false, which, spoil);
}

static void spoiled_answer_is_told(void)
{
    size_t n = 0;

    (void)each_capture(spoil_answers, &n);
    CHECK(n > 200);
}

static void spoil_requests(const char *path, void *user)
{
    size_t *n = user;

    *n += spoil_one(path, true, 1, SPOIL_BIT);
    *n += spoil_one(path, true, 1, SPOIL_DROP);
}

static void spoiled_request_is_told(void)
{
    size_t n = 0;

    (void)each_capture(spoil_requests, &n);
    CHECK(n > 40);
}

CHECK_SUITE(replay, CHECK_CASE(every_capture_in_both_roles),
            CHECK_CASE(row_that_nothing_shows_is_told),
            CHECK_CASE(capture_alone_is_enough_for_the_responder),
            CHECK_CASE(spoiled_answer_is_told), CHECK_CASE(spoiled_request_is_told))
