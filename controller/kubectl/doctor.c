#include "controller/kubectl/doctor.h"

#include "common/base/cleanup.h"
#include "controller/kube/kube_clock.h"
#include "controller/kubectl/doctor_checks.h"
#include "controller/kubectl/plugin_connect.h"
#include "controller/kubectl/plugin_print.h"
#include "controller/sessions/reveal_policy.h"

#include <string.h>

#define APPS "/apis/apps/v1"
#define REGISTRATION "/apis/admissionregistration.k8s.io/v1"
#define OURS "app.kubernetes.io/part-of=drdotnet"
#define CONTROLLERS "app.kubernetes.io/name=drdotnet-controller"
#define AGENTS "app.kubernetes.io/name=drdotnet-agent"
#define PAGE 200
#define SESSIONS_MOST 2000
#define TABLE_MAX_BYTES (256 * 1024)
#define CALL_MS 10000

enum document {
	VERSION, DEPLOYMENT, CONTROLLER_PODS, CONTROLLER_EVENTS, LEASE, DAEMON_SETS, NODES, AGENT_PODS, AGENT_EVENTS,
	STORES, POLICIES, NAMESPACE, ADMISSION, ADMISSION_BINDING, SESSIONS,
	DOCUMENTS
};

struct visit {
	const struct plugin_args *a;
	struct plugin_connection connection;
	json_t *documents[DOCUMENTS];
	struct err why[DOCUMENTS];
	struct doctor_findings findings;
};

/* What to ask for. Lists become arrays of their items. */
static const struct {
	struct kube_ref ref;  /* namespace filled in where `ours` is set */
	bool ours, list;
	const char *labels;
} wanted[DOCUMENTS] = {
	[VERSION] = {{.api = "", .plural = "version"}, false, false, NULL},
	[DEPLOYMENT] = {{.api = APPS, .plural = "deployments", .name = "drdotnet-controller"}, true, false, NULL},
	[CONTROLLER_PODS] = {{.api = KUBE_CORE, .plural = "pods"}, true, true, CONTROLLERS},
	[CONTROLLER_EVENTS] = {{.api = KUBE_CORE, .plural = "events", .field_selector = "type=Warning,involvedObject.kind=Pod"}, true, true, NULL},
	[LEASE] = {{.api = KUBE_LEASES, .plural = "leases", .name = "drdotnet-controller"}, true, false, NULL},
	[DAEMON_SETS] = {{.api = APPS, .plural = "daemonsets"}, true, true, AGENTS},
	[NODES] = {{.api = KUBE_CORE, .plural = "nodes"}, false, true, NULL},
	[AGENT_PODS] = {{.api = KUBE_CORE, .plural = "pods"}, true, true, AGENTS},
	[AGENT_EVENTS] = {{.api = KUBE_CORE, .plural = "events", .field_selector = "reason=Unhealthy,involvedObject.kind=Pod"}, true, true, NULL},
	[STORES] = {{.api = KUBE_CORE, .plural = "configmaps", .name = "drdotnet-stores"}, true, false, NULL},
	[POLICIES] = {{.api = "/apis/networking.k8s.io/v1", .plural = "networkpolicies"}, true, true, OURS},
	[NAMESPACE] = {{.api = KUBE_CORE, .plural = "namespaces"}, false, false, NULL},
	[ADMISSION] = {{.api = REGISTRATION, .plural = "validatingadmissionpolicies", .name = REVEAL_POLICY_NAME}, false, false, NULL},
	[ADMISSION_BINDING] = {{.api = REGISTRATION, .plural = "validatingadmissionpolicybindings", .name = REVEAL_POLICY_NAME}, false, false, NULL},
	[SESSIONS] = {{.api = KUBE_SESSIONS, .plural = SESSION_PLURAL}, false, true, NULL},
};

static int take_item(void *ctx, const json_t *item, struct err *e)
{
	(void)e;
	json_t *items = ctx;
	if (json_array_size(items) < SESSIONS_MOST)
		json_array_append(items, (json_t *)item);
	return 0;
}

static void get_document(struct visit *v, enum document d)
{
	struct kube_ref ref = wanted[d].ref;
	json_t *got = NULL;
	ref.namespace = wanted[d].ours ? v->a->system_namespace : NULL;
	ref.label_selector = wanted[d].labels;
	if (d == NAMESPACE)
		ref.name = v->a->system_namespace;
	int rc;
	if (wanted[d].list) {
		got = json_array();
		rc = kube_list(v->connection.client, &ref, PAGE, take_item, got, NULL, &v->why[d]);
	} else {
		rc = kube_get(v->connection.client, &ref, &got, &v->why[d]);
	}
	if (rc < 0) {
		json_decref(got);
		got = NULL;
	}
	v->documents[d] = got;
}

/* All sessions where one may see them, else those of the namespace. */
static void ask_sessions(struct visit *v)
{
	get_document(v, SESSIONS);
	if (v->documents[SESSIONS] || v->why[SESSIONS].kind != ERR_DENIED)
		return;
	struct kube_ref ref = plugin_connect_sessions(&v->connection, NULL);
	json_t *items = json_array();
	v->why[SESSIONS] = (struct err)ERR_INIT;
	if (kube_list(v->connection.client, &ref, PAGE, take_item, items, NULL, &v->why[SESSIONS]) == 0)
		v->documents[SESSIONS] = items;
	else
		json_decref(items);
}

static struct doctor_answer document_answer(const struct visit *v, enum document d)
{
	return (struct doctor_answer){.object = v->documents[d], .why = &v->why[d]};
}

static void check_schemas(struct visit *v)
{
	for (size_t i = 0; i < DOCTOR_SCHEMAS; i++) {
		struct kube_ref ref = {.api = "/apis/apiextensions.k8s.io/v1", .plural = "customresourcedefinitions", .name = doctor_schemas[i].name};
		AUTO_JSON json_t *definition = NULL;
		struct err why = ERR_INIT;
		kube_get(v->connection.client, &ref, &definition, &why);
		doctor_check_schema(&doctor_schemas[i], (struct doctor_answer){definition, &why}, &v->findings);
	}
}

struct right {
	const char *verb, *group, *resource, *subresource, *name; /* the last two may be NULL */
};

/* -1: could not be asked. */
static int may(struct visit *v, const char *namespace, const struct right *r, struct err *e)
{
	struct kube_ref ref = {.api = "/apis/authorization.k8s.io/v1", .plural = "selfsubjectaccessreviews"};
	AUTO_JSON json_t *review = json_pack("{s:s, s:s, s:{s:{s:s, s:s, s:s, s:s, s:s*, s:s*}}}", "apiVersion", "authorization.k8s.io/v1", "kind",
					     "SelfSubjectAccessReview", "spec", "resourceAttributes", "namespace", namespace, "verb", r->verb, "group",
					     r->group, "resource", r->resource, "subresource", r->subresource, "name", r->name);
	AUTO_JSON json_t *got = NULL;
	if (kube_create(v->connection.client, &ref, review, &got, e) < 0)
		return -1;
	return json_is_true(jsonx_at(got, "status.allowed"));
}

static void check_rights(struct visit *v)
{
	static const char *const verbs[] = {"create", "get", "list", "watch", "patch", "delete"};
	AUTO_BUF struct buf denied;
	buf_init(&denied, 256);
	bool can_create = true;
	for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
		struct err e = ERR_INIT;
		int rc = may(v, v->connection.namespace, &(struct right){.verb = verbs[i], .group = API_GROUP, .resource = SESSION_PLURAL}, &e);
		if (rc < 0) {
			doctor_findings_add(&v->findings, DOCTOR_WARN, "your rights", NULL, "cannot be asked: %s", e.message);
			return;
		}
		if (rc == 0) {
			buf_printf(&denied, "%s%s", denied.len ? ", " : "", verbs[i]);
			can_create = can_create && i > 3; /* without the first four nothing can be done */
		}
	}
	doctor_check_rights(v->connection.namespace, buf_str(&denied), can_create, &v->findings);
}

/* How `report`, `ps` and `diff` reach the controller without --server. */
static void check_plugin_way(struct visit *v)
{
	static const struct right rights[] = {
		{.verb = "create", .group = "", .resource = "pods", .subresource = "portforward"},
		{.verb = "get", .group = "apps", .resource = "deployments", .name = "drdotnet-controller"},
		{.verb = "get", .group = "", .resource = "configmaps", .name = "drdotnet-link-ca"},
	};
	AUTO_BUF struct buf denied;
	buf_init(&denied, 256);
	for (size_t i = 0; i < sizeof rights / sizeof *rights; i++) {
		const struct right *r = &rights[i];
		struct err e = ERR_INIT;
		int rc = may(v, v->a->system_namespace, r, &e);
		if (rc < 0)
			return; /* said of the other rights */
		if (rc == 0)
			buf_printf(&denied, "%s%s %s/%s", denied.len ? ", " : "", r->verb, r->resource, r->subresource ? r->subresource : r->name);
	}
	doctor_check_plugin_way(v->a->system_namespace, buf_str(&denied), &v->findings);
}

static void check_installation(struct visit *v)
{
	for (enum document d = DEPLOYMENT; d < SESSIONS; d++)
		get_document(v, d);
	ask_sessions(v);
	int64_t now_ms = kube_clock_wall_ms();
	struct doctor_findings *f = &v->findings;
	doctor_check_controller(document_answer(v, DEPLOYMENT), document_answer(v, CONTROLLER_PODS), document_answer(v, CONTROLLER_EVENTS), f);
	doctor_check_leader(document_answer(v, LEASE), now_ms, f);
	doctor_check_agents(document_answer(v, DAEMON_SETS), f);
	doctor_check_links(document_answer(v, AGENT_PODS), document_answer(v, AGENT_EVENTS), f);
	doctor_check_nodes(document_answer(v, NODES), document_answer(v, AGENT_PODS), f);
	doctor_check_versions(document_answer(v, DEPLOYMENT), document_answer(v, DAEMON_SETS), f);
	doctor_check_storage(document_answer(v, STORES), f);
	doctor_check_network(document_answer(v, POLICIES), f);
	doctor_check_pod_security(document_answer(v, NAMESPACE), document_answer(v, DAEMON_SETS), f);
	doctor_check_admission(document_answer(v, ADMISSION), document_answer(v, ADMISSION_BINDING), f);
	doctor_check_sessions(document_answer(v, SESSIONS), now_ms, f);
}

static int print_findings(const struct visit *v)
{
	bool failed = doctor_findings_worst(&v->findings) == DOCTOR_FAIL;
	if (v->a->json) {
		AUTO_JSON json_t *doc = doctor_findings_json(&v->findings);
		return plugin_print_json(doc, stdout) != PLUGIN_OK || failed ? PLUGIN_FAILED : PLUGIN_OK;
	}
	AUTO_BUF struct buf text;
	buf_init(&text, TABLE_MAX_BYTES);
	doctor_findings_print(&v->findings, &text);
	fputs(buf_str(&text), stdout);
	return failed ? PLUGIN_FAILED : PLUGIN_OK;
}

int doctor(const struct plugin_args *a)
{
	struct visit v = {.a = a};
	struct err e = ERR_INIT;
	if (plugin_connect(a, -1, &v.connection, &e) < 0) {
		plugin_print_error(&e);
		return PLUGIN_FAILED;
	}
	kube_client_set_timeout(v.connection.client, CALL_MS);
	get_document(&v, VERSION);
	if (doctor_check_server(document_answer(&v, VERSION), v.connection.config.server, &v.findings)) {
		check_schemas(&v);
		check_rights(&v);
		if (!a->server)
			check_plugin_way(&v);
		check_installation(&v);
		doctor_check_left_out(&v.findings);
	}
	int status = print_findings(&v);
	for (enum document d = 0; d < DOCUMENTS; d++)
		json_decref(v.documents[d]);
	doctor_findings_fini(&v.findings);
	plugin_connection_fini(&v.connection);
	return status;
}
