#include "agent/profilers/survivors/survivors_summary.h"

#include "agent/symbols/method_name.h"
#include "agent/report/report_markdown.h"
#include "common/base/size_text.h"
#include "agent/profilers/survivors/survivors_source.h"
#include "agent/profilers/survivors/survivors_text.h"

#define TOP_HOLDERS 8
#define TOP_TYPES 8
#define NAME_CHARS 90
#define STEPS_CHARS 120
#define LEAST_ROWS 3      /* that many are listed however small */
#define LEAST_PERCENT 0.5

/* Names of holders and types are outside text. */
static void put_holder_name(struct buf *out, const char *name, size_t max_chars)
{
	AUTO_BUF struct buf shown, cut;
	buf_init(&shown, METHOD_NAME_SIZE * 16);
	buf_init(&cut, METHOD_NAME_SIZE * 16);
	method_name_printable(name, METHOD_NAME_SIZE, &shown);
	survivors_text_holder(&cut, buf_str(&shown), max_chars);
	report_markdown_code(out, buf_str(&cut));
}

static bool too_small(const struct survivors *s, uint32_t row, uint64_t bytes)
{
	return row >= LEAST_ROWS && survivors_percent(s, bytes) < LEAST_PERCENT;
}

static void put_below(const struct survivors *s, const struct survivors_holder *h, struct buf *out)
{
	const struct heap_path *p = survivors_text_path_of(s, h);
	AUTO_BUF struct buf steps, shown;
	buf_init(&steps, 65536);
	buf_init(&shown, 65536);
	if (!p)
		return;
	survivors_text_steps(&steps, s->snapshot, p, STEPS_CHARS);
	method_name_printable(buf_str(&steps), STEPS_CHARS * 4, &shown);
	report_markdown_code(out, buf_str(&shown));
}

static void put_survivors_holders_table(const struct survivors *s, struct buf *out)
{
	buf_puts(out, "\n| holds | share | holder | what |\n|---:|---:|---|---|\n");
	for (uint32_t i = 0; i < s->holder_count && i < TOP_HOLDERS; i++) {
		const struct survivors_holder *h = &s->holders[i];
		uint64_t bytes = s->tree.nodes[h->node].retained;
		if (too_small(s, i, bytes))
			break;
		buf_puts(out, "| ");
		size_text_bytes(out, bytes);
		buf_puts(out, " | ");
		survivors_text_percent(out, survivors_percent(s, bytes));
		buf_puts(out, " | ");
		put_holder_name(out, h->name, NAME_CHARS);
		if (h->kind == SURVIVORS_SEVERAL || h->kind == SURVIVORS_UNKNOWN)
			buf_printf(out, " (%s)", survivors_kind_title(s->snapshot, h->kind));
		buf_puts(out, " | ");
		put_below(s, h, out);
		buf_puts(out, " |\n");
	}
}

static void put_survivors_types_table(const struct survivors *s, struct buf *out)
{
	buf_puts(out, s->graph ? "\n| retained | own | objects | type |\n|---:|---:|---:|---|\n" : "\n| own | objects | type |\n|---:|---:|---|\n");
	for (uint32_t i = 0; i < s->types.count && i < TOP_TYPES; i++) {
		const struct heap_total *t = &s->types.items[i].total;
		if (too_small(s, i, s->graph ? t->retained : t->bytes))
			break;
		buf_puts(out, "| ");
		if (s->graph) {
			size_text_bytes(out, t->retained);
			buf_puts(out, " | ");
		}
		size_text_bytes(out, t->bytes + t->dead_bytes);
		buf_puts(out, " | ");
		size_text_count(out, t->count + t->dead_count);
		buf_puts(out, " | ");
		put_holder_name(out, s->types.items[i].name, NAME_CHARS);
		buf_puts(out, " |\n");
	}
}

void survivors_summary_write(const void *source, struct report_file *f)
{
	const struct survivors_source *x = source;
	AUTO_BUF struct buf more;
	buf_init(&more, 128);
	buf_puts(&more, "; ");
	size_text_count(&more, x->survivors->objects);
	buf_puts(&more, " objects read");
	const char *where = x->survivors->graph ? "the dominator tree and all tables are in report.html" : "all tables are in report.html";
	report_head_summary_begin(&x->head, f);
	if (x->survivors->graph)
		put_survivors_holders_table(x->survivors, &f->text);
	put_survivors_types_table(x->survivors, &f->text);
	report_head_summary_end(&x->head, buf_str(&more), where, f);
}
