#include "agent/profilers/leak/leak_report.h"
#include "agent/report/report_file.h"
#include "agent/report/report_markdown.h"
#include "common/base/size_text.h"

#include <stdlib.h>

#define HOLDERS 8
#define TYPES 8
#define NAME_CHARS 80
#define PATH_CHARS 160

static void put_byte_change(struct buf *out, int64_t bytes)
{
	buf_puts(out, bytes < 0 ? "- " : "+ ");
	size_text_bytes(out, (uint64_t)llabs(bytes));
}

static void put_count_change(struct buf *out, int64_t count)
{
	buf_puts(out, count < 0 ? "- " : "+ ");
	size_text_count(out, (uint64_t)llabs(count));
}

static void put_leak_holders_table(const struct leak_model *m, const struct leak_groups *all, struct buf *out)
{
	if (all->count == 0)
		return;
	buf_puts(out, "\n| growth | objects | verdict | path |\n|---:|---:|---|---|\n");
	for (size_t i = 0; i < all->count && i < HOLDERS; i++) {
		const struct leak_group *g = &all->items[i];
		AUTO_BUF struct buf path;
		buf_init(&path, 8192);
		leak_put_path(&path, m, g->payload, PATH_CHARS);
		buf_puts(out, "| ");
		put_byte_change(out, g->grown_bytes);
		buf_puts(out, " | ");
		put_count_change(out, g->grown_count);
		buf_printf(out, " | %s | ", leak_verdict_name(g->verdict));
		report_markdown_code(out, buf_str(&path));
		buf_puts(out, " |\n");
	}
}

static void put_leak_types_table(const struct leak_source *s, struct buf *out)
{
	const struct leak_model *m = s->model;
	size_t last = m->walk_count - 1;
	if (s->type_count == 0 || leak_source_type_grown(m, s->types[0]) <= 0)
		return;
	buf_puts(out, "\n| growth | objects now | more | type |\n|---:|---:|---:|---|\n");
	for (size_t i = 0; i < s->type_count && i < TYPES; i++) {
		const struct leak_type_figures *t = leak_model_type_at(m, s->types[i], 0);
		int64_t grown = leak_source_type_grown(m, s->types[i]);
		if (grown <= 0)
			break;
		buf_puts(out, "| ");
		put_byte_change(out, grown);
		buf_puts(out, " | ");
		size_text_count(out, t[last].count);
		buf_puts(out, " | ");
		put_count_change(out, (int64_t)(t[last].count - t[0].count));
		buf_puts(out, " | ");
		report_markdown_name(out, leak_model_text(m, m->types[s->types[i]].name), NAME_CHARS);
		buf_puts(out, " |\n");
	}
}

void leak_summary_write(const void *source, struct report_file *f)
{
	const struct leak_source *s = source;
	AUTO_BUF struct buf more;
	buf_init(&more, 100);
	buf_printf(&more, "; %zu heap walks", s->model->walk_count);
	report_head_summary_begin(&s->head, f);
	if (s->model->walk_count > 1) {
		put_leak_holders_table(s->model, &s->diagnosis->groups, &f->text);
		put_leak_types_table(s, &f->text);
	}
	report_head_summary_end(&s->head, buf_str(&more), "the tables are in report.html", f);
}
