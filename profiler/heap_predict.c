/* Context: own thread. */
#include "profiler/heap_predict.h"

#include "profiler/heap_collection.h"
#include "profiler/heap_objects.h"
#include "profiler/heap_stop.h"
#include "profiler/now.h"

#include <fcntl.h>
#include <unistd.h>

#define PROBE_NS 8000000u
#define READ_PART 4u /* of it */
#define LOOK_AT_CLOCK 4096u /* objects */
#define SHARED_BY 4u /* at most so many at a processor are expected */
/* Measured (docs/profilers/heap-walk.md), on the side of too long: writing and the agent's copying beside a walk into nothing; a forced
 * collection with its roots beside a walk; either where no look is possible, by a heap of small objects. */
#define WALK_PERCENT 150u
#define COLLECTION_PERCENT 450u
#define TYPES_PERCENT 130u
#define NS_PER_KB_COLLECTION 2000u /* with the objects, on .NET 8 */

void heap_predict_from(const struct heap_probe *p, struct heap_prediction *out)
{
	double walk_ns = 0, types_ns = 0, all = 0, collection_ns = (double)p->small_bytes / 1024 * NS_PER_KB_COLLECTION;

	if (p->read_objects) {
		double objects = (double)p->objects, seen = (double)p->bytes;
		if (!p->whole && (double)p->small_bytes > seen)
			objects *= (double)p->small_bytes / seen;
		double read_ns = (double)p->read_ns / (double)p->read_objects * objects;
		all = objects;
		walk_ns = read_ns * WALK_PERCENT / 100;
		types_ns = p->count_objects ? (double)p->count_ns / (double)p->count_objects * objects * TYPES_PERCENT / 100 : walk_ns;
		collection_ns = read_ns * COLLECTION_PERCENT / 100;
	}
	out->walk_us = (uint64_t)(walk_ns / 1000);
	out->collection_us = (uint64_t)(collection_ns / 1000);
	out->types_us = (uint64_t)(types_ns / 1000);
	out->objects = (uint64_t)all;
	out->heap_bytes = p->whole ? p->bytes : p->heap_bytes;
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

struct look {
	struct heap_objects objects;
	struct heap_probe *probe;
	uint64_t begin_ns, begin_cpu_ns, probe_ns;
	bool counting, over;
};

static uint32_t heaps = 1;

uint32_t heap_predict_heaps(void)
{
	return heaps;
}

/* So far, but for what others had of the processor: a look is short, and to be kept waiting once in it says nothing of the walk. */
static uint64_t took_ns(const struct look *k)
{
	uint64_t wall_ns = now_ns() - k->begin_ns, cpu_ns = now_of(CLOCK_THREAD_CPUTIME_ID) - k->begin_cpu_ns;

	return wall_ns < SHARED_BY * cpu_ns ? wall_ns : SHARED_BY * cpu_ns;
}

static bool count(struct look *k, cor_id object)
{
	struct heap_probe *p = k->probe;
	const struct heap_class *c = heap_classes_find(object_class(object));

	p->objects++;
	if (c)
		p->bytes += heap_class_size(c, object);
	k->over = p->objects % LOOK_AT_CLOCK == 0 && now_ns() - k->begin_ns >= k->probe_ns;
	return !k->over;
}

static int32_t on_object(cor_id object, void *ctx)
{
	struct look *k = ctx;
	struct heap_probe *p = k->probe;

	if (k->over) { /* the runtime goes on with the next heap */
		heaps++;
		return false;
	}
	if (k->counting)
		return count(k, object);
	if (heap_objects_put(&k->objects, object))
		return true;
	if (k->objects.sink->status != HEAP_WALKED_LATE)
		return false;
	p->read_ns = took_ns(k);
	p->read_objects = p->objects = k->objects.sink->w.objects;
	p->bytes = k->objects.sink->w.bytes;
	k->counting = true;
	return count(k, object);
}

static void look(void *info, void *info15, struct heap_sink *sink, uint64_t probe_ns, struct heap_probe *p)
{
	static uint8_t scratch[HEAP_RING_BLOCK_BYTES];
	struct look k = {.objects = {.info = info, .sink = sink}, .probe = p, .probe_ns = probe_ns};
	struct heap_stop stop;

	heap_classes_reset();
	heaps = 1;
	heap_stop_settle(sink->agent_fd);
	if (heap_stop_begin(info, &stop, sink->agent_fd) < 0)
		return;
	k.begin_cpu_ns = now_of(CLOCK_THREAD_CPUTIME_ID);
	k.begin_ns = now_ns();
	heap_sink_begin(sink, k.begin_ns + probe_ns / READ_PART, scratch);
	hresult hr = heap_collection_under_way() ? COR_E_FAIL : info15_enumerate_gc_heap_objects(info15, on_object, &k);
	uint64_t ns = now_ns() - k.begin_ns, read_ns = took_ns(&k);
	if (k.counting) {
		p->count_ns = read_ns - p->read_ns;
		p->count_objects = p->objects - p->read_objects;
	}
	heap_stop_end(info, &stop);
	if (hr < 0)
		*p = (struct heap_probe){.heap_bytes = p->heap_bytes, .small_bytes = p->small_bytes};
	else
		p->whole = ns < probe_ns;
	if (hr >= 0 && !k.counting) {
		p->read_ns = read_ns;
		p->read_objects = p->objects = sink->w.objects;
		p->bytes = sink->w.bytes;
	}
}

void heap_predict(void *info, struct heap_sink *sink, uint32_t flags, uint64_t budget_us, struct heap_prediction *out)
{
	struct heap_probe p = {0};
	void *info15 = NULL;

	/* the runtime's bounds are those of the last collection that it told us of */
	if (heap_collection_count())
		heap_stop_heap_bytes(info, &p.heap_bytes, &p.small_bytes);
	if (!p.heap_bytes)
		p.heap_bytes = p.small_bytes = resident_bytes();
	uint64_t begin_ns = now_ns(), half_ns = budget_us * 500;
	cor_query(info, &cor_iid_info15, &info15);
	if (info15)
		look(info, info15, sink, half_ns && half_ns < PROBE_NS ? half_ns : PROBE_NS, &p);
	heap_predict_from(&p, out);
	out->probe_us = info15 ? (now_ns() - begin_ns) / 1000 : 0;
	out->flags = flags | (info15 ? HEAP_CAN_WALK : 0u);
	cor_release(info15);
}
