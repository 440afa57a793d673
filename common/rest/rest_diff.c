/* /api/diff: what changed between two sessions of one profiler, from their report.json. */
#include "common/report/report_diff.h"

#include "common/rest/rest_id.h"
#include "common/rest/rest_private.h"

#include <string.h>

struct side {
	const char *query, *pod_query;
	struct rest_session_id id;
	char name[320];
	struct buf text;
};

static bool target_has_report(const json_t *target)
{
	const json_t *one;
	size_t i;
	json_array_foreach(json_object_get(target, "reports"), i, one)
		if (strcmp(jsonx_str_at(one, "name", ""), "report.json") == 0)
			return true;
	return false;
}

/* The pod that was asked for, or the first that has a report. */
static const char *choose_pod(const json_t *session, const char *asked)
{
	const json_t *targets = jsonx_at(session, "status.targets"), *target;
	size_t i;
	if (asked && *asked)
		return asked;
	json_array_foreach(targets, i, target)
		if (target_has_report(target))
			return jsonx_str_at(target, "podName", "");
	return NULL;
}

static int read_diff_side(struct rest_call *c, struct side *s)
{
	AUTO_JSON json_t *session = NULL;
	const char *text = web_request_query(c->q, s->query);
	if (!text || rest_session_id_parse(text, &s->id) < 0)
		return rest_problem_set(&c->problem, 400, NULL, s->query, "%s must be a session's id: \"<namespace>.<name>\".", s->query);
	rest_session_id_print(s->id.namespace, s->id.name, s->name);
	if (c->backend->session_get(c->backend->ctx, &c->caller, &s->id, &session, &c->problem) < 0)
		return -1;
	const char *pod = choose_pod(session, web_request_query(c->q, s->pod_query));
	if (!pod)
		return rest_problem_set(&c->problem, 422, NULL, s->query, "The session %s has no report to compare (yet).", s->name);
	return rest_reports_read(c, &s->id, pod, "report.json", REPORT_DIFF_FILE_MAX_BYTES, &s->text);
}

int rest_diff_get(struct rest_call *c)
{
	struct side before = {.query = "baseline", .pod_query = "baselinePod"}, after = {.query = "session", .pod_query = "sessionPod"};
	struct err e = ERR_INIT;
	json_t *diff = NULL;
	int rc = read_diff_side(c, &before) < 0 || read_diff_side(c, &after) < 0 ? -1 : 0;
	if (rc == 0) {
		diff = report_diff_make_text(buf_str(&before.text), before.text.len, before.name, buf_str(&after.text), after.text.len, after.name, &e);
		rc = diff ? 0 : rest_problem_from_err(&c->problem, &e);
	}
	buf_fini(&before.text);
	buf_fini(&after.text);
	return rc < 0 ? -1 : rest_answer(c, 200, diff);
}
