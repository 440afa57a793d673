/* Answers "which .NET processes run in these pods, and can they be profiled?" in a short-lived thread, because it asks each runtime. */
#ifndef DRDOTNET_PROCESS_ANSWER_H
#define DRDOTNET_PROCESS_ANSWER_H

#include "agent/target/target.h"
#include "common/link/link_msg.h"

#include <stdint.h>

#define PROCESS_ANSWER_MAX 2        /* at once; more are not answered, and their askers' deadline ends the wait */
#define PROCESS_ANSWER_LOOK_MS 5000 /* what was not looked at by then is left out, and the answer says so */

struct process_answers;

struct process_answers_config {
	enum agent_mode mode;
	const char *proc_root, *shared_parent; /* borrowed */
	/* Called in the query's thread with a LINK_MSG_PROCESSES for the link that asked. */
	int (*send)(void *ctx, uint64_t link, const struct link_msg *m, struct err *e);
	void *ctx;
};

struct process_answers *process_answers_new(const struct process_answers_config *c);
/* Waits for those under way; no other begins from now on. */
void process_answers_stop(struct process_answers *a);
void process_answers_free(struct process_answers *a); /* when nobody can call start any more */

/* Never blocks. */
void process_answers_start(struct process_answers *a, uint64_t link, const struct link_msg *query);

/* Fills the answer (without its request id): what these pods run. Blocks. */
void process_answers_look(const struct process_answers_config *c, const struct link_process_query *q, struct link_processes *out);

#endif
