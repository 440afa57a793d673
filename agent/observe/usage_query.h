/* Answers "how much CPU and memory do these pods use?" in a short-lived thread, because measuring takes the query's window. */
#ifndef DRDOTNET_USAGE_QUERY_H
#define DRDOTNET_USAGE_QUERY_H

#include "common/base/err.h"
#include "common/link/link_msg.h"

#include <stdint.h>

#define USAGE_QUERY_MAX 4            /* at once; more are not answered, and their askers' deadline ends the wait */

struct usage_queries;

/* `send` is called in the query's thread with a LINK_MSG_USAGE for the link that asked. proc_root is borrowed. */
struct usage_queries *usage_queries_new(const char *proc_root, int (*send)(void *ctx, uint64_t link, const struct link_msg *m, struct err *e),
					void *ctx);
/* Waits for those under way; no other begins from now on. */
void usage_queries_stop(struct usage_queries *q);
void usage_queries_free(struct usage_queries *q); /* when nobody can call start any more */

/* Never blocks. */
void usage_queries_start(struct usage_queries *q, uint64_t link, const struct link_msg *query);

#endif
