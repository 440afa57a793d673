#include "controller/controller_options.h"

#include "controller/admission.h"
#include "controller/controller.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum kind { KIND_TEXT, KIND_NUMBER, KIND_ON, KIND_OFF, KIND_LEVEL, KIND_FORMAT, KIND_COMMAND };

struct row {
	const char *option, *env, *value, *help;
	enum kind kind;
	size_t at;
	int64_t least, most; /* of a number; the command of a KIND_COMMAND stands in `least` */
};

#define AT(field) offsetof(struct controller_settings, field)
static const struct row rows[] = {
	{"--kubeconfig", "KUBECONFIG", "FILE", "the API server; default: the pod's service account", KIND_TEXT, AT(kubeconfig), 0, 0},
	{"--context", NULL, "NAME", "context of the kubeconfig; default: its current one", KIND_TEXT, AT(context), 0, 0},
	{"--namespace", "POD_NAMESPACE", "NAME", "namespace of the installation", KIND_TEXT, AT(namespace), 0, 0},
	{"--watch-namespaces", "WATCH_NAMESPACES", "A,B", "only sessions of these namespaces; default: all", KIND_TEXT, AT(watch_namespaces), 0, 0},
	{"--lease", "LEASE_NAME", "NAME", "the Lease of the leader election (drdotnet-controller)", KIND_TEXT, AT(lease_name), 0, 0},
	{"--workers", "WORKERS", "N", "sessions worked on at the same time (16)", KIND_NUMBER, AT(workers), 1, 64},
	{"--max-pods", "MAX_PODS", "N", "pods profiled at once; further sessions wait in a queue (200)", KIND_NUMBER, AT(max_pods), 1, 100000},
	{"--max-pods-per-node", "MAX_PODS_PER_NODE", "N", "the same of each node (4)", KIND_NUMBER, AT(max_pods_per_node), 1, ADMISSION_MAX_JOBS_PER_NODE},
	{"--bind", "BIND_ADDRESS", "ADDRESS", "where to listen; default: all addresses", KIND_TEXT, AT(bind), 0, 0},
	{"--port", "LINK_PORT", "N", "TLS port for agents and reports (8443; 0: any)", KIND_NUMBER, AT(port), 0, 65535},
	{"--health-port", "HEALTH_PORT", "N", "plain port for /healthz, /readyz and /metrics (8080; 0: any; -1: none)", KIND_NUMBER, AT(health_port), -1, 65535},
	{"--tls-cert", "TLS_CERT", "FILE", "certificate chain of the TLS port; default: self-made and published for the agents", KIND_TEXT, AT(tls_cert), 0, 0},
	{"--tls-key", "TLS_KEY", "FILE", "its key", KIND_TEXT, AT(tls_key), 0, 0},
	{"--api-port", "API_PORT", "N", "port of the REST API and the web page (8444; 0: none)", KIND_NUMBER, AT(api_port), 0, 65535},
	{"--api-tls-cert", "API_TLS_CERT", "FILE", "certificate chain of that port; default: the link's", KIND_TEXT, AT(api_tls_cert), 0, 0},
	{"--api-tls-key", "API_TLS_KEY", "FILE", "its key", KIND_TEXT, AT(api_tls_key), 0, 0},
	{"--api-plain-http", "API_PLAIN_HTTP", NULL, "no TLS there: what is in front of it must have it", KIND_ON, AT(api_plain_http), 0, 0},
	{"--no-rest-api", "REST_API_ENABLED", NULL, "no REST API and no web page", KIND_OFF, AT(rest_api), 0, 0},
	{"--no-web-ui", "WEB_UI_ENABLED", NULL, "no web page", KIND_OFF, AT(web_ui), 0, 0},
	{"--alertmanager-token-file", "ALERTMANAGER_TOKEN_FILE", "FILE", "bearer token of Alertmanager's webhook on that port; default: it is off", KIND_TEXT, AT(alertmanager_token_file), 0, 0},
	{"--tls-secret", "TLS_SECRET", "NAME", "Secret of the self-made certificate (drdotnet-link-tls)", KIND_TEXT, AT(tls_secret), 0, 0},
	{"--tls-config-map", "TLS_CONFIG_MAP", "NAME", "ConfigMap of its authority (drdotnet-link-ca)", KIND_TEXT, AT(tls_config_map), 0, 0},
	{"--tls-stage", "TLS_STAGE_SECONDS", "SECONDS", "how long agents get to learn of a new authority before it is used (3600)", KIND_NUMBER, AT(tls_stage_seconds), 1, 7 * 86400},
	{"--service", "SERVICE_NAME", "NAME", "the Service whose name agents verify (drdotnet-controller)", KIND_TEXT, AT(service), 0, 0},
	{"--agent-account", "AGENT_ACCOUNT", "NAME", "service account of the agents (drdotnet-agent)", KIND_TEXT, AT(agent_account), 0, 0},
	{"--stores", "STORES_FILE", "FILE", "object stores; default: only the controller's own", KIND_TEXT, AT(stores), 0, 0},
	{"--reports", "REPORTS_FOLDER", "FOLDER", "folder of the controller's own store", KIND_TEXT, AT(reports), 0, 0},
	{"--reports-quota", "REPORTS_QUOTA_MIB", "MIB", "its size at most (1024)", KIND_NUMBER, AT(reports_quota_mib), 1, 1 << 24},
	{"--reports-expiry", "REPORTS_EXPIRY_DAYS", "DAYS", "age at which reports there are removed (30; 0: never)", KIND_NUMBER, AT(reports_expiry_days), 0, 36500},
	{"--upload-url", "UPLOAD_URL", "URL", "what agents reach the own store by; default: the Service's name", KIND_TEXT, AT(upload_url), 0, 0},
	{"--public-url", "PUBLIC_URL", "URL", "what people reach it by, for the status; default: --upload-url", KIND_TEXT, AT(public_url), 0, 0},
	{"--log-level", "LOG_LEVEL", "LEVEL", "debug, info, warn or error (info)", KIND_LEVEL, AT(log_level), 0, 0},
	{"--log-format", "LOG_FORMAT", "FORMAT", "auto, text or json (auto: JSON when not a terminal)", KIND_FORMAT, AT(log_format), 0, 0},
	{"--help", NULL, NULL, "this text", KIND_COMMAND, AT(command), CONTROLLER_HELP, 0},
	{"--version", NULL, NULL, "the version", KIND_COMMAND, AT(command), CONTROLLER_VERSION, 0},
};
#define ROW_COUNT (sizeof rows / sizeof rows[0])

static int set_number(const struct row *r, const char *name, const char *text, int64_t *out, struct err *e)
{
	char *end;
	long long n = strtoll(text, &end, 10);
	if (!text[0] || *end || n < r->least || n > r->most)
		return err_set(e, ERR_INVALID, 0, "%s: expected a number from %lld to %lld, found \"%.80s\"", name, (long long)r->least,
			       (long long)r->most, text);
	*out = n;
	return 0;
}

/* A switch: on the command line the word alone, in the environment true or false. */
static int set_switch(const char *name, const char *text, bool by_word, bool *out, struct err *e)
{
	if (!text)
		*out = by_word;
	else if (strcmp(text, "true") == 0 || strcmp(text, "1") == 0)
		*out = true;
	else if (strcmp(text, "false") == 0 || strcmp(text, "0") == 0)
		*out = false;
	else
		return err_set(e, ERR_INVALID, 0, "%s: expected true or false, found \"%.80s\"", name, text);
	return 0;
}

static int set_format(const char *name, const char *text, enum log_format *out, struct err *e)
{
	static const char *const names[] = {"auto", "text", "json"};
	for (int i = 0; i < 3; i++) {
		if (strcmp(text, names[i]) == 0) {
			*out = (enum log_format)i;
			return 0;
		}
	}
	return err_set(e, ERR_INVALID, 0, "%s: expected auto, text or json, found \"%.80s\"", name, text);
}

static int set(const struct row *r, const char *name, const char *text, struct controller_settings *out, struct err *e)
{
	void *at = (char *)out + r->at;
	switch (r->kind) {
	case KIND_TEXT:
		*(const char **)at = text;
		return 0;
	case KIND_NUMBER:
		return set_number(r, name, text, at, e);
	case KIND_ON:
		return set_switch(name, text, true, at, e);
	case KIND_OFF:
		return set_switch(name, text, false, at, e);
	case KIND_LEVEL:
		if (log_parse_level(text, at) == 0)
			return 0;
		return err_set(e, ERR_INVALID, 0, "%s: expected debug, info, warn or error, found \"%.80s\"", name, text);
	case KIND_FORMAT:
		return set_format(name, text, at, e);
	case KIND_COMMAND:
		*(enum controller_command *)at = (enum controller_command)r->least;
		return 0;
	}
	return 0;
}

static const struct row *find(const char *word, size_t len)
{
	for (size_t i = 0; i < ROW_COUNT; i++) {
		if (strlen(rows[i].option) == len && memcmp(rows[i].option, word, len) == 0)
			return &rows[i];
	}
	return NULL;
}

static int parse_words(int argc, char *const argv[], struct controller_settings *out, struct err *e)
{
	for (int i = 1; i < argc; i++) {
		size_t len = strcspn(argv[i], "=");
		const struct row *r = find(argv[i], len);
		if (!r)
			return err_set(e, ERR_INVALID, 0, "unknown option: %.100s; see --help", argv[i]);
		const char *value = argv[i][len] ? argv[i] + len + 1 : NULL;
		if (r->value && !value && !(value = argv[++i]))
			return err_set(e, ERR_INVALID, 0, "%s: needs a value", r->option);
		if (!r->value && value)
			return err_set(e, ERR_INVALID, 0, "%s: takes no value", r->option);
		if (set(r, r->option, value, out, e) < 0)
			return -1;
	}
	return 0;
}

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
	for (size_t i = 0; i < ROW_COUNT; i++) {
		const char *value = rows[i].env ? env(rows[i].env) : NULL;
		if (value && value[0] && set(&rows[i], rows[i].env, value, out, e) < 0)
			return -1;
	}
	if (parse_words(argc, argv, out, e) < 0)
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
	fprintf(out, "usage: drdotnet-controller [options]\nEach option may come from the environment variable beside it; the command line wins.\n\n");
	for (size_t i = 0; i < ROW_COUNT; i++) {
		char left[64];
		snprintf(left, sizeof left, "%s %s", rows[i].option, rows[i].value ? rows[i].value : "");
		fprintf(out, "  %-28s %-20s %s\n", left, rows[i].env ? rows[i].env : "", rows[i].help);
	}
}
