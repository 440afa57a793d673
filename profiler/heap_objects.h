/* Objects into the stream: their class (once), their size, what they refer to, of strings a digest. Whoever walks, while the application
 * stands. */
#ifndef DRDOTNET_HEAP_OBJECTS_H
#define DRDOTNET_HEAP_OBJECTS_H

#include "profiler/cor_heap_abi.h"
#include "profiler/heap_classes.h"
#include "profiler/heap_sink.h"
#include "profiler/string_digest.h"

struct heap_objects {
	void *info;
	struct heap_sink *sink;
	const struct string_digest_key *key; /* NULL: no digests */
	bool reveal;
	hresult code;          /* of the runtime's refusal */
	cor_id lowest, highest; /* of what was met */
	struct heap_class *last;
	bool ranges;           /* tell those that the objects lie in */
	struct cor_generation_range range; /* of the last object */
};

/* false: the walk is over, see sink->status. */
bool heap_objects_put(struct heap_objects *h, cor_id object);
/* The same where the runtime gives the targets with the object (on .NET 8). */
bool heap_objects_put_given(struct heap_objects *h, cor_id object, uint32_t count, const cor_id *targets);

#endif
