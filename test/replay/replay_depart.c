/* SPDX-License-Identifier: GPL-2.0-only */
#include "replay.h"

#include <string.h>

#define CELLS 6u
#define LINE_BYTES 4096
#define HEAD "| id | rule | clause | peer | here | where |"

/* Blanks and backquotes around a text go. */
static char *trimmed(char *text)
{
    size_t length;

    text += strspn(text, " `\t");
    length = strlen(text);
    while (length > 0 && strchr(" `\t\r\n", text[length - 1]) != NULL)
        text[--length] = '\0';
    return text;
}

static void copy(const char *path, unsigned line, char *to, size_t size, const char *from)
{
    if (*from == '\0' || strlen(from) >= size)
        replay_die("%s:%u: empty or too long: %s", path, line, from);
    snprintf(to, size, "%s", from);
}

/* The text up to the separator, *rest behind it; NULL: no more. */
static char *next_part(char **rest, char separator)
{
    char *part = *rest, *end;

    if (part == NULL)
        return NULL;
    end = strchr(part, separator);
    if (end != NULL)
        *end++ = '\0';
    *rest = end;
    return part;
}

/* "capture: difference, difference; capture: difference" */
static void take_where(struct replay_departures *table, const char *path, unsigned line,
                       const char *row, char *where)
{
    for (char *part; (part = next_part(&where, ';')) != NULL;)
    {
        char *keys = strchr(part, ':');

        if (keys == NULL)
            replay_die("%s:%u: no `capture: difference` in: %s", path, line, part);
        *keys++ = '\0';
        for (char *key; (key = next_part(&keys, ',')) != NULL;)
        {
            struct replay_departure *item = REPLAY_ADD(&table->items);

            copy(path, line, item->row, sizeof item->row, row);
            copy(path, line, item->capture, sizeof item->capture, trimmed(part));
            copy(path, line, item->key, sizeof item->key, trimmed(key));
        }
    }
}

static void take_row(struct replay_departures *table, const char *path, unsigned line, char *text)
{
    char *cells[CELLS];
    size_t n = 0, before = table->items.n;

    for (char *at = text + 1, *bar; (bar = strchr(at, '|')) != NULL; at = bar + 1)
    {
        *bar = '\0';
        if (n == CELLS)
            replay_die("%s:%u: more than %u cells", path, line, CELLS);
        cells[n++] = trimmed(at);
    }
    if (n != CELLS)
        replay_die("%s:%u: a row has %u cells, this one %zu", path, line, CELLS, n);
    for (size_t i = 0; i < CELLS; i++)
        if (*cells[i] == '\0')
            replay_die("%s:%u: cell %zu is empty", path, line, i + 1);
    table->rows++;
    if (strcmp(cells[CELLS - 1], "live") == 0)
    {
        table->live++;
        return;
    }
    take_where(table, path, line, cells[0], cells[CELLS - 1]);
    if (table->items.n == before)
        replay_die("%s:%u: the row covers nothing", path, line);
}

void replay_departures_read(struct replay_departures *table, const char *path)
{
    FILE *file = fopen(path, "r");
    char line[LINE_BYTES];
    bool inside = false;
    unsigned number = 0;

    if (file == NULL)
        replay_die("%s does not open", path);
    while (fgets(line, sizeof line, file) != NULL)
    {
        number++;
        if (strchr(line, '\n') == NULL && !feof(file))
            replay_die("%s:%u: the line is too long", path, number);
        if (strncmp(line, HEAD, sizeof HEAD - 1) == 0)
            inside = true;
        else if (line[0] != '|')
            inside = false;
        else if (inside && strncmp(line, "|---", 4) != 0)
            take_row(table, path, number, line);
    }
    fclose(file);
    if (table->rows == 0)
        replay_die("%s: no table with the head %s", path, HEAD);
}

size_t replay_departures_apply(struct replay_departures *table, struct replay_case *c)
{
    size_t left = 0;

    for (size_t i = 0; i < c->diffs.n; i++)
    {
        struct replay_diff *diff = &c->diffs.at[i];

        for (size_t k = 0; k < table->items.n; k++)
        {
            struct replay_departure *item = &table->items.at[k];

            if (strcmp(item->capture, c->name) == 0 && strcmp(item->key, diff->key) == 0)
                item->used = diff->covered = true;
        }
        left += !diff->covered;
    }
    return left;
}

size_t replay_departures_stale(const struct replay_departures *table, const char *name, FILE *out)
{
    size_t stale = 0;

    for (size_t i = 0; i < table->items.n; i++)
    {
        const struct replay_departure *item = &table->items.at[i];

        if (item->used || (name != NULL && strcmp(name, item->capture) != 0))
            continue;
        fprintf(out, "departure %s: %s does not show `%s`\n", item->row, item->capture, item->key);
        stale++;
    }
    return stale;
}
