#include "agent/report/summary.h"

#include "agent/report/phrase.h"
#include "agent/report/report_file.h"
#include "agent/report/report_markdown.h"
#include "agent/symbols/method_name.h"
#include "common/base/size_text.h"

#include <stdlib.h>
#include <string.h>

#define MOST_ROWS 8
#define LEAST_ROWS 3      /* that many are listed however small */
#define LEAST_PERCENT 0.5
#define SUBJECT_BYTES 120

/* cells -------------------------------------------------------------------------------------------------------------- */

void summary_cell(struct buf *out)
{
	buf_puts(out, out->len && out->data[out->len - 1] != '\n' ? " | " : "| ");
}

void summary_text(struct buf *out, const char *words)
{
	summary_cell(out);
	buf_puts(out, words);
}

void summary_percent(struct buf *out, double percent)
{
	summary_cell(out);
	phrase_percent(out, percent);
}

void summary_bytes(struct buf *out, uint64_t bytes)
{
	summary_cell(out);
	size_text_bytes(out, bytes);
}

void summary_count(struct buf *out, uint64_t count)
{
	summary_cell(out);
	size_text_count(out, count);
}

void summary_bytes_change(struct buf *out, int64_t bytes)
{
	summary_text(out, bytes < 0 ? "- " : "+ ");
	size_text_bytes(out, (uint64_t)llabs(bytes));
}

void summary_count_change(struct buf *out, int64_t count)
{
	summary_text(out, count < 0 ? "- " : "+ ");
	size_text_count(out, (uint64_t)llabs(count));
}

void summary_name(struct buf *out, const char *name, size_t max_chars)
{
	summary_cell(out);
	report_markdown_name(out, name, max_chars);
}

void summary_code(struct buf *out, const char *text)
{
	summary_cell(out);
	report_markdown_code(out, text);
}

/* the table ---------------------------------------------------------------------------------------------------------- */

static void put_column_titles(const char *titles, struct buf *out)
{
	AUTO_BUF struct buf rule;
	buf_init(&rule, 256);
	buf_putc(out, '\n');
	for (const char *t = titles; *t;) {
		size_t n = strcspn(t, "|");
		bool number = *t == '#';
		summary_cell(out);
		buf_append(out, t + number, n - number);
		buf_puts(&rule, number ? "|---:" : "|---");
		t += n + (t[n] == '|');
	}
	buf_printf(out, " |\n%s|\n", buf_str(&rule));
}

static void put_summary_table(const struct summary_table *t, const void *source, struct buf *out)
{
	for (size_t i = 0; t->titles && i < t->rows && i < MOST_ROWS; i++) {
		double percent = t->percent ? t->percent(source, i) : 100;
		if (percent <= 0 || (i >= LEAST_ROWS && percent < LEAST_PERCENT))
			break;
		if (i == 0)
			put_column_titles(t->titles, out);
		t->put(source, i, out);
		buf_puts(out, " |\n");
	}
}

/* above and below it ------------------------------------------------------------------------------------------------- */

static void put_summary_diagnosis(const struct report_head *h, struct buf *out)
{
	AUTO_BUF struct buf text;
	buf_init(&text, DIAGNOSIS_MAX_BYTES + 1);
	report_head_text(h, &text);
	const char *line = buf_str(&text);
	buf_puts(out, "# ");
	for (bool first = true; *line; first = false) {
		size_t n = strcspn(line, "\n");
		AUTO_BUF struct buf one;
		buf_init(&one, DIAGNOSIS_MAX_BYTES + 1);
		buf_append(&one, line, n);
		report_markdown_prose(out, buf_str(&one));
		buf_puts(out, first ? "\n\n" : "  \n");
		line += n + (line[n] == '\n');
	}
}

/* Outside text of any length. */
static void put_printable_prose(const char *text, struct buf *out)
{
	AUTO_BUF struct buf shown;
	buf_init(&shown, 4096);
	method_name_printable(text, SUBJECT_BYTES, &shown);
	report_markdown_prose(out, buf_str(&shown));
}

static void put_summary_cost(const struct session_facts *f, const char *work, struct buf *out)
{
	buf_puts(out, "\nCost: ");
	report_head_pause(f, out);
	report_head_collections(f, "; ", out);
	buf_printf(out, "; %lld ms of CPU in the process, %lld ms in the agent%s%s", (long long)f->cost.added_cpu_ms,
		   (long long)f->cost.agent_cpu_ms, work ? "; " : "", work ? work : "");
	report_head_kept(f, "; ", out);
	buf_puts(out, ".\n");
}

static void put_summary_subject(const struct report_head *h, struct buf *out)
{
	char scratch[64];
	put_printable_prose(report_head_subject(h, scratch, sizeof scratch), out);
	if (h->context->pod_name && h->context->pod_name[0]) {
		buf_puts(out, ", pod ");
		report_markdown_prose(out, h->context->pod_name);
	}
	buf_printf(out, ", pid %lld", (long long)h->facts->pid);
	if (h->context->requested_by && h->context->requested_by[0]) {
		buf_puts(out, ", requested by ");
		put_printable_prose(h->context->requested_by, out);
	}
}

void summary_write(const struct summary *s, const void *source, struct report_file *f)
{
	struct buf *out = &f->text;
	put_summary_diagnosis(s->head, out);
	put_summary_table(&s->table, source, out);
	for (const char *const *note = s->notes; note && *note; note++)
		buf_printf(out, "\n%s\n", *note);
	put_summary_cost(s->head->facts, s->work, out);
	put_summary_subject(s->head, out);
	buf_printf(out, "; %s.\n", s->where);
}
