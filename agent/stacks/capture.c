#include "agent/stacks/capture.h"

#include "common/base/index_set.h"
#include "common/base/cleanup.h"
#include "common/base/mem.h"
#include "common/proto/channel.h"

#include <string.h>

#define LEAST_DUE 50   /* samples; below, chance makes the difference */
#define TOO_FEW_PART 4

struct capture_builder {
	struct cpu_capture *c;
	struct index_set frames, stacks, threads;
};

void cpu_capture_fini(struct cpu_capture *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->frame_count; i++) {
		struct frame *f = &c->frames[i];
		free(f->module);
		free(f->type);
		free(f->type_args);
		free(f->method);
		free(f->method_args);
		free(f->params);
		free(f->file);
		free(f->link);
	}
	free(c->frames);
	free(c->stack_frames);
	free(c->stacks);
	free(c->threads);
	free(c->samples);
	free(c->collections);
	for (size_t i = 0; i < c->start.wait_count; i++)
		free(c->start.waits[i].method);
	free(c->start.waits);
	free(c->start.awaits);
	free(c->fallback_message);
	source_account_fini(&c->sources);
	session_facts_fini(&c->facts);
	*c = (struct cpu_capture){0};
}

int64_t cpu_capture_due(const struct cpu_capture *c)
{
	bool timers = c->method && strcmp(c->method, "signal-timer") == 0;
	if (c->process_cpu_ns < 0 || (!c->kernel_frames && !timers))
		return -1;
	return c->process_cpu_ns / 1000 * c->frequency_hertz / 1000000;
}

bool cpu_capture_too_few(const struct cpu_capture *c)
{
	int64_t due = cpu_capture_due(c);
	return due >= LEAST_DUE && (int64_t)c->sample_count < due / TOO_FEW_PART;
}

int64_t cpu_capture_incomplete(const struct cpu_capture *c)
{
	int64_t sum = 0;
	for (int i = 0; i < STACK_GAP_COUNT; i++)
		sum += c->stack_gaps[i];
	return sum;
}

struct capture_builder *capture_builder_new(struct cpu_capture *into)
{
	struct capture_builder *b = mem_alloc(sizeof *b);
	b->c = into;
	return b;
}

void capture_builder_free(struct capture_builder *b)
{
	if (!b)
		return;
	index_set_fini(&b->frames);
	index_set_fini(&b->stacks);
	index_set_fini(&b->threads);
	free(b);
}

static uint32_t hash_frame(const struct frame *f)
{
	uint32_t h = INDEX_HASH_START;
	h = index_hash_str(h, f->module);
	h = index_hash_str(h, f->type);
	h = index_hash_str(h, f->type_args);
	h = index_hash_str(h, f->method);
	h = index_hash_str(h, f->method_args);
	h = index_hash_str(h, f->params);
	h = index_hash_str(h, f->file);
	h = index_hash(h, &f->line, sizeof f->line);
	h = index_hash(h, &f->function, sizeof f->function);
	h = index_hash(h, &f->address, sizeof f->address);
	return h * 4 + (uint32_t)f->kind;
}

static bool same_str(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_frame(const struct frame *a, const struct frame *b)
{
	return a->kind == b->kind && a->address == b->address && a->function == b->function && a->dynamic == b->dynamic && a->line == b->line &&
	       same_str(a->file, b->file) && same_str(a->method, b->method) && same_str(a->type, b->type) && same_str(a->module, b->module) &&
	       same_str(a->params, b->params) && same_str(a->type_args, b->type_args) && same_str(a->method_args, b->method_args);
}

uint32_t capture_add_frame(struct capture_builder *b, const struct frame *given)
{
	struct cpu_capture *c = b->c;
	struct frame whole = *given, *f = &whole;
	if (!f->module)
		f->module = (char *)"";
	uint32_t hash = hash_frame(f), index;
	size_t at = hash;
	while ((index = index_set_next(&b->frames, hash, &at)) != INDEX_NONE) {
		if (same_frame(&c->frames[index], f)) {
			c->frames[index].overloaded |= f->overloaded; /* an overload may be loaded later */
			return index;
		}
	}
	if (c->frame_count >= CAPTURE_MAX_STACKS) {
		c->dropped++;
		return UINT32_MAX;
	}
	GROW(c->frames, c->frame_count, c->frame_cap);
	index = (uint32_t)c->frame_count++;
	c->frames[index] = (struct frame){
		.kind = f->kind,
		.module = mem_strdup(f->module),
		.type = mem_strdup(f->type),
		.type_args = mem_strdup(f->type_args),
		.method = mem_strdup(f->method),
		.method_args = mem_strdup(f->method_args),
		.params = mem_strdup(f->params),
		.overloaded = f->overloaded,
		.dynamic = f->dynamic,
		.file = mem_strdup(f->file),
		.link = mem_strdup(f->link),
		.line = f->line,
		.function = f->function,
		.address = f->address,
	};
	index_set_add(&b->frames, hash, index);
	return index;
}

static bool same_stack(const struct cpu_capture *c, const struct capture_stack *s, const uint32_t *frames, size_t depth, bool truncated)
{
	return s->depth == depth && s->truncated == truncated &&
	       (depth == 0 || memcmp(c->stack_frames + s->first, frames, depth * sizeof *frames) == 0);
}

static uint32_t append_stack(struct cpu_capture *c, const uint32_t *frames, size_t depth, bool truncated)
{
	if (c->stack_frame_count + depth > c->stack_frame_cap) {
		size_t cap = c->stack_frame_cap ? c->stack_frame_cap * 2 : 4096;
		c->stack_frames = mem_realloc(c->stack_frames, cap, sizeof *c->stack_frames);
		c->stack_frame_cap = cap; /* depth <= CAPTURE_MAX_DEPTH < 4096: once is enough */
	}
	GROW(c->stacks, c->stack_count, c->stack_cap);
	if (depth)
		memcpy(c->stack_frames + c->stack_frame_count, frames, depth * sizeof *frames);
	c->stacks[c->stack_count] = (struct capture_stack){
		.first = (uint32_t)c->stack_frame_count,
		.depth = (uint32_t)depth,
		.truncated = truncated,
	};
	c->stack_frame_count += depth;
	return (uint32_t)c->stack_count++;
}

uint32_t capture_add_stack(struct capture_builder *b, const uint32_t *frames_leaf_first, size_t depth, bool truncated)
{
	struct cpu_capture *c = b->c;
	if (depth > CAPTURE_MAX_DEPTH) {
		depth = CAPTURE_MAX_DEPTH;
		truncated = true;
	}
	uint32_t hash = index_hash(INDEX_HASH_START + truncated, frames_leaf_first, depth * sizeof *frames_leaf_first), index;
	size_t at = hash;
	while ((index = index_set_next(&b->stacks, hash, &at)) != INDEX_NONE)
		if (same_stack(c, &c->stacks[index], frames_leaf_first, depth, truncated))
			return index;
	if (c->stack_count >= CAPTURE_MAX_STACKS || c->stack_frame_count + depth > CAPTURE_MAX_STACK_FRAMES) {
		c->dropped++;
		return UINT32_MAX;
	}
	index = append_stack(c, frames_leaf_first, depth, truncated);
	index_set_add(&b->stacks, hash, index);
	return index;
}

static void set_thread_name(struct capture_thread *t, const char *name)
{
	size_t n = strnlen(name, sizeof t->name - 1);
	memcpy(t->name, name, n);
	t->name[n] = '\0';
}

uint32_t capture_add_thread(struct capture_builder *b, int64_t tid, const char *name)
{
	struct cpu_capture *c = b->c;
	uint32_t hash = index_hash(INDEX_HASH_START, &tid, sizeof tid), index;
	size_t at = hash;
	while ((index = index_set_next(&b->threads, hash, &at)) != INDEX_NONE) {
		if (c->threads[index].tid == tid) {
			if (name && *name)
				set_thread_name(&c->threads[index], name);
			return index;
		}
	}
	if (c->thread_count >= CAPTURE_MAX_STACKS) {
		c->dropped++;
		return UINT32_MAX;
	}
	GROW(c->threads, c->thread_count, c->thread_cap);
	index = (uint32_t)c->thread_count++;
	c->threads[index] = (struct capture_thread){.tid = tid, .cpu_ns = -1};
	set_thread_name(&c->threads[index], name ? name : "");
	index_set_add(&b->threads, hash, index);
	return index;
}

int capture_add_sample(struct capture_builder *b, int64_t time_ns, uint32_t thread, uint32_t stack)
{
	struct cpu_capture *c = b->c;
	if (thread >= c->thread_count || stack >= c->stack_count || c->sample_count >= CAPTURE_MAX_SAMPLES) {
		c->dropped++;
		return -1;
	}
	GROW(c->samples, c->sample_count, c->sample_cap);
	c->samples[c->sample_count++] = (struct capture_sample){.time_ns = time_ns, .thread = thread, .stack = stack};
	return 0;
}

void capture_set_collections(struct cpu_capture *c, const struct channel_collection *list, size_t count, int64_t started_ns)
{
	c->collections = mem_realloc(c->collections, count + 1, sizeof *c->collections);
	for (size_t i = c->collection_count; i < count; i++)
		c->collections[i] = (struct capture_collection){
			.start_ns = (int64_t)list[i].start_ns - started_ns,
			.end_ns = (int64_t)list[i].end_ns - started_ns,
			.tid = list[i].tid,
			.generation = (int)list[i].generation,
		};
	c->collection_count = count;
}
