/* What requests wait for just before a command of a database begins, while as many commands run as ever do: a connection of a pool that is used up, or another
 * gate. Clients tell of a command only when it has a connection, so this is concluded, and not told. Pure. */
#ifndef DRDOTNET_REQUEST_GATE_H
#define DRDOTNET_REQUEST_GATE_H

#include "agent/profilers/requests/request_analysis.h"

struct gate_step { /* from then on, until the next one */
	uint64_t at_ns, full_ns; /* full_ns: of the time before it, in which as many commands ran as ever do */
	bool full;
};

struct gate_profile { /* of all commands in a session */
	struct gate_step *steps;
	size_t step_count;
	uint32_t most; /* at once */
};

struct request_gate { /* of the slowest requests of one endpoint */
	uint64_t ns, waits;
	uint32_t shape; /* of a command that came after such a wait; 0: there is none */
};

void gate_profile_make(const struct request_analysis *a, struct gate_profile *out);
void gate_profile_fini(struct gate_profile *p);
void request_gate_find(const struct request_analysis *a, const struct gate_profile *p, const struct endpoint_figures *f, struct request_gate *out);

#endif
