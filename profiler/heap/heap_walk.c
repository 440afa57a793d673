/* Context: own thread; at_collection_end: CLR callback of the collection that it waits for. */
#include "profiler/heap/heap_walk.h"

#include "common/proto/difference.h"
#include "profiler/clr/event_mask.h"
#include "profiler/heap/handle_tables.h"
#include "profiler/heap/heap_census.h"
#include "profiler/heap/heap_collection.h"
#include "profiler/heap/heap_gaps.h"
#include "profiler/heap/heap_methods.h"
#include "profiler/heap/heap_names.h"
#include "profiler/heap/heap_nested.h"
#include "profiler/heap/heap_objects.h"
#include "profiler/heap/heap_predict.h"
#include "profiler/heap/heap_stacks.h"
#include "profiler/heap/heap_statics.h"
#include "profiler/heap/heap_stop.h"
#include "profiler/heap/heap_sweep.h"
#include "profiler/heap/heap_threads.h"
#include "profiler/heap/heap_values.h"
#include "profiler/clr/module_guard.h"
#include "profiler/base/now.h"
#include "profiler/base/own_memory.h"
#include "profiler/base/pause_watch.h"
#include "profiler/clr/runtime_known.h"

#include <errno.h>

#define ANY_BUDGET_US 3600000000u
#define OWNERS_PART 8u          /* of the longest stop: for the threads' names */
#define ROOTS_PARTS(ns) ((ns) / 16 * 15) /* until then roots are read whose lack can be said */
#define AFTERWARDS_NS 5000000000u /* for what is told when the application runs again */

static struct heap_sink sink;
static struct string_digest_key key;
static bool may_collect, is_main;
static uint32_t unloads; /* module_guard's, before the last walk */

struct walk {
	void *info, *info15; /* NULL: objects only at the end of a collection */
	uint16_t major; /* of the runtime */
	struct heap_walk_request request;
	struct heap_objects objects;
	struct heap_census census;
	uint64_t budget_ns;
	uint64_t roots_end_ns, owners_end_ns; /* CLOCK_MONOTONIC */
	bool may_peek; /* into the runtime's own tables */
	struct heap_walked answer;
};

bool heap_walk_wants_gc(void *info)
{
	void *info15 = NULL;

	cor_query(info, &cor_iid_info15, &info15);
	cor_release(info15);
	return !info15;
}

void heap_walk_reset(void *info, bool collections, bool alone)
{
	may_collect = collections;
	is_main = alone;
	heap_stop_reset(may_collect);
	heap_collection_reset();
	heap_classes_begin(info);
	if (may_collect) /* for one collection at a time, when it is asked for */
		event_mask_remove(info, COR_MONITOR_GC, 0);
}

void heap_walk_close(void)
{
	heap_sink_unmap(&sink);
}

/* The walk ------------------------------------------------------------------------------------------------------------------ */

static int32_t on_walked_object(cor_id object, void *ctx)
{
	return heap_objects_put(ctx, object);
}

static void refuse_walk(struct walk *k, hresult code)
{
	if (sink.status == HEAP_WALKED_WHOLE)
		sink.status = HEAP_WALKED_REFUSED;
	k->answer.code = (uint32_t)code;
}

/* The stream's end says that it is whole. */
static void finish_stream(void)
{
	if (sink.status != HEAP_WALKED_WHOLE || sink.w.bad)
		return;
	if (heap_put_end(&sink.w, true, 0))
		heap_sink_end(&sink);
	else if (sink.status == HEAP_WALKED_WHOLE)
		sink.status = HEAP_WALKED_NO_ROOM;
}

/* On .NET 8. */
static void at_collection_end(void *ctx)
{
	struct walk *k = ctx;
	struct heap_writer *w = &sink.w;

	heap_stop_find_frozen(k->info);
	if (heap_sweep(&k->objects) && heap_collection_put_roots(w) && heap_statics_put(k->info, &sink, 0) && heap_stop_put_ranges(k->info, w) &&
	    heap_stop_put_frozen_roots(w))
		finish_stream();
}

static bool put_heap_roots(struct walk *k)
{
	struct heap_writer *w = &sink.w;
	bool exact = k->request.flags & HEAP_WALK_COLLECT;

	if (!heap_statics_put(k->info, &sink, k->roots_end_ns) || !heap_stop_put_frozen_roots(w))
		return false;
	if (exact)
		return heap_collection_put_roots(w);
	if (k->may_peek && !handle_tables_put(w, k->roots_end_ns))
		return false;
	uint64_t begin_ns = now_ns();
	bool put = heap_stacks_put(k->info, w, k->objects.lowest, k->objects.highest, k->roots_end_ns);
	k->answer.stacks_us = difference(now_ns(), begin_ns) / 1000;
	return put;
}

/* One in the background makes free space of objects while one looks. */
static bool can_look(const struct walk *k)
{
	bool can = heap_stop_settled() && !(k->request.flags & HEAP_WALK_COLLECT && heap_collection_void());

	if (!can)
		sink.status = HEAP_WALKED_MOVED;
	return can;
}

/* true: all of it was read. */
static bool look_at_heap(struct walk *k)
{
	bool exact = k->request.flags & HEAP_WALK_COLLECT;

	if (!can_look(k))
		return false;
	heap_threads_list(k->info);
	if (!exact && heap_threads_all() > heap_threads_count())
		heap_gaps_note(HEAP_GAP_THREADS, heap_threads_all(), heap_threads_count());
	heap_stop_find_frozen(k->info);
	if (exact)
		heap_stacks_owners(k->info, k->owners_end_ns);
	k->objects.ranges = true;
	hresult hr = info15_enumerate_gc_heap_objects(k->info15, on_walked_object, &k->objects);
	if (hr < 0)
		refuse_walk(k, hr);
	return hr >= 0 && !sink.w.bad && put_heap_roots(k);
}

/* Of the budget, for a stop that begins now. */
static uint64_t left_ns(const struct walk *k)
{
	uint64_t felt_ns = pause_watch_felt();

	return felt_ns < k->budget_ns ? k->budget_ns - felt_ns : 0;
}

static bool begin_stop(struct walk *k, struct heap_stop *stop)
{
	bool settled = heap_stop_settle(sink.agent_fd);
	hresult hr = settled ? heap_stop_begin(k->info, stop, sink.agent_fd) : COR_E_FAIL;

	if (!settled || hr == COR_E_SUSPENSION_IN_PROGRESS) /* the application's collections leave no gap now: another time they may */
		sink.status = HEAP_WALKED_MOVED;
	else if (hr < 0)
		refuse_walk(k, hr);
	return hr >= 0;
}

static void walk_in_stop(struct walk *k)
{
	struct heap_stop stop;

	if (!begin_stop(k, &stop))
		return;
	uint64_t longest_ns = left_ns(k);
	sink.deadline_ns = stop.begin_ns + longest_ns;
	k->roots_end_ns = stop.begin_ns + ROOTS_PARTS(longest_ns);
	k->owners_end_ns = stop.begin_ns + longest_ns / OWNERS_PART;
	uint64_t cpu_ns = now_of(CLOCK_THREAD_CPUTIME_ID);
	bool whole = look_at_heap(k);
	k->answer.walk_cpu_us = difference(now_of(CLOCK_THREAD_CPUTIME_ID), cpu_ns) / 1000;
	k->answer.walk_us = heap_stop_end(k->info, &stop) / 1000;
	sink.deadline_ns = now_ns() + AFTERWARDS_NS;
	if (whole && heap_threads_put(&sink.w) && (!k->objects.values || heap_methods_put(k->info, &sink.w)))
		finish_stream();
}

static void count_types(struct walk *k)
{
	struct heap_census *c = &k->census;
	struct heap_stop stop;

	*c = (struct heap_census){.info = k->info, .sink = &sink, .heaps = heap_predict_heaps()};
	heap_census_prepare();
	if (!begin_stop(k, &stop))
		return;
	c->begin_ns = now_ns();
	c->end_ns = stop.begin_ns + left_ns(k);
	sink.deadline_ns = c->end_ns + AFTERWARDS_NS;
	uint64_t cpu_ns = now_of(CLOCK_THREAD_CPUTIME_ID);
	bool counted = can_look(k) && heap_census_walk(c, k->info15);
	k->answer.walk_cpu_us = difference(now_of(CLOCK_THREAD_CPUTIME_ID), cpu_ns) / 1000;
	k->answer.walk_us = heap_stop_end(k->info, &stop) / 1000;
	sink.deadline_ns = now_ns() + AFTERWARDS_NS;
	k->answer.code = (uint32_t)c->code;
	if (counted && heap_census_put(c))
		finish_stream();
	if (c->part && sink.status == HEAP_WALKED_WHOLE)
		sink.status = HEAP_WALKED_PART;
}

/* After one stop that was too long there is no other. */
static bool walk_over_budget(void)
{
	struct channel_pause p;
	bool over = pause_watch_exceeded(&p);

	if (over && sink.status == HEAP_WALKED_WHOLE)
		sink.status = HEAP_WALKED_LATE;
	return over;
}

static bool force_collection(struct walk *k)
{
	uint64_t ns;
	hresult hr = heap_stop_collect(k->info, &ns);

	k->answer.collection_us = ns / 1000;
	if (hr < 0)
		refuse_walk(k, hr);
	else if (!walk_over_budget() && !heap_collection_told())
		sink.status = sink.status ? sink.status : HEAP_WALKED_MOVED;
	return hr >= 0 && sink.status == HEAP_WALKED_WHOLE;
}

static void walk_exactly(struct walk *k)
{
	bool sweeps = !k->info15;

	hresult hr = event_mask_add(k->info, COR_MONITOR_GC, 0);
	if (hr < 0) {
		refuse_walk(k, hr);
		return;
	}
	heap_collection_arm(&sink, sweeps ? at_collection_end : NULL, k);
	if (force_collection(k) && !sweeps)
		walk_in_stop(k);
	heap_collection_disarm();
	event_mask_remove(k->info, COR_MONITOR_GC, 0);
}

/* Beside another profiler the runtime cannot be asked to do without collections in the background: where they do not come to an end, a full one
 * waits for that. */
static void walk_at_once(struct walk *k)
{
	uint64_t ns;

	if (!is_main && !heap_stop_settle(sink.agent_fd) && heap_stop_collect(k->info, &ns) >= 0)
		k->answer.collection_us = ns / 1000;
	if (!walk_over_budget())
		walk_in_stop(k);
}

static void prepare_walk(struct walk *k)
{
	heap_classes_reset();
	heap_stop_find_frozen(k->info);
	heap_nested_begin(k->info);
	unloads = module_guard_unloads();
	if (k->request.flags & HEAP_WALK_TYPES)
		return;
	heap_threads_forget();
	heap_statics_find(k->info, k->may_peek);
	heap_stacks_prepare();
	if (!(k->request.flags & HEAP_WALK_COLLECT) && k->may_peek)
		handle_tables_find(k->info);
	k->objects.values = k->request.flags & HEAP_WALK_VALUES && heap_values_find(k->info);
	if (k->request.flags & HEAP_WALK_STRINGS) {
		string_digest_key_make(&key, k->request.seed);
		k->objects.key = &key;
		k->objects.reveal = k->request.flags & HEAP_WALK_REVEAL;
	}
}

static void walk_prepared(struct walk *k)
{
	if (!heap_sink_begin(&sink, now_ns() + left_ns(k), NULL))
		return;
	if (k->request.flags & HEAP_WALK_TYPES)
		count_types(k);
	else if (k->request.flags & HEAP_WALK_COLLECT)
		walk_exactly(k);
	else
		walk_at_once(k);
	heap_sink_end(&sink);
	k->answer.felt_us = pause_watch_felt() / 1000;
	if (k->objects.code < 0)
		k->answer.code = (uint32_t)k->objects.code;
}

static void run_heap_walk(struct walk *k)
{
	heap_gaps_reset();
	k->may_peek = own_memory_open();
	if (!k->may_peek)
		heap_gaps_note(HEAP_GAP_MEMORY, 0, 0);
	if (!runtime_known(k->major))
		heap_gaps_note(HEAP_GAP_RUNTIME, RUNTIME_NEWEST, k->major);
	k->may_peek &= runtime_known(k->major);
	prepare_walk(k);
	walk_prepared(k);
	own_memory_close();
	heap_gaps_tell(&k->answer);
}

/* Requests ------------------------------------------------------------------------------------------------------------------ */
/* Before the answer: who reads that knows then that the library leaves. */
static void say_pause(struct channel_io *io)
{
	struct channel_pause p;

	if (!pause_watch_exceeded(&p))
		return;
	channel_put_pause(channel_io_begin(io, CHANNEL_PAUSE), &p);
	channel_io_end(io);
}

static void answer_ring(struct channel_io *io)
{
	int fd = channel_io_take_fd(io), error = fd < 0 ? EBADF : heap_sink_map_take(&sink, fd);

	if (error) {
		channel_io_refuse(io, HEAP_FRAME_RING, (uint32_t)error, "the ring's memory cannot be mapped");
		return;
	}
	channel_io_begin(io, HEAP_FRAME_RING_READY);
	channel_io_end(io);
}

static bool possible(const struct walk *k)
{
	if (k->request.flags & HEAP_WALK_TYPES)
		return is_main && k->info15 && k->request.flags == HEAP_WALK_TYPES;
	return k->request.flags & HEAP_WALK_COLLECT ? may_collect && (k->info15 || runtime_sweepable(k->major)) : k->info15 != NULL;
}

static bool answer_walk(void *info, const struct channel_frame *request, struct channel_io *io)
{
	struct walk k = {.info = info};

	if (!heap_get_walk_request(request, &k.request))
		return false;
	uint16_t minor, build;
	cor_query(info, &cor_iid_info15, &k.info15);
	info_get_runtime_information(info, &k.major, &minor, &build);
	k.objects = (struct heap_objects){.info = info, .sink = &sink};
	k.budget_ns = (k.request.budget_us ? k.request.budget_us : ANY_BUDGET_US) * 1000;
	sink.agent_fd = io->fd;
	if (!sink.ring)
		channel_io_refuse(io, request->type, EBADF, "a walk needs a ring");
	else if (!possible(&k))
		channel_io_refuse(io, request->type, EOPNOTSUPP, "this way is not possible here");
	else {
		run_heap_walk(&k);
		say_pause(io);
		k.answer.status = sink.status;
		heap_put_walked(channel_io_begin(io, HEAP_FRAME_WALKED), &k.answer);
		channel_io_end(io);
	}
	cor_release(k.info15);
	return true;
}

static bool answer_prediction(void *info, const struct channel_frame *request, struct channel_io *io)
{
	struct heap_predict_request q;
	struct heap_prediction p;

	if (!heap_get_predict_request(request, &q))
		return false;
	sink.agent_fd = io->fd;
	heap_predict(info, &sink, (is_main ? HEAP_CAN_COLLECT : 0u) | (may_collect ? HEAP_COLLECTS : 0u), &q, &p);
	heap_put_prediction(channel_io_begin(io, HEAP_FRAME_PREDICTION), &p);
	channel_io_end(io);
	return true;
}

bool heap_walk_answers(uint16_t type)
{
	return type >= HEAP_FRAME_RING && type <= HEAP_FRAME_NAME_FUNCTIONS;
}

bool heap_walk_answer(void *info, const struct channel_frame *request, struct channel_io *io)
{
	switch (request->type) {
	case HEAP_FRAME_RING:
		answer_ring(io);
		return true;
	case HEAP_FRAME_PREDICT:
		return answer_prediction(info, request, io);
	case HEAP_FRAME_WALK:
		return answer_walk(info, request, io);
	default:
		return heap_names_answer(info, request, io, unloads);
	}
}
