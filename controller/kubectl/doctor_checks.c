#include "controller/kubectl/doctor_checks.h"

#include "common/api/reason.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/mem.h"
#include "common/link/health_line.h"
#include "controller/kube/lease.h"
#include "controller/sessions/reveal_policy.h"
#include "controller/store/store_config.h"

#include <stdlib.h>
#include <string.h>

#define STALE_MS 30000
#define FIRST_CEL_MINOR 25
#define NAMES_SHOWN 5
#define LIST_TEXT_BYTES 1024

static const char install_remedy[] = "Install Dr-Dotnet, or give --system-namespace: docs/install.md.";

/* Says why there is nothing to judge; true: there is not. Who may not look cannot tell; what is not there is `missing` as the caller says. */
static bool absent(struct doctor_answer a, const char *check, enum doctor_level missing, const char *remedy, struct doctor_findings *out)
{
	if (a.object)
		return false;
	if (a.why->kind == ERR_DENIED)
		doctor_findings_leave_out(out, check);
	else if (a.why->kind == ERR_NOT_FOUND)
		doctor_findings_add(out, missing, check, remedy, "missing: %s", a.why->message);
	else
		doctor_findings_add(out, DOCTOR_WARN, check, "Try again; the check was left out.", "no answer: %s", a.why->message);
	return true;
}

bool doctor_check_server(struct doctor_answer version, const char *server, struct doctor_findings *out)
{
	static const char check[] = "API server";
	if (!version.object) {
		doctor_findings_add(out, DOCTOR_FAIL, check, "Check the kubeconfig, its context and the network; then log in again.", "%s: %s", server,
				    version.why->message);
		return false;
	}
	int minor = atoi(jsonx_str_at(version.object, "minor", "0"));
	const char *name = jsonx_str_at(version.object, "gitVersion", "?");
	if (minor < FIRST_CEL_MINOR)
		doctor_findings_add(out, DOCTOR_WARN, check, "Use the definitions of crds/legacy/; the controller checks what the server cannot.",
				    "%s at %s has no validation rules (CEL)", name, server);
	else
		doctor_findings_add(out, DOCTOR_OK, check, NULL, "%s at %s", name, server);
	return true;
}

static bool has_condition(const json_t *object, const char *type, const char *status)
{
	size_t i;
	json_t *c;
	json_array_foreach(jsonx_at(object, "status.conditions"), i, c) {
		if (strcmp(jsonx_str_at(c, "type", ""), type) == 0)
			return strcmp(jsonx_str_at(c, "status", ""), status) == 0;
	}
	return false;
}

void doctor_check_schema(const struct doctor_schema *s, struct doctor_answer definition, struct doctor_findings *out)
{
	static const char remedy[] = "kubectl apply -f crds/ (servers before 1.25: crds/legacy/).";
	bool sessions = s == &doctor_schemas[0];
	const char *check = sessions ? "sessions' resource" : "triggers' resource";
	if (absent(definition, check, sessions ? DOCTOR_FAIL : DOCTOR_WARN, remedy, out))
		return;
	if (!has_condition(definition.object, "Established", "True"))
		doctor_findings_add(out, DOCTOR_FAIL, check, "kubectl describe crd says why.", "%s is not established", s->name);
	else if (!doctor_schemas_match(s, definition.object))
		doctor_findings_add(out, DOCTOR_WARN, check, remedy, "%s is not that of version " DRDOTNET_VERSION, s->name);
	else
		doctor_findings_add(out, DOCTOR_OK, check, NULL, "%s, as in version " DRDOTNET_VERSION, s->name);
}

void doctor_check_rights(const char *namespace, const char *denied, bool can_create, struct doctor_findings *out)
{
	static const char check[] = "your rights";
	if (denied[0])
		doctor_findings_add(out, can_create ? DOCTOR_WARN : DOCTOR_FAIL, check,
				    "Ask for the role drdotnet-edit in this namespace (it is a part of edit and admin).",
				    "on sessions in namespace %s you may not %s", namespace, denied);
	else
		doctor_findings_add(out, DOCTOR_OK, check, NULL, "all that profiling in namespace %s needs", namespace);
}

void doctor_check_plugin_way(const char *namespace, const char *denied, struct doctor_findings *out)
{
	static const char check[] = "report, ps and diff";
	if (denied[0])
		doctor_findings_add(out, DOCTOR_WARN, check,
				    "Have the Role drdotnet-plugin of that namespace bound to you, or give them --server URL (an Ingress).",
				    "in namespace %s you may not %s", namespace, denied);
	else
		doctor_findings_add(out, DOCTOR_OK, check, NULL, "they reach the controller by kubectl port-forward");
}

void doctor_check_left_out(struct doctor_findings *out)
{
	AUTO_BUF struct buf names;
	buf_init(&names, LIST_TEXT_BYTES);
	for (size_t i = 0; i < out->left_out_count; i++)
		buf_printf(&names, "%s%s", i ? ", " : "", out->left_out[i]);
	if (names.len)
		doctor_findings_add(out, DOCTOR_WARN, "not checked",
				    "Have an administrator run "
				    "\"kubectl create clusterrolebinding drdotnet-doctor-NAME --clusterrole=drdotnet-doctor --user=NAME\" and "
				    "\"kubectl -n drdotnet-system create rolebinding drdotnet-doctor-NAME --role=drdotnet-doctor --user=NAME\": docs/rbac.md.",
				    "you have no right to look at: %s", buf_str(&names));
}

/* Why a container of this pod does not run, as the kubelet or the scheduler says it: "ImagePullBackOff: ..."; "" when all do. */
static void why_not_started(const json_t *pod, struct buf *out)
{
	static const char *const lists[] = {"status.initContainerStatuses", "status.containerStatuses"};
	size_t k;
	json_t *c;
	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
		json_array_foreach(jsonx_at(pod, lists[i]), k, c) {
			const char *reason = jsonx_str_at(c, "state.waiting.reason", NULL);
			if (reason && strcmp(reason, "PodInitializing") != 0) {
				buf_printf(out, "%.60s: %.300s", reason, jsonx_str_at(c, "state.waiting.message", jsonx_str_at(c, "name", "")));
				return;
			}
		}
	}
	json_array_foreach(jsonx_at(pod, "status.conditions"), k, c) {
		if (strcmp(jsonx_str_at(c, "type", ""), "PodScheduled") == 0 && strcmp(jsonx_str_at(c, "status", ""), "False") == 0)
			buf_printf(out, "%.60s: %.300s", jsonx_str_at(c, "reason", "?"), jsonx_str_at(c, "message", ""));
	}
}

/* "; pod NAME does not start: ...", of the first one that does not; of what a ContainerCreating waits for only the pod's events tell. */
static void append_unstarted(const json_t *pods, const json_t *events, struct buf *out)
{
	size_t i, k;
	json_t *pod, *event;
	AUTO_BUF struct buf why;
	buf_init(&why, LIST_TEXT_BYTES);
	json_array_foreach(pods, i, pod) {
		const char *name = jsonx_str_at(pod, "metadata.name", "?"), *newest = "";
		why_not_started(pod, &why);
		if (!why.len)
			continue;
		buf_printf(out, "; pod %.100s does not start: %s", name, buf_str(&why));
		AUTO_FREE char *said = NULL;
		json_array_foreach(events, k, event) {
			const char *at = jsonx_str_at(event, "lastTimestamp", "");
			if (strcmp(jsonx_str_at(event, "type", ""), "Warning") != 0 || strcmp(jsonx_str_at(event, "involvedObject.name", ""), name) != 0 ||
			    strcmp(at, newest) < 0)
				continue;
			newest = at;
			free(said);
			said = mem_printf("%.60s: %.300s", jsonx_str_at(event, "reason", "?"), jsonx_str_at(event, "message", ""));
		}
		if (said)
			buf_printf(out, " (%s)", said);
		return;
	}
}

void doctor_check_controller(struct doctor_answer deployment, struct doctor_answer pods, struct doctor_answer events, struct doctor_findings *out)
{
	static const char check[] = "controller";
	static const char remedy[] = "kubectl -n drdotnet-system describe deploy,pods -l app.kubernetes.io/name=drdotnet-controller says why.";
	const json_t *d = deployment.object;
	if (absent(deployment, check, DOCTOR_FAIL, install_remedy, out))
		return;
	long long wanted = jsonx_int_at(d, "spec.replicas", 1), ready = jsonx_int_at(d, "status.availableReplicas", 0);
	long long updated = jsonx_int_at(d, "status.updatedReplicas", 0), all = jsonx_int_at(d, "status.replicas", 0);
	bool unseen = jsonx_int_at(d, "status.observedGeneration", 0) < jsonx_int_at(d, "metadata.generation", 0);
	bool rolling = unseen || updated < wanted || all > updated;
	enum doctor_level level = ready == 0 ? DOCTOR_FAIL : ready < wanted || rolling ? DOCTOR_WARN : DOCTOR_OK;
	AUTO_BUF struct buf text;
	buf_init(&text, 4 * LIST_TEXT_BYTES);
	buf_printf(&text, "%lld of %lld replicas available", ready, wanted);
	if (unseen)
		buf_puts(&text, "; the newest template has not been taken up yet");
	else if (rolling)
		buf_printf(&text, "; %lld of %lld are of the newest template, others still run with the settings before", updated, wanted);
	if (level != DOCTOR_OK)
		append_unstarted(pods.object, events.object, &text);
	doctor_findings_add(out, level, check, level == DOCTOR_OK ? NULL : remedy, "%s", buf_str(&text));
}

void doctor_check_leader(struct doctor_answer lease, int64_t now_wall_ms, struct doctor_findings *out)
{
	static const char check[] = "leader", remedy[] = "No controller leads: sessions wait. See the controller's pods and their logs.";
	if (absent(lease, check, DOCTOR_FAIL, install_remedy, out))
		return;
	struct lease_record r;
	lease_record_from_json(lease.object, &r);
	long long age = (now_wall_ms - r.renew_wall_ms) / 1000;
	if (!r.holder[0])
		doctor_findings_add(out, DOCTOR_FAIL, check, remedy, "nobody holds the Lease");
	else if (!r.renew_wall_ms || now_wall_ms - r.renew_wall_ms > STALE_MS)
		doctor_findings_add(out, DOCTOR_FAIL, check, remedy, "%s has not renewed the Lease for %lld s", r.holder, age);
	else
		doctor_findings_add(out, DOCTOR_OK, check, NULL, "%s, epoch %lld, renewed %lld s ago", r.holder, (long long)r.transitions, age < 0 ? 0 : age);
}

static void check_daemon_set(const json_t *set, struct doctor_findings *out)
{
	static const char check[] = "agents";
	static const char remedy[] = "kubectl -n drdotnet-system describe daemonset,pods -l app.kubernetes.io/name=drdotnet-agent says why.";
	long long wanted = jsonx_int_at(set, "status.desiredNumberScheduled", 0), ready = jsonx_int_at(set, "status.numberReady", 0);
	long long updated = jsonx_int_at(set, "status.updatedNumberScheduled", wanted);
	const char *name = jsonx_str_at(set, "metadata.name", "?");
	if (wanted == 0)
		doctor_findings_add(out, DOCTOR_WARN, check, "Check the node selector and tolerations of the DaemonSet.", "%s runs on no node", name);
	else if (ready < wanted)
		doctor_findings_add(out, ready ? DOCTOR_WARN : DOCTOR_FAIL, check, remedy, "%s: %lld of %lld ready", name, ready, wanted);
	else if (updated < wanted)
		doctor_findings_add(out, DOCTOR_WARN, check, "Wait for the roll-out, or look why it stands.",
				    "%s: %lld of %lld are of the newest template", name, updated, wanted);
	else
		doctor_findings_add(out, DOCTOR_OK, check, NULL, "%s: %lld of %lld ready", name, ready, wanted);
}

void doctor_check_agents(struct doctor_answer daemon_sets, struct doctor_findings *out)
{
	size_t i;
	json_t *set;
	if (absent(daemon_sets, "agents", DOCTOR_FAIL, install_remedy, out))
		return;
	if (!json_array_size(daemon_sets.object))
		doctor_findings_add(out, DOCTOR_FAIL, "agents", install_remedy, "no DaemonSet of the agent: nothing can be profiled");
	json_array_foreach(daemon_sets.object, i, set)
		check_daemon_set(set, out);
}

/* What the readiness probe has said last of a pod, from "not linked: " on; NULL: nothing of the kind. */
static const char *why_bare(const json_t *events, const char *pod)
{
	const char *why = NULL, *newest = "";
	size_t i;
	json_t *event;
	json_array_foreach(events, i, event) {
		const char *at = jsonx_str_at(event, "lastTimestamp", ""), *said = strstr(jsonx_str_at(event, "message", ""), HEALTH_LINE_BARE);
		if (!said || strcmp(jsonx_str_at(event, "involvedObject.name", ""), pod) != 0 || strcmp(at, newest) < 0)
			continue;
		why = said;
		newest = at;
	}
	return why;
}

void doctor_check_links(struct doctor_answer agent_pods, struct doctor_answer events, struct doctor_findings *out)
{
	static const char check[] = "agents' links";
	static const char remedy[] = "Correct what the message names: DRDOTNET_CONTROLLER and the Service, the network policies, ConfigMap drdotnet-link-ca, "
				     "the agents' token.";
	size_t i, bare = 0;
	json_t *pod;
	const char *name = NULL, *node = NULL, *why = NULL;
	if (!agent_pods.object || !events.object)
		return; /* said by the check of the DaemonSet, as far as it goes */
	json_array_foreach(agent_pods.object, i, pod) {
		const char *said = has_condition(pod, "Ready", "True") ? NULL : why_bare(events.object, jsonx_str_at(pod, "metadata.name", ""));
		if (!said)
			continue;
		bare++;
		name = jsonx_str_at(pod, "metadata.name", "?");
		node = jsonx_str_at(pod, "spec.nodeName", "?");
		why = said;
	}
	if (bare)
		doctor_findings_add(out, bare == json_array_size(agent_pods.object) ? DOCTOR_FAIL : DOCTOR_WARN, check, remedy,
				    "%zu of %zu agents have no link to a controller, such as %s on node %s: %.*s", bare,
				    json_array_size(agent_pods.object), name, node, (int)strcspn(why, "\n"), why);
}

static bool node_has_agent(const json_t *pods, const char *node)
{
	size_t i;
	json_t *pod;
	json_array_foreach(pods, i, pod) {
		if (strcmp(jsonx_str_at(pod, "spec.nodeName", ""), node) == 0 && has_condition(pod, "Ready", "True"))
			return true;
	}
	return false;
}

/* Names, the first ones in words and of the others the count. */
static void add_listed_name(struct buf *names, size_t *count, const char *name)
{
	if ((*count)++ < NAMES_SHOWN)
		buf_printf(names, "%s%.100s", *count > 1 ? ", " : "", name);
}

void doctor_check_nodes(struct doctor_answer nodes, struct doctor_answer agent_pods, struct doctor_findings *out)
{
	static const char check[] = "nodes";
	size_t i, linux_nodes = 0, bare = 0;
	json_t *node;
	AUTO_BUF struct buf names;
	buf_init(&names, LIST_TEXT_BYTES);
	if (absent(nodes, check, DOCTOR_WARN, NULL, out) || absent(agent_pods, check, DOCTOR_WARN, NULL, out))
		return;
	json_array_foreach(nodes.object, i, node) {
		const json_t *os = json_object_get(jsonx_at(node, "metadata.labels"), "kubernetes.io/os");
		const char *name = jsonx_str_at(node, "metadata.name", "?");
		if (os && strcmp(json_string_value(os) ? json_string_value(os) : "", "linux") != 0)
			continue;
		linux_nodes++;
		if (!node_has_agent(agent_pods.object, name))
			add_listed_name(&names, &bare, name);
	}
	if (!linux_nodes)
		doctor_findings_add(out, DOCTOR_WARN, check, NULL, "the cluster has no Linux node");
	else if (bare)
		doctor_findings_add(out, DOCTOR_WARN, check, "Pods there cannot be profiled: check tolerations and node selector of the agent's DaemonSet.",
				    "%zu of %zu Linux nodes have no ready agent: %s%s", bare, linux_nodes, buf_str(&names), bare > NAMES_SHOWN ? ", ..." : "");
	else
		doctor_findings_add(out, DOCTOR_OK, check, NULL, "an agent is ready on each of %zu Linux nodes", linux_nodes);
}

/* "0.1.0" of "registry:5000/drdotnet-agent:0.1.0@sha256:..."; "" when the image has no tag. */
static void tag_of(const json_t *workload, char out[64])
{
	const char *image = jsonx_str_at(json_array_get(jsonx_at(workload, "spec.template.spec.containers"), 0), "image", "");
	const char *slash = strrchr(image, '/'), *colon = strchr(slash ? slash : image, ':');
	size_t len = colon ? strcspn(colon + 1, "@") : 0;
	snprintf(out, 64, "%.*s", (int)(len < 63 ? len : 63), colon ? colon + 1 : "");
}

void doctor_check_versions(struct doctor_answer deployment, struct doctor_answer daemon_sets, struct doctor_findings *out)
{
	static const char check[] = "versions";
	char controller[64], agent[64];
	if (!deployment.object || !json_array_size(daemon_sets.object))
		return; /* said already */
	tag_of(deployment.object, controller);
	tag_of(json_array_get(daemon_sets.object, 0), agent);
	bool alike = strcmp(controller, agent) == 0, ours = strcmp(controller, DRDOTNET_VERSION) == 0;
	const char *remedy = !alike ? "Bring controller and agents to one version." : "Use the plugin of the installation's version, or upgrade that.";
	doctor_findings_add(out, alike && ours ? DOCTOR_OK : DOCTOR_WARN, check, alike && ours ? NULL : remedy,
			    "controller %s, agents %s, this plugin " DRDOTNET_VERSION, controller[0] ? controller : "(no tag)", agent[0] ? agent : "(no tag)");
}

void doctor_check_storage(struct doctor_answer config_map, struct doctor_findings *out)
{
	static const char check[] = "storage";
	static const char remedy[] = "Correct stores.yaml in ConfigMap drdotnet-stores and restart the controller: docs/install.md.";
	struct store_config *stores = NULL;
	size_t count = 0, own = 0;
	struct err e = ERR_INIT;
	AUTO_BUF struct buf names;
	buf_init(&names, LIST_TEXT_BYTES);
	if (absent(config_map, check, DOCTOR_FAIL, remedy, out))
		return;
	const char *text = json_string_value(json_object_get(jsonx_at(config_map.object, "data"), "stores.yaml"));
	if (!text || store_config_parse(text, strlen(text), &stores, &count, &e) < 0) {
		doctor_findings_add(out, DOCTOR_FAIL, check, remedy, "stores.yaml: %s", text ? e.message : "missing");
		return;
	}
	for (size_t i = 0; i < count; i++) {
		own += stores[i].builtin;
		buf_printf(&names, "%s%s (%s%s)", i ? ", " : "", stores[i].name, stores[i].builtin ? "the controller's own folder" : "bucket ",
			   stores[i].builtin ? "" : stores[i].bucket);
	}
	doctor_findings_add(out, count ? DOCTOR_OK : DOCTOR_FAIL, check, count ? NULL : remedy, "%s%s", count ? buf_str(&names) : "no store is configured",
			    own && own == count ? "; reports go with its volume" : "");
	store_config_free(stores, count);
}

void doctor_check_network(struct doctor_answer policies, struct doctor_findings *out)
{
	static const char check[] = "network policy";
	static const char remedy[] = "kubectl apply -f deploy/manifests/50-network-policy.yaml, where the network enforces policies.";
	if (absent(policies, check, DOCTOR_WARN, remedy, out))
		return;
	size_t count = json_array_size(policies.object);
	doctor_findings_add(out, count ? DOCTOR_OK : DOCTOR_WARN, check, count ? NULL : remedy,
			    count ? "%zu in the installation's namespace" : "none (%zu)", count);
}

/* The agent's pods need more than "baseline" allows: a namespace that enforces that refuses them. */
void doctor_check_pod_security(struct doctor_answer namespace, struct doctor_answer daemon_sets, struct doctor_findings *out)
{
	static const char check[] = "pod security";
	if (absent(namespace, check, DOCTOR_FAIL, install_remedy, out))
		return;
	const char *enforced = json_string_value(json_object_get(jsonx_at(namespace.object, "metadata.labels"), "pod-security.kubernetes.io/enforce"));
	bool agents = json_array_size(daemon_sets.object) > 0, privileged = enforced && strcmp(enforced, "privileged") == 0;
	if (privileged)
		doctor_findings_add(out, DOCTOR_OK, check, NULL, "the namespace lets the agents run");
	else
		doctor_findings_add(out, enforced && agents ? DOCTOR_FAIL : DOCTOR_WARN, check,
				    "kubectl label namespace drdotnet-system pod-security.kubernetes.io/enforce=privileged; only Dr-Dotnet belongs in it.",
				    enforced ? "the namespace enforces %s: the agents' pods are refused"
					     : "the namespace has no label (%s): the cluster's default decides",
				    enforced ? enforced : "pod-security.kubernetes.io/enforce");
}

void doctor_check_admission(struct doctor_answer policy, struct doctor_answer binding, struct doctor_findings *out)
{
	static const char check[] = "admission policy";
	static const char remedy[] = "kubectl apply -f deploy/manifests/60-admission.yaml (Kubernetes 1.30 and newer): without it no session may reveal "
				     "contents, and who asked is not recorded.";
	if (absent(policy, check, DOCTOR_WARN, remedy, out) || absent(binding, check, DOCTOR_WARN, remedy, out))
		return;
	bool holds = reveal_policy_holds(policy.object, binding.object);
	doctor_findings_add(out, holds ? DOCTOR_OK : DOCTOR_WARN, check, holds ? NULL : remedy,
			    holds ? REVEAL_POLICY_NAME " is in force (requester, reveal)"
				  : REVEAL_POLICY_NAME " and its binding are there, but do not refuse what the shipped ones refuse");
}
