/* Which .NET processes run in these pods? Asks the agents of the pods' nodes and waits for their answers until a deadline. An agent's
 * word counts for those of the asked pods that are on its own node. Any thread. */
#ifndef DRDOTNET_PROCESS_QUERY_H
#define DRDOTNET_PROCESS_QUERY_H

#include "controller/link/agent_hub.h"

#define PROCESS_QUERY_WINDOW_MS 400 /* over which agents measure the CPU */

struct process_queries;

struct process_queries *process_queries_new(void);
void process_queries_stop(struct process_queries *q); /* from now on nobody waits */
void process_queries_free(struct process_queries *q);

/* The hub's callback (agent_hub_callbacks.on_processes); ctx is the struct process_queries. Link thread; takes copies. */
void process_queries_on_answer(void *ctx, const char *node, const struct link_processes *answer);

struct process_pod {
	struct link_queried_pod pod;
	char node[254];
};

/* Why a node's processes are not, or not all, among the answers. */
struct process_warning {
	char node[254];
	const char *reason; /* common/api/reason.h, or "Incomplete" */
	char message[200];
};

struct process_list {
	struct link_process *items;
	size_t count, cap;
	struct process_warning *warnings;
	size_t warning_count, warning_cap;
};

/* Waits at most until the monotonic deadline. Sorts `pods` by node. Finish *out with process_list_fini. */
void process_queries_ask(struct process_queries *q, struct agent_hub *hub, struct process_pod *pods, size_t count, int64_t deadline_ms,
			 struct process_list *out);
void process_list_fini(struct process_list *l);

#endif
