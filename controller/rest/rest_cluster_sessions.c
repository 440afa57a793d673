/* Sessions of the cluster's REST backend. */
#include "common/api/session_spec.h"
#include "common/base/clock.h"
#include "common/base/mem.h"
#include "controller/rest/rest_cluster_private.h"
#include "controller/sessions/session_health.h"
#include "controller/sessions/session_object.h"

#include <ctype.h>
#include <string.h>

/* JSON ---------------------------------------------------------------------------------------------------------------- */

static void set_session_text(json_t *doc, const char *key, const char *text)
{
	if (text[0])
		json_object_set_new(doc, key, json_string(text));
}

static void set_session_time(json_t *doc, const char *key, int64_t wall_ms)
{
	char text[CLOCK_RFC3339_SIZE];
	if (wall_ms)
		json_object_set_new(doc, key, json_string(clock_rfc3339(wall_ms, text)));
}

static void set_session_findings(json_t *doc, const char *words)
{
	char id[48];
	bool possible;
	int score;
	json_t *list = words[0] ? json_array() : NULL;
	while ((words = session_health_next(words, id, &possible, &score)))
		json_array_append_new(list, json_pack("{s:s, s:s, s:i}", "id", id, "state", possible ? "Possible" : "Found", "score", score));
	if (list)
		json_object_set_new(doc, "findings", list);
}

static json_t *summary_json(const struct session_summary *s)
{
	char id[320];
	rest_session_id_print(s->namespace, s->name, id);
	json_t *doc = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "id", id, "namespace", s->namespace, "name", s->name, "uid", s->uid,
				"profiler", s->profiler, "target", s->target, "state", s->state);
	set_session_text(doc, "headline", s->headline);
	set_session_time(doc, "createdAt", s->created_wall_ms);
	set_session_time(doc, "completedAt", s->completed_wall_ms);
	set_session_text(doc, "requestedBy", s->requested_by);
	set_session_text(doc, "trigger", s->trigger);
	set_session_text(doc, "workload", s->workload);
	set_session_findings(doc, s->findings);
	return doc;
}

/* The API server's object as the API shows it. */
static json_t *session_json(const json_t *object)
{
	struct session_page one;
	if (session_summary_of(object, &one) < 0)
		return NULL;
	json_t *doc = summary_json(&one.items[0]);
	session_page_fini(&one);
	static const char *const parts[] = {"spec", "status"};
	for (int i = 0; i < 2; i++) {
		json_t *part = json_object_get(object, parts[i]);
		json_object_set_new(doc, parts[i], json_is_object(part) ? json_incref(part) : json_object());
	}
	return doc;
}

static int answer_session(const json_t *object, json_t **out, struct rest_problem *p)
{
	*out = session_json(object);
	return *out ? 0 : rest_problem_set(p, 502, NULL, NULL, "The API server's answer is no session.");
}

/* List ---------------------------------------------------------------------------------------------------------------- */

/* Whose sessions: all (*names NULL), one namespace, or those that the caller may see. */
static int choose_namespaces(struct rest_cluster *c, const struct rest_caller *caller, const char *namespace, char ***names, size_t *count,
			     struct rest_problem *p)
{
	struct rest_wish w = {"list", API_GROUP, SESSION_PLURAL, namespace};
	int allowed = rest_cluster_allows(c, caller, &w, p);
	*names = NULL;
	*count = 0;
	if (allowed < 0)
		return -1;
	if (allowed && namespace) {
		*names = mem_calloc(1, sizeof **names);
		(*names)[(*count)++] = mem_strdup(namespace);
	}
	if (allowed)
		return 0;
	if (namespace)
		return rest_cluster_forbid(p, caller, &w);
	ssize_t visible = rest_cluster_visible(c, caller, names, p);
	if (visible < 0)
		return -1;
	*count = (size_t)visible;
	if (visible > 0)
		return 0;
	rest_cluster_free_names(*names, 0);
	return rest_cluster_forbid(p, caller, &w);
}

static json_t *page_json(const struct session_page *page)
{
	json_t *items = json_array();
	for (size_t i = 0; i < page->count; i++)
		json_array_append_new(items, summary_json(&page->items[i]));
	json_t *doc = json_pack("{s:o, s:I}", "items", items, "total", (json_int_t)page->total);
	set_session_text(doc, "continue", page->next);
	return doc;
}

int rest_cluster_list(void *ctx, const struct rest_caller *caller, const struct rest_list_query *q, json_t **out,
				  struct rest_problem *p)
{
	struct rest_cluster *c = ctx;
	if (!c->config.ready(c->config.ready_ctx, NULL)) {
		rest_problem_set(p, 503, NULL, NULL, "The sessions are not known yet: the controller still reads them from the API server. Try again.");
		p->retry_after_s = 2;
		return -1;
	}
	char **names;
	size_t count;
	if (choose_namespaces(c, caller, q->namespace, &names, &count, p) < 0)
		return -1;
	struct session_query iq = {
		.namespaces = (const char *const *)names,
		.namespace_count = count,
		.profiler = q->profiler,
		.state = q->state,
		.text = q->q,
		.cursor = q->continue_token,
		.limit = (size_t)q->limit,
	};
	struct session_page page;
	struct err e = ERR_INIT;
	int rc = session_index_query(c->config.index, &iq, &page, &e);
	rest_cluster_free_names(names, count);
	if (rc < 0)
		return rest_problem_set(p, 400, NULL, "continue", "%s", e.message);
	*out = page_json(&page);
	session_page_fini(&page);
	return 0;
}

/* One ----------------------------------------------------------------------------------------------------------------- */

static struct kube_ref session_kube_ref(const char *namespace, const char *name)
{
	return (struct kube_ref){.api = KUBE_SESSIONS, .plural = SESSION_PLURAL, .namespace = namespace, .name = name};
}

json_t *rest_cluster_session(struct rest_cluster *c, const struct rest_caller *caller, const struct rest_session_id *id, struct rest_problem *p)
{
	struct kube_client *k = rest_cluster_as_caller(c, caller, p);
	if (!k)
		return NULL;
	struct kube_ref ref = session_kube_ref(id->namespace, id->name);
	struct err e = ERR_INIT;
	json_t *object = NULL;
	if (kube_get(k, &ref, &object, &e) < 0)
		rest_cluster_refused(p, k, &e);
	kube_pool_give(c->callers, k);
	return object;
}

int rest_cluster_get(void *ctx, const struct rest_caller *caller, const struct rest_session_id *id, json_t **out,
				 struct rest_problem *p)
{
	AUTO_JSON json_t *object = rest_cluster_session(ctx, caller, id, p);
	return object ? answer_session(object, out, p) : -1;
}

/* With its finalizer, so that it need not be written before the order. Not where nobody might take it off again. */
static json_t *make_object(const struct rest_cluster *cluster, const struct rest_caller *caller, const char *namespace, const char *name,
			   const json_t *spec)
{
	json_t *object = json_pack("{s:s, s:s, s:{s:s, s:{s:s}}, s:O}", "apiVersion", API_GROUP_VERSION, "kind", SESSION_KIND, "metadata",
				   "namespace", namespace, "annotations", SESSION_REQUESTED_BY, caller->user, "spec", (json_t *)spec);
	json_t *metadata = json_object_get(object, "metadata");
	if (cluster->config.everywhere)
		json_object_set_new(metadata, "finalizers", json_pack("[s]", SESSION_FINALIZER));
	if (name) {
		json_object_set_new(metadata, "name", json_string(name));
		return object;
	}
	char prefix[64];
	snprintf(prefix, sizeof prefix, "%s-", jsonx_str_at(spec, "profiler", "session"));
	for (char *c = prefix; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	json_object_set_new(metadata, "generateName", json_string(prefix));
	return object;
}

/* Our own reading of the spec knows fields and bounds where an old API server does not, and says which field it is about. */
static int check_spec(const json_t *spec, struct rest_problem *p)
{
	struct session_spec parsed;
	struct err e = ERR_INIT;
	if (session_spec_from_json(spec, true, &parsed, &e) < 0)
		return rest_problem_from_err(p, &e);
	session_spec_fini(&parsed);
	return 0;
}

int rest_cluster_create(void *ctx, const struct rest_caller *caller, const char *namespace, const char *name, const json_t *spec,
				    json_t **out, struct rest_problem *p)
{
	struct rest_cluster *c = ctx;
	if (check_spec(spec, p) < 0)
		return -1;
	struct kube_client *k = rest_cluster_as_caller(c, caller, p);
	if (!k)
		return -1;
	struct kube_ref ref = session_kube_ref(namespace, NULL);
	AUTO_JSON json_t *object = make_object(c, caller, namespace, name, spec);
	AUTO_JSON json_t *made = NULL;
	struct err e = ERR_INIT;
	if (kube_create(k, &ref, object, &made, &e) < 0)
		rest_cluster_refused(p, k, &e);
	kube_pool_give(c->callers, k);
	return made ? answer_session(made, out, p) : -1;
}

static bool is_completed(const json_t *object)
{
	size_t i;
	json_t *entry;
	json_array_foreach(jsonx_at(object, "status.conditions"), i, entry) {
		if (strcmp(jsonx_str_at(entry, "type", ""), "Completed") == 0)
			return strcmp(jsonx_str_at(entry, "status", ""), "True") == 0;
	}
	return false;
}

int rest_cluster_cancel(void *ctx, const struct rest_caller *caller, const struct rest_session_id *id, json_t **out,
				    struct rest_problem *p)
{
	struct rest_cluster *c = ctx;
	AUTO_JSON json_t *object = rest_cluster_session(c, caller, id, p);
	if (!object)
		return -1;
	if (is_completed(object) || json_is_true(jsonx_at(object, "spec.cancel")))
		return answer_session(object, out, p);
	struct kube_client *k = rest_cluster_as_caller(c, caller, p);
	if (!k)
		return -1;
	struct kube_ref ref = session_kube_ref(id->namespace, id->name);
	AUTO_JSON json_t *patch = json_pack("{s:{s:s}, s:{s:b}}", "metadata", "uid", jsonx_str_at(object, "metadata.uid", ""), "spec", "cancel", 1);
	AUTO_JSON json_t *patched = NULL;
	struct err e = ERR_INIT;
	if (kube_patch(k, &ref, KUBE_PATCH_MERGE, patch, &patched, &e) < 0)
		rest_cluster_refused(p, k, &e);
	kube_pool_give(c->callers, k);
	return patched ? answer_session(patched, out, p) : -1;
}

int rest_cluster_delete(void *ctx, const struct rest_caller *caller, const struct rest_session_id *id, struct rest_problem *p)
{
	struct rest_cluster *c = ctx;
	struct kube_client *k = rest_cluster_as_caller(c, caller, p);
	if (!k)
		return -1;
	struct kube_ref ref = session_kube_ref(id->namespace, id->name);
	struct err e = ERR_INIT;
	int rc = kube_delete(k, &ref, NULL, NULL, &e);
	if (rc < 0)
		rest_cluster_refused(p, k, &e);
	kube_pool_give(c->callers, k);
	return rc;
}
