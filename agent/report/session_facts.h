/* What every profiler's report says of its session: on which process, when, how it ended, what it cost. */
#ifndef DRDOTNET_SESSION_FACTS_H
#define DRDOTNET_SESSION_FACTS_H

#include "agent/host/engine_support.h"
#include "agent/report/limits.h"
#include "agent/target/target.h"
#include "common/base/exit_status.h"
#include "common/link/session_cost.h"

#include <stdbool.h>
#include <stdint.h>

struct session_facts {
	struct target target;
	int64_t pid;             /* inner */
	int64_t started_wall_ms, duration_ns;
	int64_t uptime_ms;       /* of the process when the session began; -1: not known */
	int64_t run_delay_ns;    /* all its threads waited for a CPU, in sum, throttled or not; -1: not known */
	int64_t throttled_ns;    /* its container's quota kept it from running, summed over CPUs; -1: not known */
	int64_t node_pressure_ns; /* some task of the node waited for a CPU; -1: not known */
	int64_t memory_limit_bytes; /* of the container, when the session began; 0: there is none; -1: not known */
	bool canceled;           /* ended early */
	const char *ended_why;   /* then: "on request", ...; static */
	bool process_ended;      /* and the session with it */
	struct exit_status exit; /* then, as far as it is known */
	bool was_stopped;        /* the process could not run for a time */
	bool beside_profiler;    /* attached for notifications only: another profiler has the process's main slot */
	bool held_unmeasured;    /* how long its threads waited could not be measured: 0 in the cost says nothing */
	struct limits limits;    /* that it reached */
	struct engine_support engines; /* what cannot be relied on in this process, and why */
	struct session_cost cost;
	uint32_t left;           /* enum channel_left: what stays of it in the process */
	int64_t kept_library_bytes; /* of the library, which a C library that unmaps none keeps mapped until the process ends; 0: it is not there */
};

void session_facts_copy(struct session_facts *out, const struct session_facts *from);
void session_facts_fini(struct session_facts *f);

#endif
