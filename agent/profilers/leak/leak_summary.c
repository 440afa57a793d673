#include "agent/profilers/leak/leak_report.h"
#include "agent/report/summary.h"
#include "common/base/size_text.h"

#define NAME_CHARS 80
#define PATH_CHARS 160

static void put_leak_holder_row(const void *source, size_t row, struct buf *out)
{
	const struct leak_source *s = source;
	const struct leak_group *g = &s->diagnosis->groups.items[row];
	AUTO_BUF struct buf path;
	buf_init(&path, 8192);
	leak_put_path(&path, s->model, g->payload, PATH_CHARS);
	summary_bytes_change(out, g->grown_bytes);
	summary_count_change(out, g->grown_count);
	summary_text(out, leak_verdict_name(g->verdict));
	summary_code(out, buf_str(&path));
}

/* They are sorted by their growth. */
static double leak_type_grows(const void *source, size_t row)
{
	const struct leak_source *s = source;
	return leak_source_type_grown(s->model, s->types[row]) > 0 ? 100 : 0;
}

static void put_leak_type_row(const void *source, size_t row, struct buf *out)
{
	const struct leak_source *s = source;
	const struct leak_model *m = s->model;
	const struct leak_type_figures *t = leak_model_type_at(m, s->types[row], 0), *last = t + m->walk_count - 1;
	summary_bytes_change(out, leak_source_type_grown(m, s->types[row]));
	summary_count(out, last->count);
	summary_count_change(out, (int64_t)(last->count - t->count));
	summary_name(out, leak_model_text(m, m->types[s->types[row]].name), NAME_CHARS);
}

void leak_summary_write(const void *source, struct report_file *f)
{
	const struct leak_source *s = source;
	AUTO_BUF struct buf work;
	buf_init(&work, 100);
	size_text_counted(&work, s->model->walk_count, "heap walk", "heap walks");
	struct summary summary = {.head = &s->head, .work = buf_str(&work), .where = "the tables are in report.html"};
	if (s->model->walk_count > 1 && s->diagnosis->groups.count)
		summary.table = (struct summary_table){"#growth|#objects|verdict|path", s->diagnosis->groups.count, NULL, put_leak_holder_row};
	else if (s->model->walk_count > 1)
		summary.table = (struct summary_table){"#growth|#objects now|#more|type", s->type_count, leak_type_grows, put_leak_type_row};
	summary_write(&summary, source, f);
}
