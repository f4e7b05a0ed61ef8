/* SPDX-License-Identifier: GPL-2.0-only */
/* rnic-live: one command as a name and key=value words. */
#include "rnic-live.h"

#include <errno.h>
#include <stdarg.h>

void live_error(struct live *live, struct live_words *words, const char *format, ...)
{
    va_list list;

    if (words->bad)
        return;
    words->bad = true;
    live->failed++;
    fputs("error ", stdout);
    va_start(list, format);
    vprintf(format, list);
    va_end(list);
    putchar('\n');
}

bool live_refused(struct live *live, struct live_words *words, const char *verb, int error)
{
    if (error >= 0)
        return false;
    live_error(live, words, "%s: %s", verb, rnic_err_name(error));
    return true;
}

bool live_words_read(struct live *live, struct live_words *words, const char *line)
{
    char *save = NULL;
    size_t n = strcspn(line, "#\r\n");

    memset(words, 0, sizeof *words);
    if (n >= sizeof words->text)
    {
        live_error(live, words, "a line has at most %u characters", LIVE_LINE_BYTES - 1);
        return false;
    }
    memcpy(words->text, line, n);
    words->name = strtok_r(words->text, " \t", &save);
    if (words->name == NULL)
        return false;
    for (char *word; (word = strtok_r(NULL, " \t", &save)) != NULL; words->n++)
    {
        char *value = strchr(word, '=');

        if (value == NULL || value == word)
        {
            live_error(live, words, "%s: '%s' is not KEY=VALUE", words->name, word);
            return false;
        }
        if (words->n == LIVE_WORDS)
        {
            live_error(live, words, "%s: at most %u words", words->name, LIVE_WORDS);
            return false;
        }
        *value = '\0';
        words->key[words->n] = word;
        words->value[words->n] = value + 1;
    }
    return true;
}

const char *live_words_text(struct live_words *words, const char *key)
{
    const char *value = NULL;

    for (uint32_t i = 0; i < words->n; i++)
        if (strcmp(words->key[i], key) == 0)
        {
            words->used[i] = true;
            value = words->value[i];
        }
    return value;
}

static uint64_t number(struct live *live, struct live_words *words, const char *key,
                       const char *text, uint64_t least, uint64_t most)
{
    bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    char *end;
    uint64_t value;

    errno = 0;
    value = strtoull(text, &end, hex ? 16 : 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || value < least ||
        value > most)
        live_error(live, words, "%s: %s=%s is not a number from %" PRIu64 " to %" PRIu64,
                   words->name, key, text, least, most);
    return value;
}

uint64_t live_words_number(struct live *live, struct live_words *words, const char *key,
                           uint64_t absent, uint64_t least, uint64_t most)
{
    const char *text = live_words_text(words, key);

    return text == NULL ? absent : number(live, words, key, text, least, most);
}

uint64_t live_words_needed(struct live *live, struct live_words *words, const char *key,
                           uint64_t least, uint64_t most)
{
    const char *text = live_words_text(words, key);

    if (text != NULL)
        return number(live, words, key, text, least, most);
    live_error(live, words, "%s: %s= is missing", words->name, key);
    return least;
}

bool live_words_done(struct live *live, struct live_words *words)
{
    for (uint32_t i = 0; i < words->n; i++)
        if (!words->used[i])
            live_error(live, words, "%s: unknown key %s=", words->name, words->key[i]);
    return !words->bad;
}
