/* Context: own thread. */
#include "profiler/heap_predict.h"

#include "profiler/heap_objects.h"
#include "profiler/heap_stop.h"
#include "profiler/now.h"

#include <fcntl.h>
#include <unistd.h>

#define PROBE_NS 2000000u
/* Measured (docs/profilers/heap-walk.md), on the side of too long: writing and the agent's copying beside a walk into nothing; a forced
 * collection with its roots beside a walk; either where no look is possible, by a heap of small objects. */
#define WALK_PERCENT 160u
#define COLLECTION_PERCENT 450u
#define NS_PER_KB_COLLECTION 2500u /* with the objects, on .NET 8 */
#define NS_PER_KB_WALK 500u

void heap_predict_from(const struct heap_probe *p, struct heap_prediction *out)
{
	uint64_t walk_ns = p->small_bytes / 1024 * NS_PER_KB_WALK, collection_ns = p->small_bytes / 1024 * NS_PER_KB_COLLECTION;

	if (p->bytes) {
		uint64_t look_ns = p->whole ? p->ns : (uint64_t)((double)p->small_bytes / (double)p->bytes * (double)p->ns);
		if (look_ns < p->ns)
			look_ns = p->ns;
		walk_ns = look_ns * WALK_PERCENT / 100;
		collection_ns = look_ns * COLLECTION_PERCENT / 100;
	}
	out->walk_us = walk_ns / 1000;
	out->collection_us = collection_ns / 1000;
	out->heap_bytes = p->heap_bytes;
}

/* Resident memory of its own: what the heap is at most. */
static uint64_t resident_bytes(void)
{
	char line[128];
	uint64_t fields[3] = {0};
	int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC), field = 0;
	ssize_t n = fd < 0 ? 0 : read(fd, line, sizeof line);

	if (fd >= 0)
		close(fd);
	for (ssize_t i = 0; i < n && field < 3; i++) {
		if (line[i] >= '0' && line[i] <= '9')
			fields[field] = fields[field] * 10 + (uint64_t)(line[i] - '0');
		else
			field++;
	}
	return fields[1] > fields[2] ? (fields[1] - fields[2]) * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

static int32_t on_object(cor_id object, void *ctx)
{
	return heap_objects_put(ctx, object);
}

static void look(void *info, void *info15, struct heap_sink *sink, struct heap_probe *p)
{
	static uint8_t scratch[HEAP_RING_BLOCK_BYTES];
	struct heap_objects objects = {.info = info, .sink = sink};
	struct heap_stop stop;

	heap_classes_reset();
	if (heap_stop_begin(info, &stop, sink->agent_fd) < 0)
		return;
	uint64_t begin_ns = now_ns();
	heap_sink_begin(sink, begin_ns + PROBE_NS, scratch);
	hresult hr = info15_enumerate_gc_heap_objects(info15, on_object, &objects);
	p->ns = now_ns() - begin_ns;
	if (hr >= 0) {
		p->bytes = sink->w.bytes;
		p->whole = !sink->w.bad;
	}
	heap_stop_end(info, &stop);
}

void heap_predict(void *info, struct heap_sink *sink, bool may_collect, struct heap_prediction *out)
{
	struct heap_probe p = {0};
	void *info15 = NULL;

	heap_stop_heap_bytes(info, &p.heap_bytes, &p.small_bytes);
	if (!p.heap_bytes)
		p.heap_bytes = p.small_bytes = resident_bytes();
	cor_query(info, &cor_iid_info15, &info15);
	if (info15)
		look(info, info15, sink, &p);
	heap_predict_from(&p, out);
	out->probe_us = p.ns / 1000;
	out->flags = (may_collect ? HEAP_CAN_COLLECT : 0u) | (info15 ? HEAP_CAN_WALK : 0u);
	cor_release(info15);
}
