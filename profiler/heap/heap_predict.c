/* Context: own thread. */
#include "profiler/heap/heap_predict.h"

#include "common/proto/difference.h"
#include "profiler/heap/heap_collection.h"
#include "profiler/heap/heap_objects.h"
#include "profiler/heap/heap_stacks.h"
#include "profiler/heap/heap_stop.h"
#include "profiler/base/now.h"

#include <fcntl.h>
#include <unistd.h>

#define PROBE_NS 8000000u
#define READ_PART 4u /* of it, in processor time */
#define READ_END(ns) ((ns) / 4 * 3)
#define STACKS_PART 8u /* of it, before */
#define LOOK_AT_CLOCK 4096u /* objects */
/* Measured (docs/profilers/heap-walk.md), of a walk: beside a look, which writes into the same block again and again; on the side of too long: a forced
 * collection with its roots beside a look; either where no look is possible, by a heap of small objects. */
#define WALK_PERCENT 110u
#define COLLECTION_PERCENT 450u
#define TYPES_PERCENT 130u
#define COLLECTION_STACKS_PERCENT 400u /* a collection goes along them several times */
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
		walk_ns = read_ns * WALK_PERCENT / 100 + (double)p->classes_ns;
		types_ns = p->count_objects ? (double)p->count_ns / (double)p->count_objects * objects * TYPES_PERCENT / 100 : walk_ns;
		collection_ns = read_ns * COLLECTION_PERCENT / 100;
	}
	collection_ns += (double)p->stacks_ns * COLLECTION_STACKS_PERCENT / 100;
	out->stacks_us = p->stacks_ns / 1000;
	out->walk_us = (uint64_t)(walk_ns / 1000);
	out->collection_us = (uint64_t)(collection_ns / 1000);
	out->types_us = (uint64_t)(types_ns / 1000);
	out->objects = (uint64_t)all;
	out->heap_bytes = p->whole ? p->bytes : p->heap_bytes;
	out->look_us = p->wall_ns / 1000;
	out->look_cpu_us = p->cpu_ns / 1000;
}

/* Resident memory of its own: what the heap is at most. */
static uint64_t own_resident_bytes(void)
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

static uint64_t took_ns(const struct look *k)
{
	return difference(now_of(CLOCK_THREAD_CPUTIME_ID), k->begin_cpu_ns);
}

static bool count_probed(struct look *k, cor_id object)
{
	struct heap_probe *p = k->probe;
	const struct heap_class *c = heap_classes_find(object_class(object));

	p->objects++;
	if (c)
		p->bytes += heap_class_size(c, object);
	k->over = p->objects % LOOK_AT_CLOCK == 0 && difference(now_ns(), k->begin_ns) >= k->probe_ns;
	return !k->over;
}

static void stop_reading(struct look *k)
{
	struct heap_probe *p = k->probe;

	p->classes_ns = k->objects.classes_ns;
	p->read_ns = difference(took_ns(k), p->classes_ns);
	p->read_objects = p->objects = k->objects.sink->w.objects;
	p->bytes = k->objects.sink->w.bytes;
	k->counting = true;
}

static int32_t on_probed_object(cor_id object, void *ctx)
{
	struct look *k = ctx;

	if (k->over) { /* the runtime goes on with the next heap */
		heaps++;
		return false;
	}
	if (k->counting)
		return count_probed(k, object);
	bool put = heap_objects_put(&k->objects, object), late = k->objects.sink->status == HEAP_WALKED_LATE;
	if (put && (k->objects.sink->w.objects % LOOK_AT_CLOCK || took_ns(k) < k->probe_ns / READ_PART))
		return true;
	if (put || late)
		stop_reading(k);
	return put || (late && count_probed(k, object));
}

/* Returns how long the application stood for it. */
static uint64_t probe_heap(void *info, void *info15, struct heap_sink *sink, uint64_t probe_ns, struct heap_probe *p)
{
	static uint8_t scratch[HEAP_RING_BLOCK_BYTES];
	struct look k = {.objects = {.info = info, .sink = sink, .timed = true}, .probe = p, .probe_ns = probe_ns};
	struct heap_stop stop;

	heap_classes_reset();
	heaps = 1;
	heap_stop_settle(sink->agent_fd);
	if (heap_stop_begin(info, &stop, sink->agent_fd) < 0)
		return 0;
	uint64_t stacks_ns = p->stacks_ns = heap_stacks_look(info, now_ns() + probe_ns / STACKS_PART);
	k.begin_cpu_ns = now_of(CLOCK_THREAD_CPUTIME_ID);
	k.begin_ns = now_ns();
	heap_sink_begin(sink, k.begin_ns + READ_END(probe_ns), scratch);
	bool can_look = info15 && heap_stop_settled();
	hresult hr = can_look ? info15_enumerate_gc_heap_objects(info15, on_probed_object, &k) : COR_E_FAIL;
	if (!k.counting)
		stop_reading(&k);
	p->wall_ns = difference(now_ns(), k.begin_ns);
	p->cpu_ns = took_ns(&k);
	uint64_t stop_ns = heap_stop_end(info, &stop);
	p->count_ns = difference(p->cpu_ns, p->read_ns + p->classes_ns);
	p->count_objects = difference(p->objects, p->read_objects);
	if (hr < 0)
		*p = (struct heap_probe){.heap_bytes = p->heap_bytes, .small_bytes = p->small_bytes, .stacks_ns = stacks_ns};
	else
		p->whole = !k.over;
	return stop_ns;
}

void heap_predict(void *info, struct heap_sink *sink, uint32_t flags, uint64_t budget_us, struct heap_prediction *out)
{
	struct heap_probe p = {0};
	void *info15 = NULL;

	/* the runtime's bounds are those of the last collection that it told us of */
	if (heap_collection_count())
		heap_stop_heap_bytes(info, &p.heap_bytes, &p.small_bytes);
	if (!p.heap_bytes)
		p.heap_bytes = p.small_bytes = own_resident_bytes();
	uint64_t half_ns = budget_us * 500;
	cor_query(info, &cor_iid_info15, &info15);
	uint64_t stop_ns = probe_heap(info, info15, sink, half_ns && half_ns < PROBE_NS ? half_ns : PROBE_NS, &p);
	heap_predict_from(&p, out);
	out->probe_us = stop_ns / 1000;
	out->flags = flags | (info15 ? HEAP_CAN_WALK : 0u) | (p.read_objects ? HEAP_QUIET : 0u);
	cor_release(info15);
}
