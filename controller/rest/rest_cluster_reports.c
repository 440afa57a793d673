/* Reports of the cluster's REST backend: what the session's status names is read from its store. */
#include "common/api/reason.h"
#include "controller/store/object_read.h"
#include "controller/rest/rest_cluster_private.h"
#include "controller/sessions/session_object.h"

#include <string.h>

static ssize_t read_object_stream(void *ctx, void *out, size_t size, struct err *e)
{
	return object_read_next(ctx, out, size, e);
}

static void close_report(void *ctx)
{
	object_read_close(ctx);
}

static const struct session_pod *find_session_pod(const struct profiling_session *s, const char *pod)
{
	for (size_t i = 0; i < s->pod_count; i++) {
		if (strcmp(s->pods[i].pod_name, pod) == 0)
			return &s->pods[i];
	}
	return NULL;
}

static const struct link_report *find_pod_report(const struct session_pod *pod, const char *file)
{
	for (size_t i = 0; pod && i < pod->job.report_count; i++) {
		if (strcmp(pod->job.reports[i].name, file) == 0)
			return &pod->job.reports[i];
	}
	return NULL;
}

static int open_object_report(struct rest_cluster *c, const struct profiling_session *s, const char *pod, const struct link_report *r,
			      struct rest_report *out, struct rest_problem *p)
{
	char prefix[512];
	struct err e = ERR_INIT;
	struct object_read *o = NULL;
	if (session_report_prefix(s->namespace, s->name, s->uid, pod, prefix, sizeof prefix, &e) == 0)
		o = object_read_open(c->config.stores, s->spec_valid ? s->spec.store : "default", prefix, r, c->cancel_fd, &e);
	if (!o)
		return rest_problem_from_err(p, &e);
	*out = (struct rest_report){.size_bytes = r->size_bytes, .stream = {read_object_stream, close_report, o}};
	snprintf(out->media_type, sizeof out->media_type, "%s", r->media_type);
	snprintf(out->sha256, sizeof out->sha256, "%s", r->sha256);
	return 0;
}

static int find_and_open(struct rest_cluster *c, const struct profiling_session *s, const char *pod, const char *file, struct rest_report *out,
			 struct rest_problem *p)
{
	const struct link_report *r = find_pod_report(find_session_pod(s, pod), file);
	if (!r)
		return rest_problem_set(p, 404, NULL, NULL, "There is no such report; the session's status names those that there are.");
	if (!r->delivered)
		return rest_problem_set(p, 404, REASON_Delivering, NULL, "The report is still on its way to the store; try again soon.");
	if (!c->config.stores)
		return rest_problem_set(p, 404, REASON_StoreNotFound, NULL, "The controller was started without a store of reports.");
	return open_object_report(c, s, pod, r, out, p);
}

int rest_cluster_report(void *ctx, const struct rest_caller *caller, const struct rest_session_id *id, const char *pod, const char *file,
			struct rest_report *out, struct rest_problem *p)
{
	AUTO_JSON json_t *object = rest_cluster_session(ctx, caller, id, p);
	struct profiling_session s;
	struct err e = ERR_INIT;
	if (!object)
		return -1;
	if (session_object_from_json(object, &s, &e) < 0)
		return rest_problem_from_err(p, &e);
	int rc = find_and_open(ctx, &s, pod, file, out, p);
	session_object_fini(&s);
	return rc;
}
