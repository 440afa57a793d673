CONTROLLER_SRC :=
CONTROLLER_SRC += controller/kube/kube_config.c
CONTROLLER_SRC += controller/kube/kube_client.c
CONTROLLER_SRC += controller/kube/kube_clock.c
CONTROLLER_SRC += controller/base/metrics.c
CONTROLLER_SRC += controller/base/work_queue.c
CONTROLLER_SRC += controller/kube/lease.c
CONTROLLER_SRC += controller/sessions/session_object.c
CONTROLLER_SRC += controller/sessions/session_status.c
CONTROLLER_SRC += controller/sessions/session_cache.c
CONTROLLER_SRC += controller/sessions/session_cache_each.c
CONTROLLER_SRC += controller/sessions/session_index.c
CONTROLLER_SRC += controller/sessions/session_search.c
CONTROLLER_SRC += controller/sessions/plan.c
CONTROLLER_SRC += controller/sessions/budget.c
CONTROLLER_SRC += controller/sessions/admission.c
CONTROLLER_SRC += controller/sessions/reveal_policy.c
CONTROLLER_SRC += controller/kube/pods.c
CONTROLLER_SRC += controller/kube/watch_retry.c
CONTROLLER_SRC += controller/kube/watch_stream.c
CONTROLLER_SRC += controller/kube/kube_watch.c
CONTROLLER_SRC += controller/sessions/events.c
CONTROLLER_SRC += controller/kube/leader.c
CONTROLLER_SRC += controller/sessions/reconcile.c
CONTROLLER_SRC += controller/sessions/reconcile_pods.c
CONTROLLER_SRC += controller/sessions/reconcile_baseline.c controller/sessions/baseline.c controller/sessions/comparisons.c
CONTROLLER_SRC += controller/sessions/orphans.c
CONTROLLER_SRC += controller/daemon/controller.c controller/daemon/controller_watch.c controller/daemon/controller_links.c
CONTROLLER_MAIN := controller/controller_main.c
CONTROLLER_SRC += controller/link/agent_hub.c
CONTROLLER_SRC += controller/link/hub_mailbox.c
CONTROLLER_SRC += controller/link/process_query.c
CONTROLLER_SRC += controller/kube/token_review.c
CONTROLLER_SRC += controller/kube/token_cache.c
CONTROLLER_SRC += controller/kube/review_pool.c
CONTROLLER_SRC += controller/store/sigv4.c
CONTROLLER_SRC += controller/store/store_config.c
CONTROLLER_SRC += controller/store/object_store.c
CONTROLLER_SRC += controller/store/object_read.c
CONTROLLER_SRC += controller/kube/kube_pool.c
CONTROLLER_SRC += controller/kube/workload.c
CONTROLLER_SRC += controller/rest/rest_access.c
CONTROLLER_SRC += controller/rest/rest_cluster.c
CONTROLLER_SRC += controller/rest/rest_cluster_sessions.c
CONTROLLER_SRC += controller/rest/rest_cluster_processes.c
CONTROLLER_SRC += controller/rest/rest_cluster_reports.c
CONTROLLER_SRC += controller/rest/rest_server.c
CONTROLLER_SRC += controller/store/report_store.c
CONTROLLER_SRC += controller/store/report_files.c
CONTROLLER_SRC += controller/link/link_server.c
CONTROLLER_SRC += controller/link/link_conn.c
CONTROLLER_SRC += controller/base/time_wheel.c
CONTROLLER_SRC += controller/link/health_http.c
CONTROLLER_SRC += controller/link/http_api.c
CONTROLLER_SRC += controller/store/report_path.c
CONTROLLER_SRC += controller/daemon/controller_options.c
CONTROLLER_SRC += controller/link/link_certs_plan.c
CONTROLLER_SRC += controller/link/link_pki.c
CONTROLLER_SRC += controller/link/link_secret.c
CONTROLLER_SRC += controller/link/link_certs.c
# alerts and thresholds
CONTROLLER_SRC += controller/triggers/alertmanager.c
CONTROLLER_SRC += controller/triggers/alert_match.c
CONTROLLER_SRC += controller/triggers/alert_webhook.c
CONTROLLER_SRC += controller/triggers/observe_set.c
CONTROLLER_SRC += controller/triggers/trigger_observe.c
CONTROLLER_SRC += controller/triggers/trigger_cron.c
CONTROLLER_SRC += controller/triggers/trigger_zone.c
CONTROLLER_SRC += controller/triggers/trigger_spec.c
CONTROLLER_SRC += controller/triggers/trigger_reason.c
CONTROLLER_SRC += controller/triggers/trigger_object.c
CONTROLLER_SRC += controller/triggers/trigger_status.c
CONTROLLER_SRC += controller/triggers/trigger_plan.c
CONTROLLER_SRC += controller/triggers/trigger_sessions.c
CONTROLLER_SRC += controller/triggers/trigger_table.c
CONTROLLER_SRC += controller/triggers/trigger_reconcile.c
CONTROLLER_SRC += controller/triggers/triggers.c
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
