#include "controller/daemon/controller_options.h"

#include "common/base/options.h"
#include "controller/sessions/admission.h"
#include "controller/daemon/controller.h"

#include <stddef.h>
#include <string.h>

static int set_format(const struct option_row *row, const char *name, const char *value, void *args, struct err *e)
{
	static const char *const names[] = {"auto", "text", "json"};
	(void)row;
	for (int i = 0; i < 3; i++) {
		if (strcmp(value, names[i]) == 0) {
			((struct controller_settings *)args)->log_format = (enum log_format)i;
			return 0;
		}
	}
	return err_set(e, ERR_INVALID, 0, "%s: expected auto, text or json, found \"%.80s\"", name, value);
}

#define TEXT(option, variable, word, field, text)                                                                                       \
	{.name = option, .env = variable, .argument = word, .set = option_set_text, .at = offsetof(struct controller_settings, field),  \
	 .help = text}
#define NUMBER(option, variable, word, field, from, to, text)                                                                           \
	{.name = option, .env = variable, .argument = word, .set = option_set_number, .at = offsetof(struct controller_settings, field),\
	 .least = from, .most = to, .help = text}
#define SWITCH(option, variable, setter, field, text)                                                                                   \
	{.name = option, .env = variable, .set = setter, .at = offsetof(struct controller_settings, field), .help = text}

static const struct option_row rows[] = {
	TEXT("--kubeconfig", "KUBECONFIG", "FILE", kubeconfig, "the API server; default: the pod's service account"),
	TEXT("--context", NULL, "NAME", context, "context of the kubeconfig; default: its current one"),
	TEXT("--namespace", "POD_NAMESPACE", "NAME", namespace, "namespace of the installation"),
	TEXT("--watch-namespaces", "WATCH_NAMESPACES", "A,B", watch_namespaces, "only sessions of these namespaces; default: all"),
	TEXT("--lease", "LEASE_NAME", "NAME", lease_name, "the Lease of the leader election (drdotnet-controller)"),
	NUMBER("--workers", "WORKERS", "N", workers, 1, 64, "sessions worked on at the same time (16)"),
	NUMBER("--max-pods", "MAX_PODS", "N", max_pods, 1, 100000, "pods profiled at once; further sessions wait in a queue (200)"),
	NUMBER("--max-pods-per-node", "MAX_PODS_PER_NODE", "N", max_pods_per_node, 1, ADMISSION_MAX_JOBS_PER_NODE, "the same of each node (4)"),
	TEXT("--bind", "BIND_ADDRESS", "ADDRESS", bind, "where to listen; default: all addresses"),
	NUMBER("--port", "LINK_PORT", "N", port, 0, 65535, "TLS port for agents and reports (8443; 0: any)"),
	NUMBER("--health-port", "HEALTH_PORT", "N", health_port, -1, 65535, "plain port for /healthz, /readyz and /metrics (8080; 0: any; -1: none)"),
	TEXT("--tls-cert", "TLS_CERT", "FILE", tls_cert, "certificate chain of the TLS port; default: self-made and published for the agents"),
	TEXT("--tls-key", "TLS_KEY", "FILE", tls_key, "its key"),
	NUMBER("--api-port", "API_PORT", "N", api_port, 0, 65535, "port of the REST API and the web page (8444; 0: none)"),
	TEXT("--api-tls-cert", "API_TLS_CERT", "FILE", api_tls_cert, "certificate chain of that port; default: the link's"),
	TEXT("--api-tls-key", "API_TLS_KEY", "FILE", api_tls_key, "its key"),
	SWITCH("--api-plain-http", "API_PLAIN_HTTP", option_set_on, api_plain_http, "no TLS there: what is in front of it must have it"),
	SWITCH("--no-rest-api", "REST_API_ENABLED", option_set_off, rest_api, "no REST API and no web page"),
	SWITCH("--no-web-ui", "WEB_UI_ENABLED", option_set_off, web_ui, "no web page"),
	TEXT("--alertmanager-token-file", "ALERTMANAGER_TOKEN_FILE", "FILE", alertmanager_token_file,
	     "bearer token of Alertmanager's webhook on that port; default: it is off"),
	TEXT("--tls-secret", "TLS_SECRET", "NAME", tls_secret, "Secret of the self-made certificate (drdotnet-link-tls)"),
	TEXT("--tls-config-map", "TLS_CONFIG_MAP", "NAME", tls_config_map, "ConfigMap of its authority (drdotnet-link-ca)"),
	NUMBER("--tls-stage", "TLS_STAGE_SECONDS", "SECONDS", tls_stage_seconds, 1, 7 * 86400,
	       "how long agents get to learn of a new authority before it is used (3600)"),
	TEXT("--service", "SERVICE_NAME", "NAME", service, "the Service whose name agents verify (drdotnet-controller)"),
	TEXT("--agent-account", "AGENT_ACCOUNT", "NAME", agent_account, "service account of the agents (drdotnet-agent)"),
	TEXT("--stores", "STORES_FILE", "FILE", stores, "object stores; default: only the controller's own"),
	TEXT("--reports", "REPORTS_FOLDER", "FOLDER", reports, "folder of the controller's own store"),
	NUMBER("--reports-quota", "REPORTS_QUOTA_MIB", "MIB", reports_quota_mib, 1, 1 << 24, "its size at most (1024)"),
	NUMBER("--reports-expiry", "REPORTS_EXPIRY_DAYS", "DAYS", reports_expiry_days, 0, 36500, "age at which reports there are removed (30; 0: never)"),
	TEXT("--upload-url", "UPLOAD_URL", "URL", upload_url, "what agents reach the own store by; default: the Service's name"),
	TEXT("--public-url", "PUBLIC_URL", "URL", public_url, "what people reach it by, for the status; default: --upload-url"),
	{.name = "--log-level", .env = "LOG_LEVEL", .argument = "LEVEL", .set = option_set_log_level, .at = offsetof(struct controller_settings, log_level),
	 .help = "debug, info, warn or error (info)"},
	{.name = "--log-format", .env = "LOG_FORMAT", .argument = "FORMAT", .set = set_format, .help = "auto, text or json (auto: JSON when not a terminal)"},
	{.name = "--help", .set = option_set_value, .at = offsetof(struct controller_settings, command), .least = CONTROLLER_HELP, .help = "this text"},
	{.name = "--version", .set = option_set_value, .at = offsetof(struct controller_settings, command), .least = CONTROLLER_VERSION, .help = "the version"},
};

static const struct option_table table = {.rows = rows, .count = sizeof rows / sizeof *rows, .command = ~0u};

int controller_options_parse(int argc, char *const argv[], const char *(*env)(const char *name), struct controller_settings *out, struct err *e)
{
	*out = (struct controller_settings){
		.command = CONTROLLER_RUN,
		.lease_name = "drdotnet-controller",
		.workers = 16,
		.max_pods = CONTROLLER_MAX_PODS,
		.max_pods_per_node = CONTROLLER_MAX_PODS_PER_NODE,
		.port = 8443,
		.health_port = 8080,
		.api_port = 8444,
		.rest_api = true,
		.web_ui = true,
		.tls_secret = "drdotnet-link-tls",
		.tls_config_map = "drdotnet-link-ca",
		.tls_stage_seconds = 3600,
		.service = "drdotnet-controller",
		.agent_account = "drdotnet-agent",
		.reports_quota_mib = 1024,
		.reports_expiry_days = 30,
		.log_level = LOG_LEVEL_INFO,
	};
	if (options_read_environment(&table, env, out, e) < 0 || options_read_words(&table, argc, argv, 1, out, e) < 0)
		return -1;
	if (!out->tls_cert != !out->tls_key)
		return err_set(e, ERR_INVALID, 0, "--tls-cert and --tls-key: give both or none");
	if (!out->api_tls_cert != !out->api_tls_key)
		return err_set(e, ERR_INVALID, 0, "--api-tls-cert and --api-tls-key: give both or none");
	if (out->api_plain_http && out->api_tls_cert)
		return err_set(e, ERR_INVALID, 0, "--api-plain-http and --api-tls-cert: give one of them");
	return 0;
}

void controller_options_usage(FILE *out)
{
	fprintf(out, "usage: drdotnet-controller [options]\nEach option may also be given as an environment variable; the command line wins.\n\n");
	options_print_help(&table, out);
}
