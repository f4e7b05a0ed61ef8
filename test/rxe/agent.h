// SPDX-License-Identifier: GPL-2.0-only
/* The agent in the guest: offers libibverbs, one command a line, to a program outside.
 *
 * A line is `COMMAND KEY=VALUE...`. The answer is lines of KEY=VALUE words, some of them records
 * that begin with a word (wc, gid, event, out), and last `ok` or `error: TEXT`. Objects are named
 * by small numbers, each kind from 0: pd=0 and cq=0 exist from `open` on. The commands and their
 * keys are the table in agent.c; what they mean stands at their functions. A command that fails
 * has changed nothing unless its comment says otherwise.
 */
#ifndef RXE_AGENT_H
#define RXE_AGENT_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum agent_kind
{
    AGENT_MW, // in the order in which they can be destroyed: rxe 6.1 waits 50 s in destroying a
    AGENT_QP, // queue pair over which a window is open
    AGENT_AH,
    AGENT_MR,
    AGENT_SRQ,
    AGENT_CQ,
    AGENT_PD,
    AGENT_KINDS
};

enum
{
    AGENT_OBJECTS = 1024, // of each kind
    AGENT_WORDS = 48,     // of one command
    AGENT_GIDS = 16
};

struct agent
{
    struct ibv_context *device; // NULL before `open`
    void *objects[AGENT_KINDS][AGENT_OBJECTS];
    int gid4; // index of the GID that is our IPv4 address; -1: none
    int gid6; // of our global IPv6 address
};

// One command: its words, and where the answer goes.
struct agent_call
{
    struct agent *agent;
    char *rest;                // all after the command's name, as it came
    char *keys[AGENT_WORDS];   // of the words; NULL behind the last
    char *values[AGENT_WORDS]; // their values
    FILE *out;
    char error[256];
};

// ---- agent.c ----

// Value of a key as text; NULL: not given.
const char *agent_text(const struct agent_call *call, const char *key);

// Value of a key as number (0x.., 0.., decimal); `missing` if not given.
uint64_t agent_number(const struct agent_call *call, const char *key, uint64_t missing);

// Note why the command failed. Returns false.
bool agent_fail(struct agent_call *call, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// The same with the text of an errno value.
bool agent_fail_errno(struct agent_call *call, const char *what, int error);

// The object of a kind that the key of that name names (0 if it is not given).
// NULL: there is none, and the error is noted.
void *agent_object(struct agent_call *call, enum agent_kind kind);

// Keep a new object and answer its number. `verb` names what made it: where object is NULL, errno
// of that becomes the error.
bool agent_keep(struct agent_call *call, enum agent_kind kind, void *object, const char *verb);

// ---- the commands, by file ----

bool agent_net_open(struct agent_call *call);
bool agent_net_sh(struct agent_call *call);
// "10.0.0.1" or "fd00::1" as GID. Returns false: neither.
bool agent_net_gid(const char *text, union ibv_gid *gid);

bool agent_objects_pd(struct agent_call *call);
bool agent_objects_cq(struct agent_call *call);
bool agent_objects_srq(struct agent_call *call);
bool agent_objects_mr(struct agent_call *call);
bool agent_objects_mw(struct agent_call *call);
bool agent_objects_ah(struct agent_call *call);
bool agent_objects_destroy(struct agent_call *call);
bool agent_objects_clear(struct agent_call *call);
// Access letters: l local write, w remote write, r remote read, a atomics, b may be bound.
unsigned agent_objects_access(const char *letters);
// Address vector from the keys dgid gid tclass hop flow. Returns false: the error is noted.
bool agent_objects_path(struct agent_call *call, struct ibv_ah_attr *path);

bool agent_qp_create(struct agent_call *call);
bool agent_qp_connect(struct agent_call *call);
bool agent_qp_modify(struct agent_call *call);
bool agent_qp_query(struct agent_call *call);

bool agent_post_recv(struct agent_call *call);
bool agent_post_send(struct agent_call *call);
bool agent_post_poll(struct agent_call *call);
bool agent_post_async(struct agent_call *call);

bool agent_memory_fill(struct agent_call *call);
bool agent_memory_check(struct agent_call *call);
bool agent_memory_peek(struct agent_call *call);
bool agent_memory_poke(struct agent_call *call);
bool agent_memory_hash(struct agent_call *call);

#endif
