/* /api/sessions: list, create, read, cancel, delete. */
#include "common/rest/rest_sessions.h"

#include "common/base/mem.h"
#include "common/rest/rest_id.h"
#include "common/rest/rest_private.h"

#include <stdlib.h>
#include <string.h>

#define LIMIT_MAX 500
#define QUERY_MAX 253
#define CONTINUE_MAX 1024

static const char *query_or_null(const struct rest_call *c, const char *name)
{
	const char *v = web_request_query(c->q, name);
	return v && *v ? v : NULL;
}

static int read_limit(struct rest_call *c, int64_t *out)
{
	const char *text = query_or_null(c, "limit");
	if (!text)
		return 0;
	size_t digits = strspn(text, "0123456789");
	*out = digits <= 3 ? strtoll(text, NULL, 10) : 0;
	if (text[digits] || *out < 1 || *out > LIMIT_MAX)
		return rest_problem_set(&c->problem, 400, NULL, "limit", "limit must be a number from 1 to %d.", LIMIT_MAX);
	return 0;
}

int rest_sessions_list(struct rest_call *c)
{
	struct rest_list_query q = {
		.namespace = query_or_null(c, "namespace"),
		.profiler = query_or_null(c, "profiler"),
		.state = query_or_null(c, "state"),
		.q = query_or_null(c, "q"),
		.limit = 100,
		.continue_token = query_or_null(c, "continue"),
	};
	json_t *doc = NULL;
	if (read_limit(c, &q.limit) < 0)
		return -1;
	if (q.q && strlen(q.q) > QUERY_MAX)
		return rest_problem_set(&c->problem, 400, NULL, "q", "q may have at most %d characters.", QUERY_MAX);
	if (q.continue_token && strlen(q.continue_token) > CONTINUE_MAX)
		return rest_problem_set(&c->problem, 400, NULL, "continue", "continue must be what an earlier answer gave.");
	if (c->backend->session_list(c->backend->ctx, &c->caller, &q, &doc, &c->problem) < 0)
		return -1;
	return rest_answer(c, 200, doc);
}

static int read_new(struct rest_call *c, const json_t *body, const char **namespace, const char **name, const json_t **spec)
{
	struct err e = ERR_INIT;
	if (jsonx_string(body, "", "namespace", true, namespace, &e) < 0 || jsonx_string(body, "", "name", false, name, &e) < 0 ||
	    jsonx_object(body, "", "spec", true, spec, &e) < 0)
		return rest_problem_from_err(&c->problem, &e);
	if (!rest_id_is_namespace(*namespace))
		return rest_problem_set(&c->problem, 422, "InvalidSpec", "namespace", REST_NO_NAMESPACE);
	if (*name && !rest_id_is_name(*name))
		return rest_problem_set(&c->problem, 422, "InvalidSpec", "name",
					"A name has lower-case letters, digits, '-' and '.', begins and ends with a letter or digit.");
	return 0;
}

int rest_sessions_create(struct rest_call *c)
{
	static const char *const known[] = {"namespace", "name", "spec", NULL};
	const char *namespace = NULL, *name = NULL;
	const json_t *spec = NULL;
	AUTO_JSON json_t *body = rest_body(c, known);
	json_t *session = NULL;
	if (!body || read_new(c, body, &namespace, &name, &spec) < 0)
		return -1;
	if (c->backend->session_create(c->backend->ctx, &c->caller, namespace, name, spec, &session, &c->problem) < 0)
		return -1;
	char *place = mem_printf("/api/sessions/%s", jsonx_str_at(session, "id", ""));
	web_respond_header(c->r, "location", place);
	free(place);
	return rest_answer(c, 201, session);
}

int rest_sessions_get(struct rest_call *c)
{
	struct rest_session_id id;
	json_t *session = NULL;
	if (rest_path_id(c, &id) < 0 || c->backend->session_get(c->backend->ctx, &c->caller, &id, &session, &c->problem) < 0)
		return -1;
	return rest_answer(c, 200, session);
}

/* The body is empty or {}. */
static int check_empty_body(struct rest_call *c)
{
	static const char *const none[] = {NULL};
	size_t len;
	web_request_body(c->q, &len);
	if (len == 0)
		return 0;
	AUTO_JSON json_t *body = rest_body(c, none);
	return body ? 0 : -1;
}

int rest_sessions_cancel(struct rest_call *c)
{
	struct rest_session_id id;
	json_t *session = NULL;
	if (rest_path_id(c, &id) < 0 || check_empty_body(c) < 0 ||
	    c->backend->session_cancel(c->backend->ctx, &c->caller, &id, &session, &c->problem) < 0)
		return -1;
	return rest_answer(c, 202, session);
}

int rest_sessions_delete(struct rest_call *c)
{
	struct rest_session_id id;
	if (rest_path_id(c, &id) < 0 || c->backend->session_delete(c->backend->ctx, &c->caller, &id, &c->problem) < 0)
		return -1;
	return rest_answer(c, 202, json_object());
}

bool rest_session_completed(const json_t *session)
{
	const json_t *conditions = jsonx_at(session, "status.conditions"), *one;
	size_t i;
	json_array_foreach(conditions, i, one) {
		if (strcmp(jsonx_str_at(one, "type", ""), "Completed") == 0)
			return strcmp(jsonx_str_at(one, "status", ""), "True") == 0;
	}
	return false;
}
