#include "agent/profilers/cpu/cpu_json.h"

#include "agent/profilers/cpu/cpu_start.h"

#include "agent/report/report_json.h"
#include "agent/stacks/cpu_edges.h"
#include "agent/stacks/report_lines.h"
#include "agent/stacks/report_tree.h"
#include "common/base/cleanup.h"
#include "common/base/mem.h"

#define TOP_METHODS 50
#define EDGES 8

/* Names of methods are bounded and shown already. */
static void put_method(struct json_writer *w, const struct cpu_analysis *a, const char *key, uint32_t method)
{
	jsonw_string(w, key, method == CPU_NO_METHOD ? NULL : a->methods[method].name);
}

static void put_percent(struct json_writer *w, const struct cpu_analysis *a, const char *key, uint32_t count)
{
	jsonw_number(w, key, cpu_analysis_percent(a, count), 2);
}

static void put_diagnosis(const struct report_source *s, struct report_file *f)
{
	static const char *const findings[] = {"idle", "noSamples", "method", "spread", "category", "fewSamples", "machine"};
	const struct cpu_diagnosis *d = s->diagnosis;
	report_head_json_begin(&s->head, findings[d->finding], f);
	put_method(&f->json, s->analysis, "method", d->method);
	jsonw_string(&f->json, "category", d->finding == CPU_FINDING_CATEGORY ? cpu_category_name(d->category) : NULL);
	jsonw_end(&f->json);
}

static void put_stack_gaps(const struct cpu_capture *c, struct json_writer *w)
{
	static const char *const names[STACK_GAP_COUNT] = {
		[STACK_GAP_DEEP] = "deep", [STACK_GAP_CODE] = "code", [STACK_GAP_BROKEN] = "broken",
		[STACK_GAP_ROOM] = "room", [STACK_GAP_REGISTERS] = "registers",
	};
	jsonw_string(w, "stacks", c->exact_stacks ? "code" : "framePointers");
	jsonw_integer(w, "incompleteStacks", cpu_capture_incomplete(c));
	jsonw_object(w, "incompleteByReason");
	for (int i = 0; i < STACK_GAP_COUNT; i++)
		jsonw_integer(w, names[i], c->stack_gaps[i]);
	jsonw_end(w);
}

static void put_sampling(const struct cpu_analysis *a, struct report_file *f)
{
	const struct cpu_capture *c = a->capture;
	struct json_writer *w = &f->json;
	jsonw_line(w);
	jsonw_object(w, "sampling");
	jsonw_unsigned(w, "samples", a->samples);
	report_json_string(f, "method", c->method);
	jsonw_integer(w, "frequencyHertz", c->frequency_hertz);
	jsonw_integer(w, "periodNanoseconds", a->period_ns);
	jsonw_bool(w, "kernelFrames", c->kernel_frames);
	report_json_string(f, "fallbackReason", c->fallback_reason);
	report_json_string(f, "fallbackMessage", c->fallback_message);
	jsonw_bool(w, "besideAnotherProfiler", c->facts.beside_profiler);
	jsonw_integer(w, "lost", c->lost_samples);
	jsonw_integer(w, "dropped", c->dropped);
	jsonw_unsigned(w, "cutStacks", a->truncated_samples);
	put_stack_gaps(c, w);
	jsonw_integer(w, "managedFramesNamed", c->managed_frames);
	jsonw_integer(w, "managedFramesUnnamed", c->unresolved_frames);
	jsonw_end(w);
}

static void put_cpu(const struct cpu_analysis *a, struct json_writer *w)
{
	const struct cpu_capture *c = a->capture;
	jsonw_line(w);
	jsonw_object(w, "cpu");
	jsonw_integer(w, "usedNanoseconds", a->cpu_ns);
	jsonw_number(w, "usedCPUs", a->cpus_used, 4);
	jsonw_number(w, "allowedCPUs", a->cpus_allowed, 3);
	jsonw_bool(w, "limited", a->limited);
	jsonw_known(w, "limitMillicores", c->cpu_limit_millicores);
	jsonw_integer(w, "nodeCPUs", c->node_cpus);
	jsonw_known(w, "throttledPeriods", c->throttled_periods);
	jsonw_known(w, "periods", c->total_periods);
	jsonw_known(w, "throttledNanoseconds", c->throttled_ns);
	jsonw_integer(w, "busyThreads", a->busy_threads);
	jsonw_known(w, "waitedNanoseconds", c->facts.run_delay_ns);
	jsonw_known(w, "nodePressureNanoseconds", c->facts.node_pressure_ns);
	jsonw_known(w, "uptimeSeconds", c->facts.uptime_ms < 0 ? -1 : c->facts.uptime_ms / 1000);
	jsonw_end(w);
}

static void put_categories(const struct cpu_analysis *a, struct report_file *f)
{
	struct json_writer *w = &f->json;
	jsonw_line(w);
	jsonw_array(w, "categories");
	for (int i = 0; i < CATEGORY_COUNT; i++) {
		report_json_record(f);
		jsonw_string(w, "category", cpu_category_name(i));
		jsonw_string(w, "title", cpu_category_title(i));
		jsonw_unsigned(w, "samples", a->by_category[i]);
		put_percent(w, a, "percent", a->by_category[i]);
		jsonw_end(w);
	}
	jsonw_end(w);
}

static void put_edges(const struct cpu_analysis *a, const char *key, const struct cpu_edge *edges, size_t count, struct json_writer *w)
{
	jsonw_array(w, key);
	for (size_t i = 0; i < count; i++) {
		jsonw_object(w, NULL);
		jsonw_unsigned(w, "samples", edges[i].count);
		put_method(w, a, "name", edges[i].method);
		jsonw_end(w);
	}
	jsonw_end(w);
}

static void put_top_methods(const struct cpu_analysis *a, struct report_file *f)
{
	struct cpu_edge edges[EDGES];
	struct json_writer *w = &f->json;
	jsonw_line(w);
	jsonw_array(w, "topMethods");
	for (size_t i = 0; i < a->method_count && i < TOP_METHODS; i++) {
		uint32_t id = a->by_self[i];
		const struct cpu_method *m = &a->methods[id];
		report_json_record(f);
		jsonw_unsigned(w, "method", id);
		put_method(w, a, "name", id);
		report_json_string(f, "module", m->module);
		jsonw_unsigned(w, "self", m->self);
		jsonw_unsigned(w, "total", m->total);
		put_percent(w, a, "selfPercent", (uint32_t)m->self);
		put_percent(w, a, "totalPercent", (uint32_t)m->total);
		put_edges(a, "callers", edges, cpu_edges_callers(a, id, edges, EDGES), w);
		put_edges(a, "callees", edges, cpu_edges_callees(a, id, edges, EDGES), w);
		report_json_end(f);
	}
	jsonw_end(w);
}

static void put_method_lines(const void *ctx, size_t method, struct report_file *f)
{
	const struct cpu_analysis *a = ctx;
	jsonw_unsigned(&f->json, "caused", cpu_analysis_caused(&a->methods[method]));
	report_lines_method(f, a, &a->methods[method]);
}

static void put_thread(const struct cpu_analysis *a, uint32_t thread, struct report_file *f)
{
	const struct stack_thread *t = &a->threads[thread];
	struct json_writer *w = &f->json;
	report_json_record(f);
	jsonw_integer(w, "tid", t->tid);
	report_json_string(f, "name", t->name);
	jsonw_unsigned(w, "samples", t->weight);
	put_percent(w, a, "percent", (uint32_t)t->weight);
	jsonw_integer(w, "cpuNanoseconds", t->cpu_ns);
	put_method(w, a, "topMethod", t->top_method);
	jsonw_object(w, "categories");
	for (int k = 0; k < CATEGORY_COUNT; k++)
		if (a->thread_categories[thread][k])
			jsonw_unsigned(w, cpu_category_name(k), a->thread_categories[thread][k]);
	jsonw_end(w);
	report_json_end(f);
}

static void put_threads(const struct cpu_analysis *a, struct report_file *f)
{
	jsonw_line(&f->json);
	jsonw_array(&f->json, "threads");
	for (size_t i = 0; i < a->capture->thread_count; i++)
		put_thread(a, a->thread_order[i], f);
	jsonw_end(&f->json);
}

static void put_timeline(const struct cpu_analysis *a, struct report_file *f)
{
	double samples[CPU_TIMELINE_BUCKETS];
	for (size_t i = 0; i < CPU_TIMELINE_BUCKETS; i++)
		samples[i] = a->timeline[i];
	report_tree_timeline(f, a, "samples", samples, 0);
}

static void put_tree(const struct cpu_analysis *a, struct report_file *f)
{
	AUTO_FREE struct report_tree_time *times = mem_calloc(a->samples + 1, sizeof *times);
	report_tree_json(f, &a->tree, NULL);
	report_tree_leaves(f, a);
	for (size_t i = 0; i < a->samples; i++)
		times[i] = (struct report_tree_time){a->tree.rank[cpu_analysis_node(a, i)], cpu_analysis_bucket(a, i), 1};
	report_tree_times(f, times, a->samples);
}

void cpu_json_write(const void *source, struct report_file *f)
{
	const struct report_source *s = source;
	const struct cpu_analysis *a = s->analysis;
	put_diagnosis(s, f);
	put_sampling(a, f);
	put_cpu(a, &f->json);
	cpu_start_json(a, &f->json);
	report_tree_collections(f, a);
	put_categories(a, f);
	put_top_methods(a, f);
	put_threads(a, f);
	put_timeline(a, f);
	report_tree_methods(f, a, put_method_lines, a);
	report_lines_symbols(f, &a->capture->sources);
	put_tree(a, f);
	report_head_json_end(&s->head, f);
}
