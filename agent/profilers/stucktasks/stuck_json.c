#include "agent/profilers/stucktasks/stuck_json.h"

#include "agent/profilers/stucktasks/stuck_report.h"
#include "agent/report/report_json.h"

#include <math.h>

static void put_calls(const struct task_group *g, struct report_file *f)
{
	struct json_writer *w = &f->json;
	jsonw_array(w, "calls");
	for (size_t i = 0; i < g->call_count; i++) {
		const struct task_call *c = &g->calls[i];
		jsonw_object(w, NULL);
		report_json_string(f, "name", c->method);
		if (c->state >= 0)
			jsonw_unsigned(w, "await", (uint64_t)c->state + 1);
		else
			jsonw_null(w, "await");
		jsonw_string(w, "layer", c->framework ? "framework" : "application");
		jsonw_end(w);
	}
	jsonw_end(w);
}

static void put_group_json(const struct task_group *g, struct report_file *f)
{
	struct json_writer *w = &f->json;
	const struct task_call *at = stuck_place(g);
	report_json_record(f);
	jsonw_unsigned(w, "operations", g->count);
	jsonw_unsigned(w, "before", g->before);
	jsonw_unsigned(w, "lasting", g->lasting);
	jsonw_unsigned(w, "unheld", g->unheld);
	jsonw_unsigned(w, "kept", g->kept);
	jsonw_unsigned(w, "frozen", g->frozen);
	jsonw_unsigned(w, "blockedThreads", g->blocks);
	jsonw_unsigned(w, "behind", g->behind);
	jsonw_string(w, "waitsFor", task_wait_key(g->wait));
	report_json_string(f, "awaited", g->awaited);
	jsonw_bool(w, "forConnection", g->queued);
	jsonw_bool(w, "bounded", g->bounded);
	report_json_string(f, "place", at ? at->method : NULL);
	put_calls(g, f);
	jsonw_bool(w, "callsCut", g->calls_cut);
	report_json_end(f);
}

static void put_pool_json(const struct task_pool *p, struct json_writer *w)
{
	if (!p->address) {
		jsonw_null(w, "pool");
		return;
	}
	jsonw_object(w, "pool");
	jsonw_string(w, "of", task_wait_key(p->wait));
	jsonw_number(w, "open", p->open, 0);
	jsonw_number(w, "idle", p->idle_known ? p->idle : NAN, 0);
	jsonw_number(w, "most", p->most, 0);
	jsonw_unsigned(w, "waiting", p->waiting);
	jsonw_unsigned(w, "lasting", p->lasting);
	jsonw_end(w);
	jsonw_line(w);
}

static void put_looks_json(const struct stuck_result *r, struct json_writer *w)
{
	const struct task_groups *g = &r->groups;
	jsonw_object(w, "looks");
	jsonw_number(w, "secondsBetween", (double)r->between_ns / 1e9, 3);
	jsonw_unsigned(w, "operations", g->operations);
	jsonw_unsigned(w, "lasting", g->lasting);
	jsonw_unsigned(w, "running", g->running);
	jsonw_unsigned(w, "boxes", g->boxes);
	jsonw_unsigned(w, "otherTasks", g->tasks);
	jsonw_unsigned(w, "tasksWithBlockedThread", g->blocked);
	jsonw_unsigned(w, "unseenFaults", g->faults);
	jsonw_bool(w, "holdersKnown", r->holders_known);
	jsonw_unsigned(w, "objects", r->second.objects);
	jsonw_unsigned(w, "heapBytes", r->second.heap_bytes);
	jsonw_unsigned(w, "stopMicroseconds", (uint64_t)r->second.paused_us);
	jsonw_unsigned(w, "walkCpuMicroseconds", (uint64_t)r->second.walk_cpu_us);
	jsonw_bool(w, "collected", r->second.way == HEAP_WAY_EXACT);
	jsonw_end(w);
	jsonw_line(w);
}

void stuck_json_write(const void *source, struct report_file *f)
{
	const struct stuck_source *s = source;
	const struct task_groups *g = &s->result->groups;
	const struct finding *lead = findings_lead(s->head.findings);
	struct json_writer *w = &f->json;
	report_head_json_begin(&s->head, !lead ? "none" : lead->state == FINDING_FOUND ? "stuck" : "possible", f);
	jsonw_end(w);
	jsonw_line(w);
	put_looks_json(s->result, w);
	put_pool_json(&g->pool, w);
	jsonw_object(w, "waits");
	for (int i = 0; i < TASK_WAITS; i++)
		jsonw_unsigned(w, task_wait_key((enum task_wait)i), g->waits[i]);
	jsonw_end(w);
	jsonw_line(w);
	jsonw_array(w, "groups");
	for (size_t i = 0; i < g->count; i++)
		put_group_json(&g->items[i], f);
	jsonw_end(w);
	jsonw_line(w);
	jsonw_object(w, "leftOut");
	jsonw_unsigned(w, "groups", g->left_out);
	jsonw_unsigned(w, "operations", g->left_out_operations);
	jsonw_end(w);
	report_head_json_end(&s->head, f);
}
