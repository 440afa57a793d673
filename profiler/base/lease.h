/* How long the library stays without a word of the agent. An agent that is killed closes the channel; one that is stopped, frozen or without
 * CPU time says nothing: then the library leaves as well. Pure; whoever has the struct. */
#ifndef DRDOTNET_PROFILER_LEASE_H
#define DRDOTNET_PROFILER_LEASE_H

#include <stdint.h>

struct lease {
	uint32_t length_ms; /* 0: for ever */
	uint64_t heard_ns;  /* when the agent was heard last */
};

void lease_begin(struct lease *l, uint32_t length_ms, uint64_t now_ns);
void lease_renew(struct lease *l, uint64_t now_ns);
/* For poll(2): 0: it has lapsed; -1: it never does. A wait for so long does not end before. */
int lease_left_ms(const struct lease *l, uint64_t now_ns);

#endif
