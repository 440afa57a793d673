#include "controller/daemon/controller_options.h"

#include "common/base/options.h"
#include "controller/sessions/admission.h"
#include "controller/daemon/controller.h"

#include <stddef.h>

#define DIGITS(number) DIGITS_OF(number)
#define DIGITS_OF(number) #number

#define TEXT(option, variable, word, field, value, text) \
	OPTION_TEXT(struct controller_settings, field, option, word, text, .env = variable, .initial = value)
#define NUMBER(option, variable, word, field, from, to, value, text) \
	OPTION_NUMBER(struct controller_settings, field, option, word, from, to, text, .env = variable, .initial = value)
#define WORD(option, variable, word, field, words, value, text) \
	OPTION_WORD(struct controller_settings, field, option, word, words, text, .env = variable, .initial = value)
#define SWITCH(option, variable, setter, field, text) \
	{.name = option, .env = variable, .set = setter, .at = offsetof(struct controller_settings, field), .help = text}

static const struct option_row rows[] = {
	TEXT("--kubeconfig", "KUBECONFIG", "FILE", kubeconfig, NULL, "the API server; default: the pod's service account"),
	TEXT("--context", NULL, "NAME", context, NULL, "context of the kubeconfig; default: its current one"),
	TEXT("--namespace", "POD_NAMESPACE", "NAME", namespace, NULL, "namespace of the installation"),
	TEXT("--watch-namespaces", "WATCH_NAMESPACES", "A,B", watch_namespaces, NULL, "only sessions of these namespaces; default: all"),
	TEXT("--lease", "LEASE_NAME", "NAME", lease_name, "drdotnet-controller", "the Lease of the leader election"),
	NUMBER("--workers", "WORKERS", "N", workers, 1, 64, "16", "sessions worked on at the same time"),
	NUMBER("--max-pods", "MAX_PODS", "N", max_pods, 1, 100000, DIGITS(CONTROLLER_MAX_PODS), "pods profiled at once; further sessions wait in a queue"),
	NUMBER("--max-pods-per-node", "MAX_PODS_PER_NODE", "N", max_pods_per_node, 1, ADMISSION_MAX_JOBS_PER_NODE,
	       DIGITS(CONTROLLER_MAX_PODS_PER_NODE), "the same of each node"),
	TEXT("--bind", "BIND_ADDRESS", "ADDRESS", bind, NULL, "where to listen; default: all addresses"),
	NUMBER("--port", "LINK_PORT", "N", port, 0, 65535, "8443", "TLS port for agents and reports; 0: any"),
	NUMBER("--health-port", "HEALTH_PORT", "N", health_port, -1, 65535, "8080", "plain port for /healthz, /readyz and /metrics; 0: any; -1: none"),
	TEXT("--tls-cert", "TLS_CERT", "FILE", tls_cert, NULL, "certificate chain of the TLS port; default: self-made and published for the agents"),
	TEXT("--tls-key", "TLS_KEY", "FILE", tls_key, NULL, "its key"),
	NUMBER("--api-port", "API_PORT", "N", api_port, 0, 65535, "8444", "port of the REST API and the web page; 0: none"),
	TEXT("--api-tls-cert", "API_TLS_CERT", "FILE", api_tls_cert, NULL, "certificate chain of that port; default: the link's"),
	TEXT("--api-tls-key", "API_TLS_KEY", "FILE", api_tls_key, NULL, "its key"),
	SWITCH("--api-plain-http", "API_PLAIN_HTTP", option_set_on, api_plain_http, "no TLS there: what is in front of it must have it"),
	SWITCH("--api-behind-gateway", "API_BEHIND_GATEWAY", option_set_on, api_behind_gateway,
	       "people come through a gateway and have its address: what one address may ask for is what all may"),
	SWITCH("--no-rest-api", "REST_API_ENABLED", option_set_off, rest_api, "no REST API and no web page"),
	SWITCH("--no-web-ui", "WEB_UI_ENABLED", option_set_off, web_ui, "no web page"),
	SWITCH("--no-container-starts", "CONTAINER_STARTS_ENABLED", option_set_off, container_starts, "sessions with start: NextContainerStart are refused"),
	TEXT("--alertmanager-token-file", "ALERTMANAGER_TOKEN_FILE", "FILE", alertmanager_token_file, NULL,
	     "bearer token of Alertmanager's webhook on that port; default: it is off"),
	TEXT("--tls-secret", "TLS_SECRET", "NAME", tls_secret, "drdotnet-link-tls", "Secret of the self-made certificate"),
	TEXT("--tls-config-map", "TLS_CONFIG_MAP", "NAME", tls_config_map, "drdotnet-link-ca", "ConfigMap of its authority"),
	NUMBER("--tls-stage", "TLS_STAGE_SECONDS", "SECONDS", tls_stage_seconds, 1, 7 * 86400, "3600",
	       "how long agents get to learn of a new authority before it is used"),
	TEXT("--service", "SERVICE_NAME", "NAME", service, "drdotnet-controller", "the Service whose name agents verify"),
	TEXT("--agent-account", "AGENT_ACCOUNT", "NAME", agent_account, "drdotnet-agent", "service account of the agents"),
	TEXT("--stores", "STORES_FILE", "FILE", stores, NULL, "object stores; default: only the controller's own"),
	TEXT("--reports", "REPORTS_FOLDER", "FOLDER", reports, NULL, "folder of the controller's own store"),
	NUMBER("--reports-quota", "REPORTS_QUOTA_MIB", "MIB", reports_quota_mib, 1, 1 << 24, "1024", "its size at most"),
	NUMBER("--reports-expiry", "REPORTS_EXPIRY_DAYS", "DAYS", reports_expiry_days, 0, 36500, "30", "age at which reports there are removed; 0: never"),
	TEXT("--upload-url", "UPLOAD_URL", "URL", upload_url, NULL, "what agents reach the own store by; default: the Service's name"),
	TEXT("--public-url", "PUBLIC_URL", "URL", public_url, NULL, "what people reach it by, for the status; default: --upload-url"),
	WORD("--log-level", "LOG_LEVEL", "LEVEL", log_level, OPTION_LOG_LEVELS, "info", "debug, info, warn or error"),
	WORD("--log-format", "LOG_FORMAT", "FORMAT", log_format, "auto text json", "auto", "auto (JSON when not a terminal), text or json"),
	OPTION_LAST(struct controller_settings, command, "--help", CONTROLLER_HELP, "this help", .brief = "-h"),
	OPTION_LAST(struct controller_settings, command, "--version", CONTROLLER_VERSION, "the version"),
};

static const struct option_table table = {.rows = rows, .count = sizeof rows / sizeof *rows, .command = ~0u};

int controller_options_parse(int argc, char *const argv[], const char *(*env)(const char *name), struct controller_settings *out, struct err *e)
{
	*out = (struct controller_settings){.command = CONTROLLER_RUN, .rest_api = true, .web_ui = true, .container_starts = true};
	int rc = options_read_environment(&table, env, out, e) < 0 ? -1 : options_read_words(&table, argc, argv, 1, out, e);
	if (rc != 0)
		return rc < 0 ? -1 : 0;
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
	fprintf(out, "usage: drdotnet-controller [options]\nMost options may also be given as environment variables; the command line wins.\n\n");
	options_print_help(&table, out);
}
