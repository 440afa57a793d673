#include "agent/profilers/deadlocks/deadlock_report.h"

#include "agent/profilers/deadlocks/deadlock_blocked.h"
#include "agent/profilers/deadlocks/deadlock_json.h"
#include "agent/profilers/deadlocks/deadlock_numbers.h"
#include "agent/report/summary.h"
#include "agent/symbols/frame_place.h"
#include "agent/symbols/method_name.h"
#include "common/base/cleanup.h"
#include "common/base/embed.h"
#include "common/base/size_text.h"

#include <string.h>

#define NAME_CHARS 110
#define CIRCLE_LINES 8
#define BLOCKED_LINES 3

EMBED_FILE(".rodata.report_assets", deadlock_view, "agent/profilers/deadlocks/deadlock_view.js");

/* the text --------------------------------------------------------------------------------------------------------- */

static void put_thread(const struct deadlock_capture *c, uint32_t thread, struct buf *out)
{
	const struct thread_wait *t = &c->threads[thread].wait;
	const struct frame *f = deadlock_analysis_place(c, thread);
	struct method_name name;
	buf_printf(out, "thread %u", t->inner_tid);
	if (t->name[0]) {
		buf_puts(out, " \"");
		method_name_printable(t->name, sizeof t->name, out);
		buf_puts(out, "\"");
	}
	if (!f)
		return;
	method_name_make(f, &name);
	buf_puts(out, " in ");
	method_name_shorten(name.text, NAME_CHARS, out);
	frame_place_put_behind(f, out);
}

static bool is_async_method(const struct waited_lock *l)
{
	return strstr(l->type, "AsyncStateMachineBox") != NULL;
}

/* " waits for a lock (Shop.Account) that thread 5 holds" */
static void put_lock(const struct deadlock_capture *c, uint32_t thread, struct buf *out)
{
	const struct waited_lock *l = c->threads[thread].lock == WAIT_NONE ? NULL : &c->locks[c->threads[thread].lock];
	if (deadlock_analysis_on_task(c, thread)) {
		buf_printf(out, " waits for %s that thread %u runs", is_async_method(l) ? "an async method" : "a task", l->monitor.owner);
		return;
	}
	buf_puts(out, " waits for a lock");
	if (l && l->type[0]) {
		buf_puts(out, " (");
		method_name_printable(l->type, sizeof l->type, out);
		buf_puts(out, ")");
	}
	if (l)
		buf_printf(out, " that thread %u holds", l->monitor.owner);
}

static void put_circle(const struct deadlock_analysis *a, const struct deadlock_circle *x, struct buf *out)
{
	for (size_t i = 0; i < x->count && i < CIRCLE_LINES; i++) {
		uint32_t thread = x->threads[i];
		buf_puts(out, "\n");
		size_t at = out->len;
		put_thread(a->capture, thread, out);
		if (out->len > at)
			out->data[at] = 'T';
		put_lock(a->capture, thread, out);
		buf_puts(out, ".");
	}
	if (x->count > CIRCLE_LINES)
		buf_printf(out, "\nAnd %zu more in the same circle.", x->count - CIRCLE_LINES);
	if (x->behind)
		buf_printf(out, "\n%u more %s behind them.", x->behind, size_text_plural(x->behind, "thread waits", "threads wait"));
}

/* What the head of a queue waits for. */
static void put_head_wait(const struct deadlock_capture *c, uint32_t thread, struct buf *out)
{
	const struct locked_thread *head = &c->threads[thread];
	const struct frame *f = deadlock_analysis_call(c, thread);
	struct method_name name;
	if (deadlock_analysis_on_task(c, thread)) {
		const struct waited_lock *task = &c->locks[head->lock];
		buf_puts(out, is_async_method(task) ? ": it waits for an async method, run by " : ": it waits for a task, run by ");
		put_thread(c, task->holder, out);
		head = &c->threads[task->holder];
		f = deadlock_analysis_call(c, task->holder);
		if (f || head->peer[0])
			buf_puts(out, ", which waits");
	} else if (f || head->peer[0]) {
		buf_puts(out, ": it waits");
	}
	if (f) {
		method_name_make(f, &name);
		buf_puts(out, " in ");
		method_name_shorten(name.text, NAME_CHARS, out);
	}
	if (head->peer[0])
		buf_printf(out, " for %s", head->peer);
	if (c->tasks && deadlock_blocked_kind(c, thread) == BLOCKED_TASK && !deadlock_analysis_on_task(c, thread))
		buf_puts(out, ", for a task that no thread was seen to run: StuckTasks shows where it stands");
	buf_puts(out, ".");
}

static void put_queue(const struct deadlock_analysis *a, struct buf *out)
{
	if (a->head == WAIT_NONE || a->queue < 2)
		return;
	buf_printf(out, "\n%u threads wait for a lock of ", a->queue);
	put_thread(a->capture, a->head, out);
	if (!a->capture->threads[a->head].still) {
		buf_puts(out, ", which runs: it holds its lock for long.");
		return;
	}
	buf_puts(out, ", which has not run between the looks either");
	put_head_wait(a->capture, a->head, out);
}

/* Mostly nobody writes, and others wait: those who read are not kept. */
static void put_unknown_holders(const struct deadlock_capture *c, struct buf *out)
{
	unsigned count = 0;
	for (uint32_t i = 0; i < c->thread_count; i++) {
		const struct waited_lock *l = c->threads[i].lock == WAIT_NONE ? NULL : &c->locks[c->threads[i].lock];
		count += l && c->threads[i].still && l->monitor.kind == LOCK_KIND_READER_WRITER && !l->monitor.owner;
	}
	if (count)
		buf_printf(out, "\n%u %s for a ReaderWriterLockSlim whose holder is not known: it does not say which threads read.", count,
			   size_text_plural(count, "thread waits", "threads wait"));
}

/* Those of whom nobody can say who is waited for: how many stand where. */
static void put_blocked(const struct deadlock_capture *c, struct buf *out)
{
	struct deadlock_blocked b;
	struct method_name name;
	size_t shown = 0;
	deadlock_blocked_find(c, &b);
	for (size_t i = 0; i < b.count && shown < BLOCKED_LINES; i++) {
		const struct blocked_group *g = &b.items[i];
		if (g->threads < 2 || (g->kind != BLOCKED_SEMAPHORE && g->kind != BLOCKED_TASK))
			continue;
		method_name_make(g->place, &name);
		buf_printf(out, "\n%u threads wait for %s in ", g->threads, g->kind == BLOCKED_TASK ? "tasks" : "a SemaphoreSlim");
		method_name_shorten(name.text, NAME_CHARS, out);
		if (g->workers)
			buf_printf(out, ", %u of them pool workers", g->workers);
		buf_puts(out, g->kind == BLOCKED_TASK ? ": StuckTasks shows what the tasks wait for." : ": it does not record its holder.");
		shown++;
	}
}

/* What "none was found" is worth. */
static void put_limits(const struct deadlock_capture *c, struct buf *out)
{
	if (c->unread)
		return;
	buf_puts(out, c->other_locks ? "\nLooked at: monitors, Lock, and writers of a ReaderWriterLockSlim" : "\nLooked at: monitors");
	if (c->tasks)
		buf_printf(out, "; tasks, on which %zu %s", c->task_waiters, size_text_plural((double)c->task_waiters, "thread blocks", "threads block"));
	buf_puts(out, ". Not seen: who holds a SemaphoreSlim, a Mutex or a ReaderWriterLockSlim");
	buf_puts(out, c->other_locks ? " for reading" : "");
	buf_puts(out, c->tasks ? "" : ", who runs a task");
	buf_puts(out, "; async methods that wait for each other at an await, which StuckTasks shows.");
}

/* Of what was not looked at none was seen. */
static const char *nothing_found(const struct deadlock_capture *c)
{
	if (c->unread)
		return "The process's locks could not be read";
	if (c->other_locks)
		return "No deadlock was found";
	return c->tasks ? "No deadlock of monitors or tasks was found" : "No deadlock of monitors was found";
}

void deadlock_report_text(const struct deadlock_analysis *a, const struct findings *f, struct buf *out)
{
	const struct finding *lead = findings_lead(f);
	const struct deadlock_capture *c = a->capture;
	if (lead)
		buf_puts(out, lead->message);
	else if (f->withheld)
		findings_put_withheld(f, out);
	else
		buf_puts(out, nothing_found(c));
	for (size_t i = 0; i < a->circle_count && i < 2; i++)
		put_circle(a, &a->circles[i], out);
	if (a->circle_count && !a->circles[0].timed && !a->circles[0].cancelable)
		buf_puts(out, a->circles[0].tasks ? "\nRestart the process to get it going, and await the task, or block on it without the lock."
						  : "\nRestart the process to get it going, and take the locks in one order everywhere.");
	put_queue(a, out);
	put_unknown_holders(c, out);
	put_blocked(c, out);
	if (!a->circle_count)
		put_limits(c, out);
	if (c->unattached)
		buf_printf(out, c->named ? "\nMethods were named from outside: the library could not be attached (%s)."
					 : "\nMethods have no names: the library could not be attached (%s).",
			   c->unattached);
	double seconds = (double)c->between_ns / 1e9;
	buf_printf(out, seconds < 1 ? "\nTwo looks, %.3f s apart: " : "\nTwo looks, %.1f s apart: ", seconds);
	size_text_counted(out, c->thread_count, "thread, ", "threads, ");
	size_text_counted(out, c->monitors, "monitor in the runtime's table; ", "monitors in the runtime's table; ");
	size_text_counted(out, a->waiting, "thread waits for a lock, ", "threads wait for a lock, ");
	size_text_count(out, a->lasting);
	buf_puts(out, " of them since the first look.");
}

/* the files -------------------------------------------------------------------------------------------------------- */

static void put_waiting_row(const void *source, size_t row, struct buf *out)
{
	const struct deadlock_capture *c = ((const struct deadlock_source *)source)->analysis->capture;
	const struct waited_lock *l = &c->locks[row];
	struct method_name name = {.text = ""};
	const struct frame *f = l->holder == WAIT_NONE ? NULL : deadlock_analysis_place(c, l->holder);
	if (f)
		method_name_make(f, &name);
	summary_count(out, l->monitor.waiters);
	summary_name(out, l->type, NAME_CHARS);
	summary_cell(out);
	if (l->monitor.owner)
		buf_printf(out, "thread %u", l->monitor.owner);
	summary_name(out, name.text, NAME_CHARS);
}

static void write_deadlock_summary(const void *source, struct report_file *f)
{
	const struct deadlock_source *s = source;
	struct summary summary = {.head = &s->head, .work = "two looks from outside", .where = "the stacks are in report.html"};
	if (s->analysis->capture->lock_count)
		summary.table = (struct summary_table){"#waiters|lock|held by|where", s->analysis->capture->lock_count, NULL, put_waiting_row};
	summary_write(&summary, source, f);
}

static const struct report_files files = {
	.summary = write_deadlock_summary,
	.json = deadlock_json_write,
	.page = {"Deadlocks", "The same for programs: report.json.", deadlock_view, deadlock_view_end},
};

int deadlock_report_write(const struct deadlock_capture *c, const struct session_facts *facts, const struct session_spec *spec,
			  const struct report_context *context, int dirfd, struct report_result *out, struct err *e)
{
	struct deadlock_analysis analysis;
	struct deadlock_numbers numbers;
	struct findings findings;
	AUTO_BUF struct buf text;
	buf_init(&text, DIAGNOSIS_MAX_BYTES + 1);
	deadlock_analysis_make(c, &analysis);
	deadlock_numbers_of(&analysis, &numbers);
	rules_run(deadlock_rules, deadlock_rule_count, &deadlock_numbers_fields, &numbers, &findings);
	findings_withhold(&findings, deadlock_engines, &facts->engines);
	deadlock_report_text(&analysis, &findings, &text);
	AUTO_FREE char *headline = report_headline(buf_str(&text));
	const struct deadlock_source s = {
		.head = {.facts = facts, .spec = spec, .context = context, .headline = headline, .text = buf_str(&text), .findings = &findings},
		.analysis = &analysis,
	};
	int rc = report_write(&files, &s, &s.head, dirfd, out, e);
	findings_fini(&findings);
	deadlock_analysis_fini(&analysis);
	return rc;
}
