#include "agent/serve/serve_backend.h"

#include "agent/serve/serve_document.h"
#include "agent/serve/serve_token.h"
#include "common/base/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int check_serve_token(void *ctx, struct rest_caller *c, struct rest_problem *p)
{
	const struct serve_backend *b = ctx;
	if (!serve_token_equal(b->token, c->token))
		return rest_problem_set(p, 401, NULL, NULL, "This token is not the one that `drdotnet serve` has printed; open the address that it shows.");
	c->user = mem_strdup(SERVE_NAMESPACE);
	return 0;
}

static int serve_info(void *ctx, const struct rest_caller *c, json_t **out, struct rest_problem *p)
{
	(void)ctx, (void)c, (void)p;
	*out = json_pack("{s:s, s:b, s:[s,s,s,s,s]}", "mode", "local", "readOnly", 0, "features", "processes", "sessions", "events", "download", "diff");
	return 0;
}

static int serve_namespaces(void *ctx, const struct rest_caller *c, json_t **out, struct rest_problem *p)
{
	(void)ctx, (void)c, (void)p;
	*out = json_pack("[s]", SERVE_NAMESPACE);
	return 0;
}

static int check_namespace(const char *namespace, struct rest_problem *p)
{
	if (strcmp(namespace, SERVE_NAMESPACE) == 0)
		return 0;
	return rest_problem_set(p, 404, NULL, "namespace", "Without a cluster there is one namespace: \"" SERVE_NAMESPACE "\".");
}

static int processes(void *ctx, const struct rest_caller *c, const char *namespace, bool refresh, json_t **out, struct rest_problem *p)
{
	const struct serve_backend *b = ctx;
	struct err e = ERR_INIT;
	(void)c;
	if (namespace && check_namespace(namespace, p) < 0)
		return -1;
	return serve_processes_get(b->processes, refresh, out, &e) < 0 ? rest_problem_from_err(p, &e) : 0;
}

static int session_list(void *ctx, const struct rest_caller *c, const struct rest_list_query *q, json_t **out, struct rest_problem *p)
{
	const struct serve_backend *b = ctx;
	struct err e = ERR_INIT;
	(void)c;
	if (serve_sessions_list(b->sessions, q, out, &e) == 0)
		return 0;
	rest_problem_from_err(p, &e);
	p->status = 400;
	return -1;
}

static int session_get(void *ctx, const struct rest_caller *c, const struct rest_session_id *id, json_t **out, struct rest_problem *p)
{
	const struct serve_backend *b = ctx;
	struct err e = ERR_INIT;
	(void)c;
	if (check_namespace(id->namespace, p) < 0)
		return -1;
	return serve_sessions_get(b->sessions, id->name, out, &e) < 0 ? rest_problem_from_err(p, &e) : 0;
}

static int session_create(void *ctx, const struct rest_caller *c, const char *namespace, const char *name, const json_t *spec, json_t **out,
			  struct rest_problem *p)
{
	const struct serve_backend *b = ctx;
	struct err e = ERR_INIT;
	(void)c;
	if (strcmp(namespace, SERVE_NAMESPACE) != 0)
		return rest_problem_set(p, 422, NULL, "namespace", "Without a cluster there is one namespace: \"" SERVE_NAMESPACE "\".");
	return serve_sessions_create(b->sessions, name, spec, out, &e) < 0 ? rest_problem_from_err(p, &e) : 0;
}

static int session_cancel(void *ctx, const struct rest_caller *c, const struct rest_session_id *id, json_t **out, struct rest_problem *p)
{
	const struct serve_backend *b = ctx;
	struct err e = ERR_INIT;
	(void)c;
	if (check_namespace(id->namespace, p) < 0)
		return -1;
	return serve_sessions_cancel(b->sessions, id->name, out, &e) < 0 ? rest_problem_from_err(p, &e) : 0;
}

static int session_delete(void *ctx, const struct rest_caller *c, const struct rest_session_id *id, struct rest_problem *p)
{
	const struct serve_backend *b = ctx;
	struct err e = ERR_INIT;
	(void)c;
	if (check_namespace(id->namespace, p) < 0)
		return -1;
	return serve_sessions_delete(b->sessions, id->name, &e) < 0 ? rest_problem_from_err(p, &e) : 0;
}

/* A file as a stream ---------------------------------------------------------------------------------------------- */

static ssize_t file_read(void *ctx, void *out, size_t size, struct err *e)
{
	ssize_t n = read((int)(intptr_t)ctx, out, size);
	return n < 0 ? err_set_errno(e, errno, "reading a report") : n;
}

static void file_close(void *ctx)
{
	close((int)(intptr_t)ctx);
}

static int report_open(void *ctx, const struct rest_caller *c, const struct rest_session_id *id, const char *pod, const char *file,
		       struct rest_report *out, struct rest_problem *p)
{
	const struct serve_backend *b = ctx;
	struct err e = ERR_INIT;
	(void)c;
	if (check_namespace(id->namespace, p) < 0)
		return -1;
	int fd = serve_sessions_open(b->sessions, id->name, pod, file, out, &e);
	if (fd < 0)
		return rest_problem_from_err(p, &e);
	out->stream = (struct web_stream){file_read, file_close, (void *)(intptr_t)fd};
	return 0;
}

struct rest_backend serve_backend_make(struct serve_backend *b)
{
	return (struct rest_backend){
		.ctx = b,
		.authenticate = check_serve_token,
		.info = serve_info,
		.namespaces = serve_namespaces,
		.processes = processes,
		.session_list = session_list,
		.session_get = session_get,
		.session_create = session_create,
		.session_cancel = session_cancel,
		.session_delete = session_delete,
		.report_open = report_open,
	};
}
