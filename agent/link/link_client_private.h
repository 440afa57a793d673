/* Private to the link client's files: link_client.c (life, thread, addresses, reconnecting) and link_session.c (what
 * is said on one link). Link thread only, except where `lock` is named. */
#ifndef DRDOTNET_LINK_CLIENT_PRIVATE_H
#define DRDOTNET_LINK_CLIENT_PRIVATE_H

#include "agent/link/link_client.h"
#include "agent/link/resolver.h"
#include "common/base/buf.h"

#include <libwebsockets.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <stdatomic.h>

struct link {
	struct link_client *client;
	bool used;                    /* the slot is taken: the address was listed, or its link is still up */
	bool listed;                  /* in the last answer of the resolver */
	uint64_t id;
	char address[RESOLVER_ADDRESS_SIZE];
	struct lws *wsi;
	bool open;                    /* guarded by lock: others send only to open links */
	bool leader;                  /* guarded by lock */
	bool hello_due, token_due;
	int failures;
	char certificate[96];         /* why the controller's was not accepted in the try under way */
	char closed[48];              /* the controller's reason to close */
	int64_t opened_mono_ms;       /* written under lock */
	uint64_t sent_version;        /* of jobs */
	int64_t complete_epoch;       /* the leader that is told of all jobs in this link, or has been; 0: none */
	bool complete_due;            /* it has not been told yet that they are all */
	char *token;                  /* the last one that this link has sent */
	struct buf incoming;
	char *mailbox[LINK_CLIENT_MAILBOX_MAX]; /* guarded by lock */
	size_t mailbox_head, mailbox_count;     /* guarded by lock */
	lws_sorted_usec_list_t retry;
};

struct link_client {
	struct link_client_config config;
	char boot_id[40];
	lws_retry_bo_t idle_policy;
	struct lws_context *context;
	SSL_CTX *tls;                 /* the vhost's client context; borrowed */
	pthread_t thread;
	bool thread_started;
	atomic_bool stopping;
	_Atomic(struct resolver *) resolver; /* set after the link thread has started */
	lws_sorted_usec_list_t refresh;
	uint64_t next_id;

	pthread_mutex_t lock;
	struct resolver_result resolved; /* guarded */
	bool resolved_new;               /* guarded */
	int64_t highest_epoch;           /* guarded; written by the link thread */
	char why[LINK_CLIENT_WHY_SIZE];  /* guarded: what the last failure was */
	char lack[LINK_CLIENT_WHY_SIZE]; /* a file that is missing; link thread only */
	unsigned bare_refreshes;         /* in a row, without a link; link thread only */
	bool epoch_unkept;               /* a restart would not know it; link thread only */
	struct link links[LINK_CLIENT_MAX_LINKS];
};

/* The token file's text into a new string, without white space at its end; NULL: none. */
char *link_read_token(const struct link_client *c);

/* One link: just opened, something arrived, the socket takes more, gone. -1: close it. */
void link_session_begin(struct link *l);
int link_session_receive(struct link *l, const char *data, size_t len, bool last);
int link_session_write(struct link *l);
void link_session_end(struct link *l);

/* Is there anything to send? May take the lock. */
bool link_session_wants_write(struct link *l);

/* Has the highest epoch kept, when that has failed before. */
void link_session_keep_epoch(struct link_client *c);

/* Notices a new token in the file. */
void link_session_check_token(struct link *l);

#endif
