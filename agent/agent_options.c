#include "agent/agent_options.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum kind { TEXT, NUMBER, MODE, LEVEL };

static const struct option_row {
	const char *name, *env, *otherwise, *value, *help;
	enum kind kind;
	size_t offset;
	int64_t least, most;
} rows[] = {
#define AT(field) offsetof(struct agent_options, field)
	{"controller", "DRDOTNET_CONTROLLER", "drdotnet-controller.drdotnet-system.svc:8443", "HOST:PORT", "the controllers' headless name", TEXT, AT(controller), 0, 0},
	{"server-name", "DRDOTNET_SERVER_NAME", NULL, "NAME", "name in the controllers' certificate (default: the host)", TEXT, AT(server_name), 0, 0},
	{"ca-file", "DRDOTNET_CA_FILE", "/etc/drdotnet/link-ca/ca.crt", "FILE", "CA bundle that the controllers are verified with", TEXT, AT(ca_file), 0, 0},
	{"token-file", "DRDOTNET_TOKEN_FILE", "/var/run/secrets/drdotnet/token", "FILE", "ServiceAccount token for the controllers", TEXT, AT(token_file), 0, 0},
	{"upload-ca-file", "DRDOTNET_UPLOAD_CA_FILE", NULL, "FILE", "CA bundle of the object storage (default: the system's)", TEXT, AT(upload_ca_file), 0, 0},
	{"mode", "DRDOTNET_MODE", "hostPID", "MODE", "hostPID or sharedTmp: how processes are found", MODE, AT(mode), 0, 0},
	{"proc-root", "DRDOTNET_PROC_ROOT", "/proc", "DIR", "the node's /proc", TEXT, AT(proc_root), 0, 0},
	{"shared-parent", "DRDOTNET_SHARED_PARENT", "/var/lib/drdotnet-tmp/pods", "DIR", "sharedTmp: the folder of the pods' folders", TEXT, AT(shared_parent), 0, 0},
	{"library", "DRDOTNET_LIBRARY", "/usr/lib/drdotnet/libdrdotnet.so", "FILE", "the profiler library", TEXT, AT(library), 0, 0},
	{"spool", "DRDOTNET_SPOOL", "/var/lib/drdotnet/spool", "DIR", "reports until they are delivered", TEXT, AT(spool), 0, 0},
	{"spool-quota-mib", "DRDOTNET_SPOOL_QUOTA_MIB", "256", "N", "bound of the spool", NUMBER, AT(spool_quota_mib), 1, 1024 * 1024},
	{"max-sessions", "DRDOTNET_MAX_SESSIONS", "2", "N", "sessions at once on this node; others wait", NUMBER, AT(max_sessions), 1, 16},
	{"refresh-seconds", "DRDOTNET_REFRESH_SECONDS", "30", "N", "how often the controllers' name and the token are looked at again", NUMBER, AT(refresh_seconds), 1, 3600},
	{"link-timeout-seconds", "DRDOTNET_LINK_TIMEOUT_SECONDS", "35", "N", "a controller that is silent for so long is given up", NUMBER, AT(link_timeout_seconds), 2, 600},
	{"node-name", "NODE_NAME", "", "NAME", "this node, as the reports name it", TEXT, AT(node_name), 0, 0},
	{"health-socket", "DRDOTNET_HEALTH_SOCKET", "/var/lib/drdotnet/health.sock", "FILE", "unix socket for `drdotnet-agent health`", TEXT, AT(health_socket), 0, 0},
	{"log-level", "DRDOTNET_LOG_LEVEL", "info", "LEVEL", "debug, info, warn or error", LEVEL, AT(log_level), 0, 0},
#undef AT
};
#define ROW_COUNT (sizeof rows / sizeof *rows)

static int set_number(const struct option_row *row, const char *value, int64_t *out, struct err *e)
{
	char *end;
	errno = 0;
	long long n = strtoll(value, &end, 10);
	if (errno || end == value || *end || n < row->least || n > row->most)
		return err_set(e, ERR_INVALID, 0, "--%s: expected a number from %lld to %lld, found \"%.80s\"", row->name, (long long)row->least,
			       (long long)row->most, value);
	*out = n;
	return 0;
}

static int set_mode(const char *value, enum agent_mode *out, struct err *e)
{
	if (strcmp(value, "hostPID") != 0 && strcmp(value, "sharedTmp") != 0)
		return err_set(e, ERR_INVALID, 0, "--mode: expected hostPID or sharedTmp, found \"%.80s\"", value);
	*out = value[0] == 'h' ? AGENT_MODE_HOST_PID : AGENT_MODE_SHARED_TMP;
	return 0;
}

static int set(const struct option_row *row, const char *value, struct agent_options *o, struct err *e)
{
	void *field = (char *)o + row->offset;
	switch (row->kind) {
	case TEXT:
		*(const char **)field = value;
		return 0;
	case NUMBER:
		return set_number(row, value, field, e);
	case MODE:
		return set_mode(value, field, e);
	case LEVEL:
		if (log_parse_level(value, field) < 0)
			return err_set(e, ERR_INVALID, 0, "--log-level: expected debug, info, warn or error, found \"%.80s\"", value);
		return 0;
	}
	return -1;
}

static const struct option_row *find(const char *name, size_t len)
{
	for (size_t i = 0; i < ROW_COUNT; i++) {
		if (strlen(rows[i].name) == len && strncmp(rows[i].name, name, len) == 0)
			return &rows[i];
	}
	return NULL;
}

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

static int parse_words(int argc, char *const argv[], struct agent_options *o, struct err *e)
{
	for (int i = 1; i < argc; i++) {
		const char *word = argv[i];
		if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
			o->command = AGENT_HELP;
			return 0;
		}
		if (strcmp(word, "--version") == 0) {
			o->command = AGENT_VERSION;
			return 0;
		}
		if (strcmp(word, "health") == 0) {
			o->command = AGENT_HEALTH;
			continue;
		}
		size_t len = strncmp(word, "--", 2) == 0 ? strcspn(word + 2, "=") : 0;
		const struct option_row *row = find(word + 2, len);
		if (len == 0 || !row)
			return err_set(e, ERR_INVALID, 0, "unknown option: %.100s; see --help", word);
		const char *value = word[2 + len] == '=' ? word + 3 + len : i + 1 < argc ? argv[++i] : NULL;
		if (!value)
			return err_set(e, ERR_INVALID, 0, "--%s: needs a value", row->name);
		if (set(row, value, o, e) < 0)
			return -1;
	}
	return 0;
}

int agent_options_parse(int argc, char *const argv[], const char *(*env)(const char *name), struct agent_options *out, struct err *e)
{
	*out = (struct agent_options){.command = AGENT_RUN};
	for (size_t i = 0; i < ROW_COUNT; i++) {
		const char *value = env(rows[i].env);
		if (!value || !value[0])
			value = rows[i].otherwise;
		if (value && set(&rows[i], value, out, e) < 0)
			return err_prefix(e, "%s", rows[i].env);
	}
	if (parse_words(argc, argv, out, e) < 0)
		return -1;
	return split_controller(out, e);
}

void agent_options_usage(FILE *out)
{
	fputs("usage: drdotnet-agent [options]           profile this node's .NET processes on the controllers' orders\n"
	      "       drdotnet-agent health [options]    exit 0 when the agent that runs here is well\n\n",
	      out);
	for (size_t i = 0; i < ROW_COUNT; i++) {
		fprintf(out, "  --%s %s\n      %s (%s", rows[i].name, rows[i].value, rows[i].help, rows[i].env);
		if (rows[i].otherwise && rows[i].otherwise[0])
			fprintf(out, "; default %s", rows[i].otherwise);
		fputs(")\n", out);
	}
}
