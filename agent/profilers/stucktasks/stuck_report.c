#include "agent/profilers/stucktasks/stuck_report.h"

#include "agent/profilers/stucktasks/stuck_json.h"
#include "agent/report/phrase.h"
#include "agent/report/summary.h"
#include "agent/symbols/method_name.h"
#include "common/base/cleanup.h"
#include "common/base/embed.h"
#include "common/base/size_text.h"

#include <string.h>

#define NAME_CHARS 110
#define GROUP_LINES 4
#define KINDS_SAID 3
#define HEADLINE_CHARS 80

EMBED_FILE(".rodata.report_assets", stuck_view, "agent/profilers/stucktasks/stuck_view.js");

/* the text --------------------------------------------------------------------------------------------------------- */

static const char *kind_words(enum task_wait w)
{
	static const char *const many[TASK_WAITS] = {
		[TASK_WAIT_COMPLETION] = "TaskCompletionSources", [TASK_WAIT_WORK] = "the thread pool", [TASK_WAIT_SEMAPHORE] = "semaphores",
		[TASK_WAIT_TIMER] = "timers", [TASK_WAIT_SOCKET] = "sockets", [TASK_WAIT_CHANNEL] = "channels", [TASK_WAIT_PIPE] = "pipes",
		[TASK_WAIT_HTTP] = "HTTP", [TASK_WAIT_DATABASE] = "a database", [TASK_WAIT_SERVER] = "clients",
	};
	return w < TASK_WAITS && many[w] ? many[w] : "other things";
}

/* "timers, sockets and channels": what most wait for. */
static void put_kinds(const struct task_groups *g, size_t most, struct buf *out)
{
	enum task_wait top[KINDS_SAID];
	size_t n = 0;
	for (size_t k = 0; k < most; k++) {
		enum task_wait best = TASK_WAIT_NOTHING;
		for (int w = 0; w < TASK_WAITS; w++) {
			bool taken = w == TASK_WAIT_NOTHING;
			for (size_t i = 0; i < n; i++)
				taken |= top[i] == (enum task_wait)w || strcmp(kind_words(top[i]), kind_words((enum task_wait)w)) == 0;
			if (!taken && g->waits[w] && (best == TASK_WAIT_NOTHING || g->waits[w] > g->waits[best]))
				best = (enum task_wait)w;
		}
		if (best != TASK_WAIT_NOTHING)
			top[n++] = best;
	}
	for (size_t i = 0; i < n; i++)
		buf_printf(out, "%s%s", i == 0 ? "" : i + 1 == n ? " and " : ", ", kind_words(top[i]));
}

/* What is waited for without end where nothing is amiss. */
static bool is_everyday(const struct task_groups *g)
{
	uint64_t everyday = g->waits[TASK_WAIT_TIMER] + g->waits[TASK_WAIT_SOCKET] + g->waits[TASK_WAIT_CHANNEL] + g->waits[TASK_WAIT_PIPE] +
			    g->waits[TASK_WAIT_SERVER];
	return everyday == g->operations;
}

/* As much as a headline has room for. */
static void put_nothing_stuck(const struct task_groups *g, struct buf *out)
{
	bool everyday = is_everyday(g);
	if (g->boxes + g->tasks + g->completed == 0) {
		buf_puts(out, "Nothing is known of async operations: no task was seen");
		return;
	}
	if (g->unread) {
		buf_puts(out, "No verdict: ");
		size_text_counted(out, g->unread, "runtime-async operation could not be read", "runtime-async operations could not be read");
		return;
	}
	if (g->operations == 0) {
		buf_puts(out, "Nothing is stuck: no async operation waits");
		return;
	}
	for (size_t kinds = KINDS_SAID, room = 0; kinds > 0 && !room; kinds--) {
		buf_reset(out);
		buf_puts(out, everyday ? "Nothing is stuck: " : "No stuck operation found: ");
		size_text_counted(out, g->operations, "operation waits for ", "operations wait for ");
		put_kinds(g, kinds, out);
		room = phrase_chars(buf_str(out)) <= HEADLINE_CHARS;
	}
	static const char normal[] = ", as is normal";
	if (everyday && phrase_chars(buf_str(out)) + sizeof normal - 1 <= HEADLINE_CHARS)
		buf_puts(out, normal);
}

static void put_place(const struct task_group *g, struct buf *out)
{
	const struct task_call *at = stuck_place(g) ? stuck_place(g) : g->call_count ? &g->calls[0] : NULL;
	method_name_shorten(at ? at->method : "code without a name", NAME_CHARS, out);
	if (at && at->state >= 0)
		buf_printf(out, " (await %d)", at->state + 1);
}

static void put_callers(const struct task_group *g, struct buf *out)
{
	size_t said = 0;
	for (size_t i = g->place + 1; i < g->call_count && said < 2; i++) {
		if (g->calls[i].framework)
			continue;
		buf_puts(out, said++ ? ", " : ", called by ");
		method_name_shorten(g->calls[i].method, NAME_CHARS / 2, out);
	}
}

static const char *group_waits_for(const struct task_group *g)
{
	if (g->queued && g->wait == TASK_WAIT_HTTP)
		return "an HTTP connection";
	return g->queued && g->wait == TASK_WAIT_DATABASE ? "a database connection" : task_wait_words(g->wait);
}

static void put_group_line(const struct task_group *g, struct buf *out)
{
	buf_puts(out, "\n");
	size_text_counted(out, g->count, "operation waits in ", "operations wait in ");
	put_place(g, out);
	put_callers(g, out);
	buf_printf(out, ", for %s", group_waits_for(g));
	if (g->lasting) {
		buf_puts(out, "; ");
		size_text_counted(out, g->lasting, "has waited since the first look", "have waited since the first look");
	}
	if (g->behind) {
		buf_puts(out, "; ");
		size_text_counted(out, g->behind, "more waits for the same task", "more wait for the same task");
	}
	buf_puts(out, ".");
}

static void put_looks(const struct stuck_result *r, struct buf *out)
{
	const struct task_groups *g = &r->groups;
	buf_printf(out, "\nTwo looks, %.1f s apart: ", (double)r->between_ns / 1e9);
	size_text_counted(out, g->operations, "async operation waits, ", "async operations wait, ");
	size_text_count(out, g->lasting);
	buf_puts(out, " of them at the same await as at the first look. Operations that a garbage collection moved between the looks count as new.");
	if (g->unread) {
		buf_puts(out, " ");
		size_text_counted(out, g->unread, "runtime-async operation could not be read.", "runtime-async operations could not be read.");
	}
}

/* What to make of the finding that leads. */
static void put_advice(const struct finding *lead, struct buf *out)
{
	static const struct {
		const char *id, *words;
	} lines[] = {
		{"TaskNeverCompleted", "They wait for a TaskCompletionSource that nothing else holds. Complete it on every path, or wait with a timeout."},
		{"SemaphoreNotReleased", "Its count is 0 and the first waiter is the same as before. Release it in a finally block, and do not take it twice."},
		{"ConnectionNotFree", "None became free between the looks. Set a timeout, dispose each response and connection, or allow more connections."},
		{"ReplyMissing", "Others hold what they wait for and may complete it yet. Wait with a timeout (WaitAsync) where a reply can be lost."},
		{"ResponseMissing", "The service does not answer. Set HttpClient.Timeout or pass a token with a time limit, and look at that service."},
		{"ChannelFull", "Its reader is too slow, or has ended: let it survive what it throws, or complete the channel with the exception."},
		{"ThreadsBlockOnTasks", "Await these operations instead of blocking a thread until they end."},
		{"TaskFaultUnseen", "Await each task, or look at its exception."},
	};
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
		if (strcmp(lead->id, lines[i].id) == 0)
			buf_printf(out, "\n%s", lines[i].words);
}

void stuck_report_text(const struct stuck_result *r, const struct findings *f, struct buf *out)
{
	const struct finding *lead = findings_lead(f);
	size_t said = 0;
	if (lead) {
		buf_puts(out, lead->message);
		put_advice(lead, out);
	} else if (f->withheld) {
		findings_put_withheld(f, out);
	} else {
		put_nothing_stuck(&r->groups, out);
	}
	for (size_t i = 0; i < r->groups.count && said < GROUP_LINES; i++) {
		if (r->groups.items[i].wait == TASK_WAIT_NOTHING || (!stuck_place(&r->groups.items[i]) && lead))
			continue;
		put_group_line(&r->groups.items[i], out);
		said++;
	}
	put_looks(r, out);
}

/* the files -------------------------------------------------------------------------------------------------------- */

static void put_group_row(const void *source, size_t row, struct buf *out)
{
	const struct task_group *g = &((const struct stuck_source *)source)->result->groups.items[row];
	const struct task_call *at = stuck_place(g) ? stuck_place(g) : g->call_count ? &g->calls[0] : NULL;
	summary_count(out, g->count);
	summary_count(out, g->lasting);
	summary_text(out, group_waits_for(g));
	summary_name(out, at ? at->method : "", NAME_CHARS);
}

static void write_stuck_summary(const void *source, struct report_file *f)
{
	const struct stuck_source *s = source;
	struct summary summary = {.head = &s->head, .work = "two looks at the heap", .where = "the chains of callers are in report.html"};
	if (s->result->groups.count)
		summary.table = (struct summary_table){"#operations|#since the first look|wait for|in", s->result->groups.count, NULL, put_group_row};
	summary_write(&summary, source, f);
}

static const struct report_files files = {
	.summary = write_stuck_summary,
	.json = stuck_json_write,
	.page = {"Stuck tasks", "The same for programs: report.json.", stuck_view, stuck_view_end},
};

int stuck_report_write(const struct stuck_result *r, const struct session_facts *facts, const struct session_spec *spec,
		       const struct report_context *context, int dirfd, struct report_result *out, struct err *e)
{
	struct stuck_numbers numbers;
	struct findings findings;
	AUTO_BUF struct buf text;
	buf_init(&text, DIAGNOSIS_MAX_BYTES * 2);
	stuck_numbers_of(r, &numbers);
	rules_run(stuck_rules, stuck_rule_count, &stuck_numbers_fields, &numbers, &findings);
	findings_withhold(&findings, stuck_engines, &facts->engines);
	if (r->groups.unread)
		findings_doubt(&findings, "not all runtime-async operations could be read");
	stuck_report_text(r, &findings, &text);
	AUTO_FREE char *headline = report_headline(buf_str(&text));
	const struct stuck_source s = {
		.head = {.facts = facts, .spec = spec, .context = context, .headline = headline, .text = buf_str(&text), .findings = &findings},
		.result = r,
	};
	int rc = report_write(&files, &s, &s.head, dirfd, out, e);
	findings_fini(&findings);
	return rc;
}
