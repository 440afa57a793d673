/* Follows one session to its end: a watch in a thread of its own, Ctrl-C and the progress line in the caller's. */
#ifndef DRDOTNET_PLUGIN_FOLLOW_H
#define DRDOTNET_PLUGIN_FOLLOW_H

#include "controller/kubectl/plugin_connect.h"

enum plugin_follow_end {
	PLUGIN_FOLLOW_COMPLETED,
	PLUGIN_FOLLOW_DELIVERING, /* the diagnosis is there; the reports take longer than one should wait for */
	PLUGIN_FOLLOW_LEFT,       /* a second Ctrl-C, or one while the reports were on their way */
};

struct plugin_follow {
	const struct plugin_connection *connection;
	const char *name;
	int signal_fd;       /* of INT, TERM and HUP, blocked before any thread was started */
	bool quiet;
	/* results */
	json_t *session;     /* as it was seen last; the caller's */
	bool canceled;       /* by Ctrl-C */
	enum plugin_follow_end end;
};

/* The session is deleted meanwhile: ERR_GONE. It cannot be watched: why. */
int plugin_follow_run(struct plugin_follow *f, struct err *e);

/* Blocks INT, TERM and HUP and gives a descriptor of them; also for the waits of kube_client (its `cancel_fd`). */
int plugin_follow_signals(struct err *e);

#endif
