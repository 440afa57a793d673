/* Is a growth a leak? From what hung on one path at each walk. The rules, in their order (docs/profilers/memory-leak.md says why):
 *
 *   less than the material growth                                                     steady
 *   no known root holds it: garbage, not yet collected, or a handle's      notHeld
 *   only stacks hold it, and it is young or was not there at each walk                inUse
 *   it fell back between two walks by more than a fifth of what it grew in all        fluctuates
 *   one array that makes itself larger by leaps has leapt once, or stands still since   uncertain
 *   it has stood still for longer than such an array does between two leaps           levelledOff
 *   it has filled up, or stood still for as long as it had grown (leak_fit.h)         levelledOff
 *   the process had just started, and there were two walks only or it slows down      warmingUp
 *   of two walks only: the process's memory has levelled off since                    uncertain
 *   its pace decays, or it stands still, but not for long enough                      slowsDown
 *   else                                                                              grows
 *
 * Pure. */
#ifndef DRDOTNET_LEAK_VERDICT_H
#define DRDOTNET_LEAK_VERDICT_H

#include "agent/profilers/leak/leak_fit.h"
#include "agent/profilers/leak/leak_model.h"

enum leak_verdict {
	LEAK_STEADY,
	LEAK_NOT_HELD,
	LEAK_IN_USE,
	LEAK_FLUCTUATES,
	LEAK_LEVELLED_OFF,
	LEAK_UNCERTAIN,
	LEAK_WARMING_UP,
	LEAK_SLOWS_DOWN,
	LEAK_GROWS,
	LEAK_VERDICTS,
};
const char *leak_verdict_name(enum leak_verdict v); /* "levelledOff" */

#define LEAK_JUST_STARTED_MS 60000

struct leak_series {
	size_t walks;
	int64_t at_ns[LEAK_MAX_WALKS];
	int64_t given_ns[LEAK_MAX_WALKS]; /* leak_model_given_ns() */
	bool lacked_cpu;         /* then those count, too */
	uint64_t bytes[LEAK_MAX_WALKS];
	enum leak_root root;
	bool roots_unread;       /* no known root is not: no root */
	bool leaps;              /* arrays that grow themselves: a list of numbers, a stream in memory */
	bool old;                /* most of the growth is in the oldest generation or the large objects' */
	int64_t uptime_ms;       /* of the process at the first walk; -1: not known */
	enum leak_course course; /* of the process's memory */
	uint64_t material_bytes;
};

enum leak_verdict leak_verdict_of(const struct leak_series *s);

/* The least growth that is worth a word in a heap of this size: 256 KiB, or 0.5% of it. */
uint64_t leak_material_bytes(uint64_t heap_bytes);

enum leak_confidence { LEAK_LOW, LEAK_MEDIUM, LEAK_HIGH };
const char *leak_confidence_name(enum leak_confidence c);

/* Two walks cannot tell a leak from a cache that fills; from five on, with a steady pace (leak_fit.h), hardly anything else is left. */
enum leak_confidence leak_confidence_of(size_t walks, int64_t uptime_ms, bool steady);

#endif
