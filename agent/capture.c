#include "agent/capture.h"

#include "common/base/cleanup.h"
#include "common/base/mem.h"

#include <string.h>

#define EMPTY UINT32_MAX

/* An open-addressing set of indexes into one of the capture's arrays; the caller compares. */
struct index_set {
	uint32_t *slots;
	uint32_t *hashes;
	size_t cap, count; /* cap: a power of two, or 0 */
};

struct capture_builder {
	struct cpu_capture *c;
	struct index_set frames, stacks, threads;
};

static uint32_t hash_bytes(uint32_t h, const void *data, size_t len)
{
	const uint8_t *p = data; /* FNV-1a */
	for (size_t i = 0; i < len; i++)
		h = (h ^ p[i]) * 16777619u;
	return h;
}

static uint32_t hash_str(uint32_t h, const char *s)
{
	return s ? hash_bytes(h, s, strlen(s) + 1) : h * 16777619u + 1;
}

static void set_place(struct index_set *s, uint32_t hash, uint32_t index)
{
	size_t at = hash & (s->cap - 1);
	while (s->slots[at] != EMPTY)
		at = (at + 1) & (s->cap - 1);
	s->slots[at] = index;
	s->hashes[at] = hash;
}

static void set_grow(struct index_set *s)
{
	struct index_set old = *s;
	s->cap = old.cap ? old.cap * 2 : 64;
	s->slots = mem_calloc(s->cap, sizeof *s->slots);
	s->hashes = mem_calloc(s->cap, sizeof *s->hashes);
	memset(s->slots, 0xff, s->cap * sizeof *s->slots);
	for (size_t i = 0; i < old.cap; i++)
		if (old.slots[i] != EMPTY)
			set_place(s, old.hashes[i], old.slots[i]);
	free(old.slots);
	free(old.hashes);
}

static void set_add(struct index_set *s, uint32_t hash, uint32_t index)
{
	if (s->count * 4 >= s->cap * 3)
		set_grow(s);
	set_place(s, hash, index);
	s->count++;
}

/* The next candidate with this hash from slot *at on; EMPTY when there is none. Start with *at = hash. */
static uint32_t set_next(const struct index_set *s, uint32_t hash, size_t *at)
{
	if (!s->cap)
		return EMPTY;
	for (*at &= s->cap - 1; s->slots[*at] != EMPTY; *at = (*at + 1) & (s->cap - 1)) {
		if (s->hashes[*at] == hash) {
			uint32_t found = s->slots[*at];
			*at = (*at + 1) & (s->cap - 1);
			return found;
		}
	}
	return EMPTY;
}

static void set_fini(struct index_set *s)
{
	free(s->slots);
	free(s->hashes);
}

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
	}
	free(c->frames);
	free(c->stack_frames);
	free(c->stacks);
	free(c->threads);
	free(c->samples);
	free(c->fallback_message);
	target_fini(&c->target);
	*c = (struct cpu_capture){0};
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
	set_fini(&b->frames);
	set_fini(&b->stacks);
	set_fini(&b->threads);
	free(b);
}

static uint32_t hash_frame(const struct frame *f)
{
	uint32_t h = 2166136261u;
	h = hash_str(h, f->module);
	h = hash_str(h, f->type);
	h = hash_str(h, f->type_args);
	h = hash_str(h, f->method);
	h = hash_str(h, f->method_args);
	h = hash_str(h, f->params);
	h = hash_bytes(h, &f->address, sizeof f->address);
	return h * 4 + (uint32_t)f->kind;
}

static bool same_str(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_frame(const struct frame *a, const struct frame *b)
{
	return a->kind == b->kind && a->address == b->address && a->dynamic == b->dynamic && same_str(a->method, b->method) &&
	       same_str(a->type, b->type) && same_str(a->module, b->module) && same_str(a->params, b->params) &&
	       same_str(a->type_args, b->type_args) && same_str(a->method_args, b->method_args);
}

uint32_t capture_add_frame(struct capture_builder *b, const struct frame *f)
{
	struct cpu_capture *c = b->c;
	uint32_t hash = hash_frame(f), index;
	size_t at = hash;
	while ((index = set_next(&b->frames, hash, &at)) != EMPTY) {
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
		.module = mem_strdup(f->module ? f->module : ""),
		.type = mem_strdup(f->type),
		.type_args = mem_strdup(f->type_args),
		.method = mem_strdup(f->method),
		.method_args = mem_strdup(f->method_args),
		.params = mem_strdup(f->params),
		.overloaded = f->overloaded,
		.dynamic = f->dynamic,
		.address = f->address,
	};
	set_add(&b->frames, hash, index);
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
	uint32_t hash = hash_bytes(2166136261u + truncated, frames_leaf_first, depth * sizeof *frames_leaf_first), index;
	size_t at = hash;
	while ((index = set_next(&b->stacks, hash, &at)) != EMPTY)
		if (same_stack(c, &c->stacks[index], frames_leaf_first, depth, truncated))
			return index;
	if (c->stack_count >= CAPTURE_MAX_STACKS) {
		c->dropped++;
		return UINT32_MAX;
	}
	index = append_stack(c, frames_leaf_first, depth, truncated);
	set_add(&b->stacks, hash, index);
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
	uint32_t hash = hash_bytes(2166136261u, &tid, sizeof tid), index;
	size_t at = hash;
	while ((index = set_next(&b->threads, hash, &at)) != EMPTY) {
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
	set_add(&b->threads, hash, index);
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
