/* The hub's other side: what the link server (and tests) use to put connections in and to carry messages. A `hub_link` is
 * one authenticated connection to one node's agent. All functions here belong to the link thread, except where they say
 * "any thread"; the callbacks of agent_hub.h run inside agent_hub_receive, agent_hub_attach and agent_hub_detach. */
#ifndef DRDOTNET_AGENT_HUB_PRIVATE_H
#define DRDOTNET_AGENT_HUB_PRIVATE_H

#include "controller/link/agent_hub.h"

#define AGENT_HUB_MAILBOX_MAX 64 /* messages that wait for one agent; when full, orders fail with ERR_RETRY */

struct hub_link;

struct agent_hub_transport {
	void *ctx;
	void (*wake)(void *ctx); /* any thread: agent_hub_next_pending has something */
	/* Link thread: an agent asks where to put a report. The answer comes by agent_hub_answer_upload. */
	void (*upload)(void *ctx, const char *node, const char *job_id, const struct link_report *r);
};

/* The callbacks and the transport are copied; their contexts must outlive the hub. */
struct agent_hub *agent_hub_new(const struct agent_hub_callbacks *cb, const struct agent_hub_transport *t);
/* After all links are detached and no other thread uses the hub. */
void agent_hub_free(struct agent_hub *h);

/* A connection whose token names this node. `owner` comes back from agent_hub_next_pending. */
struct hub_link *agent_hub_attach(struct agent_hub *h, const char *node, void *owner);

/* A message of the agent. -1: the link must end (a message before hello, one that only a controller sends). */
int agent_hub_receive(struct hub_link *l, const struct link_msg *m, struct err *e);

/* The next message to send (free it), or NULL. */
char *agent_hub_next(struct hub_link *l);

/* A newer connection of the same node said hello: this one must be closed. */
bool agent_hub_is_replaced(const struct hub_link *l);

/* Owners of links that have something to send or to close, each once per wake; NULL: no more. */
void *agent_hub_next_pending(struct agent_hub *h);

/* Ends and frees the link. */
void agent_hub_detach(struct hub_link *l);

/* Any thread: LINK_MSG_UPLOAD_GRANT or LINK_MSG_UPLOAD_DENIED for the node. Dropped (and counted) when it is not linked any
 * more: the agent asks again. */
void agent_hub_answer_upload(struct agent_hub *h, const char *node, const struct link_msg *m);

#endif
