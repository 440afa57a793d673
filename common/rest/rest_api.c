#include "common/rest/rest_api.h"

#include "common/base/cleanup.h"
#include "common/base/mem.h"
#include "common/base/text.h"
#include "common/rest/rest_id.h"
#include "common/rest/rest_openapi.h"
#include "common/rest/rest_private.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>
#include <stdlib.h>
#include <string.h>

/* Callers --------------------------------------------------------------------------------------------------------- */

int rest_authenticate(const struct rest_backend *b, const char *token, struct rest_caller *out, struct rest_problem *p)
{
	*out = (struct rest_caller){0};
	if (!token)
		return rest_problem_set(p, 401, NULL, NULL, "Send a token: Authorization: Bearer ....");
	out->token = mem_strdup(token);
	if (b->authenticate(b->ctx, out, p) == 0)
		return 0;
	rest_caller_fini(b, out);
	return -1;
}

void rest_caller_fini(const struct rest_backend *b, struct rest_caller *c)
{
	if (c->own && b->caller_free)
		b->caller_free(b->ctx, c);
	if (c->token)
		OPENSSL_cleanse(c->token, strlen(c->token));
	free(c->token);
	free(c->user);
	*c = (struct rest_caller){0};
}

/* Answers --------------------------------------------------------------------------------------------------------- */

static void make_tag(const char *text, size_t len, char tag[33])
{
	unsigned char hash[SHA256_DIGEST_LENGTH];
	SHA256((const unsigned char *)text, len, hash);
	text_hex(hash, 16, tag);
}

int rest_answer(struct rest_call *c, unsigned status, json_t *doc)
{
	struct err e = ERR_INIT;
	char *text = jsonx_dump(doc, REST_ANSWER_MAX_BYTES, &e);
	json_decref(doc);
	if (!text)
		return rest_problem_from_err(&c->problem, &e);
	size_t len = strlen(text);
	char tag[33];
	make_tag(text, len, tag);
	if (web_request_method(c->q) == WEB_GET && web_respond_not_modified(c->r, c->q, tag))
		free(text);
	else
		web_respond_take(c->r, status, "application/json", text, len);
	return 0;
}

int rest_path_id(struct rest_call *c, struct rest_session_id *id)
{
	if (rest_session_id_parse(web_request_param(c->q, "id"), id) == 0)
		return 0;
	return rest_problem_set(&c->problem, 404, NULL, NULL, "A session's id is \"<namespace>.<name>\".");
}

json_t *rest_body(struct rest_call *c, const char *const *known)
{
	struct err e = ERR_INIT;
	size_t len;
	const char *text = web_request_body(c->q, &len);
	json_t *body = jsonx_parse(text, len, "the body", &e);
	if (!body) {
		rest_problem_set(&c->problem, 400, NULL, NULL, "%s", e.message);
		return NULL;
	}
	if (!json_is_object(body))
		rest_problem_set(&c->problem, 400, NULL, NULL, "The body must be a JSON object.");
	else if (jsonx_only_keys(body, "", known, &e) < 0)
		rest_problem_from_err(&c->problem, &e);
	else
		return body;
	json_decref(body);
	return NULL;
}

/* Small ones ------------------------------------------------------------------------------------------------------ */

static int get_info(struct rest_call *c)
{
	json_t *doc = NULL;
	if (c->backend->info(c->backend->ctx, &c->caller, &doc, &c->problem) < 0)
		return -1;
	json_object_set_new(doc, "version", json_string(DRDOTNET_VERSION));
	json_object_set_new(doc, "user", json_string(c->caller.user ? c->caller.user : ""));
	return rest_answer(c, 200, doc);
}

static int get_namespaces(struct rest_call *c)
{
	json_t *items = NULL;
	if (c->backend->namespaces(c->backend->ctx, &c->caller, &items, &c->problem) < 0)
		return -1;
	return rest_answer(c, 200, json_pack("{s:o}", "items", items));
}

static int get_processes(struct rest_call *c)
{
	const char *namespace = web_request_query(c->q, "namespace"), *refresh = web_request_query(c->q, "refresh");
	if (namespace && !*namespace)
		namespace = NULL;
	bool again = refresh && *refresh && strcmp(refresh, "false") != 0 && strcmp(refresh, "0") != 0;
	json_t *doc = NULL;
	if (c->backend->processes(c->backend->ctx, &c->caller, namespace, again, &doc, &c->problem) < 0)
		return -1;
	return rest_answer(c, 200, doc);
}

/* Routes ---------------------------------------------------------------------------------------------------------- */

#define NAMES(...) ((const char *const[]){__VA_ARGS__ __VA_OPT__(,) NULL})
static const struct rest_row rows[] = {
	{WEB_GET, "/api/info", get_info, NAMES()},
	{WEB_GET, "/api/profilers", rest_profilers_get, NAMES()},
	{WEB_GET, "/api/namespaces", get_namespaces, NAMES()},
	{WEB_GET, "/api/processes", get_processes, NAMES("namespace", "refresh")},
	{WEB_GET, "/api/sessions", rest_sessions_list, NAMES("namespace", "profiler", "state", "q", "limit", "continue")},
	{WEB_POST, "/api/sessions", rest_sessions_create, NAMES()},
	{WEB_GET, "/api/sessions/{id}", rest_sessions_get, NAMES()},
	{WEB_DELETE, "/api/sessions/{id}", rest_sessions_delete, NAMES()},
	{WEB_POST, "/api/sessions/{id}/cancel", rest_sessions_cancel, NAMES()},
	{WEB_GET, "/api/sessions/{id}/events", rest_events_get, NAMES()},
	{WEB_GET, "/api/sessions/{id}/reports/{pod}/{file}", rest_reports_get, NAMES()},
	{WEB_GET, "/api/sessions/{id}/download", rest_zip_get, NAMES()},
	{WEB_GET, "/api/diff", rest_diff_get, NAMES("baseline", "session", "baselinePod", "sessionPod")},
};
#define ROWS (sizeof rows / sizeof *rows)

static int refuse_query(struct rest_call *c, const char *unknown, const char *const *known)
{
	AUTO_BUF struct buf names;
	buf_init(&names, 200);
	for (const char *const *k = known; *k; k++)
		buf_printf(&names, "%s%s", k == known ? "" : ", ", *k);
	return rest_problem_set(&c->problem, 400, NULL, unknown, "This query parameter is not known here; %s%s.", *known ? "known are " : "none is",
				buf_str(&names));
}

static int check_and_call(struct rest_call *c, const struct rest_row *row)
{
	if (rest_authenticate(c->backend, web_request_bearer(c->q), &c->caller, &c->problem) < 0)
		return -1;
	const char *unknown = web_request_unknown_query(c->q, row->queries);
	if (unknown)
		return refuse_query(c, unknown, row->queries);
	const char *namespace = web_request_query(c->q, "namespace");
	if (namespace && *namespace && !rest_id_is_namespace(namespace))
		return rest_problem_set(&c->problem, 400, NULL, "namespace", REST_NO_NAMESPACE);
	return row->fn(c);
}

static void handle_rest_request(void *ctx, const struct web_request *q, struct web_response *r)
{
	const struct rest_route *route = ctx;
	struct rest_call c = {.api = route->api, .backend = &route->api->backend, .q = q, .r = r};
	web_respond_header(r, "vary", "authorization");
	if (check_and_call(&c, route->row) < 0)
		rest_problem_respond(&c.problem, r); /* after another answer it does nothing */
	rest_caller_fini(c.backend, &c.caller);
}

static void get_openapi(void *ctx, const struct web_request *q, struct web_response *r)
{
	(void)ctx;
	size_t len;
	const char *text = rest_openapi_text(&len);
	char tag[33];
	make_tag(text, len, tag);
	web_respond_header(r, "cache-control", "no-cache");
	if (!web_respond_not_modified(r, q, tag))
		web_respond_static(r, 200, "application/json", text, len);
}

struct rest_api *rest_api_new(const struct rest_backend *backend)
{
	struct rest_api *api = mem_alloc(sizeof *api);
	api->backend = *backend;
	pthread_mutex_init(&api->lock, NULL);
	api->routes = mem_calloc(ROWS, sizeof *api->routes);
	for (size_t i = 0; i < ROWS; i++)
		api->routes[i] = (struct rest_route){api, &rows[i]};
	return api;
}

void rest_api_add_routes(struct rest_api *api, struct web_server *s)
{
	for (size_t i = 0; i < ROWS; i++)
		web_server_route(s, &(struct web_route){.methods = rows[i].method, .pattern = rows[i].pattern, .handler = handle_rest_request,
							.ctx = &api->routes[i]});
	web_server_route(s, &(struct web_route){.methods = WEB_GET, .pattern = "/api/openapi.json", .handler = get_openapi});
}

void rest_api_free(struct rest_api *api)
{
	if (!api)
		return;
	pthread_mutex_destroy(&api->lock);
	free(api->routes);
	free(api);
}
