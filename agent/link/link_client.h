/* The agent's end of the links, in one thread around one libwebsockets context: one link to every address of the
 * controller's (headless) name, each verified for the name and authenticated by the pod's ServiceAccount token. Links that
 * break are tried again with back-off and jitter, those that lack a file each LINK_CLIENT_LACK_MS; the name and the token file are looked at again
 * every LINK_CLIENT_REFRESH_MS. Another thread resolves the name: nothing here waits for DNS.
 *
 * State of jobs is not queued: each link remembers the version that it has sent last and asks for the next newer job when the
 * socket takes more, so a slow controller costs no memory and a new link begins with all jobs. */
#ifndef DRDOTNET_LINK_CLIENT_H
#define DRDOTNET_LINK_CLIENT_H

#include "agent/link/link_ca.h"
#include "common/base/err.h"
#include "common/link/link_msg.h"

#include <stdbool.h>
#include <stdint.h>

#define LINK_CLIENT_REFRESH_MS 30000
#define LINK_CLIENT_LACK_MS 1000
#define LINK_CLIENT_MAX_LINKS 8
#define LINK_CLIENT_WHY_SIZE 320
#define LINK_CLIENT_SETTLED_MS 3000 /* a controller that refuses the token hangs up sooner */
#define LINK_CLIENT_MAILBOX_MAX 32 /* requests and answers that wait for one link */

struct link_client;

struct link_client_config {
	const char *host;              /* resolved, and verified in the certificate */
	int port;
	const char *server_name;       /* the certificate's name when it is not `host`; NULL: host */
	const struct link_ca *ca;      /* borrowed */
	const char *token_file;
	const char *mode;              /* for the hello */
	bool perf_events;
	bool pod_starts;               /* LINK_MSG_AWAIT_STARTS is obeyed */
	int64_t highest_epoch;         /* as kept over a restart */
	int64_t refresh_ms;            /* 0: LINK_CLIENT_REFRESH_MS */
	int timeout_s;                 /* a link that is silent for so long is given up; 0: HANG_UP_AFTER_S */

	void *ctx;
	/* All in the link thread, with no lock held; they must not block. */
	/* An order, cancel, forget or observe of the newest leader, a grant or denial, or a usage query; `link` is for link_client_send. */
	void (*on_message)(void *ctx, uint64_t link, const struct link_msg *m);
	/* The job with the smallest version > *version: copies it, sets *version. false: none is newer. */
	bool (*next_job)(void *ctx, uint64_t *version, struct link_job *out);
	/* A newer epoch was seen and is to be kept over a restart. -1: it could not be kept; it is obeyed all the same while this process
	 * lives (orders then end with what is wrong with the disk), and this is called again at each refresh. */
	int (*on_epoch)(void *ctx, int64_t epoch);
	/* The leader's link came or went (uploads may be asked for again). */
	void (*on_leader)(void *ctx, bool linked);
};

/* Strings are copied. The thread runs when this returns; being linked comes later. */
struct link_client *link_client_new(const struct link_client_config *c, struct err *e);
void link_client_free(struct link_client *c);

/* Any thread: jobs have changed. */
void link_client_jobs_changed(struct link_client *c);

/* Any thread: to that link, or to the leader's when `link` is 0. ERR_RETRY when there is none or its mailbox is full. */
int link_client_send(struct link_client *c, uint64_t link, const struct link_msg *m, struct err *e);

struct link_client_status {
	size_t addresses, linked;
	bool leader;
	bool settled; /* a link has lasted, or is the leader's */
	char why[LINK_CLIENT_WHY_SIZE]; /* unless settled: what stands against a link */
	int64_t highest_epoch;
};
void link_client_get_status(struct link_client *c, struct link_client_status *out);

#endif
