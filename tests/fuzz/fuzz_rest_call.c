/* Whole calls of the REST API on a backend whose sessions and reports are hostile. "<method> <path>\n<query>\n<body>\n<session>": every one is
 * answered, problems are well-formed, and names in a zip stay in its folder. */
#include "agent/serve/serve_document.h"
#include "common/base/mem.h"
#include "common/rest/rest_api.h"
#include "common/web/web_route.h"
#include "tests/fuzz/fuzz_tools.h"

#include <archive.h>
#include <archive_entry.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *session_text;

static int authenticate(void *ctx, struct rest_caller *c, struct rest_problem *p)
{
	(void)ctx, (void)p;
	c->user = mem_strdup("somebody");
	return 0;
}

static int session_get(void *ctx, const struct rest_caller *c, const struct rest_session_id *id, json_t **out, struct rest_problem *p)
{
	struct err e = ERR_INIT;
	(void)ctx, (void)c, (void)id;
	*out = jsonx_parse(session_text, strlen(session_text), "session", &e);
	return *out ? 0 : rest_problem_from_err(p, &e);
}

static int session_cancel(void *ctx, const struct rest_caller *c, const struct rest_session_id *id, json_t **out, struct rest_problem *p)
{
	return session_get(ctx, c, id, out, p);
}

static int session_create(void *ctx, const struct rest_caller *c, const char *namespace, const char *name, const json_t *spec, json_t **out,
			  struct rest_problem *p)
{
	struct err e = ERR_INIT;
	struct session_spec s;
	(void)ctx, (void)c, (void)namespace, (void)name;
	if (session_spec_from_json(spec, true, &s, &e) < 0)
		return rest_problem_from_err(p, &e);
	session_spec_fini(&s);
	*out = json_pack("{s:s}", "id", "a.b");
	return 0;
}

static int session_list(void *ctx, const struct rest_caller *c, const struct rest_list_query *q, json_t **out, struct rest_problem *p)
{
	(void)ctx, (void)c, (void)p;
	if (q->limit < 1 || q->limit > 500)
		abort();
	*out = json_pack("{s:[], s:i}", "items", "total", 0);
	return 0;
}

static int session_delete(void *ctx, const struct rest_caller *c, const struct rest_session_id *id, struct rest_problem *p)
{
	(void)ctx, (void)c, (void)id, (void)p;
	return 0;
}

static int some_object(void *ctx, const struct rest_caller *c, json_t **out, struct rest_problem *p)
{
	(void)ctx, (void)c, (void)p;
	*out = json_object();
	return 0;
}

static int processes(void *ctx, const struct rest_caller *c, const char *namespace, bool refresh, json_t **out, struct rest_problem *p)
{
	(void)namespace, (void)refresh;
	return some_object(ctx, c, out, p);
}

/* A report is the session's own text. */
static ssize_t read_text(void *ctx, void *out, size_t size, struct err *e)
{
	const char **at = ctx;
	size_t n = strlen(*at) < size ? strlen(*at) : size;
	(void)e;
	memcpy(out, *at, n);
	*at += n;
	return (ssize_t)n;
}

static int report_open(void *ctx, const struct rest_caller *c, const struct rest_session_id *id, const char *pod, const char *file,
		       struct rest_report *out, struct rest_problem *p)
{
	(void)ctx, (void)c, (void)id;
	if (strchr(pod, '/') || strchr(file, '/') || file[0] == '.')
		abort();
	if (strcmp(file, "gone.txt") == 0)
		return rest_problem_set(p, 404, NULL, NULL, "gone");
	const char **at = mem_alloc(sizeof *at);
	*at = session_text;
	snprintf(out->media_type, sizeof out->media_type, "text/plain");
	out->stream = (struct web_stream){read_text, free, at};
	return 0;
}

static const struct rest_backend backend = {
	.authenticate = authenticate, .info = some_object, .namespaces = some_object, .processes = processes, .session_list = session_list,
	.session_get = session_get, .session_create = session_create, .session_cancel = session_cancel, .session_delete = session_delete,
	.report_open = report_open,
};

static void check_zip(const struct buf *zip)
{
	struct archive *a = archive_read_new();
	struct archive_entry *entry;
	archive_read_support_format_zip(a);
	if (archive_read_open_memory(a, zip->data, zip->len) != ARCHIVE_OK)
		abort();
	while (archive_read_next_header(a, &entry) == ARCHIVE_OK) {
		const char *name = archive_entry_pathname(entry);
		if (!name || name[0] == '/' || strstr(name, "..") == name || strstr(name, "/../") || strchr(name, '\\'))
			abort();
	}
	archive_read_free(a);
}

static void read_stream(struct web_response *r)
{
	char piece[4096];
	struct err e = ERR_INIT;
	struct buf all;
	ssize_t n;
	buf_init(&all, 4u << 20);
	while ((n = r->stream.read(r->stream.ctx, piece, sizeof piece, &e)) > 0 && buf_append(&all, piece, (size_t)n) == 0)
		;
	if (n == 0 && strcmp(r->media_type, "application/zip") == 0)
		check_zip(&all);
	r->stream.close(r->stream.ctx);
	buf_fini(&all);
}

static void check_answer(struct web_response *r)
{
	struct err e = ERR_INIT;
	if (r->status < 200 || r->status > 599)
		abort();
	if (r->kind == WEB_BODY_STREAM)
		read_stream(r);
	if (r->kind != WEB_BODY_BYTES || !r->owned)
		return;
	AUTO_JSON json_t *doc = jsonx_parse(r->bytes, (size_t)r->size, "answer", &e);
	if (!doc || (r->status >= 400 && jsonx_int_at(doc, "status", 0) != r->status))
		abort();
}

static void check_document(void)
{
	AUTO_JSON json_t *doc = jsonx_parse(session_text, strlen(session_text), "session", NULL);
	if (!doc || !serve_document_is_good(doc, jsonx_str_at(doc, "name", "")))
		return;
	serve_document_interrupt(doc, 1700000000000);
	json_decref(serve_document_summary(doc));
}

static void call(struct web_server *s, char *text)
{
	struct web_request q = {.method = WEB_GET};
	unsigned allowed;
	char *method = strsep(&text, " "), *path = strsep(&text, "\n"), *query = strsep(&text, "\n"), *body = strsep(&text, "\n");
	session_text = text ? text : "";
	q.method = strcmp(method, "POST") == 0 ? WEB_POST : strcmp(method, "DELETE") == 0 ? WEB_DELETE : WEB_GET;
	q.headers[WEB_HEADER_AUTHORIZATION] = mem_strdup("Bearer token");
	for (char *one; (one = strsep(&query, "&"));)
		if (web_request_add_query(&q, one) < 0)
			break;
	buf_init(&q.body, 1 << 20);
	buf_puts(&q.body, body ? body : "");
	const struct web_route *route = path && web_route_path_is_plain(path) ? web_route_find(s->routes, s->route_count, path, q.method, &q, &allowed) : NULL;
	if (route && !strstr(route->pattern, "/events")) { /* events need a connection */
		struct web_exchange x = {.server = s};
		struct web_response r;
		web_response_init(&r, &x);
		route->handler(route->ctx, &q, &r);
		check_answer(&r);
		web_response_fini(&r);
	}
	web_request_fini(&q);
	check_document();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct web_server *s;
	if (!s) {
		s = web_server_new(&(struct web_server_config){0});
		rest_api_add_routes(rest_api_new(&backend), s);
	}
	char *text = text_of(data, size);
	call(s, text);
	free(text);
	return 0;
}
