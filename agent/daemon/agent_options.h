/* The agent's settings: one table of options, each also an environment variable; the command line wins. */
#ifndef DRDOTNET_AGENT_OPTIONS_H
#define DRDOTNET_AGENT_OPTIONS_H

#include "agent/target/target.h"
#include "common/base/err.h"
#include "common/base/log.h"
#include "common/base/options.h"

#include <stdint.h>
#include <stdio.h>

enum agent_command { AGENT_RUN, AGENT_HEALTH, AGENT_READY, AGENT_PREPARE, AGENT_HELP, AGENT_VERSION };

struct agent_options {
	enum agent_command command;
	enum agent_mode mode;
	const char *proc_root, *shared_parent, *library;
	const char *spool;
	int64_t spool_quota_mib, max_sessions, refresh_seconds, link_timeout_seconds;
	const char *controller; /* "host:port" */
	char host[256];         /* of controller */
	int port;
	const char *server_name, *ca_file, *ca_config_map, *api_access, *token_file, *upload_ca_file, *rules;
	const char *node_name;
	const char *health_socket;
	enum log_level log_level;
	struct option_words words;
};

/* Values are borrowed from argv and the environment. ERR_INVALID names the option. */
int agent_options_parse(int argc, char *const argv[], const char *(*env)(const char *name), struct agent_options *out, struct err *e);

void agent_options_usage(FILE *out);

#endif
