/* What the controller counts and measures: each metric once, sorted by name, which is the order of /metrics.
 *
 *   X(id, type, name, label, help)    label: what tells the series of this metric apart; NULL: it has one */
#ifndef DRDOTNET_METRIC_TABLE_H
#define DRDOTNET_METRIC_TABLE_H

/* clang-format off */
#define METRIC_TABLE(X) \
	X(AGENTS_LINKED, GAUGE, "drdotnet_agents_linked", NULL, "Agents linked to this replica.") \
	X(ALERTS, COUNTER, "drdotnet_alerts_total", "result", "Alerts that the webhook has received, by what came of them.") \
	X(CLOCK_DIFFERENCE, GAUGE, "drdotnet_clock_difference_seconds", NULL, "Between our clock and the API server's.") \
	X(EVENTS_DROPPED, COUNTER, "drdotnet_events_dropped_total", "reason", "Events that were not written.") \
	X(FINDING_SCORE, GAUGE, "drdotnet_finding_score", "finding,profiler,namespace,workload_kind,workload", \
	  "What the newest session of a profiler found in a workload: how much of the harm it explains, 1 to 100.") \
	X(JOB_REPORTS_DROPPED, COUNTER, "drdotnet_job_reports_dropped_total", "reason", "Job reports of agents that were not taken, by why.") \
	X(LEADER, GAUGE, "drdotnet_leader", NULL, "1 while this replica leads.") \
	X(LEADER_EPOCH, GAUGE, "drdotnet_leader_epoch", NULL, "The fencing epoch while this replica leads.") \
	X(LINK_CLOSED, COUNTER, "drdotnet_link_closed_total", "reason", "Links that the controller has closed, by reason.") \
	X(LINK_DROPPED_MESSAGES, COUNTER, "drdotnet_link_dropped_messages_total", "reason", "Messages to agents that were not sent.") \
	X(METRICS_OVERFLOW, COUNTER, "drdotnet_metrics_overflow_total", NULL, "Updates of series beyond the registry's limit.") \
	X(OBSERVED_CONTAINERS, GAUGE, "drdotnet_observed_containers", NULL, "Containers that agents are asked to observe.") \
	X(OBSERVED_LEFT_OUT, GAUGE, "drdotnet_observed_left_out", NULL, "Containers that there was no room to observe.") \
	X(OBSERVED, COUNTER, "drdotnet_observed_total", "state", "Words of agents about what they were asked to observe.") \
	X(PODS_IN_USE, GAUGE, "drdotnet_pods_in_use", NULL, "Pods that are profiled, or are about to be.") \
	X(RECONCILE_ERRORS, COUNTER, "drdotnet_reconcile_errors_total", "kind", "Reconciles that failed and are repeated.") \
	X(RECONCILE_TIME, HISTOGRAM, "drdotnet_reconcile_seconds", NULL, "Time of one reconcile.") \
	X(REST_REFUSED, COUNTER, "drdotnet_rest_refused_total", "reason", "Requests and connections of the REST API that were turned away.") \
	X(REST_REQUESTS, COUNTER, "drdotnet_rest_requests_total", "status", "Requests of the REST API and the web page.") \
	X(SESSION_INDEX_BYTES, GAUGE, "drdotnet_session_index_bytes", NULL, "Memory of the index of sessions.") \
	X(SESSIONS, GAUGE, "drdotnet_sessions", "state", "Sessions known.") \
	X(SESSIONS_EXPIRED, COUNTER, "drdotnet_sessions_expired_total", "by", "Sessions deleted after their time to live.") \
	X(SESSIONS_QUEUED, GAUGE, "drdotnet_sessions_queued", NULL, "Sessions that wait for a budget.") \
	X(SESSIONS_ENDED, COUNTER, "drdotnet_sessions_total", "reason,fault", \
	  "Sessions that ended, by the reason of their end, and whose fault that is: of the installation, none, or other.") \
	X(STARTS_AWAITED, GAUGE, "drdotnet_starts_awaited", "of", "Sessions that wait for a container to start, and pods that they wait for.") \
	X(STARTS_REFUSED, COUNTER, "drdotnet_starts_refused_total", "reason", "Starts that agents told of and that were not taken, by why.") \
	X(STORE_REQUESTS, COUNTER, "drdotnet_store_requests_total", "operation", "Requests to the controller's own report store.") \
	X(TRIGGER_CONFLICTS, COUNTER, "drdotnet_trigger_conflicts_total", "by", "Decisions of triggers that were made again.") \
	X(TRIGGER_ERRORS, COUNTER, "drdotnet_trigger_errors_total", "kind", "Turns of triggers that failed and are repeated.") \
	X(TRIGGER_FIRE_TIME, HISTOGRAM, "drdotnet_trigger_fire_seconds", NULL, "From a firing to its session.") \
	X(TRIGGER_FIRINGS, COUNTER, "drdotnet_trigger_firings_total", "outcome", "Firings of triggers, by what they led to.") \
	X(TRIGGERS, GAUGE, "drdotnet_triggers", NULL, "Triggers known.") \
	X(WATCH_OBJECTS_DROPPED, COUNTER, "drdotnet_watch_objects_dropped_total", "reason", "Objects of the watch that were not understood.") \
	X(WATCH_RESTARTS, COUNTER, "drdotnet_watch_restarts_total", "reason", "Watches that ended, by why.") \
	X(WORK_QUEUE_DEPTH, GAUGE, "drdotnet_work_queue_depth", NULL, "Keys that are due, waiting or in work.")
/* clang-format on */

#endif
