#include "agent/report_speedscope.h"

#include "common/base/cleanup.h"
#include "common/base/mem.h"
#include "common/base/text.h"

#include <string.h>

#define STACK_TEXTS_MAX_BYTES (4u * 1024 * 1024) /* what does not fit is made again each time */

static void put_string(struct report_file *f, const char *s)
{
	text_append_json(&f->text, s, strlen(s));
}

static void put_frames(const struct cpu_analysis *a, struct report_file *f)
{
	for (size_t i = 0; i < a->method_count; i++) {
		buf_puts(&f->text, i ? ",\n{\"name\":" : "\n{\"name\":");
		put_string(f, a->methods[i].name);
		if (a->methods[i].module[0]) {
			buf_puts(&f->text, ",\"file\":");
			put_string(f, a->methods[i].module);
		}
		buf_putc(&f->text, '}');
		report_file_flow(f);
	}
}

/* Samples of each thread together, by time: first[t]..first[t + 1] in the result. */
static uint32_t *by_thread(const struct cpu_analysis *a, size_t *first)
{
	const struct cpu_capture *c = a->capture;
	uint32_t *order = mem_calloc(c->sample_count + 1, sizeof *order);
	AUTO_FREE size_t *next = mem_calloc(c->thread_count + 1, sizeof *next);
	for (size_t t = 0; t < c->thread_count; t++)
		first[t + 1] = first[t] + a->threads[t].samples;
	memcpy(next, first, c->thread_count * sizeof *next);
	for (size_t i = 0; i < c->sample_count; i++)
		order[next[c->samples[i].thread]++] = (uint32_t)i;
	return order;
}

/* The text of the stacks that were written: a profile repeats few stacks many times. */
struct stack_texts {
	struct buf text;
	uint32_t *begin, *end; /* by node; end 0: not there */
};

static void put_new_stack(const struct cpu_analysis *a, uint32_t node, struct report_file *f)
{
	uint32_t path[REPORT_PATH_MAX];
	size_t depth = report_path(&a->tree, node, path);
	buf_putc(&f->text, '[');
	for (size_t k = 0; k < depth; k++) {
		if (k)
			buf_putc(&f->text, ',');
		report_file_number(f, path[k]);
	}
	buf_putc(&f->text, ']');
}

static void put_stack(const struct cpu_analysis *a, struct stack_texts *t, uint32_t node, struct report_file *f)
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

/* Runs of one stack become one sample; weights[i] is the length of the i-th run. Returns how many runs. */
static size_t put_runs(const struct cpu_analysis *a, struct stack_texts *texts, const uint32_t *samples, size_t count, uint32_t *weights,
		       struct report_file *f)
{
	size_t runs = 0;
	uint32_t last = STACK_TREE_NONE;
	for (size_t i = 0; i < count; i++) {
		uint32_t node = cpu_analysis_node(a, samples[i]);
		if (node == last) {
			weights[runs - 1]++;
			continue;
		}
		if (runs)
			buf_putc(&f->text, ',');
		put_stack(a, texts, node, f);
		weights[runs++] = 1;
		last = node;
	}
	return runs;
}

static void put_profile(const struct cpu_analysis *a, struct stack_texts *texts, const struct cpu_thread *t, const uint32_t *samples,
			uint32_t *weights, struct report_file *f)
{
	AUTO_FREE char *name = mem_printf("%s (%lld)", t->name, (long long)t->tid);
	buf_puts(&f->text, "\n{\"type\":\"sampled\",\"name\":");
	put_string(f, name);
	buf_printf(&f->text, ",\"unit\":\"nanoseconds\",\"startValue\":0,\"endValue\":%lld,\"samples\":[",
		   (long long)(t->samples * a->period_ns));
	size_t runs = put_runs(a, texts, samples, t->samples, weights, f);
	buf_puts(&f->text, "],\"weights\":[");
	for (size_t i = 0; i < runs; i++) {
		if (i)
			buf_putc(&f->text, ',');
		report_file_number(f, (uint64_t)weights[i] * (uint64_t)a->period_ns);
		report_file_flow(f);
	}
	buf_puts(&f->text, "]}");
}

void report_speedscope_write(const void *source, struct report_file *f)
{
	const struct report_source *s = source;
	const struct cpu_analysis *a = s->analysis;
	size_t thread_count = a->capture->thread_count;
	char scratch[64];
	AUTO_FREE size_t *first = mem_calloc(thread_count + 2, sizeof *first);
	AUTO_FREE uint32_t *order = by_thread(a, first);
	AUTO_FREE uint32_t *weights = mem_calloc(a->capture->sample_count + 1, sizeof *weights);
	AUTO_FREE uint32_t *begin = mem_calloc(a->tree.count, sizeof *begin), *end = mem_calloc(a->tree.count, sizeof *end);
	struct stack_texts texts = {.begin = begin, .end = end};
	buf_init(&texts.text, STACK_TEXTS_MAX_BYTES);
	buf_puts(&f->text, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"name\":");
	put_string(f, report_head_subject(&s->head, scratch, sizeof scratch));
	buf_puts(&f->text, ",\"exporter\":\"drdotnet " DRDOTNET_VERSION "\",\"activeProfileIndex\":0,\"shared\":{\"frames\":[");
	put_frames(a, f);
	buf_puts(&f->text, "]},\"profiles\":[");
	for (size_t i = 0; i < thread_count && a->threads[a->thread_order[i]].samples; i++) {
		uint32_t t = a->thread_order[i];
		if (i)
			buf_putc(&f->text, ',');
		put_profile(a, &texts, &a->threads[t], order + first[t], weights, f);
	}
	buf_puts(&f->text, "]}\n");
	buf_fini(&texts.text);
}
