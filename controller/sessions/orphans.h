/* What agents said of jobs without a session while another replica led, or none: kept until this one leads, and settled then. Bounded; what
 * does not fit is counted: an agent says it again with its next link. Any thread. */
#ifndef DRDOTNET_ORPHANS_H
#define DRDOTNET_ORPHANS_H

#include "controller/base/work_queue.h"

#include <pthread.h>
#include <stdatomic.h>

#define ORPHANS_MAX 256

struct orphans {
	pthread_mutex_t lock;
	char *keys[ORPHANS_MAX]; /* of reconcile_orphan_key */
	size_t count;
};

void orphans_init(struct orphans *o);
void orphans_fini(struct orphans *o);

/* Into the queue when we lead (*epoch is not 0), else kept. */
void orphans_add(struct orphans *o, const atomic_llong *epoch, struct work_queue *queue, const char *key);

/* To be called after *epoch was set: all that was kept goes into the queue. */
void orphans_settle(struct orphans *o, struct work_queue *queue);

#endif
