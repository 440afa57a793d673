#include "agent/profilers/survivors/survivors_summary.h"

#include "agent/profilers/survivors/survivors_source.h"
#include "agent/profilers/survivors/survivors_text.h"
#include "agent/report/report_markdown.h"
#include "agent/report/summary.h"
#include "agent/symbols/method_name.h"
#include "common/base/size_text.h"

#define NAME_CHARS 90
#define STEPS_CHARS 120
#define TYPES_NOTED 3

static const struct survivors *survivors_of(const void *source)
{
	return ((const struct survivors_source *)source)->survivors;
}

/* Names of holders and types are outside text. */
static void put_holder_name(struct buf *out, const char *name)
{
	AUTO_BUF struct buf shown, cut;
	buf_init(&shown, METHOD_NAME_SIZE * 16);
	buf_init(&cut, METHOD_NAME_SIZE * 16);
	method_name_printable(name, METHOD_NAME_SIZE, &shown);
	survivors_text_holder(&cut, buf_str(&shown), NAME_CHARS);
	report_markdown_code(out, buf_str(&cut));
}

static void put_below_cell(const struct survivors *s, const struct survivors_holder *h, struct buf *out)
{
	const struct heap_path *p = survivors_text_path_of(s, h);
	AUTO_BUF struct buf steps, shown;
	buf_init(&steps, 65536);
	buf_init(&shown, 65536);
	summary_cell(out);
	if (!p)
		return;
	survivors_text_steps(&steps, s->snapshot, p, STEPS_CHARS);
	method_name_printable(buf_str(&steps), STEPS_CHARS * 4, &shown);
	report_markdown_code(out, buf_str(&shown));
}

static double holder_percent(const void *source, size_t row)
{
	const struct survivors *s = survivors_of(source);
	return survivors_percent(s, s->tree.nodes[s->holders[row].node].retained);
}

static void put_holder_row(const void *source, size_t row, struct buf *out)
{
	const struct survivors *s = survivors_of(source);
	const struct survivors_holder *h = &s->holders[row];
	summary_bytes(out, s->tree.nodes[h->node].retained);
	summary_percent(out, holder_percent(source, row));
	summary_cell(out);
	put_holder_name(out, h->name);
	if (h->kind == SURVIVORS_SEVERAL || h->kind == SURVIVORS_UNKNOWN)
		buf_printf(out, " (%s)", survivors_kind_title(s->snapshot, h->kind));
	put_below_cell(s, h, out);
}

static double type_percent(const void *source, size_t row)
{
	const struct survivors *s = survivors_of(source);
	const struct heap_total *t = &s->types.items[row].total;
	return survivors_percent(s, t->bytes + t->dead_bytes);
}

static void put_type_row(const void *source, size_t row, struct buf *out)
{
	const struct survivors_group *x = &survivors_of(source)->types.items[row];
	summary_bytes(out, x->total.bytes + x->total.dead_bytes);
	summary_count(out, x->total.count + x->total.dead_count);
	summary_cell(out);
	put_holder_name(out, x->name);
}

/* "Types that retain most: `Shop.Order` 412 MB, ...": one can search the source for these. */
static void put_types_note(const struct survivors *s, struct buf *out)
{
	buf_puts(out, "Types that retain most: ");
	for (uint32_t i = 0; i < s->types.count && i < TYPES_NOTED; i++) {
		buf_puts(out, i ? ", " : "");
		put_holder_name(out, s->types.items[i].name);
		buf_putc(out, ' ');
		size_text_bytes(out, s->types.items[i].total.retained);
	}
	buf_putc(out, '.');
}

void survivors_summary_write(const void *source, struct report_file *f)
{
	const struct survivors_source *x = source;
	const struct survivors *s = x->survivors;
	AUTO_BUF struct buf work, types;
	buf_init(&work, 128);
	buf_init(&types, 65536);
	size_text_count(&work, s->objects);
	buf_puts(&work, " objects read");
	if (s->types.count)
		put_types_note(s, &types);
	const char *const notes[] = {buf_str(&types), NULL};
	struct summary summary = {.head = &x->head, .work = buf_str(&work)};
	if (s->graph) {
		summary.notes = s->types.count ? notes : NULL;
		summary.where = "the dominator tree and all tables are in report.html";
		summary.table = (struct summary_table){"#holds|#share|holder|what", s->holder_count, holder_percent, put_holder_row};
	} else {
		summary.where = "all tables are in report.html";
		summary.table = (struct summary_table){"#own|#objects|type", s->types.count, type_percent, put_type_row};
	}
	summary_write(&summary, source, f);
}
