// SPDX-License-Identifier: GPL-2.0-only
// Reads commands, checks their words, runs them. See agent.h.
#include "agent.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum
{
    AGENT_WAIT_US = 2000
};

struct agent_command
{
    const char *name;
    bool (*run)(struct agent_call *call);
    const char *keys; // a number each, or text where a colon follows
};

#define PATH_KEYS " dgid: gid tclass hop flow "
#define RANGE_KEYS " mr off len "

static const struct agent_command agent_commands[] = {
    {"open", agent_net_open, " ip: ip6: mac: mtu cqe "},
    {"pd", agent_objects_pd, " "},
    {"cq", agent_objects_cq, " cqe "},
    {"srq", agent_objects_srq, " pd wr sge limit "},
    {"mr", agent_objects_mr, " pd len access: "},
    {"mw", agent_objects_mw, " pd type "},
    {"ah", agent_objects_ah, " pd" PATH_KEYS},
    {"qp", agent_qp_create, " pd type: scq rcq srq swr rwr sge inline all access: qkey "},
    {"connect", agent_qp_connect,
     " qp dqpn mtu sq_psn rq_psn timeout retry rnr_retry min_rnr rd_atomic dest_rd_atomic "
     "to:" PATH_KEYS},
    {"modify", agent_qp_modify, " qp to: access: qkey "},
    {"query", agent_qp_query, " qp "},
    {"recv", agent_post_recv, " qp srq n id step" RANGE_KEYS},
    {"send", agent_post_send,
     " qp op: n id step raddr rkey rstep imm inv add cmp swap flags: ah dqpn qkey mw "
     "access:" RANGE_KEYS},
    {"poll", agent_post_poll, " cq n ms "},
    {"async", agent_post_async, " "},
    {"fill", agent_memory_fill, " seed from byte" RANGE_KEYS},
    {"check", agent_memory_check, " seed from byte" RANGE_KEYS},
    {"peek", agent_memory_peek, RANGE_KEYS},
    {"poke", agent_memory_poke, " mr off hex: "},
    {"hash", agent_memory_hash, RANGE_KEYS},
    {"destroy", agent_objects_destroy, " qp ah mw mr srq cq pd "},
    {"clear", agent_objects_clear, " "},
    {"sh", agent_net_sh, NULL}, // takes the rest of the line
};

const char *agent_text(const struct agent_call *call, const char *key)
{
    for (int i = 0; call->keys[i] != NULL; i++)
    {
        if (strcmp(call->keys[i], key) == 0)
        {
            return call->values[i];
        }
    }
    return NULL;
}

uint64_t agent_number(const struct agent_call *call, const char *key, uint64_t missing)
{
    const char *text = agent_text(call, key);
    return text == NULL ? missing : strtoull(text, NULL, 0);
}

bool agent_fail(struct agent_call *call, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(call->error, sizeof call->error, format, arguments);
    va_end(arguments);
    return false;
}

bool agent_fail_errno(struct agent_call *call, const char *what, int error)
{
    return agent_fail(call, "%s: %s (%d)", what, strerror(error), error);
}

static const char *const agent_names[AGENT_KINDS] = {"mw", "qp", "ah", "mr", "srq", "cq", "pd"};

void *agent_object(struct agent_call *call, enum agent_kind kind)
{
    uint64_t number = agent_number(call, agent_names[kind], 0);
    void *object = number < AGENT_OBJECTS ? call->agent->objects[kind][number] : NULL;
    if (object == NULL)
    {
        agent_fail(call, "there is no %s=%llu", agent_names[kind], (unsigned long long)number);
    }
    return object;
}

bool agent_keep(struct agent_call *call, enum agent_kind kind, void *object, const char *verb)
{
    if (object == NULL)
    {
        return agent_fail_errno(call, verb, errno);
    }
    for (int i = 0; i < AGENT_OBJECTS; i++)
    {
        if (call->agent->objects[kind][i] == NULL)
        {
            call->agent->objects[kind][i] = object;
            fprintf(call->out, "%s=%d\n", agent_names[kind], i);
            return true;
        }
    }
    return agent_fail(call, "no room for another %s; it is lost", agent_names[kind]);
}

// Whether the word is in the list, and as which sort: 0 not, 1 number, ':' text.
static int agent_sort(const char *list, const char *key)
{
    size_t length = strlen(key);
    for (const char *at = list; length > 0 && (at = strstr(at, key)) != NULL; at++)
    {
        if (at[-1] == ' ' && (at[length] == ' ' || at[length] == ':'))
        {
            return at[length] == ':' ? ':' : 1;
        }
    }
    return 0;
}

// Split the rest of a line in keys and values, and refuse what the command does not know.
static bool agent_split(struct agent_call *call, const char *list)
{
    int count = 0;
    for (char *word = strtok(call->rest, " "); word != NULL; word = strtok(NULL, " "))
    {
        char *value = strchr(word, '=');
        if (value == NULL || count + 1 == AGENT_WORDS)
        {
            return agent_fail(call, "%s: not KEY=VALUE, or one too many", word);
        }
        *value++ = 0;
        int sort = agent_sort(list, word);
        if (sort == 0)
        {
            return agent_fail(call, "unknown key %s; keys are%s", word, list);
        }
        char *end = value;
        if (sort != ':')
        {
            errno = 0;
            strtoull(value, &end, 0);
        }
        if (sort != ':' && (end == value || *end != 0 || errno != 0))
        {
            return agent_fail(call, "%s=%s is not a number", word, value);
        }
        call->keys[count] = word;
        call->values[count++] = value;
    }
    return true;
}

static bool agent_run(struct agent_call *call, char *line)
{
    char *name = strsep(&line, " ");
    call->rest = line == NULL ? name + strlen(name) : line;
    for (size_t i = 0; i < sizeof agent_commands / sizeof agent_commands[0]; i++)
    {
        const struct agent_command *command = &agent_commands[i];
        if (strcmp(command->name, name) != 0)
        {
            continue;
        }
        if (command->keys == NULL)
        {
            return command->run(call);
        }
        if (call->agent->device == NULL && command->run != agent_net_open)
        {
            return agent_fail(call, "open comes first");
        }
        return agent_split(call, command->keys) && command->run(call);
    }
    return agent_fail(call, "unknown command %s", name);
}

int main(int argc, char **argv)
{
    static struct agent agent = {.gid4 = -1, .gid6 = -1};
    int port = argc == 2 ? open(argv[1], O_RDWR) : -1; // a port is opened only once
    FILE *in = port < 0 ? NULL : fdopen(port, "r");
    FILE *out = in == NULL ? NULL : fdopen(dup(port), "w");
    if (out == NULL)
    {
        perror("agent PORT");
        return 1;
    }
    fputs("ready\n", out);
    fflush(out);
    char *line = NULL;
    size_t room = 0;
    for (;;)
    {
        ssize_t length = getline(&line, &room, in);
        if (length <= 0) // nobody outside has opened the port (yet, or again)
        {
            clearerr(in);
            usleep(AGENT_WAIT_US);
            continue;
        }
        line[length - 1] = 0;
        struct agent_call call = {.agent = &agent, .out = out};
        if (agent_run(&call, line))
        {
            fputs("ok\n", out);
        }
        else
        {
            fprintf(out, "error: %s\n", call.error);
        }
        fflush(out);
    }
}
