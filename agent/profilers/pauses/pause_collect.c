#include "agent/profilers/pauses/pause_collect.h"

#include "agent/stacks/frame_namer.h"
#include "common/base/cleanup.h"
#include "common/base/mem.h"

#include <stdlib.h>
#include <string.h>

#define GC_TYPE_BACKGROUND 1 /* of the runtime's GCStart event */
#define MAX_PENDING 4096
#define MAX_KINDS 256
#define MAX_LATE 1024
#define MAX_INDUCERS 4096
#define LONGEST_NS (1LL << 42) /* 73 minutes, longer than a session: sums of what the library says must fit */
#define REQUEST_STOPS 3 /* so many stops for something else may come between a request for a collection and its stop */

struct pending_stack { /* waits for its stop, which is told of when it is over */
	uint64_t number;
	uint32_t tid, stack;
	uint16_t kind;
	bool used;
};

struct pause_collect {
	struct pause_collect_options o;
	struct capture_builder *builder;
	struct pending_stack *pending;
	size_t pending_count, pending_cap;
	uint64_t last_number;
};

struct pause_collect *pause_collect_new(const struct pause_collect_options *o)
{
	struct pause_collect *c = mem_alloc(sizeof *c);
	c->o = *o;
	c->builder = capture_builder_new(&o->capture->stacks);
	return c;
}

void pause_collect_free(struct pause_collect *c)
{
	if (!c)
		return;
	capture_builder_free(c->builder);
	free(c->pending);
	free(c);
}

/* stacks ------------------------------------------------------------------------------------------------------------------- */

static uint32_t add_frame(struct pause_collect *c, const struct resolved_function *r)
{
	struct frame f = frame_namer_managed(r);
	return capture_add_frame(c->builder, &f);
}

/* Its managed frames; PAUSE_NONE when there is none with a name. */
static uint32_t add_pause_stack(struct pause_collect *c, const struct channel_stop_stack *s)
{
	const struct resolved_function *functions[CHANNEL_MAX_DEPTH] = {0};
	uint32_t frames[CHANNEL_MAX_DEPTH];
	size_t depth = 0;
	if (!s->depth || c->o.resolve(c->o.ctx, s->ips, s->depth, functions) < 0)
		return PAUSE_NONE;
	for (size_t i = 0; i < s->depth; i++) {
		uint32_t frame = functions[i] ? add_frame(c, functions[i]) : PAUSE_NONE;
		if (frame != PAUSE_NONE)
			frames[depth++] = frame;
	}
	return depth ? capture_add_stack(c->builder, frames, depth, s->depth == CHANNEL_MAX_DEPTH) : PAUSE_NONE;
}

static void take_stacks(struct pause_collect *c, const struct pause_frames *frames)
{
	for (size_t i = 0; i < frames->stack_count; i++) {
		const struct channel_stop_stack *s = &frames->stacks[i];
		c->o.capture->taken_stacks++;
		c->o.capture->incomplete_stacks += s->incomplete;
		if (c->pending_count == MAX_PENDING) {
			c->o.capture->dropped++;
			continue;
		}
		GROW(c->pending, c->pending_count, c->pending_cap);
		c->pending[c->pending_count++] =
			(struct pending_stack){.number = s->number, .tid = s->tid, .stack = add_pause_stack(c, s), .kind = s->kind};
	}
}

/* Those of stops that are over are of no use any more; a request's stop may be one of the next. */
static bool still_of_use(const struct pending_stack *p, uint64_t number)
{
	return p->number > number || (p->kind == CHANNEL_STACK_INDUCER && !p->used && p->number + REQUEST_STOPS > number);
}

static void forget_until(struct pause_collect *c, uint64_t number)
{
	size_t kept = 0;
	for (size_t i = 0; i < c->pending_count; i++)
		if (still_of_use(&c->pending[i], number))
			c->pending[kept++] = c->pending[i];
	c->pending_count = kept;
}

/* stops -------------------------------------------------------------------------------------------------------------------- */

static enum pause_reason stop_reason(const struct channel_stop *s)
{
	static const enum pause_reason known[] = {
		/* COR_PRF_SUSPEND_REASON */
		[0] = PAUSE_OTHER, [1] = PAUSE_COLLECTION, [2] = PAUSE_SHUTDOWN, [3] = PAUSE_CODE,	 [4] = PAUSE_SHUTDOWN,
		[5] = PAUSE_OTHER, [6] = PAUSE_DEBUGGER,   [7] = PAUSE_BACKGROUND, [8] = PAUSE_CODE, [9] = PAUSE_PROFILER,
	};
	return s->reason < sizeof known / sizeof *known ? known[s->reason] : PAUSE_OTHER;
}

static size_t collection_count(const struct channel_stop *s)
{
	return s->collection_count < CHANNEL_STOP_COLLECTIONS ? s->collection_count : CHANNEL_STOP_COLLECTIONS;
}

static bool in_background(const struct channel_stop_collection *x)
{
	return x->flags & CHANNEL_GC_DETAILED ? x->type == GC_TYPE_BACKGROUND : !(x->flags & CHANNEL_GC_FINISHED);
}

/* A blocking one takes the time, also where one in the background begins in the same stop; of equals the older generation. */
static bool counts_more(const struct channel_stop_collection *x, const struct pause_kind *than)
{
	bool blocking = !in_background(x);
	if (than->generation < 0 || blocking != (than->reason == PAUSE_COLLECTION))
		return than->generation < 0 || blocking;
	return x->generation >= than->generation;
}

/* What a brief stop has of the runtime's reasons all the same came by chance, and would count twice. */
static enum pause_cause collection_cause(const struct channel_stop *s, const struct channel_stop_collection *x)
{
	bool brief = s->flags & CHANNEL_STOP_BRIEF;
	if (x->flags & CHANNEL_GC_DETAILED && !brief)
		return pause_cause_of(x->reason);
	return x->flags & CHANNEL_GC_INDUCED ? CAUSE_INDUCED : brief ? CAUSE_NOT_LOOKED : CAUSE_UNKNOWN;
}

/* By the collection that takes the most of it. */
static struct pause_kind stop_kind(const struct channel_stop *s)
{
	struct pause_kind k = {.reason = stop_reason(s), .generation = -1, .cause = CAUSE_COUNT};
	for (size_t i = 0; i < collection_count(s); i++) {
		const struct channel_stop_collection *x = &s->collections[i];
		k.induced |= x->flags & CHANNEL_GC_INDUCED;
		if (!counts_more(x, &k))
			continue;
		k.generation = x->generation;
		k.cause = collection_cause(s, x);
		k.reason = in_background(x) ? PAUSE_BACKGROUND : PAUSE_COLLECTION;
	}
	return k;
}

static uint32_t intern_kind(struct pause_capture *c, const struct pause_kind *k)
{
	for (size_t i = 0; i < c->kind_count; i++)
		if (c->kinds[i].reason == k->reason && c->kinds[i].generation == k->generation && c->kinds[i].induced == k->induced &&
		    c->kinds[i].cause == k->cause)
			return (uint32_t)i;
	if (c->kind_count == MAX_KINDS)
		return 0;
	GROW(c->kinds, c->kind_count, c->kind_cap);
	c->kinds[c->kind_count] = *k;
	return (uint32_t)c->kind_count++;
}

static uint32_t intern_inducer(struct pause_capture *c, uint32_t stack)
{
	for (size_t i = 0; i < c->inducer_count; i++)
		if (c->inducers[i] == stack)
			return (uint32_t)i;
	if (stack == PAUSE_NONE || c->inducer_count == MAX_INDUCERS)
		return PAUSE_NONE;
	GROW(c->inducers, c->inducer_count, c->inducer_cap);
	c->inducers[c->inducer_count] = stack;
	return (uint32_t)c->inducer_count++;
}

/* The stack of who asked comes with the number of the stop, or of an earlier one when another stop came between the request and it. */
static uint32_t find_inducer(struct pause_collect *c, const struct channel_stop *s)
{
	for (size_t i = c->pending_count; i--;) {
		struct pending_stack *p = &c->pending[i];
		if (p->kind != CHANNEL_STACK_INDUCER || p->used || p->number > s->number)
			continue;
		p->used = true;
		return intern_inducer(c->o.capture, p->stack);
	}
	return PAUSE_NONE;
}

/* Who kept the others waiting: the last to halt before all had. A thread says so itself, and may be a little later than the runtime
 * in seeing it. */
static uint32_t late_tid(const struct channel_stop *s)
{
	if (!s->stopped_ns || s->stopped_ns - s->start_ns < PAUSE_LATE_NS)
		return 0;
	if (s->last_tid && s->stopped_ns - s->last_ns < PAUSE_LATE_NS)
		return s->last_tid;
	if (s->next_tid && s->next_ns - s->stopped_ns < PAUSE_LATE_NS)
		return s->next_tid;
	return 0;
}

static uint32_t intern_late(struct pause_capture *c, const struct pause_late *l)
{
	for (size_t i = 0; i < c->late_count; i++)
		if (c->late[i].stack == l->stack && strcmp(c->late[i].thread, l->thread) == 0)
			return (uint32_t)i;
	if (c->late_count == MAX_LATE)
		return PAUSE_NONE;
	GROW(c->late, c->late_count, c->late_cap);
	c->late[c->late_count] = *l;
	return (uint32_t)c->late_count++;
}

static uint32_t find_late(struct pause_collect *c, const struct channel_stop *s)
{
	struct pause_late l = {.tid = late_tid(s), .stack = PAUSE_NONE};
	if (!l.tid)
		return PAUSE_NONE;
	for (size_t i = 0; i < c->pending_count; i++)
		if (c->pending[i].kind == CHANNEL_STACK_LATE && c->pending[i].number == s->number && c->pending[i].tid == l.tid)
			l.stack = c->pending[i].stack;
	c->o.thread_name(c->o.ctx, l.tid, l.thread, sizeof l.thread);
	return intern_late(c->o.capture, &l);
}

static void count_collections(struct pause_capture *c, const struct channel_stop *s)
{
	for (size_t i = 0; i < collection_count(s); i++) {
		const struct channel_stop_collection *x = &s->collections[i];
		struct pause_collections *sum = &c->collections[x->generation][in_background(x)];
		sum->count++;
		sum->induced += x->flags & CHANNEL_GC_INDUCED ? 1 : 0;
	}
}

static int64_t bounded_ns(int64_t ns)
{
	return ns < 0 ? 0 : ns > LONGEST_NS ? LONGEST_NS : ns;
}

static void take_stop(struct pause_collect *c, const struct channel_stop *s)
{
	struct pause_capture *into = c->o.capture;
	if (s->flags & CHANNEL_STOP_ABORTED) {
		into->abandoned++;
		return;
	}
	count_collections(into, s);
	if (into->pause_count == PAUSE_CAPTURE_MAX) {
		into->dropped++;
		return;
	}
	struct pause_kind kind = stop_kind(s);
	bool brief = s->flags & CHANNEL_STOP_BRIEF;
	uint64_t let_go_ns = s->resume_ns ? s->resume_ns : s->end_ns, stopped_ns = s->stopped_ns ? s->stopped_ns : let_go_ns;
	into->resuming_ns += bounded_ns((int64_t)(s->end_ns - let_go_ns));
	GROW(into->pauses, into->pause_count, into->pause_cap);
	into->pauses[into->pause_count++] = (struct pause){
		.start_ns = bounded_ns((int64_t)s->start_ns - c->o.started_ns),
		.suspend_ns = bounded_ns((int64_t)(stopped_ns - s->start_ns)),
		.stopped_ns = bounded_ns((int64_t)(let_go_ns - stopped_ns)),
		.kind = intern_kind(into, &kind),
		.inducer = kind.induced && !brief ? find_inducer(c, s) : PAUSE_NONE,
		.late = find_late(c, s),
		.collections = s->collection_count,
		.brief = brief,
	};
}

static int by_number(const void *a, const void *b)
{
	const struct channel_stop *x = a, *y = b;
	return (x->number > y->number) - (x->number < y->number);
}

void pause_collect_take(struct pause_collect *c, struct pause_frames *frames)
{
	struct pause_frames now = pause_frames_steal(frames); /* while names are asked for, more may come */
	take_stacks(c, &now);
	if (now.stop_count)
		qsort(now.stops, now.stop_count, sizeof *now.stops, by_number);
	for (size_t i = 0; i < now.stop_count; i++) {
		take_stop(c, &now.stops[i]);
		forget_until(c, now.stops[i].number);
	}
	pause_frames_fini(&now);
}

static int pause_by_start(const void *a, const void *b)
{
	const struct pause *x = a, *y = b;
	return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

void pause_collect_finish(struct pause_collect *c, const struct pause_frames *frames)
{
	struct pause_capture *into = c->o.capture;
	into->causes_known = frames->state.flags & CHANNEL_STOPS_EVENTS;
	into->dropped += frames->dropped + frames->state.dropped;
	if (into->pause_count)
		qsort(into->pauses, into->pause_count, sizeof *into->pauses, pause_by_start);
}
