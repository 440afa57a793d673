/* Jobs that agents have and no session of ours does: they are canceled, and when they have ended, forgotten (reconcile.h). What agents said of them
 * while another replica led, or none, is kept until this one leads, and settled then. Bounded while nobody settles; what does not fit is counted: an
 * agent says it again with its next link. Any thread. */
#ifndef DRDOTNET_ORPHANS_H
#define DRDOTNET_ORPHANS_H

#include "common/base/hash.h"
#include "common/link/link_msg.h"
#include "controller/base/work_queue.h"

#include <pthread.h>
#include <stdatomic.h>

#define ORPHANS_MAX 256
#define ORPHAN_KEY_SIZE (1 + 254 + 1 + LINK_ID_SIZE)

struct orphan {
	char key[ORPHAN_KEY_SIZE];     /* in the work queue, where the other keys are sessions' */
	char node[254], job_id[LINK_ID_SIZE];
	char namespace[64], name[254]; /* of its session; "": the agent did not say */
	bool no_profiler;              /* it has ended, or waits for nothing but its reports' delivery */
	UT_hash_handle hh;
};

struct orphans {
	pthread_mutex_t lock;
	struct orphan *by_key; /* the newest word of each job */
};

void orphans_init(struct orphans *o);
void orphans_fini(struct orphans *o);

/* Kept, and its key queued when we lead (*epoch is not 0). */
void orphans_add(struct orphans *o, const atomic_llong *epoch, struct work_queue *queue, const char *node, const struct link_job *job);

/* To be called after *epoch was set: the keys of all that was kept go into the queue. */
void orphans_settle(struct orphans *o, struct work_queue *queue);

/* Is a key of the work queue an orphan's? */
bool orphans_is_key(const char *key);

/* The orphan behind a key, the caller's to free; NULL: it is settled already. */
struct orphan *orphans_take(struct orphans *o, const char *key);

/* It was not settled: kept again, unless there is a newer word of it. */
void orphans_give_back_take(struct orphans *o, struct orphan *orphan);

#endif
