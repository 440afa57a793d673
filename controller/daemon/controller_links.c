/* What agents tell over their links, and ask: of jobs, thresholds, processes, and where to put reports. */
#include "controller/daemon/controller_links.h"

#include "common/base/clock.h"
#include "common/base/log.h"
#include "controller/daemon/controller_private.h"
#include "controller/base/metrics.h"
#include "controller/sessions/session_cache_each.h"

#include <string.h>

static void on_job(void *ctx, const char *node, const struct link_job *job)
{
	struct controller *c = ctx;
	char key[SESSION_KEY_SIZE];
	switch (session_cache_job(c->cache, node, job, key)) {
	case SESSION_JOB_TAKEN:
		if (atomic_load(&c->epoch))
			work_queue_add(c->queue, key);
		return;
	case SESSION_JOB_EARLY:
		if (atomic_load(&c->epoch))
			orphans_add(&c->orphans, &c->epoch, c->queue, node, job);
		return;
	case SESSION_JOB_UNKNOWN:
	case SESSION_JOB_ORPHAN:
		metrics_count(METRIC_JOB_REPORTS_DROPPED, "orphan");
		orphans_add(&c->orphans, &c->epoch, c->queue, node, job);
		return;
	case SESSION_JOB_FOREIGN:
		metrics_count(METRIC_JOB_REPORTS_DROPPED, "foreign");
		LOG_WARN("controller", "a node speaks of a job that it was not given", LOG_S("node", node), LOG_S("job", job->job_id));
	}
}

static void on_node(void *ctx, const char *node, bool linked, int64_t highest_epoch)
{
	(void)highest_epoch; /* the election reads the hub's own maximum */
	struct controller *c = ctx;
	struct agent_info info;
	bool says_complete = linked && agent_hub_lookup(c->hub, node, &info) && info.jobs_complete;
	session_cache_node(c->cache, node, linked, says_complete, clock_mono_ms());
	if (linked)
		trigger_observe_node(c->observe, node);
	if (linked)
		starts_node(c->starts);
	if (atomic_load(&c->epoch))
		session_cache_each_waiting_for(c->cache, node, controller_enqueue, c);
}

static void on_jobs_complete(void *ctx, const char *node, int64_t epoch)
{
	struct controller *c = ctx;
	session_cache_complete(c->cache, node, epoch);
	if (atomic_load(&c->epoch))
		session_cache_each_waiting_for(c->cache, node, controller_enqueue, c);
}

static void on_observed(void *ctx, const char *node, const struct link_observed *items, size_t count)
{
	trigger_observe_heard(((struct controller *)ctx)->observe, node, items, count);
}

static void on_started(void *ctx, const char *node, const char *pod_uid, const char *container_id)
{
	struct controller *c = ctx;
	(void)container_id;
	switch (starts_heard(c->starts, node, pod_uid, clock_mono_ms(), controller_enqueue_urgent, c)) {
	case STARTS_TAKEN:
		return;
	case STARTS_UNASKED:
		metrics_count(METRIC_STARTS_REFUSED, "unasked");
		return;
	case STARTS_FOREIGN:
		metrics_count(METRIC_STARTS_REFUSED, "foreign");
		LOG_WARN("controller", "a node speaks of a start of another node's pod", LOG_S("node", node), LOG_S("pod", pod_uid));
		return;
	}
}

static int on_upload(void *ctx, const char *node, const char *job_id, const struct link_report *r, char store[64], char key_prefix[512],
		     struct err *e)
{
	struct controller *c = ctx;
	struct session_upload u;
	if (session_cache_grant(c->cache, node, job_id, r, &u, e) < 0)
		return -1;
	memcpy(store, u.store, sizeof u.store);
	return session_report_prefix(u.namespace, u.name, u.uid, u.pod_name, key_prefix, 512, e);
}

static void on_processes(void *ctx, const char *node, const struct link_processes *answer)
{
	struct controller *c = ctx;
	if (c->options.processes)
		process_queries_on_answer(c->options.processes, node, answer);
}

void controller_hub_callbacks(struct controller *c, struct agent_hub_callbacks *out)
{
	*out = (struct agent_hub_callbacks){.ctx = c, .on_job = on_job, .on_jobs_complete = on_jobs_complete, .on_node = on_node,
					    .on_observed = on_observed, .on_started = on_started, .on_upload = on_upload,
					    .on_processes = on_processes};
}
