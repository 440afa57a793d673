#include "agent/profilers/allocs/alloc_report.h"

#include "agent/symbols/method_name.h"
#include "agent/report/old_json.h"
#include "agent/stacks/report_tree.h"
#include "common/base/text.h"

#include <inttypes.h>
#include <string.h>

#define TYPES 1000
#define SITES 200
#define STACK_NAMES 32

static void put_count(struct report_file *f, const char *key, double value)
{
	buf_printf(&f->text, ",\"%s\":%.0f", key, value);
}

static void put_percent(struct report_file *f, const struct alloc_analysis *a, const char *key, double bytes)
{
	old_json_number(f, key, alloc_analysis_percent(a, bytes), 2);
}

static void put_estimate(struct report_file *f, const struct alloc_estimate *e)
{
	put_count(f, "samples", (double)e->samples);
	put_count(f, "bytes", e->bytes);
	put_count(f, "bytesLow", alloc_estimate_low(e));
	put_count(f, "bytesHigh", alloc_estimate_high(e));
	put_count(f, "objects", e->objects);
}

static void put_sampling(const struct alloc_analysis *a, struct report_file *f)
{
	const struct alloc_capture *c = a->capture;
	bool tick = c->event == ALLOC_EVENT_TICK;
	buf_printf(&f->text, ",\n\"sampling\":{\"event\":\"%s\",\"biased\":%s,\"meanBytes\":%d,\"confidencePercent\":%d",
		   tick ? "AllocationTick" : "AllocationSampled", tick ? "true" : "false", ALLOC_MEAN_BYTES, ALLOC_CONFIDENCE_PERCENT);
	old_json_number(f, "sampledPercent", c->covered_ns > 0 ? 100.0 * (double)c->sampled_ns / (double)c->covered_ns : 100, 1);
	put_count(f, "samples", (double)a->all.samples);
	put_count(f, "dropped", (double)c->dropped);
	put_count(f, "droppedBytes", a->dropped.bytes);
	put_count(f, "cutStacks", (double)a->cut_samples);
	put_count(f, "withoutStack", (double)a->stackless_samples);
	old_json_integer(f, "managedFramesNamed", c->stacks.managed_frames);
	old_json_integer(f, "managedFramesUnnamed", c->stacks.unresolved_frames);
	old_json_bool(f, "besideAnotherProfiler", c->stacks.facts.beside_profiler);
	buf_puts(&f->text, "}");
}

static void put_allocated(const struct alloc_analysis *a, struct report_file *f)
{
	double seconds = a->seconds > 0 ? a->seconds : 1;
	buf_printf(&f->text, ",\n\"allocated\":{\"bytesPerSecond\":%.1f", a->all.bytes / seconds);
	old_json_number(f, "objectsPerSecond", a->all.objects / seconds, 1);
	put_estimate(f, &a->all);
	put_count(f, "largeBytes", a->large_bytes);
	put_count(f, "largeObjects", a->large_objects);
	put_count(f, "pinnedBytes", a->pinned_bytes);
	buf_printf(&f->text, "},\n\"collections\":{\"count\":%" PRIu32 ",\"byGeneration\":[%" PRIu32 ",%" PRIu32 ",%" PRIu32 "]",
		   a->base.collections.count, a->base.collections.by_generation[0], a->base.collections.by_generation[1],
		   a->base.collections.by_generation[2]);
	old_json_integer(f, "totalNanoseconds", a->base.collections.total_ns);
	old_json_integer(f, "longestNanoseconds", a->base.collections.longest_ns);
	buf_puts(&f->text, "}");
}

/* An object with its first member; NULL: null. */
static void begin_row(struct report_file *f, size_t i, const char *key, const char *value)
{
	buf_printf(&f->text, "%s\n{\"%s\":", i ? "," : "", key);
	if (value)
		text_append_json(&f->text, value, strlen(value));
	else
		buf_puts(&f->text, "null");
}

static void put_types(const struct alloc_analysis *a, struct report_file *f)
{
	buf_puts(&f->text, ",\n\"types\":[");
	for (size_t i = 0; i < a->type_count && i < TYPES; i++) {
		const struct alloc_sum *t = &a->types[i];
		begin_row(f, i, "name", a->capture->types[t->type]);
		put_estimate(f, &t->estimate);
		put_percent(f, a, "percent", t->estimate.bytes);
		put_count(f, "largeBytes", t->large_bytes);
		put_count(f, "smallestBytes", (double)t->smallest);
		put_count(f, "largestBytes", (double)t->largest);
		old_json_shown(f, "method", alloc_analysis_method(a, t->method));
		old_json_number(f, "methodPercent", t->estimate.bytes > 0 ? 100 * t->method_bytes / t->estimate.bytes : 0, 2);
		buf_puts(&f->text, "}");
		report_file_flow(f);
	}
	buf_puts(&f->text, "]");
}

/* The stack's nodes were made of it: the methods above the leaf of the site. */
static void put_stack(const struct alloc_analysis *a, const struct alloc_sum *s, struct report_file *f)
{
	const struct stack_tree *t = &a->base.tree;
	uint32_t node = a->stack_node[s->stack];
	const char *comma = "";
	buf_puts(&f->text, ",\"stack\":[");
	for (int i = 0; i < STACK_NAMES && node != STACK_TREE_ROOT; i++, node = t->nodes[node].parent) {
		const char *name = a->base.methods[t->nodes[node].method].name;
		buf_puts(&f->text, comma);
		text_append_json(&f->text, name, strlen(name));
		comma = ",";
	}
	buf_puts(&f->text, "]");
}

static void put_sites(const struct alloc_analysis *a, struct report_file *f)
{
	buf_puts(&f->text, ",\n\"sites\":[");
	for (size_t i = 0; i < a->site_count && i < SITES; i++) {
		const struct alloc_sum *s = &a->sites[i];
		begin_row(f, i, "method", alloc_analysis_method(a, s->method));
		old_json_shown(f, "module", s->method == CPU_NO_METHOD ? "" : a->base.methods[s->method].module);
		old_json_shown(f, "type", a->capture->types[s->type]);
		put_estimate(f, &s->estimate);
		put_percent(f, a, "percent", s->estimate.bytes);
		old_json_bool(f, "large", s->heap == ALLOC_LARGE);
		put_stack(a, s, f);
		buf_puts(&f->text, "}");
		report_file_flow(f);
	}
	buf_puts(&f->text, "]");
}

static void put_threads(const struct alloc_analysis *a, struct report_file *f)
{
	buf_puts(&f->text, ",\n\"threads\":[");
	for (size_t i = 0; i < a->capture->stacks.thread_count; i++) {
		const struct stack_thread *t = &a->threads[a->thread_order[i]];
		buf_printf(&f->text, "%s{\"tid\":%" PRId64, i ? ",\n" : "\n", t->tid < 0 ? 0 : t->tid);
		old_json_shown(f, "name", t->name);
		put_count(f, "bytes", (double)t->weight);
		put_percent(f, a, "percent", (double)t->weight);
		buf_puts(&f->text, "}");
		report_file_flow(f);
	}
	buf_printf(&f->text, "],\n\"timeline\":{\"bucketSeconds\":%.6f,\"bytes\":[", a->seconds / CPU_TIMELINE_BUCKETS);
	for (size_t i = 0; i < CPU_TIMELINE_BUCKETS; i++)
		buf_printf(&f->text, "%s%" PRIu64, i ? "," : "", a->timeline[i]);
	buf_puts(&f->text, "]}");
}

static void put_methods(const struct alloc_analysis *a, struct report_file *f)
{
	buf_puts(&f->text, ",\n\"methods\":[");
	for (size_t i = 0; i < a->base.method_count; i++) {
		const struct cpu_method *m = &a->base.methods[i];
		begin_row(f, i, "name", m->name);
		old_json_shown(f, "module", m->module);
		old_json_shown(f, "layer", cpu_layer_name(m->layer));
		put_count(f, "self", (double)m->self);
		put_count(f, "total", (double)m->total);
		put_count(f, "objects", a->objects[i]);
		put_count(f, "caused", a->caused[i]);
		old_json_marks(f, "marks", m->marks);
		buf_puts(&f->text, "}");
		report_file_flow(f);
	}
	buf_puts(&f->text, "]");
}

void alloc_json_write(const void *source, struct report_file *f)
{
	const struct alloc_source *s = source;
	const struct alloc_analysis *a = s->analysis;
	uint32_t type = s->diagnosis->type;
	old_json_begin(&s->head, alloc_finding_name(s->diagnosis->finding), NULL, f);
	buf_puts(&f->text, ",\n\"main\":");
	begin_row(f, 0, "method", alloc_analysis_method(a, s->diagnosis->method));
	old_json_shown(f, "type", type == UINT32_MAX ? NULL : a->capture->types[type]);
	buf_puts(&f->text, "}");
	put_sampling(a, f);
	put_allocated(a, f);
	put_types(a, f);
	put_sites(a, f);
	put_threads(a, f);
	put_methods(a, f);
	report_tree_json(f, &a->base.tree, a->node_objects);
	old_json_end(&s->head, f);
}
