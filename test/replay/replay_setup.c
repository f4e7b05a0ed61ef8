/* SPDX-License-Identifier: GPL-2.0-only */
#include "replay.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LINE_BYTES 512
#define WORDS_MAX 24
#define COUNT_MAX 65536u

/* One line: words, of which those with '=' are found by key. */
struct line
{
    const char *path;
    unsigned number;
    char text[LINE_BYTES];
    char *words[WORDS_MAX];
    bool used[WORDS_MAX];
    size_t n;
};

_Noreturn static void bad(const struct line *line, const char *what, const char *word)
{
    replay_die("%s:%u: %s%s%s", line->path, line->number, what, word != NULL ? ": " : "",
               word != NULL ? word : "");
}

static uint64_t number(const struct line *line, const char *text)
{
    uint64_t value;
    char *end;

    errno = 0;
    value = strtoull(text, &end, 0);
    if (*text < '0' || *text > '9' || *end != '\0' || errno != 0)
        bad(line, "not a number (decimal, or 0x and hexadecimal)", text);
    return value;
}

static uint32_t number32(const struct line *line, const char *text)
{
    uint64_t value = number(line, text);

    if (value > UINT32_MAX)
        bad(line, "beyond 32 bits", text);
    return (uint32_t)value;
}

/* The text behind "key=", or NULL. */
static const char *option(struct line *line, const char *key)
{
    size_t length = strlen(key);

    for (size_t i = 0; i < line->n; i++)
        if (strncmp(line->words[i], key, length) == 0 && line->words[i][length] == '=')
        {
            line->used[i] = true;
            return line->words[i] + length + 1;
        }
    return NULL;
}

static uint64_t option64(struct line *line, const char *key, uint64_t otherwise)
{
    const char *text = option(line, key);

    return text != NULL ? number(line, text) : otherwise;
}

static uint32_t option32(struct line *line, const char *key, uint32_t otherwise)
{
    const char *text = option(line, key);

    return text != NULL ? number32(line, text) : otherwise;
}

/* Word @p i, which is no option. */
static const char *plain(struct line *line, size_t i, const char *what)
{
    if (i >= line->n || strchr(line->words[i], '=') != NULL)
        bad(line, "missing", what);
    line->used[i] = true;
    return line->words[i];
}

static uint32_t host_word(const struct replay_case *c, struct line *line, size_t i)
{
    const char *word = plain(line, i, "host, a letter");

    for (uint32_t host = 0; host < c->n_hosts; host++)
        if (strcmp(c->hosts[host].name, word) == 0)
            return host;
    bad(line, "the capture has no such host", word);
}

static unsigned access_word(const struct line *line, const char *text)
{
    static const struct
    {
        const char *name;
        unsigned access;
    } names[] = {{"write", RNIC_ACCESS_REMOTE_WRITE},
                 {"read", RNIC_ACCESS_REMOTE_READ},
                 {"atomic", RNIC_ACCESS_REMOTE_ATOMIC},
                 {"none", 0}};
    unsigned access = 0;

    while (*text != '\0')
    {
        size_t length = strcspn(text, ","), i = 0;

        while (i < 4 &&
               (strlen(names[i].name) != length || strncmp(names[i].name, text, length) != 0))
            i++;
        if (i == 4)
            bad(line, "access is a list of write, read, atomic, or none", text);
        access |= names[i].access;
        text += length + (text[length] == ',');
    }
    return access;
}

static unsigned option_access(struct line *line, unsigned otherwise)
{
    const char *text = option(line, "access");

    return text != NULL ? access_word(line, text) : otherwise;
}

/* ---- lines ---- */

static void take_qp(struct replay_case *c, struct line *line)
{
    struct replay_qp qp = {.host = host_word(c, line, 1),
                           .qpn = number32(line, plain(line, 2, "number of the queue pair"))};

    qp.peer = option32(line, "peer", REPLAY_NONE);
    qp.psn = option32(line, "psn", REPLAY_NONE);
    qp.access = option_access(line, REPLAY_NONE);
    qp.qkey = option32(line, "qkey", REPLAY_NONE);
    qp.rnr_timer = option32(line, "rnr_timer", REPLAY_NONE);
    qp.retry = option32(line, "retry", REPLAY_NONE);
    qp.rnr_retry = option32(line, "rnr_retry", REPLAY_NONE);
    qp.rd_atomic = option32(line, "rd_atomic", REPLAY_NONE);
    qp.absent = option32(line, "absent", 0) != 0;
    *REPLAY_ADD(&c->setup.qps) = qp;
}

static void take_region(struct replay_case *c, struct line *line)
{
    struct replay_region region = {.host = host_word(c, line, 1), .given = true};

    region.key = number32(line, plain(line, 2, "key"));
    region.va = option64(line, "va", 0);
    region.bytes = option64(line, "len", 0);
    region.access = option_access(line, 0);
    if (region.bytes == 0)
        bad(line, "a region needs va=N len=N", NULL);
    *REPLAY_ADD(&c->setup.regions) = region;
}

static void take_recv(struct replay_case *c, struct line *line)
{
    struct replay_recv recv = {.host = host_word(c, line, 1)};
    uint32_t count = option32(line, "count", 1);

    recv.qpn = option32(line, "qp", REPLAY_NONE);
    recv.id = option64(line, "id", 0);
    recv.bytes = option32(line, "len", 0);
    recv.frame = option32(line, "frame", 0);
    if (count > COUNT_MAX)
        bad(line, "too many receives", NULL);
    for (uint32_t i = 0; i < count; i++, recv.id++)
        *REPLAY_ADD(&c->setup.recvs) = recv;
}

static enum rnic_wr_opcode opcode_word(const struct line *line, const char *word)
{
    static const struct
    {
        const char *name;
        enum rnic_wr_opcode opcode;
    } names[] = {{"send", RNIC_WR_SEND},
                 {"send_imm", RNIC_WR_SEND_WITH_IMM},
                 {"send_inv", RNIC_WR_SEND_WITH_INV},
                 {"write", RNIC_WR_RDMA_WRITE},
                 {"write_imm", RNIC_WR_RDMA_WRITE_WITH_IMM},
                 {"read", RNIC_WR_RDMA_READ},
                 {"add", RNIC_WR_ATOMIC_FETCH_AND_ADD},
                 {"swap", RNIC_WR_ATOMIC_CMP_AND_SWP}};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(names[i].name, word) == 0)
            return names[i].opcode;
    bad(line, "no such operation", word);
}

static void take_post(struct replay_case *c, struct line *line)
{
    struct replay_post post = {.host = host_word(c, line, 1)};
    struct replay_message *message = &post.message;

    message->opcode = opcode_word(line, plain(line, 2, "operation"));
    message->id = option64(line, "id", 0);
    message->bytes = option32(line, "len", 0);
    message->va = option64(line, "va", 0);
    message->rkey = option32(line, "key", 0);
    message->imm = option32(line, "imm", option32(line, "inv", 0));
    message->add = option64(line, "add", option64(line, "swap", 0));
    message->compare = option64(line, "compare", 0);
    message->solicited = option32(line, "solicited", 0) != 0;
    post.qpn = option32(line, "qp", REPLAY_NONE);
    *REPLAY_ADD(&c->setup.posts) = post;
}

static enum rnic_wc_status status_word(const struct line *line, const char *word)
{
    for (unsigned i = RNIC_WC_SUCCESS; i <= RNIC_WC_RNR_RETRY_EXC_ERR; i++)
        if (strcmp(rnic_wc_status_name((enum rnic_wc_status)i), word) == 0)
            return (enum rnic_wc_status)i;
    bad(line, "no such status", word);
}

/* `done`: of a work request that was sent; `got`: of a receive. */
static void take_done(struct replay_case *c, struct line *line)
{
    struct replay_done done = {.host = host_word(c, line, 1),
                               .recv = strcmp(line->words[0], "got") == 0};

    done.status = status_word(line, plain(line, 2, "status"));
    done.id = option64(line, "id", 0);
    done.qpn = option32(line, "qp", REPLAY_NONE);
    done.opcode = option32(line, "opcode", REPLAY_NONE);
    done.bytes = option32(line, "len", REPLAY_NONE);
    done.imm = option32(line, "imm", REPLAY_NONE);
    done.with_imm = done.imm != REPLAY_NONE;
    *REPLAY_ADD(&c->setup.dones) = done;
}

static unsigned hex_digit(const struct line *line, char digit)
{
    const char *digits = "0123456789abcdef", *at = strchr(digits, digit);

    if (digit == '\0' || at == NULL)
        bad(line, "bytes are pairs of digits 0-9a-f, up to 32 of them", NULL);
    return (unsigned)(at - digits);
}

static void take_memory(struct replay_case *c, struct line *line)
{
    struct replay_memory memory = {.host = host_word(c, line, 1)};
    const char *text;

    memory.key = number32(line, plain(line, 2, "key"));
    memory.va = option64(line, "va", 0);
    text = option(line, "bytes");
    if (text == NULL)
        bad(line, "missing: bytes=...", NULL);
    for (; *text != '\0'; text += 2)
    {
        unsigned high = hex_digit(line, text[0]), low = hex_digit(line, text[1]);

        if (memory.n == sizeof memory.bytes)
            bad(line, "more than 32 bytes", NULL);
        memory.bytes[memory.n++] = (uint8_t)(high << 4 | low);
    }
    *REPLAY_ADD(&c->setup.memories) = memory;
}

static void take_state(struct replay_case *c, struct line *line)
{
    struct replay_state state = {.host = host_word(c, line, 1)};
    const char *word = plain(line, 2, "state");

    if (strcmp(word, "RTS") != 0 && strcmp(word, "ERR") != 0 && strcmp(word, "SQE") != 0)
        bad(line, "a state is RTS, SQE or ERR", word);
    state.state = *word == 'E' ? RNIC_QPS_ERR : word[2] == 'S' ? RNIC_QPS_RTS : RNIC_QPS_SQE;
    state.qpn = option32(line, "qp", REPLAY_NONE);
    *REPLAY_ADD(&c->setup.states) = state;
}

static void take_lost(struct replay_case *c, struct line *line)
{
    const char *what = plain(line, 1, "requests or answers");
    uint32_t n = number32(line, plain(line, 2, "how many"));

    if (strcmp(what, "requests") == 0)
        c->setup.lost_requests = n;
    else if (strcmp(what, "answers") == 0)
        c->setup.lost_answers = n;
    else
        bad(line, "lost what? requests or answers", what);
}

static void take_loose(struct replay_case *c, struct line *line)
{
    const char *what = plain(line, 1, "acks or credits");

    if (strcmp(what, "acks") == 0)
        c->setup.coalesced = true;
    else if (strcmp(what, "credits") == 0)
        c->setup.any_credits = true;
    else
        bad(line, "loose what? acks or credits", what);
}

static void take_mtu(struct replay_case *c, struct line *line)
{
    uint32_t mtu = number32(line, plain(line, 1, "bytes"));

    if (mtu < 256 || mtu > 4096 || (mtu & (mtu - 1)) != 0)
        bad(line, "an MTU is 256, 512, 1024, 2048 or 4096", NULL);
    c->setup.mtu_bytes = mtu;
}

static const struct
{
    const char *word;
    void (*take)(struct replay_case *c, struct line *line);
} takers[] = {{"mtu", take_mtu},       {"qp", take_qp},      {"region", take_region},
              {"recv", take_recv},     {"post", take_post},  {"done", take_done},
              {"got", take_done},      {"lost", take_lost},  {"loose", take_loose},
              {"memory", take_memory}, {"state", take_state}};

static void take_line(struct replay_case *c, struct line *line)
{
    size_t i = 0;

    while (i < sizeof takers / sizeof takers[0] && strcmp(takers[i].word, line->words[0]) != 0)
        i++;
    if (i == sizeof takers / sizeof takers[0])
        bad(line, "no such line", line->words[0]);
    line->used[0] = true;
    takers[i].take(c, line);
    for (size_t word = 0; word < line->n; word++)
        if (!line->used[word])
            bad(line, "not understood", line->words[word]);
    c->setup.found = true;
}

static void split(struct line *line)
{
    char *comment = strchr(line->text, '#');

    if (comment != NULL)
        *comment = '\0';
    line->n = 0;
    memset(line->used, 0, sizeof line->used);
    for (char *word = strtok(line->text, " \t\r\n"); word != NULL; word = strtok(NULL, " \t\r\n"))
    {
        if (line->n == WORDS_MAX)
            bad(line, "too many words", NULL);
        line->words[line->n++] = word;
    }
}

void replay_setup_read(struct replay_case *c, const char *path)
{
    FILE *file = fopen(path, "r");
    struct line line = {.path = path};
    bool ours = true; /* until the first `capture` */

    if (file == NULL)
        replay_die("%s does not open", path);
    while (fgets(line.text, sizeof line.text, file) != NULL)
    {
        line.number++;
        if (strchr(line.text, '\n') == NULL && !feof(file))
            bad(&line, "the line is too long", NULL);
        split(&line);
        if (line.n == 0)
            continue;
        if (strcmp(line.words[0], "capture") == 0)
            ours = strcmp(plain(&line, 1, "name of a capture, without .pcap"), c->name) == 0;
        else if (ours)
            take_line(c, &line);
    }
    fclose(file);
}
