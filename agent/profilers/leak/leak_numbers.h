/* What the rules of MemoryLeak judge: one plain struct, written to report.json as `measured`. Growth is that between the first and the last walk, of
 * what is said to grow (leak_verdict.h), parted by how it is held. */
#ifndef DRDOTNET_LEAK_NUMBERS_H
#define DRDOTNET_LEAK_NUMBERS_H

#include "agent/profilers/leak/leak_group.h"
#include "agent/report/rules.h"

enum leak_part { /* of what grows and is held: by what is to be done about it */
	LEAK_PART_HELD, /* anything else */
	LEAK_PART_EVENTS,
	LEAK_PART_TIMERS,
	LEAK_PART_TOKENS,
	LEAK_PART_ASYNC,
	LEAK_PART_CONTAINER,
	LEAK_PART_CONTEXTS,
	LEAK_PART_ENTITIES,
	LEAK_PARTS,
};

/* Bytes that grew, how many more objects, the largest holder, and the sentence about it. */
#define LEAK_PART(NUMBER, TEXT, x) NUMBER(x##_bytes) NUMBER(x##_more) TEXT(x##_holder) TEXT(x##_line)

/* NAN: not measured. `open_bytes`: growth of which nothing can be said yet, and why (`open_why`). unmanaged_growing: of unmanaged_bytes, 0 where they
 * have ended to grow; unmanaged_code: most of it is compiled code. gap_bytes: between objects; pinned_more: objects. Counts: at the
 * first and at the last walk. */
#define LEAK_NUMBERS(NUMBER, TEXT)                                                                                                         \
	NUMBER(walks) NUMBER(seconds) NUMBER(types_only) NUMBER(uptime_seconds) NUMBER(live_bytes) NUMBER(heap_bytes)                      \
	NUMBER(least_per_minute) NUMBER(open_bytes) TEXT(open_why)                                                                         \
	LEAK_PART(NUMBER, TEXT, held) LEAK_PART(NUMBER, TEXT, event) LEAK_PART(NUMBER, TEXT, timer) LEAK_PART(NUMBER, TEXT, token)         \
	LEAK_PART(NUMBER, TEXT, async) LEAK_PART(NUMBER, TEXT, container) LEAK_PART(NUMBER, TEXT, context)                                 \
	LEAK_PART(NUMBER, TEXT, entity) NUMBER(unmanaged_bytes) NUMBER(unmanaged_growing) NUMBER(unmanaged_open) NUMBER(unmanaged_code)    \
	TEXT(unmanaged_kind) TEXT(unmanaged_line) NUMBER(kept_bytes) NUMBER(kept_much) TEXT(kept_line) NUMBER(gap_bytes)                   \
	NUMBER(pinned_more) NUMBER(torn) TEXT(torn_line) NUMBER(timers_first) NUMBER(timers_last) NUMBER(tokens_first)                     \
	NUMBER(tokens_last) NUMBER(entities_first) NUMBER(entities_last) NUMBER(entities_rise) NUMBER(trackers_last)                       \
	NUMBER(loaders_more) NUMBER(loaders_rise) TEXT(loaders_keeper) TEXT(loaders_root) NUMBER(limit_bytes) NUMBER(used_bytes)           \
	NUMBER(bytes_per_minute)

RULE_STRUCT(leak_numbers, LEAK_NUMBERS);

/* Of a diagnosis whose growth is found and judged, but not yet what leads. Pure. */
struct leak_diagnosis;
void leak_numbers_of(const struct leak_model *m, const struct leak_diagnosis *d, struct leak_numbers *out);

/* The largest group of a part that grows; NULL: none. */
const struct leak_group *leak_numbers_group(const struct leak_model *m, const struct leak_groups *g, enum leak_part part);

#endif
