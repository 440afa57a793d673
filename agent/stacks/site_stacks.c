#include "agent/stacks/site_stacks.h"

#include "agent/stacks/cpu_threads.h"
#include "agent/stacks/ip_table.h"
#include "agent/stacks/raw_stacks.h"
#include "common/base/clock.h"
#include "common/base/mem.h"
#include "common/proto/channel_allocs.h"

#include <stdlib.h>

struct site_stacks {
	struct cpu_capture *into;
	struct capture_builder *builder;
	struct cpu_threads *threads;
	struct frame_namer *namer;
	struct ip_table ips;
	struct raw_stacks raw;
	uint32_t **pending; /* by raw sample: where its stack's index belongs */
	size_t pending_cap;
	uint32_t batch;
	uint32_t nobody;
};

struct site_stacks *site_stacks_new(struct cpu_capture *into, int proc_fd)
{
	struct site_stacks *s = mem_alloc(sizeof *s);
	s->into = into;
	s->builder = capture_builder_new(into);
	s->threads = cpu_threads_new(s->builder, proc_fd, true);
	s->namer = frame_namer_new(s->builder, proc_fd);
	s->batch = 1;
	s->nobody = UINT32_MAX;
	return s;
}

void site_stacks_free(struct site_stacks *s)
{
	if (!s)
		return;
	frame_namer_free(s->namer);
	cpu_threads_free(s->threads);
	capture_builder_free(s->builder);
	ip_table_fini(&s->ips);
	raw_stacks_fini(&s->raw);
	free(s->pending);
	free(s);
}

void site_stacks_tell_lines(struct site_stacks *s, frame_il_fn *ask, void *ctx)
{
	frame_namer_tell_lines(s->namer, ask, ctx);
}

void site_stacks_account(const struct site_stacks *s, struct source_account *out)
{
	frame_namer_account(s->namer, out);
}

void site_stacks_add(struct site_stacks *s, const struct channel_alloc_site *site, uint32_t *stack)
{
	uint32_t chain[CHANNEL_MAX_DEPTH];
	size_t depth = 0;
	/* One back stands in the call itself, which may be its function's last instruction. */
	for (uint32_t i; depth < site->depth && (i = ip_table_intern(&s->ips, site->ips[depth] - 1, s->batch)) != INDEX_NONE;)
		chain[depth++] = i;
	bool cut = site->flags & CHANNEL_ALLOC_TRUNCATED || depth < site->depth;
	if (raw_stacks_add(&s->raw, clock_mono_ns(), 0, chain, depth, cut) < 0)
		return;
	while (s->pending_cap < s->raw.sample_count) {
		s->pending_cap = s->pending_cap ? s->pending_cap * 2 : 256;
		s->pending = mem_realloc(s->pending, s->pending_cap, sizeof *s->pending);
	}
	s->pending[s->raw.sample_count - 1] = stack;
}

uint32_t site_stacks_thread(struct site_stacks *s, uint32_t tid)
{
	return cpu_threads_index(s->threads, tid);
}

bool site_stacks_want_flush(const struct site_stacks *s)
{
	return raw_stacks_half_full(&s->raw) || s->ips.count > IP_TABLE_MAX / 2;
}

static uint32_t convert_site_stack(struct site_stacks *s, const struct raw_stack *r, int64_t time_ns)
{
	uint32_t frames[CHANNEL_MAX_DEPTH];
	for (uint32_t i = 0; i < r->depth; i++) {
		const struct ip_entry *x = &s->ips.items[s->raw.pool[r->first + i]];
		bool young = x->dynamic && x->dynamic_start_ns > time_ns;
		frames[i] = young ? frame_namer_unknown(s->namer) : x->frame;
		s->into->managed_frames += x->state == IP_NAMED && !young;
		s->into->unresolved_frames += x->state == IP_UNNAMED || young;
	}
	return capture_add_stack(s->builder, frames, r->depth, r->truncated);
}

void site_stacks_flush(struct site_stacks *s, frame_resolve_fn *resolve, void *ctx)
{
	if (s->raw.sample_count)
		frame_namer_name(s->namer, &s->ips, s->batch, resolve, ctx);
	for (size_t i = 0; i < s->raw.sample_count; i++)
		*s->pending[i] = convert_site_stack(s, &s->raw.stacks[s->raw.samples[i].stack], s->raw.samples[i].time_ns);
	raw_stacks_clear(&s->raw);
	if (s->ips.count > IP_TABLE_MAX / 2)
		ip_table_clear(&s->ips);
	s->batch++;
}

uint32_t site_stacks_none(struct site_stacks *s)
{
	return capture_add_stack(s->builder, NULL, 0, false);
}

uint32_t site_stacks_nobody(struct site_stacks *s)
{
	if (s->nobody == UINT32_MAX)
		s->nobody = capture_add_thread(s->builder, 0, "");
	return s->nobody;
}
