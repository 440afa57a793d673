/* What a session has collected of the runtime's pauses: the seam between collecting and analysis. Built by pause_collect, then
 * read-only. A pause is the time from the runtime's beginning to suspend its managed threads until it lets them go on. */
#ifndef DRDOTNET_PAUSE_CAPTURE_H
#define DRDOTNET_PAUSE_CAPTURE_H

#include "agent/stacks/capture.h"
#include "agent/report/session_facts.h"
#include "agent/target/gc_settings.h"

#include <stdbool.h>
#include <stdint.h>

#define PAUSE_CAPTURE_MAX (1u << 18) /* pauses that are kept one by one */
#define PAUSE_NONE UINT32_MAX

enum pause_reason {
	PAUSE_COLLECTION, /* blocking */
	PAUSE_BACKGROUND, /* a phase of a background collection */
	PAUSE_CODE,       /* ReJIT */
	PAUSE_DEBUGGER,
	PAUSE_PROFILER,
	PAUSE_SHUTDOWN,
	PAUSE_OTHER,
	PAUSE_REASON_COUNT
};
const char *pause_reason_name(enum pause_reason r);  /* "collection", for report.json */
const char *pause_reason_title(enum pause_reason r); /* "blocking collection", for people */

/* What made the runtime collect. */
enum pause_cause {
	CAUSE_UNKNOWN, /* the runtime did not say */
	CAUSE_ALLOCATION,
	CAUSE_ALLOCATION_LARGE,
	CAUSE_INDUCED,
	CAUSE_INDUCED_LOW_MEMORY,
	CAUSE_LOW_MEMORY,
	CAUSE_CONTAINER_LIMIT,
	CAUSE_OUT_OF_SPACE,
	CAUSE_OUT_OF_SPACE_LARGE,
	CAUSE_IDLE,
	CAUSE_INTERNAL,
	CAUSE_STRESS,
	CAUSE_TUNING,
	CAUSE_OTHER,
	CAUSE_NOT_LOOKED, /* of a brief pause */
	CAUSE_COUNT
};
const char *pause_cause_name(enum pause_cause c);
const char *pause_cause_title(enum pause_cause c);
/* Of the number in the runtime's GCStart event. */
enum pause_cause pause_cause_of(unsigned reason);

struct pause_kind {
	enum pause_reason reason;
	int generation; /* the oldest that a collection of it began to collect; -1: no collection began in it */
	bool induced;
	enum pause_cause cause; /* CAUSE_COUNT: no collection began in it */
};
/* "gen 2 collection, induced". Appends. */
void pause_kind_title(const struct pause_kind *k, struct buf *out);

struct pause {
	int64_t start_ns;   /* since the session's first moment */
	int64_t suspend_ns; /* until all threads had come to a halt */
	int64_t stopped_ns; /* from then until they were let go */
	uint32_t kind;      /* into kinds */
	uint32_t inducer;   /* into inducers; PAUSE_NONE: not known, or it was not induced */
	uint32_t late;      /* into late; PAUSE_NONE: not known, or nobody was */
	uint16_t collections;
	bool brief;         /* too many collections came to look what made the runtime collect in this one, and who asked */
};

struct pause_late {
	char thread[64];    /* its name; outside text */
	uint32_t tid;       /* one such, as the process sees it */
	uint32_t stack;     /* into stacks.stacks; PAUSE_NONE: not known */
};

struct pause_collections { /* of one generation */
	uint32_t count, induced;
};

struct pause_capture {
	struct session_facts facts;
	struct pause *pauses; /* by start */
	size_t pause_count, pause_cap;
	struct pause_kind *kinds;
	size_t kind_count, kind_cap;
	uint32_t *inducers;   /* stacks */
	size_t inducer_count, inducer_cap;
	struct pause_late *late;
	size_t late_count, late_cap;
	struct cpu_capture stacks; /* frames and stacks only */
	struct pause_collections collections[3][2]; /* by generation; [1]: in the background */
	uint64_t dropped;     /* stops and stacks that were not kept */
	uint64_t taken_stacks, incomplete_stacks; /* taken of threads; of them such as may lack callers */
	int64_t resuming_ns;  /* in all: after the threads were let go, until the one that made the pause had run again; in no pause's length */
	uint64_t abandoned;   /* suspensions that the runtime gave up */
	struct gc_settings gc; /* how the collector was set up */
	bool causes_known;    /* the runtime told what made it collect */
	/* the container's account of CPU; -1: not known */
	int64_t throttled_periods, periods, throttled_ns;
	int64_t cpu_limit_millicores; /* 0: none */
	int64_t node_cpus, process_cpu_ns;
	/* and of memory: of the container, when the session ended; -1: not known, limit 0: none */
	int64_t memory_bytes, memory_limit_bytes;
	int64_t process_bytes; /* resident memory of the process; -1: not known */
};

void pause_capture_fini(struct pause_capture *c);

static inline int64_t pause_length_ns(const struct pause *p)
{
	return p->suspend_ns + p->stopped_ns;
}

#endif
