/* The messages "processQuery" and "processes" of the link (link_msg.h): which .NET processes run in these pods of your node, and can
 * they be profiled? Pure; any thread. */
#ifndef DRDOTNET_LINK_PROCESS_H
#define DRDOTNET_LINK_PROCESS_H

#include "common/base/err.h"
#include "common/base/jsonx.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LINK_MAX_PROCESSES 256    /* in an answer */
#define LINK_MAX_QUERIED_PODS 256 /* in a query */

struct link_queried_pod {
	char uid[40], namespace[64], name[254];
};

/* One process. Texts are owned and may be NULL. */
struct link_process {
	char pod_uid[40];
	char container_id[80], container[64]; /* what the agent knows of them; "": not known */
	int64_t pid;            /* in the container */
	int64_t user;           /* effective uid; -1: not known */
	int64_t cpu_millicores; /* over the query's window; -1: not known */
	int64_t memory_bytes;   /* resident; -1: not known */
	bool can_profile;
	char *entrypoint, *runtime_version;
	char *reason, *message; /* why not */
};
void link_process_fini(struct link_process *p);
void link_processes_free(struct link_process *items, size_t count); /* what they own, and the list */

struct link_process_query {
	int64_t request_id, window_ms;
	struct link_queried_pod *pods; /* owned */
	size_t count;
};

struct link_processes {
	int64_t request_id;
	struct link_process *items; /* owned */
	size_t count;
	bool more; /* some were left out: there are too many, or the time was up */
};

/* The body of a message; ERR_PROTOCOL names the field. What was read until then is in *out, for its owner to finish. */
int link_process_query_read(const json_t *doc, struct link_process_query *out, struct err *e);
int link_processes_read(const json_t *doc, struct link_processes *out, struct err *e);
void link_process_query_write(json_t *doc, const struct link_process_query *q);
void link_processes_write(json_t *doc, const struct link_processes *p);

#endif
