/* Who waits for whom: threads, the lock that each waits for, and who holds it. A thread waits for one lock at a time, so from each thread one way leads on:
 * it ends at a thread that waits for no lock, or turns in a circle. Pure; one thread. */
#ifndef DRDOTNET_WAIT_GRAPH_H
#define DRDOTNET_WAIT_GRAPH_H

#include <stddef.h>
#include <stdint.h>

#define WAIT_NONE UINT32_MAX

struct wait_graph {
	size_t threads;
	uint32_t *holder;  /* by thread: the thread that holds what it waits for; WAIT_NONE: it waits for no lock that is held */
	/* found */
	uint32_t *circle;  /* by thread: the number of the circle that it is part of; WAIT_NONE: of none */
	uint32_t *last;    /* by thread: where its way ends: a thread that waits for no lock; in or before a circle: a thread of the circle */
	uint32_t *behind;  /* by thread: how many threads wait for it, directly or behind others; in a circle all that wait for the circle */
	uint32_t circles;
};

/* `holder` is taken over (free); an index that is no thread, or the thread itself, counts as WAIT_NONE: a lock that its owner takes again does not block it. */
void wait_graph_make_take(struct wait_graph *g, uint32_t *holder, size_t threads);
void wait_graph_fini(struct wait_graph *g);

#endif
