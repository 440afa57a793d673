#include "agent/profilers/deadlocks/deadlock_report.h"

#include "agent/profilers/deadlocks/deadlock_blocked.h"
#include "agent/profilers/deadlocks/deadlock_json.h"
#include "agent/profilers/deadlocks/deadlock_numbers.h"
#include "agent/report/report_view.h"
#include "agent/report/summary.h"
#include "agent/symbols/frame_place.h"
#include "agent/symbols/method_name.h"
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

/* " waits for a lock (Shop.Account)" */
static void put_lock(const struct deadlock_capture *c, uint32_t thread, struct buf *out)
{
	const struct waited_lock *l = c->threads[thread].lock == WAIT_NONE ? NULL : &c->locks[c->threads[thread].lock];
	buf_puts(out, " waits for a lock");
	if (!l || !l->type[0])
		return;
	buf_puts(out, " (");
	method_name_printable(l->type, sizeof l->type, out);
	buf_puts(out, ")");
}

static void put_circle(const struct deadlock_analysis *a, const struct deadlock_circle *x, struct buf *out)
{
	for (size_t i = 0; i < x->count && i < CIRCLE_LINES; i++) {
		uint32_t thread = x->threads[i], holder = x->threads[(i + 1) % x->count];
		buf_puts(out, "\n");
		size_t at = out->len;
		put_thread(a->capture, thread, out);
		if (out->len > at)
			out->data[at] = 'T';
		put_lock(a->capture, thread, out);
		buf_printf(out, " that thread %u holds.", a->capture->threads[holder].wait.inner_tid);
	}
	if (x->count > CIRCLE_LINES)
		buf_printf(out, "\nAnd %zu more in the same circle.", x->count - CIRCLE_LINES);
	if (x->behind)
		buf_printf(out, "\n%u more %s behind them.", x->behind, x->behind == 1 ? "thread waits" : "threads wait");
}

static void put_queue(const struct deadlock_analysis *a, struct buf *out)
{
	if (a->head == WAIT_NONE || a->queue < 2)
		return;
	const struct locked_thread *head = &a->capture->threads[a->head];
	buf_printf(out, "\n%u threads wait for a lock of ", a->queue);
	put_thread(a->capture, a->head, out);
	if (!head->still) {
		buf_puts(out, ", which runs: it holds its lock for long.");
		return;
	}
	buf_puts(out, ", which has not run between the looks either");
	const struct frame *f = deadlock_analysis_call(a->capture, a->head);
	struct method_name name;
	if (f) {
		method_name_make(f, &name);
		buf_puts(out, ": it waits in ");
		method_name_shorten(name.text, NAME_CHARS, out);
	}
	if (head->peer[0])
		buf_printf(out, "%s %s", f ? " for" : ": it waits for", head->peer);
	buf_puts(out, ".");
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
			   count == 1 ? "thread waits" : "threads wait");
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
		buf_puts(out, g->kind == BLOCKED_TASK ? ": whose work that is, they do not say." : ": it does not record its holder.");
		shown++;
	}
}

void deadlock_report_text(const struct deadlock_analysis *a, const struct findings *f, struct buf *out)
{
	const struct finding *lead = findings_lead(f);
	const struct deadlock_capture *c = a->capture;
	if (lead)
		buf_puts(out, lead->message);
	else
		buf_puts(out, c->unread ? "The process's locks could not be read" : "No deadlock was found");
	for (size_t i = 0; i < a->circle_count && i < 2; i++)
		put_circle(a, &a->circles[i], out);
	if (a->circle_count && !a->circles[0].timed)
		buf_puts(out, "\nRestart the process to get it going, and take the locks in one order everywhere.");
	put_queue(a, out);
	put_unknown_holders(c, out);
	put_blocked(c, out);
	if (c->unattached)
		buf_printf(out, c->named ? "\nMethods were named from outside: the library could not be attached (%s)."
					 : "\nMethods have no names: the library could not be attached (%s).",
			   c->unattached);
	double seconds = (double)c->between_ns / 1e9;
	buf_printf(out, seconds < 1 ? "\nTwo looks, %.3f s apart: " : "\nTwo looks, %.1f s apart: ", seconds);
	size_text_count(out, c->thread_count);
	buf_puts(out, " threads, ");
	size_text_count(out, c->monitors);
	buf_printf(out, " %s in the runtime's table; ", c->monitors == 1 ? "monitor" : "monitors");
	size_text_count(out, a->waiting);
	buf_puts(out, a->waiting == 1 ? " thread waits for a lock, " : " threads wait for a lock, ");
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

static void put_deadlock_page(const void *source, struct report_file *f)
{
	static const char footer[] = "The same for programs: report.json.";
	const struct deadlock_source *s = source;
	const struct report_view view = {"Deadlocks", REPORT_ASSET(deadlock_view), footer};
	report_view_write(&view, &s->head, f);
}

static const struct report_writer writers[] = {
	{"summary.md", "text/markdown; charset=utf-8", write_deadlock_summary},
	{"report.json", "application/json", deadlock_json_write},
	{"report.html", "text/html; charset=utf-8", put_deadlock_page},
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
	deadlock_report_text(&analysis, &findings, &text);
	AUTO_BUF struct buf headline;
	buf_init(&headline, DIAGNOSIS_MAX_BYTES + 1);
	buf_append(&headline, buf_str(&text), strcspn(buf_str(&text), "\n"));
	const struct deadlock_source s = {
		.head = {.facts = facts, .spec = spec, .context = context, .headline = buf_str(&headline), .text = buf_str(&text), .findings = &findings},
		.analysis = &analysis,
	};
	int rc = report_write(writers, sizeof writers / sizeof writers[0], &s, &s.head, dirfd, out, e);
	findings_fini(&findings);
	deadlock_analysis_fini(&analysis);
	return rc;
}
