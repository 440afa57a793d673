#include "agent/cpu_collect.h"

#include "agent/cpu_threads.h"
#include "agent/frame_namer.h"
#include "agent/ip_table.h"
#include "agent/raw_stacks.h"
#include "common/base/clock.h"
#include "common/base/mem.h"

#include <stdlib.h>
#include <string.h>

struct cpu_collect {
	struct cpu_collect_options o;
	struct capture_builder *builder;
	struct cpu_threads *threads;
	struct frame_namer *namer;
	struct ip_table ips;
	struct raw_stacks raw;
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
	c->batch = 1;
	return c;
}

void cpu_collect_free(struct cpu_collect *c)
{
	if (!c)
		return;
	frame_namer_free(c->namer);
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

/* A chain under construction: numbers in the address table. */
struct chain {
	uint32_t ips[CAPTURE_MAX_DEPTH];
	size_t depth;
	bool full;
};

static void chain_add(struct cpu_collect *c, struct chain *ch, uint64_t ip)
{
	uint32_t i = ch->depth < CAPTURE_MAX_DEPTH ? ip_table_intern(&c->ips, ip, c->batch) : INDEX_NONE;
	if (i == INDEX_NONE)
		ch->full = true;
	else
		ch->ips[ch->depth++] = i;
}

/* Leaf first. All but the leaf are return addresses: one back stands in the call itself, which may be its function's last
 * instruction. */
static void chain_add_all(struct cpu_collect *c, struct chain *ch, const uint64_t *ips, size_t depth)
{
	for (size_t i = 0; i < depth; i++)
		chain_add(c, ch, i == 0 ? ips[i] : ips[i] - 1);
}

static void take(struct cpu_collect *c, int64_t time_ns, uint32_t tid, const struct chain *ch, bool truncated)
{
	c->taken++;
	if (!c->first_sample_ns || time_ns < c->first_sample_ns)
		c->first_sample_ns = time_ns;
	uint32_t thread = cpu_threads_index(c->threads, tid);
	if (thread == UINT32_MAX || raw_stacks_add(&c->raw, time_ns, thread, ch->ips, ch->depth, truncated || ch->full) < 0)
		c->o.capture->dropped++;
}

void cpu_collect_perf_sample(struct cpu_collect *c, const struct perf_sample *s)
{
	struct chain ch = {.depth = 0};
	if (s->kernel_depth)
		chain_add_all(c, &ch, s->kernel, s->kernel_depth);
	else if (s->in_kernel)
		chain_add(c, &ch, IP_KERNEL);
	chain_add_all(c, &ch, s->user, s->user_depth);
	bool cut = c->o.max_depth && s->kernel_depth + s->user_depth >= c->o.max_depth;
	take(c, s->time_ns, s->tid, &ch, cut);
}

void cpu_collect_timer_sample(struct cpu_collect *c, const struct channel_sample *s)
{
	struct chain ch = {.depth = 0};
	chain_add_all(c, &ch, s->ips, s->depth);
	/* The time is the process's word: it lies within the session. */
	int64_t now_ns = clock_mono_ns(), time_ns = s->time_ns < c->o.started_ns ? c->o.started_ns : s->time_ns;
	take(c, time_ns < now_ns ? time_ns : now_ns, s->tid, &ch, s->truncated);
}

void cpu_collect_thread_name(struct cpu_collect *c, uint32_t tid, const char *name)
{
	cpu_threads_named(c->threads, tid, name);
}

bool cpu_collect_wants_flush(const struct cpu_collect *c)
{
	return raw_stacks_half_full(&c->raw) || c->ips.count > IP_TABLE_MAX / 2;
}

/* moving them into the capture ---------------------------------------------------------------------------------- */

struct converted {
	uint32_t stack;      /* in the capture; UINT32_MAX: not yet, or different for each sample */
	uint32_t managed, unresolved;
	bool by_time;        /* holds a dynamic method: its name depends on the sample's time */
};

static void convert(struct cpu_collect *c, const struct raw_stack *r, int64_t time_ns, struct converted *out)
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
			convert(c, &c->raw.stacks[s->stack], s->time_ns, d);
		int64_t at = s->time_ns > c->o.started_ns ? s->time_ns - c->o.started_ns : 0;
		into->managed_frames += d->managed;
		into->unresolved_frames += d->unresolved;
		if (d->stack != UINT32_MAX)
			capture_add_sample(c->builder, at, s->thread, d->stack);
	}
	free(done);
}

void cpu_collect_flush(struct cpu_collect *c, cpu_collect_resolve_fn *resolve, void *ctx)
{
	if (c->raw.sample_count) {
		frame_namer_name(c->namer, &c->ips, c->batch, resolve, ctx);
		move_samples(c);
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
	if (into->sample_count)
		qsort(into->samples, into->sample_count, sizeof *into->samples, by_time);
}

uint64_t cpu_collect_sample_count(const struct cpu_collect *c)
{
	return c->taken;
}

int64_t cpu_collect_first_sample_ns(const struct cpu_collect *c)
{
	return c->first_sample_ns;
}
