#include "agent/profilers/waits/wait_json.h"

#include "agent/profilers/waits/wait_report.h"
#include "agent/report/report_file.h"
#include "agent/report/report_json.h"
#include "agent/stacks/report_tree.h"
#include "agent/stacks/report_lines.h"
#include "agent/symbols/method_name.h"

#define FRAMES_MAX 100
#define PLACES_WRITTEN 500
#define LINES_WRITTEN 1000

static void put_ns(struct json_writer *w, const char *key, double ns)
{
	jsonw_unsigned(w, key, ns > 0 ? (uint64_t)ns : 0);
}

static void put_sampling(const struct wait_analysis *a, struct report_file *f)
{
	const struct wait_capture *c = a->capture;
	struct json_writer *w = &f->json;
	jsonw_line(w);
	jsonw_object(w, "sampling");
	jsonw_unsigned(w, "switches", a->switches);
	jsonw_unsigned(w, "period", c->period);
	jsonw_unsigned(w, "threadLooks", c->looks);
	jsonw_number(w, "recordedPercent", wait_analysis_recorded_percent(a), 1);
	jsonw_unsigned(w, "waitsWithStack", a->waits);
	put_ns(w, "unseenNanoseconds", a->unseen_ns);
	put_ns(w, "cutNanoseconds", a->cut_ns);
	jsonw_unsigned(w, "lost", c->lost);
	jsonw_unsigned(w, "dropped", c->dropped);
	jsonw_unsigned(w, "stacksUnread", c->stacks_unread);
	jsonw_unsigned(w, "lockLooks", c->locks_read ? c->lock_looks : 0);
	jsonw_integer(w, "incompleteStacks", cpu_capture_incomplete(&c->stacks));
	jsonw_integer(w, "managedFramesNamed", c->stacks.managed_frames);
	jsonw_integer(w, "managedFramesUnnamed", c->stacks.unresolved_frames);
	jsonw_bool(w, "besideAnotherProfiler", c->stacks.facts.beside_profiler);
	jsonw_end(w);
}

static void put_timeline(const struct wait_analysis *a, struct json_writer *w)
{
	jsonw_line(w);
	jsonw_object(w, "timeline");
	jsonw_unsigned(w, "parts", a->states.parts);
	jsonw_integer(w, "partNanoseconds", a->states.part_ns);
	jsonw_end(w);
}

static void put_queue(const struct pool_sights *q, struct json_writer *w)
{
	if (!q->looks) {
		jsonw_null(w, "queue");
		return;
	}
	jsonw_object(w, "queue");
	jsonw_unsigned(w, "looks", q->looks);
	jsonw_integer(w, "least", q->least);
	jsonw_number(w, "mean", q->sum / (double)q->looks, 1);
	jsonw_integer(w, "most", q->most);
	jsonw_integer(w, "last", q->last);
	jsonw_end(w);
}

static void put_waiting(const struct wait_analysis *a, struct json_writer *w)
{
	jsonw_line(w);
	jsonw_object(w, "waiting");
	put_ns(w, "nanoseconds", a->waiting_ns);
	jsonw_number(w, "threads", wait_analysis_threads(a, a->waiting_ns), 3);
	put_ns(w, "idleNanoseconds", a->idle_ns);
	jsonw_number(w, "idleThreads", wait_analysis_threads(a, a->idle_ns), 3);
	jsonw_end(w);
	jsonw_line(w);
	jsonw_object(w, "pool");
	jsonw_unsigned(w, "workers", a->pool.workers);
	jsonw_unsigned(w, "workersAtBegin", a->capture->workers_begin);
	jsonw_unsigned(w, "workersAtEnd", a->capture->workers_end);
	jsonw_unsigned(w, "workersNew", a->capture->workers_new);
	jsonw_unsigned(w, "workersBlocked", a->pool.blocked);
	jsonw_unsigned(w, "workersStill", a->pool.still);
	put_ns(w, "aliveNanoseconds", a->pool.alive_ns);
	put_ns(w, "blockedNanoseconds", a->pool.blocked_ns);
	put_ns(w, "idleNanoseconds", a->pool.idle_ns);
	put_queue(&a->capture->queue, w);
	jsonw_end(w);
}

static void put_kinds(const struct wait_analysis *a, struct report_file *f)
{
	struct json_writer *w = &f->json;
	jsonw_line(w);
	jsonw_array(w, "kinds");
	for (int k = 0; k < WAIT_KIND_COUNT; k++) {
		report_json_record(f);
		jsonw_string(w, "kind", wait_kind_name((enum wait_kind)k));
		jsonw_string(w, "title", wait_kind_title((enum wait_kind)k));
		put_ns(w, "nanoseconds", a->by_kind[k]);
		jsonw_number(w, "percent", k == WAIT_KIND_CPU ? 0 : wait_analysis_percent(a, a->by_kind[k]), 2);
		jsonw_number(w, "threads", wait_analysis_threads(a, a->by_kind[k]), 3);
		put_ns(w, "waits", a->counts[k] + 0.5);
		jsonw_end(w);
	}
	jsonw_end(w);
}

static void put_stack(const struct wait_analysis *a, uint32_t stack, struct report_file *f)
{
	const struct cpu_capture *c = &a->capture->stacks;
	const struct capture_stack *s = &c->stacks[stack];
	jsonw_array(&f->json, "stack");
	for (uint32_t i = 0; i < s->depth && i < FRAMES_MAX; i++) {
		struct method_name name;
		const struct frame *frame = &c->frames[c->stack_frames[s->first + i]];
		method_name_make(frame, &name);
		jsonw_object(&f->json, NULL);
		report_json_string(f, "name", name.text);
		jsonw_string(&f->json, "layer", cpu_layer_name(cpu_layer_of(frame)));
		report_lines_place(f, frame);
		jsonw_end(&f->json);
	}
	jsonw_end(&f->json);
}

static void put_holder(const struct wait_analysis *a, const struct wait_place *p, struct json_writer *w)
{
	if (!p->sightings) {
		jsonw_null(w, "heldBy");
		return;
	}
	jsonw_object(w, "heldBy");
	jsonw_unsigned(w, "looks", p->sightings);
	jsonw_unsigned(w, "running", p->held_running);
	jsonw_unsigned(w, "waiting", p->held_known);
	jsonw_string(w, "method", p->holder == CPU_NO_METHOD ? NULL : a->base.methods[p->holder].name);
	jsonw_string(w, "waitsFor", p->holder_what);
	jsonw_end(w);
}

static void put_place(const struct wait_analysis *a, const struct wait_place *p, struct report_file *f)
{
	struct json_writer *w = &f->json;
	report_json_record(f);
	jsonw_string(w, "kind", wait_kind_name(p->meaning.kind));
	jsonw_string(w, "what", p->meaning.what);
	jsonw_string(w, "method", p->method == CPU_NO_METHOD || p->meaning.idle ? NULL : a->base.methods[p->method].name);
	put_ns(w, "nanoseconds", p->ns);
	jsonw_number(w, "percent", p->meaning.idle || p->meaning.kind == WAIT_KIND_CPU ? 0 : wait_analysis_percent(a, p->ns), 2);
	jsonw_number(w, "threadsWaiting", wait_analysis_threads(a, p->ns), 3);
	jsonw_number(w, "waitsPerSecond", a->seconds > 0 ? p->count / a->seconds : 0, 2);
	jsonw_integer(w, "p50Nanoseconds", p->p50_ns);
	jsonw_integer(w, "p99Nanoseconds", p->p99_ns);
	jsonw_integer(w, "longestNanoseconds", p->longest_ns);
	jsonw_unsigned(w, "threads", p->threads);
	jsonw_unsigned(w, "throughout", p->whole);
	put_ns(w, "poolNanoseconds", p->pool_ns);
	put_holder(a, p, w);
	put_stack(a, p->stack, f);
	report_json_end(f);
}

static void put_places(const struct wait_analysis *a, const char *key, size_t from, size_t to, struct report_file *f)
{
	jsonw_line(&f->json);
	jsonw_array(&f->json, key);
	for (size_t i = from; i < to && i < from + PLACES_WRITTEN; i++)
		put_place(a, &a->places[i], f);
	jsonw_end(&f->json);
}

static void put_thread_time(const struct wait_analysis *a, uint32_t thread, bool line, struct json_writer *w)
{
	int64_t cpu_ns = a->capture->stacks.threads[thread].cpu_ns;
	if (cpu_ns >= 0)
		jsonw_integer(w, "cpuNanoseconds", cpu_ns);
	else
		jsonw_null(w, "cpuNanoseconds");
	jsonw_object(w, "kinds");
	for (int k = 0; k < WAIT_KIND_COUNT; k++) {
		double ns = a->thread_kind_ns[(size_t)thread * WAIT_KIND_COUNT + (size_t)k];
		if (ns >= 1)
			put_ns(w, wait_kind_name((enum wait_kind)k), ns);
	}
	jsonw_end(w);
	jsonw_string(w, "states", line ? a->states.lines[thread] : NULL);
}

static void put_threads(const struct wait_analysis *a, struct report_file *f)
{
	struct json_writer *w = &f->json;
	jsonw_line(w);
	jsonw_array(w, "threads");
	for (size_t i = 0; i < a->capture->stacks.thread_count; i++) {
		uint32_t thread = a->base.thread_order[i];
		const struct stack_thread *t = &a->base.threads[thread];
		report_json_record(f);
		jsonw_integer(w, "tid", t->tid);
		report_json_string(f, "name", t->name);
		jsonw_unsigned(w, "samples", t->weight);
		put_ns(w, "idleNanoseconds", a->thread_idle_ns[thread]);
		jsonw_bool(w, "poolWorker", a->is_worker[thread]);
		put_thread_time(a, thread, i < LINES_WRITTEN, w);
		report_json_end(f);
	}
	jsonw_end(w);
}

void wait_json_write(const void *source, struct report_file *f)
{
	const struct wait_source *s = source;
	const struct wait_analysis *a = s->analysis;
	const char *finding = s->head.findings->count && findings_lead(s->head.findings) ? "blocked" : s->numbers->waiting_threads >= 0.1 ? "waits" : "idle";
	report_head_json_begin(&s->head, finding, f);
	jsonw_end(&f->json);
	put_sampling(a, f);
	put_waiting(a, &f->json);
	put_kinds(a, f);
	put_places(a, "places", 0, a->blocking_count, f);
	put_places(a, "idle", a->blocking_count, a->place_count, f);
	put_timeline(a, &f->json);
	put_threads(a, f);
	report_tree_methods(f, &a->base, NULL, NULL);
	report_tree_json(f, &a->base.tree, NULL);
	report_tree_leaves(f, &a->base);
	report_head_json_end(&s->head, f);
}
