/* Context: own thread. */
#include "profiler/heap/heap_predict.h"

#include "common/proto/difference.h"
#include "profiler/heap/heap_collection.h"
#include "profiler/heap/heap_objects.h"
#include "profiler/heap/heap_stacks.h"
#include "profiler/heap/heap_stop.h"
#include "profiler/base/now.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define LOOK_NS 8000000u       /* at least, as far as the budget allows it */
#define LOOK_MAX_US 1000000u   /* whatever is asked for */
#define BUDGET_MAX_US 3600000000u
#define LONGEST_NS 125000000u  /* where any budget will do */
#define LONGEST_PART 4u        /* of the budget */
#define READ_PART 4u           /* of its processor time */
#define WAITED_TIMES 2u        /* as long as its processor time: then it makes an end when it can */
#define STACKS_PART 8u         /* of its processor time, before */
#define LEAST_READ 8192u       /* objects: with fewer, the first touch of each page weighs more than they do */
#define LEAST_SEEN 32768u
#define LOOK_AT_CLOCK 4096u /* objects */
#define READ_AT_CLOCK 2048u /* the same while they are read */
/* Measured (docs/profilers/heap-walk.md), of a walk: beside a look, which writes into the same block again and again; on the side of too long: a forced
 * collection with its roots beside a look; either where no look is possible, by a heap of small objects. */
#define WALK_PERCENT 110u
#define COLLECTION_PERCENT 450u
#define TYPES_PERCENT 130u
#define COLLECTION_STACKS_PERCENT 400u /* a collection goes along them several times */
#define NS_PER_KB_COLLECTION 2000u /* with the objects, on .NET 8 */

static uint64_t min_of(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

uint64_t heap_look_ns(const struct heap_predict_request *q)
{
	uint64_t ns = min_of(q->look_us, LOOK_MAX_US) * 1000, half_ns = min_of(q->budget_us, BUDGET_MAX_US) * 500;

	if (ns < LOOK_NS)
		ns = LOOK_NS;
	return half_ns && half_ns < ns ? half_ns : ns;
}

uint64_t heap_look_longest_ns(const struct heap_predict_request *q)
{
	uint64_t ns = q->budget_us ? min_of(q->budget_us, BUDGET_MAX_US) * 1000 / LONGEST_PART : LONGEST_NS, look_ns = heap_look_ns(q);

	return ns < look_ns ? look_ns : ns;
}

enum heap_look_step heap_look_next(const struct heap_look_progress *p)
{
	uint64_t read_ns = p->look_ns / READ_PART;
	bool waited = p->wall_ns >= p->look_ns * WAITED_TIMES;

	if (p->cpu_ns >= p->look_ns || p->wall_ns >= p->longest_ns || (waited && p->objects >= LEAST_SEEN))
		return HEAP_LOOK_END;
	if (p->counting || p->cpu_ns >= read_ns * 2)
		return HEAP_LOOK_COUNT;
	return p->cpu_ns >= read_ns && p->objects >= LEAST_READ ? HEAP_LOOK_COUNT : HEAP_LOOK_READ;
}

/* A look that was kept from running has seen nothing to go by. */
static bool saw_too_little(const struct heap_probe *p)
{
	return !p->read_objects || (!p->whole && p->read_objects < LEAST_READ && p->read_ns < p->look_ns / READ_PART);
}

void heap_predict_from(const struct heap_probe *p, struct heap_prediction *out)
{
	double walk_ns = 0, types_ns = 0, all = 0, collection_ns = (double)p->small_bytes / 1024 * NS_PER_KB_COLLECTION;

	if (!saw_too_little(p)) {
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
	struct heap_look_progress progress;
	uint64_t begin_ns, begin_cpu_ns;
	bool over;
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

static enum heap_look_step look_at_clock(struct look *k, uint64_t objects)
{
	struct heap_look_progress *p = &k->progress;
	uint64_t classes_ns = k->objects.classes_ns;

	p->cpu_ns = difference(took_ns(k), classes_ns < p->look_ns ? classes_ns : p->look_ns);
	p->wall_ns = difference(now_ns(), k->begin_ns);
	p->objects = objects;
	return heap_look_next(p);
}

static bool count_probed(struct look *k, cor_id object)
{
	struct heap_probe *p = k->probe;
	const struct heap_class *c = heap_classes_find(object_class(object));

	p->objects++;
	if (c)
		p->bytes += heap_class_size(c, object);
	k->over = p->objects % LOOK_AT_CLOCK == 0 && look_at_clock(k, p->objects) == HEAP_LOOK_END;
	return !k->over;
}

static void stop_reading(struct look *k)
{
	struct heap_probe *p = k->probe;

	p->classes_ns = k->objects.classes_ns;
	p->read_ns = difference(took_ns(k), p->classes_ns);
	p->read_objects = p->objects = k->objects.sink->w.objects;
	p->bytes = k->objects.sink->w.bytes;
	k->progress.counting = true;
}

static bool read_probed(struct look *k, cor_id object)
{
	const struct heap_sink *sink = k->objects.sink;
	bool put = heap_objects_put(&k->objects, object);

	if (put && sink->w.objects % READ_AT_CLOCK)
		return true;
	if (!put && sink->status != HEAP_WALKED_LATE)
		return false;
	enum heap_look_step next = look_at_clock(k, sink->w.objects);
	if (put && next == HEAP_LOOK_READ)
		return true;
	stop_reading(k);
	k->over = !put || next == HEAP_LOOK_END; /* late: its stop has lasted for as long as it may */
	return !k->over;
}

static int32_t on_probed_object(cor_id object, void *ctx)
{
	struct look *k = ctx;

	if (k->over) { /* the runtime goes on with the next heap */
		heaps++;
		return false;
	}
	return k->progress.counting ? count_probed(k, object) : read_probed(k, object);
}

/* Returns how long the application stood for it. */
static uint64_t probe_heap(void *info, void *info15, struct heap_sink *sink, const struct heap_predict_request *q, struct heap_probe *p)
{
	static uint8_t scratch[HEAP_RING_BLOCK_BYTES];
	struct look k = {.objects = {.info = info, .sink = sink, .timed = true}, .probe = p};
	struct heap_stop stop;

	k.progress.look_ns = p->look_ns = heap_look_ns(q);
	k.progress.longest_ns = heap_look_longest_ns(q);
	heap_classes_reset();
	memset(scratch, 0, sizeof scratch); /* pages that are touched first in the stop are no part of a walk */
	heaps = 1;
	heap_stop_settle(sink->agent_fd);
	if (heap_stop_begin(info, &stop, sink->agent_fd) < 0)
		return 0;
	uint64_t stacks_ns = p->stacks_ns = heap_stacks_look(info, p->look_ns / STACKS_PART);
	k.begin_cpu_ns = now_of(CLOCK_THREAD_CPUTIME_ID);
	k.begin_ns = now_ns();
	heap_sink_begin(sink, k.begin_ns + k.progress.longest_ns, scratch);
	bool can_look = info15 && heap_stop_settled();
	hresult hr = can_look ? info15_enumerate_gc_heap_objects(info15, on_probed_object, &k) : COR_E_FAIL;
	if (!k.progress.counting)
		stop_reading(&k);
	p->wall_ns = difference(now_ns(), k.begin_ns);
	p->cpu_ns = took_ns(&k);
	uint64_t stop_ns = heap_stop_end(info, &stop);
	p->count_ns = difference(p->cpu_ns, p->read_ns + p->classes_ns);
	p->count_objects = difference(p->objects, p->read_objects);
	if (hr < 0)
		*p = (struct heap_probe){.heap_bytes = p->heap_bytes, .small_bytes = p->small_bytes, .stacks_ns = stacks_ns};
	p->looked = hr >= 0;
	p->whole = p->looked && !k.over;
	return stop_ns;
}

void heap_predict(void *info, struct heap_sink *sink, uint32_t flags, const struct heap_predict_request *q, struct heap_prediction *out)
{
	struct heap_probe p = {0};
	void *info15 = NULL;

	/* the runtime's bounds are those of the last collection that it told us of */
	if (heap_collection_count())
		heap_stop_heap_bytes(info, &p.heap_bytes, &p.small_bytes);
	if (!p.heap_bytes)
		p.heap_bytes = p.small_bytes = own_resident_bytes();
	cor_query(info, &cor_iid_info15, &info15);
	uint64_t stop_ns = probe_heap(info, info15, sink, q, &p);
	heap_predict_from(&p, out);
	out->probe_us = stop_ns / 1000;
	out->flags = flags | (info15 ? HEAP_CAN_WALK : 0u) | (p.looked ? HEAP_QUIET : 0u);
	cor_release(info15);
}
