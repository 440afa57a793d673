#include "agent/profilers/allocs/alloc_report.h"

#include "agent/report/report_json.h"
#include "agent/stacks/report_lines.h"
#include "agent/stacks/report_tree.h"

#define TYPES 1000
#define SITES 200
#define STACK_NAMES 32

/* Estimates, as whole numbers. */
static void put_count(struct json_writer *w, const char *key, double value)
{
	jsonw_number(w, key, value, 0);
}

static void put_percent(struct json_writer *w, const struct alloc_analysis *a, const char *key, double bytes)
{
	jsonw_number(w, key, alloc_analysis_percent(a, bytes), 2);
}

static void put_estimate(struct json_writer *w, const struct alloc_estimate *e)
{
	put_count(w, "samples", (double)e->samples);
	put_count(w, "bytes", e->bytes);
	put_count(w, "bytesLow", alloc_estimate_low(e));
	put_count(w, "bytesHigh", alloc_estimate_high(e));
	put_count(w, "objects", e->objects);
}

static void put_main(const struct alloc_source *s, struct json_writer *w)
{
	const struct alloc_analysis *a = s->analysis;
	jsonw_line(w);
	jsonw_object(w, "main");
	jsonw_string(w, "method", alloc_analysis_method(a, s->diagnosis->method));
	jsonw_string(w, "type", s->diagnosis->type == UINT32_MAX ? NULL : a->capture->types[s->diagnosis->type]);
	jsonw_end(w);
}

static void put_sampling(const struct alloc_analysis *a, struct json_writer *w)
{
	const struct alloc_capture *c = a->capture;
	bool tick = c->event == ALLOC_EVENT_TICK;
	jsonw_line(w);
	jsonw_object(w, "sampling");
	jsonw_string(w, "event", tick ? "AllocationTick" : "AllocationSampled");
	jsonw_bool(w, "biased", tick);
	jsonw_integer(w, "meanBytes", ALLOC_MEAN_BYTES);
	jsonw_integer(w, "confidencePercent", ALLOC_CONFIDENCE_PERCENT);
	jsonw_number(w, "sampledPercent", site_time_sampled_percent(&c->time), 1);
	jsonw_unsigned(w, "samples", a->all.samples);
	jsonw_unsigned(w, "dropped", c->dropped);
	put_count(w, "droppedBytes", a->dropped.bytes);
	jsonw_unsigned(w, "cutStacks", a->cut_samples);
	jsonw_unsigned(w, "withoutStack", a->stackless_samples);
	jsonw_unsigned(w, "incompleteStacks", c->incomplete);
	jsonw_integer(w, "managedFramesNamed", c->stacks.managed_frames);
	jsonw_integer(w, "managedFramesUnnamed", c->stacks.unresolved_frames);
	jsonw_bool(w, "besideAnotherProfiler", c->stacks.facts.beside_profiler);
	jsonw_end(w);
}

static void put_allocated(const struct alloc_analysis *a, struct json_writer *w)
{
	double seconds = a->seconds > 0 ? a->seconds : 1;
	jsonw_line(w);
	jsonw_object(w, "allocated");
	jsonw_number(w, "bytesPerSecond", a->all.bytes / seconds, 1);
	jsonw_number(w, "objectsPerSecond", a->all.objects / seconds, 1);
	put_estimate(w, &a->all);
	put_count(w, "largeBytes", a->large_bytes);
	put_count(w, "largeObjects", a->large_objects);
	put_count(w, "pinnedBytes", a->pinned_bytes);
	jsonw_end(w);
}

static void put_types(const struct alloc_analysis *a, struct report_file *f)
{
	struct json_writer *w = &f->json;
	jsonw_line(w);
	jsonw_array(w, "types");
	for (size_t i = 0; i < a->type_count && i < TYPES; i++) {
		const struct alloc_sum *t = &a->types[i];
		report_json_record(f);
		jsonw_string(w, "name", a->capture->types[t->type]);
		put_estimate(w, &t->estimate);
		put_percent(w, a, "percent", t->estimate.bytes);
		put_count(w, "largeBytes", t->large_bytes);
		jsonw_unsigned(w, "smallestBytes", t->smallest);
		jsonw_unsigned(w, "largestBytes", t->largest);
		jsonw_string(w, "method", alloc_analysis_method(a, t->method));
		jsonw_number(w, "methodPercent", t->estimate.bytes > 0 ? 100 * t->method_bytes / t->estimate.bytes : 0, 2);
		report_json_end(f);
	}
	jsonw_end(w);
}

static void put_sites(const struct alloc_analysis *a, struct report_file *f)
{
	struct json_writer *w = &f->json;
	jsonw_line(w);
	jsonw_array(w, "sites");
	for (size_t i = 0; i < a->site_count && i < SITES; i++) {
		const struct alloc_sum *s = &a->sites[i];
		report_json_record(f);
		jsonw_string(w, "method", alloc_analysis_method(a, s->method));
		jsonw_string(w, "module", s->method == CPU_NO_METHOD ? "" : a->base.methods[s->method].module);
		if (alloc_analysis_place(a, s))
			report_lines_place(f, alloc_analysis_place(a, s));
		jsonw_string(w, "type", a->capture->types[s->type]);
		put_estimate(w, &s->estimate);
		put_percent(w, a, "percent", s->estimate.bytes);
		jsonw_bool(w, "large", s->heap == ALLOC_LARGE);
		jsonw_bool(w, "pinned", s->heap == ALLOC_PINNED);
		report_tree_stack(w, &a->base, a->stack_node[s->stack], STACK_NAMES); /* the methods above the leaf of the site */
		report_json_end(f);
	}
	jsonw_end(w);
}

static void put_method_objects(const void *ctx, size_t method, struct report_file *f)
{
	const struct alloc_analysis *a = ctx;
	put_count(&f->json, "objects", a->objects[method]);
	put_count(&f->json, "caused", a->caused[method]);
}

void alloc_json_write(const void *source, struct report_file *f)
{
	const struct alloc_source *s = source;
	const struct alloc_analysis *a = s->analysis;
	report_head_json_begin(&s->head, s->diagnosis->finding, f);
	jsonw_end(&f->json);
	put_main(s, &f->json);
	put_sampling(a, &f->json);
	put_allocated(a, &f->json);
	report_tree_collections(f, &a->base);
	put_types(a, f);
	put_sites(a, f);
	report_tree_threads(f, &a->base, "bytes", a->all.bytes);
	report_tree_timeline(f, &a->base, "bytes", a->timeline, 0);
	report_tree_methods(f, &a->base, put_method_objects, a);
	report_lines_symbols(f, &a->capture->stacks.sources);
	report_tree_json(f, &a->base.tree, a->node_objects);
	report_tree_leaves(f, &a->base);
	report_head_json_end(&s->head, f);
}
