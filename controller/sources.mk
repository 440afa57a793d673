CONTROLLER_SRC :=
CONTROLLER_SRC += controller/kube_config.c
CONTROLLER_SRC += controller/kube_client.c
CONTROLLER_SRC += controller/kube_clock.c
CONTROLLER_SRC += controller/metrics.c
CONTROLLER_SRC += controller/work_queue.c
CONTROLLER_SRC += controller/lease.c
CONTROLLER_SRC += controller/session_object.c
CONTROLLER_SRC += controller/session_status.c
CONTROLLER_SRC += controller/session_cache.c
CONTROLLER_SRC += controller/session_cache_each.c
CONTROLLER_SRC += controller/session_index.c
CONTROLLER_SRC += controller/session_search.c
CONTROLLER_SRC += controller/plan.c
CONTROLLER_SRC += controller/budget.c
CONTROLLER_SRC += controller/admission.c
CONTROLLER_SRC += controller/reveal_policy.c
CONTROLLER_SRC += controller/pods.c
CONTROLLER_SRC += controller/watch_retry.c
CONTROLLER_SRC += controller/watch_stream.c
CONTROLLER_SRC += controller/kube_watch.c
CONTROLLER_SRC += controller/events.c
CONTROLLER_SRC += controller/leader.c
CONTROLLER_SRC += controller/reconcile.c
CONTROLLER_SRC += controller/reconcile_pods.c
CONTROLLER_SRC += controller/reconcile_baseline.c controller/baseline.c controller/comparisons.c
CONTROLLER_SRC += controller/orphans.c
CONTROLLER_SRC += controller/controller.c controller/controller_watch.c controller/controller_links.c
CONTROLLER_MAIN := controller/controller_main.c
CONTROLLER_SRC += controller/agent_hub.c
CONTROLLER_SRC += controller/hub_mailbox.c
CONTROLLER_SRC += controller/process_query.c
CONTROLLER_SRC += controller/token_review.c
CONTROLLER_SRC += controller/token_cache.c
CONTROLLER_SRC += controller/review_pool.c
CONTROLLER_SRC += controller/sigv4.c
CONTROLLER_SRC += controller/store_config.c
CONTROLLER_SRC += controller/object_store.c
CONTROLLER_SRC += controller/object_read.c
CONTROLLER_SRC += controller/kube_pool.c
CONTROLLER_SRC += controller/workload.c
CONTROLLER_SRC += controller/rest_access.c
CONTROLLER_SRC += controller/rest_cluster.c
CONTROLLER_SRC += controller/rest_cluster_sessions.c
CONTROLLER_SRC += controller/rest_cluster_processes.c
CONTROLLER_SRC += controller/rest_cluster_reports.c
CONTROLLER_SRC += controller/rest_server.c
CONTROLLER_SRC += controller/report_store.c
CONTROLLER_SRC += controller/report_files.c
CONTROLLER_SRC += controller/link_server.c
CONTROLLER_SRC += controller/link_conn.c
CONTROLLER_SRC += controller/time_wheel.c
CONTROLLER_SRC += controller/health_http.c
CONTROLLER_SRC += controller/http_api.c
CONTROLLER_SRC += controller/report_path.c
CONTROLLER_SRC += controller/controller_options.c
CONTROLLER_SRC += controller/link_certs_plan.c
CONTROLLER_SRC += controller/link_pki.c
CONTROLLER_SRC += controller/link_secret.c
CONTROLLER_SRC += controller/link_certs.c
# alerts and thresholds
CONTROLLER_SRC += controller/alertmanager.c
CONTROLLER_SRC += controller/alert_match.c
CONTROLLER_SRC += controller/alert_webhook.c
CONTROLLER_SRC += controller/observe_set.c
CONTROLLER_SRC += controller/trigger_observe.c
CONTROLLER_SRC += controller/trigger_cron.c
CONTROLLER_SRC += controller/trigger_zone.c
CONTROLLER_SRC += controller/trigger_spec.c
CONTROLLER_SRC += controller/trigger_reason.c
CONTROLLER_SRC += controller/trigger_object.c
CONTROLLER_SRC += controller/trigger_status.c
CONTROLLER_SRC += controller/trigger_plan.c
CONTROLLER_SRC += controller/trigger_sessions.c
CONTROLLER_SRC += controller/trigger_table.c
CONTROLLER_SRC += controller/trigger_reconcile.c
CONTROLLER_SRC += controller/triggers.c
# the plugin `kubectl drdotnet`; an archive of its own: nothing of it is in the controller
KUBECTL_SRC := \
	controller/kubectl/child.c \
	controller/kubectl/exec_credential.c \
	controller/kubectl/kubeconfig_files.c \
	controller/kubectl/plugin_options.c \
	controller/kubectl/plugin_target.c \
	controller/kubectl/plugin_manifest.c \
	controller/kubectl/plugin_connect.c \
	controller/kubectl/plugin_print.c \
	controller/kubectl/plugin_progress.c \
	controller/kubectl/plugin_follow.c \
	controller/kubectl/plugin_profile.c \
	controller/kubectl/plugin_lists.c \
	controller/kubectl/plugin_rest.c \
	controller/kubectl/plugin_reports.c \
	controller/kubectl/plugin_ps.c \
	controller/kubectl/doctor_findings.c \
	controller/kubectl/doctor_schemas.c \
	controller/kubectl/doctor_checks.c \
	controller/kubectl/doctor_sessions.c \
	controller/kubectl/doctor.c
KUBECTL_MAIN := controller/kubectl/kubectl_main.c
