/* A request's words as they come to a handler: path, query and Host, one a line. What is taken has the form that the handlers rely on. */
#include "agent/serve/serve.h"
#include "common/rest/rest_backend.h"
#include "common/rest/rest_id.h"
#include "common/web/web_route.h"
#include "tests/fuzz/fuzz_tools.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct web_route routes[] = {
	{.methods = WEB_GET, .pattern = "/"},
	{.methods = WEB_GET | WEB_POST, .pattern = "/api/sessions"},
	{.methods = WEB_GET | WEB_DELETE, .pattern = "/api/sessions/{id}"},
	{.methods = WEB_GET, .pattern = "/api/sessions/{id}/reports/{pod}/{file}"},
};

static void check_id(const char *text)
{
	struct rest_session_id id;
	char again[320];
	if (rest_session_id_parse(text, &id) < 0)
		return;
	rest_session_id_print(id.namespace, id.name, again);
	if (strcmp(again, text) != 0 || strpbrk(text, "/\\ \"%") || !rest_id_is_namespace(id.namespace) || !rest_id_is_name(id.name))
		abort();
}

static void check_path(const char *path, struct web_request *q)
{
	unsigned allowed;
	if (!web_route_path_is_plain(path))
		return;
	if (path[0] != '/' || strstr(path, "/../") || strstr(path, "//") || strchr(path, '\\') || strchr(path, '\r'))
		abort();
	const struct web_route *route = web_route_find(routes, sizeof routes / sizeof *routes, path, WEB_GET, q, &allowed);
	if (!route && q->param_count)
		abort();
	for (size_t i = 0; i < q->param_count; i++) {
		const char *value = web_request_param(q, q->params[i].name);
		if (!value || !*value || strchr(value, '/') || strcmp(value, "..") == 0)
			abort();
		check_id(value);
		if (rest_id_is_file(value) && (value[0] == '.' || strlen(value) > 63))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const known[] = {"namespace", "q", NULL};
	char *text = text_of(data, size), *next = text;
	struct web_request q = {0};
	char *line = strsep(&next, "\n");
	check_path(line, &q);
	while ((line = strsep(&next, "\n"))) {
		bool name = serve_host_allowed(line, "machine");
		if (name && (strpbrk(line, "/@, ") || strlen(line) > 300))
			abort();
		if (web_request_add_query(&q, line) < 0)
			break;
	}
	const char *unknown = web_request_unknown_query(&q, known);
	if (unknown && (strcmp(unknown, "q") == 0 || !web_request_query(&q, unknown)))
		abort();
	web_request_fini(&q);
	free(text);
	return 0;
}
