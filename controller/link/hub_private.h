/* What the hub's files share: agent_hub.c (links, their messages, leadership), hub_usage.c, hub_starts.c (questions to agents). All fields are under
 * `lock`, and what is declared here is called with it held, but for hub_wake() and hub_usage_receive(). */
#ifndef DRDOTNET_HUB_PRIVATE_H
#define DRDOTNET_HUB_PRIVATE_H

#include "common/base/hash.h"
#include "controller/link/agent_hub_private.h"
#include "controller/link/hub_mailbox.h"

#include <pthread.h>

struct hub_link {
	struct agent_hub *hub;
	void *owner;
	char *node;
	bool said_hello, replaced, pending;
	struct agent_info info;
	struct hub_mailbox *mailbox; /* NULL while nothing waits: most links are idle most of the time */
	struct hub_link *next_pending;
	UT_hash_handle hh;       /* in `nodes`, once it has said hello and is the newest of its node */
};

/* A reconciler waits for these nodes' answers. Lives on its stack. */
struct usage_wait {
	int64_t request_id;
	const char *const *nodes; /* of pods[i]: an agent's word counts for the pods of its own node only */
	struct link_pod_usage *pods;
	bool *answered;           /* of pods[i]: by its node, once */
	size_t count, outstanding;
	struct usage_wait *next;
};

struct agent_hub {
	struct agent_hub_callbacks cb;
	struct agent_hub_transport transport;
	pthread_mutex_t lock;
	pthread_cond_t answered;
	struct hub_link *nodes;
	struct hub_link *pending_first, *pending_last;
	struct usage_wait *waits;
	int64_t epoch, next_request_id;
};

/* Queues a message. ERR_RETRY: the mailbox is full. */
int hub_post(struct hub_link *l, const struct link_msg *m, struct err *e);

/* The link of a node; NULL: none. */
struct hub_link *hub_find_link(struct agent_hub *h, const char *node);

/* The same for a node; ERR_NOT_FOUND (NodeWithoutAgent). */
int hub_send_locked(struct agent_hub *h, const char *node, const struct link_msg *m, struct err *e);

/* Tells the link thread of queued messages. Without the lock. */
void hub_wake(struct agent_hub *h);

/* An agent's LINK_MSG_USAGE. Without the lock. */
void hub_usage_receive(struct agent_hub *h, const char *node, const struct link_msg *m);

#endif
