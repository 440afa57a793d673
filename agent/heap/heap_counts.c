#include "agent/heap/heap_counts.h"

#include "agent/heap/heap_snapshot_private.h"
#include "common/base/size_text.h"
#include "common/base/mem.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void heap_counts_add_type(struct heap_counts *c)
{
	if ((c->type_count & (c->type_count - 1)) == 0) /* full: the sizes are powers of two */
		c->of = mem_realloc(c->of, c->type_count ? (size_t)c->type_count * 2 : 1, sizeof *c->of);
	memset(c->of[c->type_count++], 0, sizeof *c->of);
}

void heap_counts_free(struct heap_counts *c)
{
	if (!c)
		return;
	free(c->of);
	free(c);
}

static void add_free(struct heap_counts *c, enum heap_generation g, uint64_t bytes)
{
	c->free[g].objects++;
	c->free[g].bytes += bytes;
	if (bytes > c->largest_free[g])
		c->largest_free[g] = bytes;
}

static void add_objects(const struct heap_snapshot *s, struct heap_counts *c)
{
	struct heap_cursor at;

	heap_snapshot_cursor(s, &at);
	while (heap_snapshot_object(&at)) {
		enum heap_generation g = heap_snapshot_generation(s, at.object.address);
		uint64_t bytes = (at.object.size + 7) & ~UINT64_C(7);
		if (s->types[at.object.type].flags & HEAP_TYPE_FREE) {
			add_free(c, g, bytes);
			continue;
		}
		c->of[at.object.type][g].objects++;
		c->of[at.object.type][g].bytes += bytes;
	}
}

static void forget_objects(struct heap_snapshot *s)
{
	heap_store_fini(&s->labels->store);
	s->stream = (const uint8_t *)"";
	s->stream_bytes = 0;
	free(s->roots);
	s->roots = NULL;
	s->root_count = 0;
}

void heap_counts_take(struct heap_snapshot *s)
{
	struct heap_counts *c = mem_alloc(sizeof *c);

	for (uint32_t i = 0; i < s->type_count; i++)
		heap_counts_add_type(c);
	add_objects(s, c);
	forget_objects(s);
	s->counts = c;
	s->facts.way = HEAP_WAY_TYPES;
}

void heap_counts_totals(const struct heap_snapshot *s, const struct heap_groups *groups, struct heap_total *out)
{
	memset(out, 0, groups->count * sizeof *out);
	for (uint32_t i = 0; i < s->type_count; i++) {
		struct heap_total *t = &out[groups->of_type[i]];
		for (int g = 0; g < HEAP_GENERATIONS; g++) {
			t->count += s->counts->of[i][g].objects;
			t->bytes += s->counts->of[i][g].bytes;
			t->generation_bytes[g] += s->counts->of[i][g].bytes;
		}
	}
}

static void count_type(const struct heap_snapshot *s, uint32_t type, struct heap_space *out)
{
	bool strings = s->types[type].flags & HEAP_TYPE_STRING;

	for (int g = 0; g < HEAP_GENERATIONS; g++) {
		const struct heap_count *n = &s->counts->of[type][g];
		out[g].count += n->objects;
		out[g].bytes += n->bytes;
		out[g].strings_count += strings ? n->objects : 0;
		out[g].strings_bytes += strings ? n->bytes : 0;
	}
}

void heap_counts_spaces(const struct heap_snapshot *s, struct heap_space *out)
{
	memset(out, 0, HEAP_GENERATIONS * sizeof *out);
	for (uint32_t i = 0; i < s->type_count; i++)
		count_type(s, i, out);
	for (int g = 0; g < HEAP_GENERATIONS; g++) {
		out[g].free_count = s->counts->free[g].objects;
		out[g].free_bytes = s->counts->free[g].bytes;
		out[g].largest_free_bytes = s->counts->largest_free[g];
	}
	for (size_t i = 0; i < s->range_count; i++)
		out[s->ranges[i].generation].range_bytes += s->ranges[i].length;
}

void heap_counts_put_needs(const struct heap_needs *n, const char *why, struct buf *line)
{
	buf_puts(line, "What retains them is unknown: objects were only counted by type");
	if (why)
		buf_printf(line, " (%s)", why);
	if (!n->budget_ms && !n->limit_bytes && !n->file_bytes)
		return;
	buf_puts(line, ": holders need");
	if (n->budget_ms)
		buf_printf(line, " pauseBudgetMilliseconds: %" PRId64, n->budget_ms);
	if (n->limit_bytes)
		buf_printf(line, "%s a memory limit of %" PRId64 " Mi for the agent", n->budget_ms ? " and" : "", (n->limit_bytes >> 20) + 1);
	if (n->file_bytes) {
		buf_puts(line, n->budget_ms || n->limit_bytes ? " and " : " ");
		size_text_bytes(line, (uint64_t)n->file_bytes);
		buf_puts(line, " of disk and quota for the agent's spool");
	}
}
