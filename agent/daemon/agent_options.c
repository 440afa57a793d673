#include "agent/daemon/agent_options.h"

#include "common/base/options.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define TEXT(option, variable, word, field, value, text) \
	OPTION_TEXT(struct agent_options, field, option, word, text, .env = variable, .initial = value)
#define NUMBER(option, variable, field, from, to, value, text) \
	OPTION_NUMBER(struct agent_options, field, option, "N", from, to, text, .env = variable, .initial = value)
#define WORD(option, variable, argument, field, words, value, text) \
	OPTION_WORD(struct agent_options, field, option, argument, words, text, .env = variable, .initial = value)

static const struct option_row rows[] = {
	TEXT("--controller", "DRDOTNET_CONTROLLER", "HOST:PORT", controller, "drdotnet-controller.drdotnet-system.svc:8443",
	     "the controllers' headless Service"),
	TEXT("--server-name", "DRDOTNET_SERVER_NAME", "NAME", server_name, NULL, "name in the controllers' certificate (default: the host)"),
	TEXT("--ca-file", "DRDOTNET_CA_FILE", "FILE", ca_file, "/etc/drdotnet/link-ca/ca.crt", "CA bundle that verifies the controllers"),
	TEXT("--ca-config-map", "DRDOTNET_CA_CONFIG_MAP", "NAME", ca_config_map, NULL, "ConfigMap to read it from while that file is missing"),
	TEXT("--api-access", "DRDOTNET_API_ACCESS", "DIR", api_access, "/var/run/secrets/kubernetes.io/serviceaccount",
	     "token, ca.crt and namespace to read it with"),
	TEXT("--token-file", "DRDOTNET_TOKEN_FILE", "FILE", token_file, "/var/run/secrets/drdotnet/token", "ServiceAccount token for the controllers"),
	TEXT("--upload-ca-file", "DRDOTNET_UPLOAD_CA_FILE", "FILE", upload_ca_file, NULL, "CA bundle of the object storage (default: the system's)"),
	TEXT("--rules", "DRDOTNET_RULES", "DIR", rules, NULL, "rules of your own: YAML files that are judged as the catalogue's are"),
	WORD("--mode", "DRDOTNET_MODE", "MODE", mode, "hostPID sharedTmp", "hostPID", "hostPID or sharedTmp: how processes are found"),
	TEXT("--proc-root", "DRDOTNET_PROC_ROOT", "DIR", proc_root, "/proc", "the node's /proc"),
	TEXT("--shared-parent", "DRDOTNET_SHARED_PARENT", "DIR", shared_parent, "/var/lib/drdotnet-tmp/pods", "sharedTmp: the folder of the pods' folders"),
	TEXT("--library", "DRDOTNET_LIBRARY", "FILE", library, "/usr/lib/drdotnet/libdrdotnet.so", "the profiler library"),
	TEXT("--spool", "DRDOTNET_SPOOL", "DIR", spool, "/var/lib/drdotnet/spool", "reports until they are delivered"),
	NUMBER("--spool-quota-mib", "DRDOTNET_SPOOL_QUOTA_MIB", spool_quota_mib, 1, 1024 * 1024, "256", "size of the spool at most"),
	NUMBER("--max-sessions", "DRDOTNET_MAX_SESSIONS", max_sessions, 1, 16, "2", "concurrent sessions on this node; others wait"),
	NUMBER("--refresh-seconds", "DRDOTNET_REFRESH_SECONDS", refresh_seconds, 1, 3600, "30",
	       "how often the controllers' name is resolved and the token read again"),
	NUMBER("--link-timeout-seconds", "DRDOTNET_LINK_TIMEOUT_SECONDS", link_timeout_seconds, 2, 600, "35",
	       "after so long without a word from a controller its link is closed"),
	TEXT("--node-name", "NODE_NAME", "NAME", node_name, NULL, "this node's name in the reports"),
	TEXT("--health-socket", "DRDOTNET_HEALTH_SOCKET", "FILE", health_socket, "/var/lib/drdotnet/health.sock",
	     "unix socket of `drdotnet-agent health` and `ready`"),
	WORD("--log-level", "DRDOTNET_LOG_LEVEL", "LEVEL", log_level, OPTION_LOG_LEVELS, "info", "debug, info, warn or error"),
	OPTION_LAST(struct agent_options, command, "--help", AGENT_HELP, "this help", .brief = "-h"),
	OPTION_LAST(struct agent_options, command, "--version", AGENT_VERSION, "the version"),
};

static const struct option_table table = {.rows = rows, .count = sizeof rows / sizeof *rows, .command = ~0u, .has_words = true,
					  .words_at = offsetof(struct agent_options, words)};

/* "host:port", "[v6]:port". */
static int split_controller(struct agent_options *o, struct err *e)
{
	const char *text = o->controller, *colon = strrchr(text, ':');
	size_t len = colon ? (size_t)(colon - text) : 0;
	if (len >= 2 && text[0] == '[' && text[len - 1] == ']') {
		text++;
		len -= 2;
	}
	char *end = NULL;
	long port = colon ? strtol(colon + 1, &end, 10) : 0;
	if (len == 0 || len >= sizeof o->host || port < 1 || port > 65535 || *end)
		return err_set(e, ERR_INVALID, 0, "--controller: expected HOST:PORT, found \"%.80s\"", o->controller);
	memcpy(o->host, text, len);
	o->host[len] = '\0';
	o->port = (int)port;
	return 0;
}

static int read_command(struct agent_options *o, struct err *e)
{
	static const enum agent_command commands[] = {AGENT_HEALTH, AGENT_READY, AGENT_PREPARE};
	int word = o->words.count ? option_find_word("health ready prepare", o->words.at[0]) : -1;
	if (o->words.count > 1 || (o->words.count && word < 0))
		return err_set(e, ERR_INVALID, 0, "unexpected word: %.80s; only health, ready or prepare", o->words.at[o->words.count - 1]);
	if (word >= 0)
		o->command = commands[word];
	return 0;
}

int agent_options_parse(int argc, char *const argv[], const char *(*env)(const char *name), struct agent_options *out, struct err *e)
{
	*out = (struct agent_options){.command = AGENT_RUN, .node_name = ""};
	int rc = options_read_environment(&table, env, out, e) < 0 ? -1 : options_read_words(&table, argc, argv, 1, out, e);
	if (rc != 0)
		return rc < 0 ? -1 : 0;
	return read_command(out, e) < 0 ? -1 : split_controller(out, e);
}

void agent_options_usage(FILE *out)
{
	fputs("usage: drdotnet-agent [options]           profile this node's .NET processes as the controllers order\n"
	      "       drdotnet-agent health [options]    exit 0 when the running agent is healthy\n"
	      "       drdotnet-agent ready [options]     exit 0 when it is linked to a controller, else print why it is not\n"
	      "       drdotnet-agent prepare [options]   make the folder of --shared-parent, before the first pod may mount it\n\n",
	      out);
	options_print_help(&table, out);
}
