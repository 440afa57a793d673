#include "agent/daemon/agent.h"
#include "agent/daemon/health_socket.h"
#include "common/base/crypto.h"
#include "common/base/daemon.h"
#include "common/base/http.h"
#include "common/link/health_line.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *getenv_text(const char *name)
{
	return getenv(name);
}

static int report_error(const struct err *e)
{
	LOG_ERROR("agent", "cannot run", LOG_S("error", e->kind ? e->message : ""));
	return e->kind == ERR_INVALID ? 2 : 1;
}

/* Well is who answers; ready is who can be given orders. */
static int probe(const struct agent_options *o)
{
	char line[HEALTH_LINE_SIZE];
	struct err e = ERR_INIT;
	if (health_socket_probe(o->health_socket, line, sizeof line, &e) < 0) {
		fprintf(stderr, "%s\n", e.message);
		return 1;
	}
	const char *bare = o->command == AGENT_READY ? strstr(line, HEALTH_LINE_BARE) : NULL;
	fputs(bare ? bare : line, bare ? stderr : stdout);
	return bare != NULL;
}

int main(int argc, char *argv[])
{
	daemon_keep_memory_small();
	crypto_stay();
	struct agent_options o;
	struct err e = ERR_INIT;
	if (agent_options_parse(argc, argv, getenv_text, &o, &e) < 0) {
		options_print_error("drdotnet-agent", NULL, &e, stderr);
		return 2;
	}
	switch (o.command) {
	case AGENT_HELP:
		agent_options_usage(stdout);
		return 0;
	case AGENT_VERSION:
		puts("drdotnet-agent " DRDOTNET_VERSION);
		return 0;
	case AGENT_HEALTH:
	case AGENT_READY:
		return probe(&o);
	case AGENT_PREPARE:
		return agent_prepare(&o, &e) < 0 ? report_error(&e) : 0;
	case AGENT_RUN:
		break;
	}
	log_configure(o.log_level, LOG_FORMAT_AUTO);
	daemon_block_signals();
	if (http_global_init(&e) < 0 || agent_run(&o, &e) < 0)
		return report_error(&e);
	return 0;
}
