/* Answers about a heap walk from a library that says anything: names become printable, fields rise by offset. */
#include "agent/heap/heap_gaps.h"
#include "agent/heap/heap_label.h"
#include "agent/attach/profiler_channel_private.h"
#include "common/base/text.h"
#include "tests/fuzz/fuzz_tools.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define TYPES 4u

static void check_type(const struct heap_type *t)
{
	check_name(t->name);
	check_name(t->short_name);
	check_name(t->space);
	check_name(t->module);
	for (size_t i = 0; i < t->field_count; i++) {
		check_name(t->fields[i].name);
		check(i == 0 || t->fields[i - 1].offset <= t->fields[i].offset);
	}
	for (uint64_t offset = 0; offset < 64; offset += 8)
		check_name(heap_type_field(t, offset));
}

static void on_static(void *ctx, const struct heap_static_frame *s)
{
	(void)ctx;
	if (s->field.data) {
		char *name = heap_label_field(s->field.data, s->field.len);
		check_name(name);
		free(name);
	}
}

static void check_gaps(const struct heap_walked *w)
{
	static const enum heap_way ways[] = {HEAP_WAY_EXACT, HEAP_WAY_NO_COLLECTION, HEAP_WAY_TYPES};

	check(w->gap_count <= HEAP_GAPS_MAX);
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
		struct limits l = {0};
		heap_gaps_note(w, ways[i], &l);
		check(l.count <= w->gap_count);
		for (size_t k = 0; k < l.count; k++)
			check(l.list[k].meaning[0] && l.list[k].limit >= -1 && l.list[k].seen >= -1);
	}
}

static struct heap_snapshot *make_snapshot(void)
{
	struct heap_builder *b = heap_builder_new(false);

	for (unsigned i = 0; i < TYPES; i++)
		heap_builder_type(b, "T", i == 1 ? HEAP_TYPE_ARRAY | HEAP_TYPE_VARIABLE : 0, 24, NULL);
	struct heap_snapshot *s = heap_builder_finish_take(b);
	for (unsigned i = 0; i < TYPES; i++) {
		struct heap_type *t = &s->types[i];
		free(t->name);
		free(t->short_name);
		free(t->space);
		free(t->module);
		free(t->raw);
		*t = (struct heap_type){.class_id = i, .flags = t->flags, .base_size = t->base_size};
	}
	return s;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct profiler_channel channel = {.fd = -1};
	struct heap_snapshot *s = make_snapshot();
	struct heap_naming naming = {s, 0, TYPES};
	struct heap_client c = {.channel = &channel, .on_type = heap_label_type, .on_static = on_static, .ctx = &naming};
	struct channel_frame f;
	size_t used = 0;

	for (size_t at = 0; channel_next(data + at, size - at, &f, &used) == CHANNEL_FRAME; at += used) {
		struct err e = ERR_INIT;
		c.waiting_for = HEAP_FRAME_NAMED;
		int r = heap_client_frame(&c, &f, &e);
		check((r < 0) == (e.kind == ERR_PROTOCOL));
		if (r == 0 && f.type == HEAP_FRAME_WALKED)
			check_gaps(&c.walked);
	}
	for (unsigned i = 0; i < TYPES; i++)
		check_type(&s->types[i]);
	heap_snapshot_free(s);
	return 0;
}
