/* How growing objects are held, told by the names on their path, and what helps. Pure. */
#ifndef DRDOTNET_LEAK_PATTERN_H
#define DRDOTNET_LEAK_PATTERN_H

#include "agent/profilers/leak/leak_model.h"

enum leak_pattern {
	LEAK_EVENT_HANDLER,
	LEAK_TIMER,
	LEAK_WEAK_TABLE, /* ConditionalWeakTable and other dependent handles */
	LEAK_CLOSURE,
	LEAK_TRACKED,     /* by the change tracker of an Entity Framework DbContext */
	LEAK_DISPOSABLES, /* that a dependency-injection container keeps to dispose of them */
	LEAK_SCOPES,      /* the same by ever more scopes of one, which nobody disposes of */
	LEAK_ASYNC,      /* the state of async methods that have not ended */
	LEAK_CANCELLATION,
	LEAK_FINALIZERS,
	LEAK_THREAD_STATIC,
	LEAK_STATIC_COLLECTION,
	LEAK_STATIC,
	LEAK_HANDLE,
	LEAK_STACK,
	LEAK_OTHER,
	LEAK_PATTERNS,
};

/* Of the path that ends at `step`, the objects that count, below `holder` (leak_group.h). */
enum leak_pattern leak_pattern_of(const struct leak_model *m, uint32_t step, uint32_t holder);

/* Whether the path passes an ArrayPool: it keeps what was given back to it, up to a bound, and lets go of it when memory is short. */
bool leak_pattern_pooled(const struct leak_model *m, uint32_t step);
/* Of a path through an event: the step of its delegate, the outermost one. LEAK_NONE: there is no event on it. */
uint32_t leak_pattern_event(const struct leak_model *m, uint32_t step);

const char *leak_pattern_name(enum leak_pattern p);   /* "eventHandler" */
const char *leak_pattern_phrase(enum leak_pattern p); /* "by event handlers"; "" nothing worth saying */
/* A sentence, for that holder: what bounds a queue is not what bounds a cache. */
const char *leak_pattern_remedy(const struct leak_model *m, enum leak_pattern p, uint32_t holder);

#endif
