#include "agent/report_summary.h"

#include "agent/cpu_edges.h"
#include "agent/cpu_phrase.h"
#include "agent/method_name.h"

#include <ctype.h>
#include <string.h>

#define TOP_METHODS 8
#define NAME_CHARS 90
#define CALLER_CHARS 60
#define LEAST_METHODS 3   /* that many are listed however small */
#define LEAST_PERCENT 0.5

/* Inside a code span of a table cell: a backtick would end the span, a bar the cell. */
static void put_code(struct buf *out, const char *text)
{
	buf_puts(out, "`");
	for (; *text; text++) {
		if (*text == '`')
			buf_putc(out, '\'');
		else if (*text == '|')
			buf_puts(out, "\\|");
		else
			buf_putc(out, *text);
	}
	buf_puts(out, "`");
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || (c & 0x80);
}

/* In running text: what Markdown or HTML would read as markup, and no more, for many read it as it stands. */
static void put_prose(struct buf *out, const char *text)
{
	for (const char *p = text; *p; p++) {
		bool inside_word = p > text && is_word(p[-1]) && is_word(p[1]);
		if (strchr("\\`*<~&", *p) || (*p == '[' && strstr(p, "](")) || (*p == '_' && !inside_word) || (p == text && strchr("#>|+-", *p)))
			buf_putc(out, '\\');
		buf_putc(out, *p);
	}
}

static void put_shortened(struct buf *out, const char *name, size_t max_chars)
{
	AUTO_BUF struct buf b;
	buf_init(&b, METHOD_NAME_SIZE * 4);
	method_name_shorten(name, max_chars, &b);
	put_code(out, buf_str(&b));
}

/* Who calls it, as far as that tells something: an await is resumed by the pool's own machinery. */
static void put_caller(const struct cpu_analysis *a, uint32_t method, struct buf *out)
{
	struct cpu_edge caller;
	if (!cpu_edges_callers(a, method, &caller, 1) || caller.method == CPU_NO_METHOD)
		return;
	if (a->methods[method].marks & METHOD_ASYNC && a->methods[caller.method].layer != LAYER_APPLICATION)
		buf_puts(out, "the thread pool, after an await");
	else
		put_shortened(out, a->methods[caller.method].name, CALLER_CHARS);
}

static void put_methods(const struct cpu_analysis *a, struct buf *out)
{
	buf_puts(out, "\n| self | total | method | called from |\n|---:|---:|---|---|\n");
	for (size_t i = 0; i < a->method_count && i < TOP_METHODS; i++) {
		const struct cpu_method *m = &a->methods[a->by_self[i]];
		double self = cpu_analysis_percent(a, m->self);
		if (m->self == 0 || (i >= LEAST_METHODS && self < LEAST_PERCENT))
			break;
		buf_puts(out, "| ");
		cpu_phrase_percent(out, self);
		buf_puts(out, " | ");
		cpu_phrase_share(out, a, m->total);
		buf_puts(out, " | ");
		put_shortened(out, m->name, NAME_CHARS);
		buf_puts(out, m->marks & METHOD_ASYNC ? " async | " : m->marks & METHOD_ITERATOR ? " iterator | " : " | ");
		put_caller(a, a->by_self[i], out);
		buf_puts(out, " |\n");
	}
}

static void put_cost(const struct cpu_capture *c, struct buf *out)
{
	buf_puts(out, "\nCost: application held: ");
	cpu_phrase_held(out, c);
	buf_printf(out, "; %lld ms of CPU in the process, %lld ms in the agent; %lld samples at %lld Hz (%s)",
		   (long long)c->cost.added_cpu_ms, (long long)c->cost.agent_cpu_ms, (long long)c->sample_count,
		   (long long)c->frequency_hertz, c->method ? c->method : "unknown");
	if (c->lost_samples + c->dropped)
		buf_printf(out, ", %lld lost", (long long)(c->lost_samples + c->dropped));
	buf_puts(out, ".\n");
}

void report_summary_write(const struct report_source *s, struct report_file *f)
{
	struct buf *out = &f->text;
	char scratch[64];
	const char *line = s->diagnosis->text;
	buf_puts(out, "# ");
	for (bool first = true; *line; first = false) {
		size_t n = strcspn(line, "\n");
		AUTO_BUF struct buf one;
		buf_init(&one, DIAGNOSIS_MAX_BYTES + 1);
		buf_append(&one, line, n);
		put_prose(out, buf_str(&one));
		buf_puts(out, first ? "\n\n" : "  \n");
		line += n + (line[n] == '\n');
	}
	if (s->analysis->samples)
		put_methods(s->analysis, out);
	put_cost(s->analysis->capture, out);
	AUTO_BUF struct buf subject;
	buf_init(&subject, 4096);
	method_name_printable(report_subject(s, scratch, sizeof scratch), 120, &subject);
	put_prose(out, buf_str(&subject));
	if (s->context->pod_name && s->context->pod_name[0]) {
		buf_puts(out, ", pod ");
		put_prose(out, s->context->pod_name);
	}
	buf_printf(out, ", pid %lld; the flame graph is in report.html.\n", (long long)s->analysis->capture->pid);
}
