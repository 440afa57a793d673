/* Objects into the stream: their class (once), their size, what they refer to, of strings a digest. Whoever walks, while the application
 * stands. */
#ifndef DRDOTNET_HEAP_OBJECTS_H
#define DRDOTNET_HEAP_OBJECTS_H

#include "profiler/clr/cor_heap_abi.h"
#include "profiler/heap/heap_classes.h"
#include "profiler/heap/heap_sink.h"
#include "profiler/heap/string_digest.h"

struct heap_objects {
	void *info;
	struct heap_sink *sink;
	const struct string_digest_key *key; /* NULL: no digests */
	bool reveal;
	bool values;           /* tell the numbers of objects that have some (heap_values.h) */
	bool timed;            /* a look: what it takes to get to know classes is added up, a walk has that once */
	uint64_t classes_ns;   /* of processor time */
	hresult code;          /* of the runtime's refusal */
	cor_id lowest, highest; /* of what was met */
	struct heap_class *last;
	bool ranges;           /* tell those that the objects lie in */
	struct cor_generation_range range; /* of the last object */
};

/* false: the walk is over, see sink->status. */
bool heap_objects_put(struct heap_objects *h, cor_id object);
/* All from `at` on, which lie one behind the other, free space among them in the shape of objects, until `end` is reached or passed. Returns
 * where the last one ends; 0: the walk is over. */
cor_id heap_objects_put_run(struct heap_objects *h, cor_id at, cor_id end);

#endif
