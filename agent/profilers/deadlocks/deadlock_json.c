#include "agent/profilers/deadlocks/deadlock_json.h"

#include "agent/profilers/deadlocks/deadlock_pair.h"
#include "agent/profilers/deadlocks/deadlock_report.h"
#include "agent/report/report_file.h"
#include "agent/report/report_json.h"
#include "agent/stacks/cpu_category.h"
#include "agent/stacks/report_lines.h"
#include "agent/symbols/method_name.h"

#define FRAMES_MAX 200

static void put_stack(const struct deadlock_capture *c, uint32_t thread, struct report_file *f)
{
	uint32_t depth;
	const uint32_t *stack = deadlock_capture_stack(c, thread, &depth);
	jsonw_array(&f->json, "stack");
	for (uint32_t i = 0; i < depth && i < FRAMES_MAX; i++) {
		struct method_name name;
		const struct frame *frame = &c->stacks.frames[stack[i]];
		method_name_make(frame, &name);
		jsonw_object(&f->json, NULL);
		report_json_string(f, "name", name.text);
		jsonw_string(&f->json, "layer", cpu_layer_name(cpu_layer_of(frame)));
		report_lines_place(f, frame);
		jsonw_end(&f->json);
	}
	jsonw_end(&f->json);
}

static void put_thread_json(const struct deadlock_analysis *a, uint32_t thread, struct report_file *f)
{
	const struct deadlock_capture *c = a->capture;
	const struct locked_thread *t = &c->threads[thread];
	report_json_record(f);
	jsonw_unsigned(&f->json, "id", t->wait.inner_tid);
	report_json_string(f, "name", t->wait.name);
	jsonw_bool(&f->json, "still", t->still);
	jsonw_bool(&f->json, "lasting", t->lasting);
	if (t->lock == WAIT_NONE)
		jsonw_null(&f->json, "waitsFor");
	else
		jsonw_unsigned(&f->json, "waitsFor", t->lock);
	jsonw_unsigned(&f->json, "behind", a->graph.behind[thread]);
	if (a->graph.circle[thread] == WAIT_NONE)
		jsonw_null(&f->json, "circle");
	else
		jsonw_unsigned(&f->json, "circle", a->graph.circle[thread]);
	if (t->peer[0])
		report_json_string(f, "peer", t->peer);
	else
		jsonw_null(&f->json, "peer");
	put_stack(c, thread, f);
	report_json_end(f);
}

static bool thread_is_of_interest(const struct deadlock_analysis *a, uint32_t thread)
{
	return deadlock_pair_matters(a->capture, thread);
}

static void put_locks_json(const struct deadlock_capture *c, struct report_file *f)
{
	static const char *const kinds[] = {"monitor", "lock", "readerWriter", "task"}; /* enum lock_kind */
	struct json_writer *w = &f->json;
	jsonw_array(w, "locks");
	for (size_t i = 0; i < c->lock_count; i++) {
		report_json_record(f);
		jsonw_string(w, "kind", kinds[c->locks[i].monitor.kind]);
		report_json_string(f, "type", c->locks[i].type);
		jsonw_unsigned(w, "heldBy", c->locks[i].monitor.owner);
		jsonw_unsigned(w, "times", c->locks[i].monitor.owner ? c->locks[i].monitor.recursion : 0);
		jsonw_unsigned(w, "waiters", c->locks[i].monitor.waiters);
		jsonw_unsigned(w, "seen", c->locks[i].seen);
		report_json_end(f);
	}
	jsonw_end(w);
}

void deadlock_json_write(const void *source, struct report_file *f)
{
	const struct deadlock_source *s = source;
	const struct deadlock_analysis *a = s->analysis;
	const struct deadlock_capture *c = a->capture;
	struct json_writer *w = &f->json;
	report_head_json_begin(&s->head, a->circle_count ? "deadlock" : a->queue >= 2 ? "queue" : c->unread ? "unread" : "none", f);
	jsonw_end(w);
	jsonw_line(w);
	jsonw_object(w, "looks");
	jsonw_number(w, "secondsBetween", (double)c->between_ns / 1e9, 3);
	jsonw_unsigned(w, "threads", c->thread_count);
	jsonw_unsigned(w, "monitors", c->monitors);
	jsonw_unsigned(w, "waiting", a->waiting);
	jsonw_unsigned(w, "lasting", a->lasting);
	jsonw_number(w, "firstMilliseconds", (double)c->first_look_ns / 1e6, 3);
	jsonw_number(w, "secondMilliseconds", (double)c->second_look_ns / 1e6, 3);
	if (c->proven_ns)
		jsonw_number(w, "provenMilliseconds", (double)c->proven_ns / 1e6, 3);
	else
		jsonw_null(w, "provenMilliseconds");
	jsonw_bool(w, "otherLocks", c->other_locks);
	if (c->tasks)
		jsonw_unsigned(w, "taskWaiters", c->task_waiters);
	else
		jsonw_null(w, "taskWaiters");
	jsonw_end(w);
	jsonw_line(w);
	put_locks_json(c, f);
	jsonw_line(w);
	jsonw_array(w, "threads");
	for (uint32_t i = 0; i < c->thread_count; i++)
		if (thread_is_of_interest(a, i))
			put_thread_json(a, i, f);
	jsonw_end(w);
	report_head_json_end(&s->head, f);
}
