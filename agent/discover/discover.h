/* Inside of discovery: what the two ways of finding (discover_host.c, discover_shared.c) hand to the common part
 * (discover.c), which asks the runtimes. One thread. */
#ifndef DRDOTNET_DISCOVER_H
#define DRDOTNET_DISCOVER_H

#include "agent/target/target.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DISCOVER_MAX_CANDIDATES 512   /* each may hold a connection open; more than these are not looked at */
#define DISCOVER_LOOK_MS 3000         /* a look into one process may take so long, where it waits for the pod's file systems */
#define DISCOVER_ANSWER_MS 2000       /* a process that does not answer in this time is listed as silent */
#define DISCOVER_CONNECT_MS 100       /* a full queue of connections is waited for so long */

#define DISCOVER_QUESTION DIAG_PROCESS_INFO3
struct candidate {
	struct target target;
	uint64_t order;  /* when the process began: ticks after boot */
	int fd;          /* connection to its diagnostics socket, on which DISCOVER_QUESTION was asked, or -1 */
};

struct candidate_list {
	struct candidate *items;
	size_t count, cap;
	pid_t next_pid; /* as in struct target_list */
	size_t hidden;  /* as there */
	int64_t opened_late_s; /* as there */
};

/* Appends a zeroed candidate with fd -1; NULL when the list is full. */
struct candidate *candidate_list_add(struct candidate_list *l);
void candidate_list_fini(struct candidate_list *l);
/* Takes the last candidate back. */
void candidate_list_drop_last(struct candidate_list *l);

int discover_host(const struct discover_options *o, struct candidate_list *out, struct err *e);
int discover_shared(const struct discover_options *o, struct candidate_list *out, struct err *e);

/* Takes the answers of all connected candidates at once; fills what they say, or the reason. Who is silent for answer_ms (0: the usual time) stays
 * without a version. */
void discover_query(struct candidate_list *l, int64_t answer_ms, int64_t deadline_ms);

/* Marks a target as not profilable for the first reason that is found; later ones do not replace it. */
void discover_refuse(struct target *t, const char *reason, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* The socket files of a folder that name this inner pid (0: any), newest first. Bounded. */
struct socket_file {
	char name[64];
	int32_t inner_pid;
	uint64_t key;
};
#define DISCOVER_MAX_SOCKETS 256
size_t discover_list_sockets(int dirfd, int32_t inner_pid, struct socket_file out[DISCOVER_MAX_SOCKETS]);

#endif
