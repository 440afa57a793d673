/* Holds the Lease, or waits for it: the I/O around lease.h in a thread of its own with a connection of its own. */
#ifndef DRDOTNET_LEADER_H
#define DRDOTNET_LEADER_H

#include "controller/kube/kube_client.h"

struct leader;

struct leader_options {
	const struct kube_config *config; /* outlives it */
	const char *namespace, *name;     /* copied */
	const char *identity;             /* random per process; copied */
	void *ctx;
	/* Called in the leader's thread. epoch 0: no longer the leader. */
	void (*on_change)(void *ctx, int64_t epoch);
	int64_t (*highest_epoch)(void *ctx, int64_t most); /* that agents have seen, as far as it is believed */
};

struct leader *leader_start(const struct leader_options *o, struct err *e);

/* on_change(0) if it led, then the Lease is given back so that another may have it at once. NULL is taken. */
void leader_stop(struct leader *l);

/* "drdotnet-controller-<pod or host name>-<16 random hex digits>" */
void leader_identity(char *out, size_t size);

#endif
