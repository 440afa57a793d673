#include "controller/rest/rest_cluster.h"

#include "common/api/session_spec.h"
#include "common/base/cleanup.h"
#include "common/base/mem.h"
#include "controller/rest/rest_cluster_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#define REVIEW_TIMEOUT_MS 5000
#define CALL_TIMEOUT_MS 10000
#define NAMESPACES_MAX 5000

struct rest_cluster *rest_cluster_new(const struct rest_cluster_config *config)
{
	struct rest_cluster *c = mem_alloc(sizeof *c);
	c->config = *config;
	c->access = rest_access_new();
	c->own = kube_pool_new(config->kube, false, REVIEW_TIMEOUT_MS);
	c->callers = kube_pool_new(config->kube, true, CALL_TIMEOUT_MS);
	c->cancel_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return c;
}

void rest_cluster_stop(struct rest_cluster *c)
{
	if (!c)
		return;
	kube_pool_stop(c->own);
	kube_pool_stop(c->callers);
	process_queries_stop(c->config.processes);
	if (c->cancel_fd >= 0 && eventfd_write(c->cancel_fd, 1) < 0) {
		/* it is readable already */
	}
}

void rest_cluster_free(struct rest_cluster *c)
{
	if (!c)
		return;
	kube_pool_free(c->own);
	kube_pool_free(c->callers);
	rest_access_free(c->access);
	cleanup_fd(&c->cancel_fd);
	free(c);
}

/* Callers ---------------------------------------------------------------------------------------------------------- */

static int authenticate_caller(void *ctx, struct rest_caller *caller, struct rest_problem *p)
{
	struct rest_cluster *c = ctx;
	struct err e = ERR_INIT;
	struct kube_client *k = kube_pool_take(c->own, NULL, &e);
	struct rest_identity *i = k ? rest_access_identify(c->access, k, caller->token, &e) : NULL;
	kube_pool_give(c->own, k);
	if (!i)
		return rest_problem_from_err(p, &e);
	caller->own = i;
	caller->user = mem_strdup(i->name);
	return 0;
}

static void caller_free(void *ctx, struct rest_caller *caller)
{
	(void)ctx;
	rest_identity_free(caller->own);
}

struct kube_client *rest_cluster_as_caller(struct rest_cluster *c, const struct rest_caller *caller, struct rest_problem *p)
{
	struct err e = ERR_INIT;
	struct kube_client *k = kube_pool_take(c->callers, caller->token, &e);
	if (!k)
		rest_problem_from_err(p, &e);
	return k;
}

int rest_cluster_refused(struct rest_problem *p, const struct kube_client *k, const struct err *e)
{
	static const int passed_on[] = {401, 403, 404, 409, 410, 422, 429};
	const struct kube_refusal *why = kube_client_refusal(k);
	rest_problem_from_err(p, e);
	snprintf(p->reason, sizeof p->reason, "%s", why->reason);
	snprintf(p->field, sizeof p->field, "%s", why->field);
	for (size_t i = 0; i < sizeof passed_on / sizeof *passed_on; i++) {
		if (e->code == passed_on[i])
			p->status = (unsigned)e->code;
	}
	if (e->code == 400)
		p->status = 422; /* of what the caller wants, not of how it is asked for */
	return -1;
}

int rest_cluster_allows(struct rest_cluster *c, const struct rest_caller *caller, const struct rest_wish *w, struct rest_problem *p)
{
	struct err e = ERR_INIT;
	struct kube_client *k = kube_pool_take(c->own, NULL, &e);
	int allowed = k ? rest_access_allows(c->access, k, caller->own, w, &e) : -1;
	kube_pool_give(c->own, k);
	return allowed < 0 ? rest_problem_from_err(p, &e) : allowed;
}

int rest_cluster_forbid(struct rest_problem *p, const struct rest_caller *caller, const struct rest_wish *w)
{
	const char *where = w->namespace ? w->namespace : NULL;
	return rest_problem_set(p, 403, "Forbidden", NULL,
				"%s may not %s %s%s%s in %s%s. Ask an administrator for a role that allows it (as drdotnet-view and drdotnet-edit do)%s.",
				caller->user, w->verb, w->resource, w->group[0] ? "." : "", w->group, where ? "namespace " : "all namespaces",
				where ? where : "", where ? "" : ", or name one namespace");
}

/* Namespaces ------------------------------------------------------------------------------------------------------- */

void rest_cluster_free_names(char **names, size_t count)
{
	for (size_t i = 0; names && i < count; i++)
		free(names[i]);
	free(names);
}

/* "system:serviceaccount:<namespace>:<name>" */
static char *home_of(const char *user)
{
	static const char prefix[] = "system:serviceaccount:";
	if (strncmp(user, prefix, sizeof prefix - 1) != 0)
		return NULL;
	const char *namespace = user + sizeof prefix - 1;
	return mem_strndup(namespace, strcspn(namespace, ":"));
}

static bool name_list_contains(char *const *names, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(names[i], name) == 0)
			return true;
	}
	return false;
}

static size_t candidates(struct rest_cluster *c, const struct rest_caller *caller, char ***out)
{
	size_t count = session_index_namespaces(c->config.index, REST_CANDIDATES_MAX, out);
	AUTO_FREE char *home = home_of(caller->user);
	if (!home || name_list_contains(*out, count, home))
		return count;
	*out = mem_realloc(*out, count + 1, sizeof **out);
	(*out)[count] = steal_ptr(&home);
	return count + 1;
}

ssize_t rest_cluster_visible(struct rest_cluster *c, const struct rest_caller *caller, char ***out, struct rest_problem *p)
{
	char **all;
	size_t count = candidates(c, caller, &all), kept = 0;
	for (size_t i = 0; i < count; i++) {
		struct rest_wish w = {"list", API_GROUP, SESSION_PLURAL, all[i]};
		int allowed = rest_cluster_allows(c, caller, &w, p);
		if (allowed < 0) {
			rest_cluster_free_names(all, count);
			return -1;
		}
		if (allowed) {
			char *name = all[kept];
			all[kept++] = all[i];
			all[i] = name;
		}
	}
	for (size_t i = kept; i < count; i++)
		free(all[i]);
	*out = all;
	return (ssize_t)kept;
}

static int add_namespace_name(void *ctx, const json_t *item, struct err *e)
{
	(void)e;
	const char *name = jsonx_str_at(item, "metadata.name", "");
	if (name[0] && json_array_size(ctx) < NAMESPACES_MAX)
		json_array_append_new(ctx, json_string(name));
	return 0;
}

/* All of them, for those who may list them. */
static int list_namespaces(struct kube_client *k, json_t *out, struct err *e)
{
	static const struct kube_ref ref = {.api = KUBE_CORE, .plural = "namespaces"};
	return kube_list(k, &ref, 500, add_namespace_name, out, NULL, e);
}

static int cluster_namespaces(void *ctx, const struct rest_caller *caller, json_t **out, struct rest_problem *p)
{
	struct rest_cluster *c = ctx;
	struct kube_client *k = rest_cluster_as_caller(c, caller, p);
	if (!k)
		return -1;
	struct err e = ERR_INIT;
	json_t *names = json_array();
	int rc = list_namespaces(k, names, &e);
	if (rc < 0 && e.kind != ERR_DENIED)
		rest_cluster_refused(p, k, &e);
	kube_pool_give(c->callers, k);
	if (rc < 0 && e.kind == ERR_DENIED) {
		char **visible = NULL;
		ssize_t count = rest_cluster_visible(c, caller, &visible, p);
		rc = count < 0 ? -1 : 0;
		for (ssize_t i = 0; i < count; i++)
			json_array_append_new(names, json_string(visible[i]));
		if (count >= 0)
			rest_cluster_free_names(visible, (size_t)count);
	}
	if (rc < 0)
		json_decref(names);
	else
		*out = names;
	return rc;
}

static int cluster_info(void *ctx, const struct rest_caller *caller, json_t **out, struct rest_problem *p)
{
	(void)ctx, (void)caller, (void)p;
	*out = json_pack("{s:s, s:b, s:[s, s, s, s]}", "mode", "cluster", "readOnly", 0, "features", "processes", "sessions", "events", "reports");
	return 0;
}

void rest_cluster_backend(struct rest_cluster *c, struct rest_backend *out)
{
	*out = (struct rest_backend){
		.ctx = c,
		.authenticate = authenticate_caller,
		.caller_free = caller_free,
		.info = cluster_info,
		.namespaces = cluster_namespaces,
		.processes = rest_cluster_processes,
		.session_list = rest_cluster_list,
		.session_get = rest_cluster_get,
		.session_create = rest_cluster_create,
		.session_cancel = rest_cluster_cancel,
		.session_delete = rest_cluster_delete,
		.report_open = rest_cluster_report,
	};
}
