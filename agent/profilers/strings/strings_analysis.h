/* What equal strings cost and who holds them, from a heap snapshot with digests. Exact: each string is counted, by its real size.
 *
 * Of equal strings the first that the snapshot has is the one to keep; each other is a copy, whose bytes are wasted. A string with
 * several holders belongs to the first one met. So the sums over generations, values and holders are the same.
 *
 * The snapshot is read several times instead of kept: one look finds which digests may repeat (string_filter.h), another gathers the
 * strings with copies, a third finds their holders, some more who holds those (string_paths.h). Where more strings repeat than memory is meant
 * for, the digests are taken part by part. Beside the snapshot: about 40 bytes for each string with a copy, `part_strings` of them at
 * most. Pure but for memory; one thread. */
#ifndef DRDOTNET_STRINGS_ANALYSIS_H
#define DRDOTNET_STRINGS_ANALYSIS_H

#include "agent/heap/heap_snapshot.h"
#include "agent/profilers/strings/string_holders.h"
#include "agent/profilers/strings/string_remedy.h"

#define STRINGS_VALUES_MAX 1000
#define STRINGS_SECRET_BYTES 32
#define STRINGS_PART ((uint64_t)8 << 20)

struct strings_options {
	uint64_t part_strings;  /* 0: STRINGS_PART; tests set it low */
	bool reveal;            /* values may be shown */
	const uint8_t *secret;  /* STRINGS_SECRET_BYTES random bytes, for the ids of values */
	void (*alive)(void *ctx); /* called in long steps; NULL: nobody waits */
	void *ctx;
};

struct strings_sum {
	uint64_t strings, copies, wasted_bytes;
};

struct strings_of_value {
	uint32_t holder;
	uint32_t count, copies;
};

struct strings_value {
	uint64_t digest, address; /* of the first one */
	uint64_t size_bytes;
	uint32_t chars, count, old_count, unheld;
	uint8_t classes;
	char id[10];              /* "#4f2a91c0" */
	char *start;              /* UTF-8 as it may be shown; NULL: not revealed, or of a stream with two strings at one address */
	struct strings_of_value *holders; /* most strings first */
	size_t holder_count, holder_cap;
	enum string_remedy remedy;
};

struct strings_analysis {
	const struct heap_snapshot *snapshot;
	bool revealed;
	uint64_t heap_objects, heap_bytes; /* without free space */
	uint64_t strings, bytes;
	uint64_t values, duplicated_values;
	uint64_t copies, wasted_bytes;
	struct {
		uint64_t strings, bytes, copies, wasted_bytes;
	} generation[HEAP_GENERATIONS];
	struct strings_value *list; /* most wasted bytes first */
	size_t list_count;
	struct string_holders holders;
	uint32_t *holder_order;     /* most wasted bytes first */
	struct strings_sum unheld;  /* of strings of duplicated values */
	struct strings_sum crowded; /* of holders beyond STRING_HOLDERS_MAX */
};

void strings_analysis_make(const struct heap_snapshot *s, const struct strings_options *o, struct strings_analysis *out);
void strings_analysis_fini(struct strings_analysis *a);

/* The holder at this place of the order. */
static inline const struct string_holder *strings_analysis_holder(const struct strings_analysis *a, size_t place)
{
	return &a->holders.items[a->holder_order[place]];
}
static inline uint64_t strings_value_wasted(const struct strings_value *v)
{
	return (uint64_t)(v->count - 1) * v->size_bytes;
}

#endif
