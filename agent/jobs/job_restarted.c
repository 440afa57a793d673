/* Jobs whose container was started again while they waited for their turn, or while the node was down. */
#include "agent/jobs/jobs_private.h"
#include "common/base/clock.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

#define BOOTED_MS 30000 /* the kubelet starts the pods of a node that has booted */
#define LOOK_AGAIN_MS 500
#define DISCOVER_MS 20000

static bool is_of_order(const struct link_order *o, const struct target *t)
{
	bool found = !t->container_id || !t->container_id[0];
	for (size_t i = 0; i < o->container_count && !found; i++)
		found = strcmp(o->containers[i].id, t->container_id) == 0;
	return found;
}

static void drop_target(struct target_list *l, size_t at)
{
	target_fini(&l->items[at]);
	memmove(&l->items[at], &l->items[at + 1], (l->count - at - 1) * sizeof *l->items);
	l->count--;
}

static void keep_new_containers(const struct link_order *o, struct target_list *l)
{
	for (size_t i = l->count; i-- > 0;) {
		if (is_of_order(o, &l->items[i]))
			drop_target(l, i);
	}
}

static bool is_one_container(const struct target_list *l)
{
	bool one = l->count > 0;
	for (size_t i = 1; i < l->count; i++)
		one &= strcmp(l->items[i].container_id, l->items[0].container_id) == 0;
	return one;
}

/* The container of this name; without a name, the only one. NULL: it cannot be told. */
static struct link_container *ordered_container(struct link_order *o)
{
	const char *name = o->spec.target.container;
	if (!name)
		return o->container_count == 1 ? &o->containers[0] : NULL;
	for (size_t i = 0; i < o->container_count; i++) {
		if (strcmp(o->containers[i].name, name) == 0)
			return &o->containers[i];
	}
	return NULL;
}

/* Waits a moment; true: the job is to end. */
static bool pause_job(const struct job *job)
{
	struct pollfd cancel = {.fd = job->cancel_fd, .events = POLLIN};
	return poll(&cancel, 1, LOOK_AGAIN_MS) > 0 || clock_mono_ms() >= job->deadline_mono_ms;
}

static int look_for_new(struct jobs *j, const struct job *job, struct discover_options *options, struct target_list *out, struct err *e)
{
	int64_t until_ms = clock_mono_ms() + (job->resumed ? BOOTED_MS : 0);
	do {
		target_list_fini(out);
		options->deadline_ms = clock_mono_ms() + DISCOVER_MS;
		if (j->config.operations->discover(options, out, e) < 0)
			return -1;
		keep_new_containers(&job->order, out);
	} while (out->count == 0 && clock_mono_ms() < until_ms && !pause_job(job));
	return 0;
}

int job_find_restarted(struct jobs *j, struct job *job, const struct discover_options *first, struct target_list *out, struct err *e)
{
	struct link_order *o = &job->order;
	struct discover_options options = *first;
	if (!options.container_ids)
		return 0;
	options.container_ids = NULL;
	options.container_id_count = 0;
	if (look_for_new(j, job, &options, out, e) < 0)
		return -1;
	struct link_container *container = ordered_container(o);
	bool one = is_one_container(out);
	if (container && one) {
		pthread_mutex_lock(&j->lock);
		snprintf(container->id, sizeof container->id, "%s", out->items[0].container_id);
		pthread_mutex_unlock(&j->lock);
	}
	while (o->spec.target.container && !(container && one) && out->count)
		drop_target(out, out->count - 1); /* of which name they are is not known */
	return 0;
}
