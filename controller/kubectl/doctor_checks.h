/* What the doctor concludes from objects of the API server. Pure; each adds one finding or some. */
#ifndef DRDOTNET_DOCTOR_CHECKS_H
#define DRDOTNET_DOCTOR_CHECKS_H

#include "controller/kubectl/doctor_findings.h"
#include "controller/kubectl/doctor_schemas.h"

#include <stdint.h>

/* An object or a list that was asked for: the answer, or why there is none. */
struct doctor_answer {
	const json_t *object;  /* NULL: see `why` */
	const struct err *why;
};

/* Of GET /version; false: nothing more can be asked. */
bool doctor_check_server(struct doctor_answer version, const char *server, struct doctor_findings *out);

void doctor_check_schema(const struct doctor_schema *s, struct doctor_answer definition, struct doctor_findings *out);

/* `denied`: verbs on sessions that the caller lacks, of those that it was asked for; "" when it has all. */
void doctor_check_rights(const char *namespace, const char *denied, bool can_create, struct doctor_findings *out);

/* `denied`: what the way of `report`, `ps` and `diff` to the controller needs in the installation's namespace, and the caller may not do. */
void doctor_check_plugin_way(const char *namespace, const char *denied, struct doctor_findings *out);

/* Pods (the controller's) and events say why a replica does not start; may be absent. */
void doctor_check_controller(struct doctor_answer deployment, struct doctor_answer pods, struct doctor_answer events, struct doctor_findings *out);
void doctor_check_leader(struct doctor_answer lease, int64_t now_wall_ms, struct doctor_findings *out);
void doctor_check_agents(struct doctor_answer daemon_sets, struct doctor_findings *out);

/* Agents that run without a link to a controller, and why: as their probes' events say. Says nothing of agents that are ready. */
void doctor_check_links(struct doctor_answer agent_pods, struct doctor_answer events, struct doctor_findings *out);

/* Nodes (Linux, ready) on which no agent's pod is ready. */
void doctor_check_nodes(struct doctor_answer nodes, struct doctor_answer agent_pods, struct doctor_findings *out);
void doctor_check_versions(struct doctor_answer deployment, struct doctor_answer daemon_sets, struct doctor_findings *out);
void doctor_check_storage(struct doctor_answer config_map, struct doctor_findings *out);
void doctor_check_network(struct doctor_answer policies, struct doctor_findings *out);
void doctor_check_pod_security(struct doctor_answer namespace, struct doctor_answer daemon_sets, struct doctor_findings *out);
void doctor_check_admission(struct doctor_answer policy, struct doctor_answer binding, struct doctor_findings *out);

/* Last: one finding that names the checks that were not made for missing rights, if there are any. */
void doctor_check_left_out(struct doctor_findings *out);

/* Sessions that ended in the last day. */
void doctor_check_sessions(struct doctor_answer sessions, int64_t now_wall_ms, struct doctor_findings *out);

#endif
