#include "controller/sessions/orphans.h"

#include "controller/base/metrics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MARK '!' /* begins no namespace */

void orphans_init(struct orphans *o)
{
	*o = (struct orphans){.by_key = NULL};
	pthread_mutex_init(&o->lock, NULL);
}

void orphans_fini(struct orphans *o)
{
	struct orphan *orphan, *next;
	HASH_ITER(hh, o->by_key, orphan, next) {
		HASH_DEL(o->by_key, orphan);
		free(orphan);
	}
	pthread_mutex_destroy(&o->lock);
}

bool orphans_is_key(const char *key)
{
	return key[0] == MARK;
}

/* The lock is held. NULL: too many wait for a leader. */
static struct orphan *find_or_make(struct orphans *o, bool leading, const char *node, const char *job_id)
{
	char key[ORPHAN_KEY_SIZE];
	struct orphan *orphan;
	snprintf(key, sizeof key, "%c%.253s %.63s", MARK, node, job_id);
	HASH_FIND_STR(o->by_key, key, orphan);
	if (orphan || (!leading && HASH_COUNT(o->by_key) >= ORPHANS_MAX))
		return orphan;
	orphan = mem_alloc(sizeof *orphan);
	memcpy(orphan->key, key, sizeof key);
	snprintf(orphan->node, sizeof orphan->node, "%s", node);
	snprintf(orphan->job_id, sizeof orphan->job_id, "%s", job_id);
	HASH_ADD_STR(o->by_key, key, orphan);
	return orphan;
}

void orphans_add(struct orphans *o, const atomic_llong *epoch, struct work_queue *queue, const char *node, const struct link_job *job)
{
	pthread_mutex_lock(&o->lock);
	bool leading = atomic_load(epoch) != 0;
	struct orphan *orphan = find_or_make(o, leading, node, job->job_id);
	if (orphan) {
		snprintf(orphan->namespace, sizeof orphan->namespace, "%s", job->session_namespace ? job->session_namespace : "");
		snprintf(orphan->name, sizeof orphan->name, "%s", job->session_name ? job->session_name : "");
		orphan->no_profiler = job->phase >= JOB_DELIVERING;
		if (leading)
			work_queue_add(queue, orphan->key);
	} else {
		metrics_count(METRIC_JOB_REPORTS_DROPPED, "too_many_orphans");
	}
	pthread_mutex_unlock(&o->lock);
}

void orphans_settle(struct orphans *o, struct work_queue *queue)
{
	pthread_mutex_lock(&o->lock);
	for (struct orphan *orphan = o->by_key; orphan; orphan = orphan->hh.next)
		work_queue_add(queue, orphan->key);
	pthread_mutex_unlock(&o->lock);
}

struct orphan *orphans_take(struct orphans *o, const char *key)
{
	struct orphan *orphan;
	pthread_mutex_lock(&o->lock);
	HASH_FIND_STR(o->by_key, key, orphan);
	if (orphan)
		HASH_DEL(o->by_key, orphan);
	pthread_mutex_unlock(&o->lock);
	return orphan;
}

void orphans_give_back_take(struct orphans *o, struct orphan *orphan)
{
	struct orphan *newer;
	pthread_mutex_lock(&o->lock);
	HASH_FIND_STR(o->by_key, orphan->key, newer);
	if (!newer)
		HASH_ADD_STR(o->by_key, key, orphan);
	pthread_mutex_unlock(&o->lock);
	if (newer)
		free(orphan);
}
