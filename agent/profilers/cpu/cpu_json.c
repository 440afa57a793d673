#include "agent/profilers/cpu/cpu_json.h"

#include "agent/stacks/cpu_edges.h"
#include "agent/symbols/method_name.h"
#include "agent/report/old_json.h"
#include "agent/stacks/report_tree.h"
#include "common/base/text.h"

#include <inttypes.h>
#include <string.h>

#define TOP_METHODS 50
#define EDGES 8

/* Names of methods are bounded and shown already. */
static void put_method(struct report_file *f, const struct cpu_analysis *a, const char *key, uint32_t method)
{
	buf_printf(&f->text, ",\"%s\":", key);
	if (method == CPU_NO_METHOD)
		buf_puts(&f->text, "null");
	else
		text_append_json(&f->text, a->methods[method].name, strlen(a->methods[method].name));
}

static void put_percent(struct report_file *f, const struct cpu_analysis *a, const char *key, uint32_t count)
{
	buf_printf(&f->text, ",\"%s\":%.2f", key, cpu_analysis_percent(a, count));
}

static void put_diagnosis(const struct report_source *s, struct report_file *f)
{
	static const char *const findings[] = {"idle", "noSamples", "method", "spread", "category", "fewSamples"};
	const struct cpu_diagnosis *d = s->diagnosis;
	const char *method = d->method == CPU_NO_METHOD ? NULL : s->analysis->methods[d->method].name;
	AUTO_BUF struct buf more;
	buf_init(&more, METHOD_NAME_SIZE * 8);
	buf_puts(&more, ",\"method\":");
	if (method)
		text_append_json(&more, method, strlen(method));
	else
		buf_puts(&more, "null");
	if (d->finding == FINDING_CATEGORY)
		buf_printf(&more, ",\"category\":\"%s\"", cpu_category_name(d->category));
	else
		buf_puts(&more, ",\"category\":null");
	old_json_begin(&s->head, findings[d->finding], buf_str(&more), f);
}

static void put_stack_gaps(const struct cpu_capture *c, struct report_file *f)
{
	static const char *const names[STACK_GAP_COUNT] = {
		[STACK_GAP_DEEP] = "deep", [STACK_GAP_CODE] = "code", [STACK_GAP_BROKEN] = "broken",
		[STACK_GAP_ROOM] = "room", [STACK_GAP_REGISTERS] = "registers",
	};
	old_json_string(f, "stacks", c->exact_stacks ? "code" : "framePointers");
	old_json_integer(f, "incompleteStacks", cpu_capture_incomplete(c));
	buf_puts(&f->text, ",\"incompleteByReason\":{");
	for (int i = 0; i < STACK_GAP_COUNT; i++)
		buf_printf(&f->text, "%s\"%s\":%" PRId64, i ? "," : "", names[i], c->stack_gaps[i]);
	buf_puts(&f->text, "}");
}

static void put_sampling(const struct cpu_analysis *a, struct report_file *f)
{
	const struct cpu_capture *c = a->capture;
	buf_printf(&f->text, ",\n\"sampling\":{\"samples\":%" PRIu32, a->samples);
	old_json_string(f, "method", c->method);
	old_json_integer(f, "frequencyHertz", c->frequency_hertz);
	old_json_integer(f, "periodNanoseconds", a->period_ns);
	old_json_bool(f, "kernelFrames", c->kernel_frames);
	old_json_string(f, "fallbackReason", c->fallback_reason);
	old_json_string(f, "fallbackMessage", c->fallback_message);
	old_json_bool(f, "besideAnotherProfiler", c->facts.beside_profiler);
	old_json_integer(f, "lost", c->lost_samples);
	old_json_integer(f, "dropped", c->dropped);
	old_json_integer(f, "cutStacks", a->truncated_samples);
	put_stack_gaps(c, f);
	old_json_integer(f, "managedFramesNamed", c->managed_frames);
	old_json_integer(f, "managedFramesUnnamed", c->unresolved_frames);
	buf_printf(&f->text, "},\n\"cpu\":{\"usedNanoseconds\":%" PRId64 ",\"usedCPUs\":%.4f,\"allowedCPUs\":%.3f", a->cpu_ns,
		   a->cpus_used, a->cpus_allowed);
	old_json_bool(f, "limited", a->limited);
	old_json_known(f, "limitMillicores", c->cpu_limit_millicores);
	old_json_integer(f, "nodeCPUs", c->node_cpus);
	old_json_known(f, "throttledPeriods", c->throttled_periods);
	old_json_known(f, "periods", c->total_periods);
	old_json_known(f, "throttledNanoseconds", c->throttled_ns);
	buf_printf(&f->text, "},\n\"collections\":{\"count\":%" PRIu32 ",\"byGeneration\":[%" PRIu32 ",%" PRIu32 ",%" PRIu32 "]",
		   a->collections.count, a->collections.by_generation[0], a->collections.by_generation[1],
		   a->collections.by_generation[2]);
	old_json_integer(f, "totalNanoseconds", a->collections.total_ns);
	old_json_integer(f, "longestNanoseconds", a->collections.longest_ns);
	buf_puts(&f->text, "}");
}

static void put_categories(const struct cpu_analysis *a, struct report_file *f)
{
	buf_puts(&f->text, ",\n\"categories\":[");
	for (int i = 0; i < CATEGORY_COUNT; i++) {
		buf_printf(&f->text, "%s{\"category\":\"%s\",\"title\":\"%s\",\"samples\":%" PRIu32, i ? ",\n" : "\n",
			   cpu_category_name(i), cpu_category_title(i), a->by_category[i]);
		put_percent(f, a, "percent", a->by_category[i]);
		buf_puts(&f->text, "}");
	}
	buf_puts(&f->text, "]");
}

static void put_edges(const struct cpu_analysis *a, const char *key, const struct cpu_edge *edges, size_t count, struct report_file *f)
{
	buf_printf(&f->text, ",\"%s\":[", key);
	for (size_t i = 0; i < count; i++) {
		buf_printf(&f->text, "%s{\"samples\":%" PRIu32, i ? "," : "", edges[i].count);
		put_method(f, a, "name", edges[i].method);
		buf_puts(&f->text, "}");
	}
	buf_puts(&f->text, "]");
}

static void put_top_methods(const struct cpu_analysis *a, struct report_file *f)
{
	struct cpu_edge edges[EDGES];
	buf_puts(&f->text, ",\n\"topMethods\":[");
	for (size_t i = 0; i < a->method_count && i < TOP_METHODS; i++) {
		uint32_t id = a->by_self[i];
		const struct cpu_method *m = &a->methods[id];
		buf_printf(&f->text, "%s{\"method\":%" PRIu32, i ? ",\n" : "\n", id);
		put_method(f, a, "name", id);
		old_json_string(f, "module", m->module);
		buf_printf(&f->text, ",\"self\":%" PRIu64 ",\"total\":%" PRIu64, m->self, m->total);
		put_percent(f, a, "selfPercent", m->self);
		put_percent(f, a, "totalPercent", m->total);
		put_edges(a, "callers", edges, cpu_edges_callers(a, id, edges, EDGES), f);
		put_edges(a, "callees", edges, cpu_edges_callees(a, id, edges, EDGES), f);
		buf_puts(&f->text, "}");
		report_file_flow(f);
	}
	buf_puts(&f->text, "]");
}

static void put_methods(const struct cpu_analysis *a, struct report_file *f)
{
	buf_puts(&f->text, ",\n\"methods\":[");
	for (size_t i = 0; i < a->method_count; i++) {
		const struct cpu_method *m = &a->methods[i];
		buf_puts(&f->text, i ? ",\n{\"name\":" : "\n{\"name\":");
		text_append_json(&f->text, m->name, strlen(m->name));
		buf_puts(&f->text, ",\"module\":");
		text_append_json(&f->text, m->module, strlen(m->module));
		buf_printf(&f->text, ",\"layer\":\"%s\",\"self\":%" PRIu64 ",\"total\":%" PRIu64 ",\"caused\":%" PRIu32,
			   cpu_layer_name(m->layer), m->self, m->total, cpu_analysis_caused(m));
		old_json_marks(f, "marks", m->marks);
		buf_puts(&f->text, "}");
		report_file_flow(f);
	}
	buf_puts(&f->text, "]");
}

static void put_threads(const struct cpu_analysis *a, struct report_file *f)
{
	buf_puts(&f->text, ",\n\"threads\":[");
	for (size_t i = 0; i < a->capture->thread_count; i++) {
		const struct stack_thread *t = &a->threads[a->thread_order[i]];
		const uint32_t *categories = a->thread_categories[a->thread_order[i]];
		buf_printf(&f->text, "%s{\"tid\":%" PRId64, i ? ",\n" : "\n", t->tid);
		old_json_string(f, "name", t->name);
		buf_printf(&f->text, ",\"samples\":%" PRIu64, t->weight);
		put_percent(f, a, "percent", (uint32_t)t->weight);
		old_json_integer(f, "cpuNanoseconds", t->cpu_ns);
		put_method(f, a, "topMethod", t->top_method);
		buf_puts(&f->text, ",\"categories\":{");
		const char *comma = "";
		for (int k = 0; k < CATEGORY_COUNT; k++) {
			if (!categories[k])
				continue;
			buf_printf(&f->text, "%s\"%s\":%" PRIu32, comma, cpu_category_name(k), categories[k]);
			comma = ",";
		}
		buf_puts(&f->text, "}}");
		report_file_flow(f);
	}
	buf_puts(&f->text, "]");
}

static void put_timeline(const struct cpu_analysis *a, struct report_file *f)
{
	buf_printf(&f->text, ",\n\"timeline\":{\"bucketSeconds\":%.6f,\"samples\":[",
		   (double)a->capture->facts.duration_ns / 1e9 / CPU_TIMELINE_BUCKETS);
	for (size_t i = 0; i < CPU_TIMELINE_BUCKETS; i++)
		buf_printf(&f->text, "%s%" PRIu32, i ? "," : "", a->timeline[i]);
	buf_puts(&f->text, "]}");
}

void cpu_json_write(const void *source, struct report_file *f)
{
	const struct report_source *s = source;
	const struct cpu_analysis *a = s->analysis;
	put_diagnosis(s, f);
	put_sampling(a, f);
	put_categories(a, f);
	put_top_methods(a, f);
	put_threads(a, f);
	put_timeline(a, f);
	put_methods(a, f);
	report_tree_json(f, &a->tree, NULL);
	old_json_end(&s->head, f);
}
