/* SPDX-License-Identifier: GPL-2.0-only */
/* rnic-live: one command as a name and key=value words. */
#include "rnic-live.h"

#include <errno.h>
#include <stdarg.h>

static void tell(struct live *live, struct live_words *words, int status, const char *format,
                 va_list list)
{
    if (words->bad)
        return;
    words->bad = true;
    live->failed++;
    live->status = status > live->status ? status : live->status;
    vsnprintf(live->why, sizeof live->why, format, list);
    printf("error: %s\n", live->why);
}

void live_error(struct live *live, struct live_words *words, const char *format, ...)
{
    va_list list;

    va_start(list, format);
    tell(live, words, 2, format, list);
    va_end(list);
}

void live_failure(struct live *live, struct live_words *words, const char *format, ...)
{
    va_list list;

    va_start(list, format);
    tell(live, words, 1, format, list);
    va_end(list);
}

bool live_refused(struct live *live, struct live_words *words, const char *verb, int error)
{
    if (error < 0)
        live_failure(live, words, "%s: %s", verb, rnic_err_name(error));
    return error < 0;
}

bool live_words_read(struct live *live, struct live_words *words, const char *line)
{
    char *save = NULL;
    size_t n = strcspn(line, "#\r\n");

    memset(words, 0, sizeof *words);
    if (n >= sizeof words->text - 1)
    {
        live_error(live, words, "a line has at most %u characters", LIVE_COMMAND_BYTES - 2);
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

uint32_t live_words_number32(struct live *live, struct live_words *words, const char *key,
                             uint32_t absent)
{
    return (uint32_t)live_words_number(live, words, key, absent, 0, UINT32_MAX);
}

bool live_words_done(struct live *live, struct live_words *words)
{
    for (uint32_t i = 0; i < words->n; i++)
        if (!words->used[i])
            live_error(live, words, "%s: unknown key %s=", words->name, words->key[i]);
    return !words->bad;
}
