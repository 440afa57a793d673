#include "agent/stacks/report_speedscope.h"

#include "common/base/cleanup.h"
#include "common/base/mem.h"
#include "common/base/text.h"

#include <string.h>

#define STACK_TEXTS_MAX_BYTES (4u * 1024 * 1024) /* what does not fit is made again each time */

static void put_json_text(struct report_file *f, const char *s)
{
	text_append_json(&f->text, s, strlen(s));
}

/* A method's frame is one, whatever its line: it tells the hottest. NULL: no line is known. */
static const struct frame *hottest_place(const struct stack_profile *p, const struct cpu_method *m)
{
	return m->line_count && p->lines ? &p->frames[p->lines[m->first_line].frame] : NULL;
}

static void put_frames(const struct stack_profile *a, struct report_file *f)
{
	for (size_t i = 0; i < a->method_count; i++) {
		buf_puts(&f->text, i ? ",\n{\"name\":" : "\n{\"name\":");
		put_json_text(f, a->methods[i].name);
		const struct frame *place = hottest_place(a, &a->methods[i]);
		const char *file = place ? place->file : a->methods[i].module;
		if (file[0]) {
			buf_puts(&f->text, ",\"file\":");
			put_json_text(f, file);
		}
		if (place)
			buf_printf(&f->text, ",\"line\":%u", place->line);
		buf_putc(&f->text, '}');
		report_file_flow(f);
	}
}

/* The thread's leaves, in the tree's order. */
static size_t thread_leaves(const void *profile, uint32_t thread, uint32_t *nodes, uint64_t *weights)
{
	const struct stack_profile *p = profile;
	size_t count = 0;
	for (size_t i = 0; i < p->leaf_count; i++)
		if (p->leaves[i].thread == thread) {
			nodes[count] = p->leaves[i].node;
			weights[count++] = p->leaves[i].weight;
		}
	return count;
}

/* The text of the stacks that were written: a profile repeats few stacks many times. */
struct stack_texts {
	struct buf text;
	uint32_t *begin, *end; /* by node; end 0: not there */
};

static void put_new_stack(const struct stack_profile *a, uint32_t node, struct report_file *f)
{
	uint32_t path[STACK_PATH_MAX];
	size_t depth = stack_profile_path(a->tree, node, path);
	buf_putc(&f->text, '[');
	for (size_t k = 0; k < depth; k++) {
		if (k)
			buf_putc(&f->text, ',');
		report_file_number(f, path[k]);
	}
	buf_putc(&f->text, ']');
}

static void put_stack_frames(const struct stack_profile *a, struct stack_texts *t, uint32_t node, struct report_file *f)
{
	if (t->end[node]) {
		buf_append(&f->text, t->text.data + t->begin[node], t->end[node] - t->begin[node]);
	} else {
		size_t begin = f->text.len;
		put_new_stack(a, node, f);
		size_t len = f->text.len - begin;
		if (t->text.len + len <= STACK_TEXTS_MAX_BYTES) {
			t->begin[node] = (uint32_t)t->text.len;
			buf_append(&t->text, f->text.data + begin, len);
			t->end[node] = (uint32_t)t->text.len;
		}
	}
	report_file_flow(f);
}

struct runs { /* of one thread */
	uint32_t *nodes;
	uint64_t *weights;
	size_t count;
};

static void put_profile(const struct stack_profile *p, struct stack_texts *texts, const struct stack_thread *t, const struct runs *runs,
			struct report_file *f)
{
	AUTO_FREE char *name = mem_printf("%s (%lld)", t->name, (long long)t->tid);
	buf_puts(&f->text, "\n{\"type\":\"sampled\",\"name\":");
	put_json_text(f, name);
	buf_printf(&f->text, ",\"unit\":\"%s\",\"startValue\":0,\"endValue\":%llu,\"samples\":[", p->weight_value.unit,
		   (unsigned long long)(t->weight * p->scale));
	for (size_t i = 0; i < runs->count; i++) {
		if (i)
			buf_putc(&f->text, ',');
		put_stack_frames(p, texts, runs->nodes[i], f);
	}
	buf_puts(&f->text, "],\"weights\":[");
	for (size_t i = 0; i < runs->count; i++) {
		if (i)
			buf_putc(&f->text, ',');
		report_file_number(f, runs->weights[i] * p->scale);
		report_file_flow(f);
	}
	buf_puts(&f->text, "]}");
}

void report_speedscope_write(const struct stack_profile *p, const struct speedscope_order *order, struct report_file *f)
{
	const struct speedscope_order leaves = {thread_leaves, p, p->leaf_count};
	const struct speedscope_order *o = order ? order : &leaves;
	AUTO_FREE uint32_t *nodes = mem_calloc(o->most + 1, sizeof *nodes);
	AUTO_FREE uint64_t *weights = mem_calloc(o->most + 1, sizeof *weights);
	AUTO_FREE uint32_t *begin = mem_calloc(p->tree->count, sizeof *begin), *end = mem_calloc(p->tree->count, sizeof *end);
	struct stack_texts texts = {.begin = begin, .end = end};
	struct runs runs = {.nodes = nodes, .weights = weights};
	buf_init(&texts.text, STACK_TEXTS_MAX_BYTES);
	buf_puts(&f->text, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"name\":");
	put_json_text(f, p->subject);
	buf_puts(&f->text, ",\"exporter\":\"drdotnet " DRDOTNET_VERSION "\",\"activeProfileIndex\":0,\"shared\":{\"frames\":[");
	put_frames(p, f);
	buf_puts(&f->text, "]},\"profiles\":[");
	for (size_t i = 0; i < p->thread_count && p->threads[p->thread_order[i]].weight; i++) {
		uint32_t t = p->thread_order[i];
		if (i)
			buf_putc(&f->text, ',');
		runs.count = o->of_thread(o->ctx, t, nodes, weights);
		put_profile(p, &texts, &p->threads[t], &runs, f);
	}
	buf_puts(&f->text, "]}\n");
	buf_fini(&texts.text);
}
