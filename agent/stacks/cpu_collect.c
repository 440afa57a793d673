#include "agent/stacks/cpu_collect.h"

#include "agent/stacks/code_bodies.h"
#include "agent/stacks/cpu_threads.h"
#include "agent/stacks/frame_namer.h"
#include "agent/stacks/ip_table.h"
#include "agent/perf/pending_samples.h"
#include "agent/stacks/raw_stacks.h"
#include "agent/stacks/stack_unwind.h"
#include "common/base/clock.h"
#include "common/base/mem.h"
#include "common/proto/channel.h"

#include <stdlib.h>
#include <string.h>

struct cpu_collect {
	struct cpu_collect_options o;
	struct capture_builder *builder;
	struct cpu_threads *threads;
	struct frame_namer *namer;
	struct ip_table ips;
	struct raw_stacks raw;
	struct code_bodies *bodies;
	struct pending_samples pending;
	uint32_t batch;
	uint64_t taken;
	int64_t first_sample_ns;
};

struct cpu_collect *cpu_collect_new(const struct cpu_collect_options *o)
{
	struct cpu_collect *c = mem_alloc(sizeof *c);
	c->o = *o;
	c->builder = capture_builder_new(o->capture);
	c->threads = cpu_threads_new(c->builder, o->proc_fd, o->same_ids);
	c->namer = frame_namer_new(c->builder, o->proc_fd);
	if (o->maps)
		frame_namer_tell_maps(c->namer, o->maps->data, o->maps->len, o->main_path, o->root_fd);
	if (o->il)
		frame_namer_tell_lines(c->namer, o->il, o->il_ctx);
	c->bodies = code_bodies_new(o->proc_fd);
	o->capture->exact_stacks = o->code || o->by_timers;
	c->batch = 1;
	return c;
}

void cpu_collect_free(struct cpu_collect *c)
{
	if (!c)
		return;
	frame_namer_free(c->namer);
	code_bodies_free(c->bodies);
	pending_samples_fini(&c->pending);
	cpu_threads_free(c->threads);
	capture_builder_free(c->builder);
	ip_table_fini(&c->ips);
	raw_stacks_fini(&c->raw);
	free(c);
}

void cpu_collect_begin(struct cpu_collect *c)
{
	cpu_threads_begin(c->threads);
}

/* taking samples ------------------------------------------------------------------------------------------------ */

static void note_sample_time(struct cpu_collect *c, int64_t time_ns)
{
	c->taken++;
	if (!c->first_sample_ns || time_ns < c->first_sample_ns)
		c->first_sample_ns = time_ns;
}

static void add_unwound_sample(struct cpu_collect *c, int64_t time_ns, uint32_t tid, const struct unwound *u, bool truncated)
{
	uint32_t thread = cpu_threads_index(c->threads, tid);
	if (thread == UINT32_MAX || raw_stacks_add(&c->raw, time_ns, thread, u->ips, u->depth, truncated || u->full) < 0)
		c->o.capture->dropped++;
}

static void begin_unwound_stack(struct cpu_collect *c, const struct perf_sample *s, struct unwound *u)
{
	u->depth = 0;
	u->full = false;
	if (s->kernel_depth)
		stack_unwind_chain(&c->ips, c->batch, s->kernel, s->kernel_depth, u);
	else if (s->in_kernel)
		stack_unwind_add(&c->ips, c->batch, IP_KERNEL, u);
}

/* By frame pointers alone: `gap` says why, where that is not how it is meant to be. */
static void take_chain(struct cpu_collect *c, const struct perf_sample *s, enum stack_gap gap)
{
	struct unwound u;
	begin_unwound_stack(c, s, &u);
	stack_unwind_chain(&c->ips, c->batch, s->user, s->user_depth, &u);
	c->o.capture->stack_gaps[gap] += c->o.capture->exact_stacks && s->user_depth;
	add_unwound_sample(c, s->time_ns, s->tid, &u, c->o.max_depth && s->kernel_depth + s->user_depth >= c->o.max_depth);
}

/* INDEX_NONE: taken. Else the number of an address that the table would have to know first. */
static uint32_t take_exact(struct cpu_collect *c, const struct perf_sample *s)
{
	const struct unwind_source source = {s->registers, s->stack, s->stack_bytes, s->user, s->user_depth};
	struct unwound u;
	begin_unwound_stack(c, s, &u);
	stack_unwind(&c->ips, c->batch, &source, &u);
	if (u.wanted != INDEX_NONE)
		return u.wanted;
	c->o.capture->stack_gaps[u.gap] += !u.whole;
	bool cut = !u.whole && c->o.max_depth && s->kernel_depth + s->user_depth >= c->o.max_depth;
	add_unwound_sample(c, s->time_ns, s->tid, &u, cut);
	return INDEX_NONE;
}

void cpu_collect_perf_sample(struct cpu_collect *c, const struct perf_sample *s)
{
	note_sample_time(c, s->time_ns);
	if (!c->o.code || !s->stack_bytes)
		take_chain(c, s, STACK_GAP_REGISTERS);
	else if (take_exact(c, s) != INDEX_NONE && !pending_samples_add(&c->pending, s))
		take_chain(c, s, STACK_GAP_ROOM);
}

/* The library's word on why callers may be missing. */
static void count_gap(struct cpu_collect *c, unsigned flags)
{
	static const struct {
		unsigned flag;
		enum stack_gap gap;
	} gaps[] = {
		{CHANNEL_GAP_CODE, STACK_GAP_CODE},
		{CHANNEL_GAP_BROKEN, STACK_GAP_BROKEN},
		{CHANNEL_GAP_DEEP, STACK_GAP_DEEP},
		{CHANNEL_GAP_ROOM, STACK_GAP_ROOM},
	};
	for (size_t i = 0; i < sizeof gaps / sizeof *gaps; i++)
		if (flags & gaps[i].flag) {
			c->o.capture->stack_gaps[gaps[i].gap]++;
			return;
		}
}

void cpu_collect_timer_sample(struct cpu_collect *c, const struct channel_sample *s)
{
	struct unwound u = {.depth = 0};
	stack_unwind_chain(&c->ips, c->batch, s->ips, s->depth, &u);
	/* The time is the process's word: it lies within the session. */
	int64_t now_ns = clock_mono_ns(), time_ns = s->time_ns < c->o.started_ns ? c->o.started_ns : s->time_ns;
	time_ns = time_ns < now_ns ? time_ns : now_ns;
	note_sample_time(c, time_ns);
	count_gap(c, s->flags);
	add_unwound_sample(c, time_ns, s->tid, &u, s->flags & CHANNEL_TRUNCATED);
}

uint32_t cpu_collect_thread(struct cpu_collect *c, uint32_t tid)
{
	return cpu_threads_index(c->threads, tid);
}

void cpu_collect_thread_name(struct cpu_collect *c, uint32_t tid, const char *name)
{
	cpu_threads_named(c->threads, tid, name);
}

bool cpu_collect_wants_flush(const struct cpu_collect *c)
{
	return raw_stacks_half_full(&c->raw) || pending_samples_half_full(&c->pending) || c->ips.count > IP_TABLE_MAX / 2;
}

/* the ones that wait ----------------------------------------------------------------------------------------------- */

struct index_list {
	uint32_t *items;
	size_t count, cap;
};

/* Once each. */
static void want_code(struct cpu_collect *c, struct index_list *wanted, uint32_t entry)
{
	struct ip_entry *x = entry == INDEX_NONE ? NULL : &c->ips.items[entry];
	if (!x || x->code != IP_CODE_NEW || x->wanted)
		return;
	x->wanted = true;
	GROW(wanted->items, wanted->count, wanted->cap);
	wanted->items[wanted->count++] = entry;
}

/* What frame pointers lead to is nearly all of what the stacks pass through: asked for at once, few questions are left. */
static void want_chains(struct cpu_collect *c, struct index_list *wanted)
{
	for (size_t i = 0; i < c->pending.count; i++) {
		const struct perf_sample *s = &c->pending.samples[i];
		for (size_t k = 0; k < s->user_depth; k++)
			want_code(c, wanted, ip_table_intern(&c->ips, k == 0 ? s->user[k] : s->user[k] - 1, c->batch));
	}
}

/* Takes those that can be taken now. */
static void try_pending(struct cpu_collect *c, struct index_list *wanted)
{
	size_t kept = 0;
	for (size_t i = 0; i < c->pending.count; i++) {
		uint32_t missing = take_exact(c, &c->pending.samples[i]);
		if (missing == INDEX_NONE)
			continue;
		want_code(c, wanted, missing);
		c->pending.samples[kept++] = c->pending.samples[i];
	}
	c->pending.count = kept;
}

/* Each question brings every stack at least one frame further. */
static void take_pending(struct cpu_collect *c)
{
	struct index_list wanted = {0};
	want_chains(c, &wanted);
	for (int round = 0; c->pending.count && round < CAPTURE_MAX_DEPTH; round++) {
		for (size_t i = 0; i < wanted.count; i++)
			c->ips.items[wanted.items[i]].wanted = false;
		if (code_bodies_learn(c->bodies, &c->ips, wanted.items, wanted.count, c->namer, c->o.code, c->o.code_ctx) < 0)
			break;
		wanted.count = 0;
		try_pending(c, &wanted);
	}
	for (size_t i = 0; i < c->pending.count; i++)
		take_chain(c, &c->pending.samples[i], STACK_GAP_CODE);
	pending_samples_clear(&c->pending);
	free(wanted.items);
}

/* The memory of a dynamic method may hold another one soon. */
static void forget_dynamic(struct cpu_collect *c)
{
	for (size_t i = 0; i < c->ips.count; i++)
		if (c->ips.items[i].dynamic)
			c->ips.items[i].code = IP_CODE_NEW;
}

/* moving them into the capture ---------------------------------------------------------------------------------- */

struct converted {
	uint32_t stack;      /* in the capture; UINT32_MAX: not yet, or different for each sample */
	uint32_t managed, unresolved;
	bool by_time;        /* holds a dynamic method: its name depends on the sample's time */
};

static void convert_cpu_stack(struct cpu_collect *c, const struct raw_stack *r, int64_t time_ns, struct converted *out)
{
	uint32_t frames[CAPTURE_MAX_DEPTH];
	*out = (struct converted){.stack = UINT32_MAX};
	for (uint32_t i = 0; i < r->depth; i++) {
		const struct ip_entry *x = &c->ips.items[c->raw.pool[r->first + i]];
		bool young = x->dynamic && x->dynamic_start_ns > time_ns;
		frames[i] = young ? frame_namer_unknown(c->namer) : x->frame;
		out->by_time |= x->dynamic;
		out->managed += x->state == IP_NAMED && !young;
		out->unresolved += x->state == IP_UNNAMED || young;
	}
	bool cut = r->truncated;
	if (!cut && r->depth)
		cut = !frame_namer_is_thread_start(c->namer, c->ips.items[c->raw.pool[r->first + r->depth - 1]].ip);
	out->stack = capture_add_stack(c->builder, frames, r->depth, cut);
}

static void move_samples(struct cpu_collect *c)
{
	struct cpu_capture *into = c->o.capture;
	struct converted *done = mem_calloc(c->raw.stack_count + 1, sizeof *done);
	for (size_t i = 0; i < c->raw.stack_count; i++)
		done[i].stack = UINT32_MAX;
	for (size_t i = 0; i < c->raw.sample_count; i++) {
		const struct raw_sample *s = &c->raw.samples[i];
		struct converted *d = &done[s->stack];
		if (d->stack == UINT32_MAX || d->by_time)
			convert_cpu_stack(c, &c->raw.stacks[s->stack], s->time_ns, d);
		int64_t at = s->time_ns > c->o.started_ns ? s->time_ns - c->o.started_ns : 0;
		into->managed_frames += d->managed;
		into->unresolved_frames += d->unresolved;
		if (d->stack != UINT32_MAX)
			capture_add_sample(c->builder, at, s->thread, d->stack);
	}
	free(done);
}

void cpu_collect_flush(struct cpu_collect *c, frame_resolve_fn *resolve, void *ctx)
{
	take_pending(c);
	if (c->raw.sample_count) {
		frame_namer_name(c->namer, &c->ips, c->batch, resolve, ctx);
		move_samples(c);
		forget_dynamic(c);
	}
	raw_stacks_clear(&c->raw);
	if (c->ips.count > IP_TABLE_MAX / 2)
		ip_table_clear(&c->ips);
	c->batch++;
}

static int by_time(const void *a, const void *b)
{
	const struct capture_sample *x = a, *y = b;
	return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

void cpu_collect_finish(struct cpu_collect *c)
{
	struct cpu_capture *into = c->o.capture;
	cpu_threads_end(c->threads, into);
	frame_namer_account(c->namer, &into->sources);
	if (into->sample_count)
		qsort(into->samples, into->sample_count, sizeof *into->samples, by_time);
}

bool cpu_collect_is_code(struct cpu_collect *c, uint64_t ip)
{
	return frame_namer_place(c->namer, ip) != CODE_PLACE_NOWHERE;
}

void cpu_collect_age_maps(struct cpu_collect *c)
{
	frame_namer_age_maps(c->namer);
}

uint64_t cpu_collect_sample_count(const struct cpu_collect *c)
{
	return c->taken;
}

int64_t cpu_collect_first_sample_ns(const struct cpu_collect *c)
{
	return c->first_sample_ns;
}
