#include "controller/sessions/orphans.h"

#include "common/base/mem.h"
#include "controller/base/metrics.h"

#include <stdlib.h>
#include <string.h>

void orphans_init(struct orphans *o)
{
	*o = (struct orphans){.count = 0};
	pthread_mutex_init(&o->lock, NULL);
}

void orphans_fini(struct orphans *o)
{
	while (o->count)
		free(o->keys[--o->count]);
	pthread_mutex_destroy(&o->lock);
}

static void keep(struct orphans *o, const char *key)
{
	for (size_t i = 0; i < o->count; i++) {
		if (strcmp(o->keys[i], key) == 0)
			return;
	}
	if (o->count < ORPHANS_MAX)
		o->keys[o->count++] = mem_strdup(key);
	else
		metrics_count("drdotnet_job_reports_dropped_total", "reason", "too_many_orphans", "Job reports of agents that were not taken, by why.");
}

void orphans_add(struct orphans *o, const atomic_llong *epoch, struct work_queue *queue, const char *key)
{
	pthread_mutex_lock(&o->lock);
	if (atomic_load(epoch))
		work_queue_add(queue, key);
	else
		keep(o, key);
	pthread_mutex_unlock(&o->lock);
}

void orphans_settle(struct orphans *o, struct work_queue *queue)
{
	pthread_mutex_lock(&o->lock);
	while (o->count) {
		work_queue_add(queue, o->keys[--o->count]);
		free(o->keys[o->count]);
	}
	pthread_mutex_unlock(&o->lock);
}
