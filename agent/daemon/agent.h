/* The agent as a whole: spool, jobs, links, the shared folders' watch and the health socket, put together. The calling
 * thread waits for signals; everything else has its own thread. */
#ifndef DRDOTNET_AGENT_H
#define DRDOTNET_AGENT_H

#include "agent/daemon/agent_options.h"

/* Shared tmp mode: makes the parent of the pods' folders, before the agent runs and before the first pod can mount it. Nothing is logged. */
int agent_prepare(const struct agent_options *o, struct err *e);

/* Runs until SIGTERM or SIGINT; sessions are then ended and their reports kept. SIGTERM, SIGINT and SIGPIPE must be blocked or
 * ignored by the caller before any thread is made (daemon_block_signals). */
int agent_run(const struct agent_options *o, struct err *e);

#endif
