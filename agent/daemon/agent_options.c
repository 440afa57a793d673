#include "agent/daemon/agent_options.h"

#include "common/base/options.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static int set_mode(const struct option_row *row, const char *name, const char *value, void *args, struct err *e)
{
	(void)row;
	if (strcmp(value, "hostPID") != 0 && strcmp(value, "sharedTmp") != 0)
		return err_set(e, ERR_INVALID, 0, "%s: expected hostPID or sharedTmp, found \"%.80s\"", name, value);
	((struct agent_options *)args)->mode = value[0] == 'h' ? AGENT_MODE_HOST_PID : AGENT_MODE_SHARED_TMP;
	return 0;
}

#define TEXT(option, variable, word, field, value, text)                                                                                \
	{.name = option, .env = variable, .argument = word, .set = option_set_text, .at = offsetof(struct agent_options, field),        \
	 .initial = value, .help = text}
#define NUMBER(option, variable, field, from, to, value, text)                                                                          \
	{.name = option, .env = variable, .argument = "N", .set = option_set_number, .at = offsetof(struct agent_options, field),       \
	 .least = from, .most = to, .initial = value, .help = text}

static const struct option_row rows[] = {
	TEXT("--controller", "DRDOTNET_CONTROLLER", "HOST:PORT", controller, "drdotnet-controller.drdotnet-system.svc:8443",
	     "the controllers' headless Service"),
	TEXT("--server-name", "DRDOTNET_SERVER_NAME", "NAME", server_name, NULL, "name in the controllers' certificate (default: the host)"),
	TEXT("--ca-file", "DRDOTNET_CA_FILE", "FILE", ca_file, "/etc/drdotnet/link-ca/ca.crt", "CA bundle that verifies the controllers"),
	TEXT("--token-file", "DRDOTNET_TOKEN_FILE", "FILE", token_file, "/var/run/secrets/drdotnet/token", "ServiceAccount token for the controllers"),
	TEXT("--upload-ca-file", "DRDOTNET_UPLOAD_CA_FILE", "FILE", upload_ca_file, NULL, "CA bundle of the object storage (default: the system's)"),
	{.name = "--mode", .env = "DRDOTNET_MODE", .argument = "MODE", .set = set_mode, .initial = "hostPID",
	 .help = "hostPID or sharedTmp: how processes are found"},
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
	{.name = "--log-level", .env = "DRDOTNET_LOG_LEVEL", .argument = "LEVEL", .set = option_set_log_level,
	 .at = offsetof(struct agent_options, log_level), .initial = "info", .help = "debug, info, warn or error"},
	{.name = "--help", .brief = "-h", .set = option_set_last, .at = offsetof(struct agent_options, command), .least = AGENT_HELP, .help = "this help"},
	{.name = "--version", .set = option_set_last, .at = offsetof(struct agent_options, command), .least = AGENT_VERSION, .help = "the version"},
};

static int take_word(void *args, const char *word, struct err *e)
{
	bool health = strcmp(word, "health") == 0;
	if (!health && strcmp(word, "ready") != 0)
		return err_set(e, ERR_INVALID, 0, "unexpected word: %.80s", word);
	((struct agent_options *)args)->command = health ? AGENT_HEALTH : AGENT_READY;
	return 0;
}

static const struct option_table table = {.rows = rows, .count = sizeof rows / sizeof *rows, .command = ~0u, .on_word = take_word};

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

int agent_options_parse(int argc, char *const argv[], const char *(*env)(const char *name), struct agent_options *out, struct err *e)
{
	*out = (struct agent_options){.command = AGENT_RUN, .node_name = ""};
	if (options_read_environment(&table, env, out, e) < 0 || options_read_words(&table, argc, argv, 1, out, e) < 0)
		return -1;
	return split_controller(out, e);
}

void agent_options_usage(FILE *out)
{
	fputs("usage: drdotnet-agent [options]           profile this node's .NET processes as the controllers order\n"
	      "       drdotnet-agent health [options]    exit 0 when the running agent is healthy\n"
	      "       drdotnet-agent ready [options]     exit 0 when it is linked to a controller, else print why it is not\n\n",
	      out);
	options_print_help(&table, out);
}
