/* The limits that a session reached: a fixed table that was full, memory that could not be read, samples that were due and did not come.
 * Each says what the report therefore lacks. Every report shows them on its first screen and in report.json as `limitsReached`
 * (agent/report/report_head.c). Plain data, copied by value. One thread. */
#ifndef DRDOTNET_LIMITS_H
#define DRDOTNET_LIMITS_H

#include <stddef.h>
#include <stdint.h>

#define LIMITS_MAX 16
#define LIMIT_MEANING_BYTES 240

struct limit {
	const char *name;    /* of the thing limited, for programs: "timers"; static */
	int64_t limit, seen; /* what there is room for, or was due; what came. In the unit of the thing; -1: not known */
	char meaning[LIMIT_MEANING_BYTES]; /* one sentence of ours: what was not seen, and what of the report that concerns */
};

struct limits {
	struct limit list[LIMITS_MAX]; /* in the order of their first notes */
	size_t count;
};

/* Notes a limit that was reached; of one name the last note holds. The meaning is cut to its room; names beyond LIMITS_MAX are not kept:
 * there are fewer. */
void limits_note(struct limits *l, const char *name, int64_t limit, int64_t seen, const char *meaning, ...)
	__attribute__((format(printf, 5, 6)));

/* "stalled": the profiler did not run for so long in all; 0: it always did. Of several notes the longest holds. */
void limits_note_stall(struct limits *l, int64_t ns);

/* "callers": of stacks that the library took, those that may lack some. */
void limits_note_callers(struct limits *l, int64_t stacks, int64_t incomplete);

#endif
