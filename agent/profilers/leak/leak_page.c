#include "agent/profilers/leak/leak_report.h"
#include "agent/symbols/method_name.h"
#include "agent/report/report_page.h"
#include "common/base/size_text.h"
#include "common/base/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define HOLDERS_MAX 100
#define TYPES_MAX 1000
#define PATH_CHARS 480

static void put_change(struct buf *out, int64_t bytes)
{
	buf_puts(out, bytes < 0 ? "&minus; " : bytes ? "+ " : "");
	size_text_bytes(out, (uint64_t)llabs(bytes));
}

/* A cell that is sorted by its number. */
static void put_bytes_cell(struct buf *out, int64_t bytes, bool change)
{
	buf_printf(out, "<td class=\"n\" data-v=\"%" PRId64 "\">", bytes);
	if (change)
		put_change(out, bytes);
	else
		size_text_bytes(out, (uint64_t)bytes);
	buf_puts(out, "</td>");
}

static void put_count_cell(struct buf *out, int64_t count, bool change)
{
	buf_printf(out, "<td class=\"n\" data-v=\"%" PRId64 "\">%s", count, !change || count == 0 ? "" : count < 0 ? "&minus; " : "+ ");
	size_text_count(out, (uint64_t)llabs(count));
	buf_puts(out, "</td>");
}

/* figures --------------------------------------------------------------------------------------------------------- */

static void put_series(struct buf *out, const uint64_t *values, size_t count, const char *label)
{
	uint64_t most = 1;
	for (size_t i = 0; i < count; i++)
		if (values[i] > most)
			most = values[i];
	buf_printf(out, "<svg viewBox=\"0 0 %zu 26\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"%s\">", count * 10, label);
	for (size_t i = 0; i < count; i++) {
		double h = 25.0 * (double)values[i] / (double)most + 1;
		buf_printf(out, "<rect class=\"spark\" x=\"%zu\" y=\"%.1f\" width=\"8\" height=\"%.1f\"/>", i * 10, 26 - h, h);
	}
	buf_puts(out, "</svg>");
}

static void open_fact(struct buf *out, const char *key, bool warn)
{
	buf_printf(out, "<div class=\"fact%s\"><div class=\"k\">%s</div><div class=\"v\">", warn ? " warn" : "", key);
}

static void put_memory_facts(const struct leak_source *s, struct buf *out)
{
	const struct leak_diagnosis *d = s->diagnosis;
	if (!d->memory_known)
		return;
	open_fact(out, "Unmanaged memory", d->finding == LEAK_FOUND_UNMANAGED);
	put_change(out, d->unmanaged_bytes);
	buf_puts(out, "</div><div class=\"k\">outside of the managed heap</div></div>\n");
	open_fact(out, "Free in the heap", false);
	put_change(out, d->free_bytes);
	buf_puts(out, "</div><div class=\"k\">kept by the runtime</div></div>\n");
}

static void put_limit_fact(const struct leak_source *s, struct buf *out)
{
	const struct leak_forecast *f = &s->diagnosis->forecast;
	if (f->kind == LEAK_LIMIT_NONE)
		return;
	open_fact(out, f->kind == LEAK_LIMIT_CONTAINER ? "Container&#39;s limit" : "Node&#39;s free memory", f->seconds >= 0);
	if (f->seconds >= 0) {
		buf_puts(out, "in ");
		leak_put_time(out, f->seconds);
	} else {
		buf_puts(out, "not near");
	}
	buf_puts(out, "</div><div class=\"k\">");
	if (f->kind == LEAK_LIMIT_CONTAINER) {
		size_text_bytes(out, (uint64_t)f->used_bytes);
		buf_puts(out, " of ");
	}
	leak_put_limit(out, f->limit_bytes);
	buf_puts(out, "</div></div>\n");
}

static void put_facts(const void *source, struct report_file *f)
{
	const struct leak_source *s = source;
	const struct leak_model *m = s->model;
	const struct leak_diagnosis *d = s->diagnosis;
	struct buf *out = &f->text;
	uint64_t bytes[LEAK_MAX_WALKS];
	for (size_t i = 0; i < m->walk_count; i++)
		bytes[i] = m->walks[i].bytes;
	open_fact(out, "Held objects", d->finding == LEAK_FOUND_GROWS);
	put_change(out, d->heap_bytes);
	buf_puts(out, "</div>");
	put_series(out, bytes, m->walk_count, "Bytes of held objects over the walks");
	buf_puts(out, "</div>\n");
	open_fact(out, "What keeps growing", d->held_bytes > 0);
	size_text_bytes(out, (uint64_t)d->held_bytes);
	buf_puts(out, "</div><div class=\"k\">confidence: ");
	buf_printf(out, "%s; churn: ", leak_confidence_name(d->confidence));
	size_text_bytes(out, (uint64_t)d->churn_bytes);
	buf_puts(out, "</div></div>\n");
	put_memory_facts(s, out);
	put_limit_fact(s, out);
	open_fact(out, "Application paused", false);
	report_head_pause(s->head.facts, out);
	buf_printf(out, "</div><div class=\"k\">at most, by %zu heap walks</div></div>", m->walk_count);
}

/* tables ---------------------------------------------------------------------------------------------------------- */

static void put_holders(const void *source, struct report_file *f)
{
	const struct leak_source *s = source;
	const struct leak_groups *all = &s->diagnosis->groups;
	struct buf *out = &f->text;
	if (all->count == 0)
		buf_printf(out, "<tr><td class=\"n\" colspan=\"6\">%s</td></tr>\n",
			   leak_model_types_only(s->model) ? "Not known: objects were only counted by type, see the diagnosis."
							   : "Nothing notable.");
	for (size_t i = 0; i < all->count && i < HOLDERS_MAX; i++) {
		const struct leak_group *g = &all->items[i];
		AUTO_BUF struct buf path;
		buf_init(&path, 8192);
		leak_put_path(&path, s->model, g->payload, PATH_CHARS);
		buf_puts(out, "<tr>");
		put_bytes_cell(out, g->grown_bytes, true);
		put_bytes_cell(out, (int64_t)g->bytes_per_minute, true);
		put_count_cell(out, g->grown_count, true);
		buf_puts(out, "<td class=\"bar\">");
		put_series(out, g->bytes, s->model->walk_count, "Bytes over the walks");
		buf_printf(out, "</td><td>%s</td><td class=\"name\">", leak_verdict_name(g->verdict));
		report_page_text(out, buf_str(&path));
		if (g->pattern != LEAK_OTHER)
			buf_printf(out, "<span class=\"badge\">%s</span>", leak_pattern_name(g->pattern));
		buf_puts(out, "</td></tr>\n");
		report_file_flow(f);
	}
}

static void put_types(const void *source, struct report_file *f)
{
	const struct leak_source *s = source;
	const struct leak_model *m = s->model;
	struct buf *out = &f->text;
	size_t last = m->walk_count - 1;
	for (size_t i = 0; i < s->type_count && i < TYPES_MAX; i++) {
		uint32_t id = s->types[i];
		const struct leak_type_figures *a = leak_model_type_at(m, id, 0), *b = leak_model_type_at(m, id, last);
		buf_puts(out, "<tr>");
		put_bytes_cell(out, leak_source_type_grown(m, id), true);
		put_count_cell(out, (int64_t)(b->count - a->count), true);
		put_count_cell(out, (int64_t)b->count, false);
		put_bytes_cell(out, (int64_t)b->bytes, false);
		put_bytes_cell(out, (int64_t)(a->bytes < b->old_bytes ? a->bytes : b->old_bytes), false);
		put_bytes_cell(out, (int64_t)b->loose_bytes, false);
		buf_puts(out, "<td class=\"name\">");
		report_page_outside(out, leak_model_text(m, m->types[id].name));
		buf_puts(out, "</td><td class=\"mod\">");
		report_page_outside(out, leak_model_text(m, m->types[id].module));
		buf_puts(out, "</td></tr>\n");
		report_file_flow(f);
	}
}

static void put_memory_row(struct buf *out, const char *name, uint64_t first, uint64_t last)
{
	buf_puts(out, "<tr><td class=\"name\">");
	report_page_outside(out, name);
	buf_puts(out, "</td>");
	put_bytes_cell(out, (int64_t)(last - first), true);
	put_bytes_cell(out, (int64_t)first, false);
	put_bytes_cell(out, (int64_t)last, false);
	buf_puts(out, "</tr>\n");
}

static void open_memory_table(struct buf *out, const char *what)
{
	buf_printf(out,
		   "<div class=\"scroll\"><table data-sort><thead><tr><th scope=\"col\" data-by=\"t\">%s</th><th class=\"n\" scope=\"col\" "
		   "data-by=\"n\">Growth</th><th class=\"n\" scope=\"col\" data-by=\"n\">First</th><th class=\"n\" scope=\"col\" "
		   "data-by=\"n\">Last</th></tr></thead><tbody>\n",
		   what);
}

static void put_memory(const void *source, struct report_file *f)
{
	const struct leak_source *s = source;
	const struct leak_model *m = s->model;
	struct buf *out = &f->text;
	if (!m->memory_known) {
		buf_puts(out, "<p>Not known: the agent may not read this process&#39;s memory map.</p>");
		return;
	}
	open_memory_table(out, "In memory or swapped out");
	for (int k = 0; k < MEMORY_KIND_COUNT; k++) {
		const struct memory_figures *a = &m->first.by_kind[k], *b = &m->last.by_kind[k];
		put_memory_row(out, memory_kind_title(k), a->rss + a->swap, b->rss + b->swap);
	}
	buf_puts(out, "</tbody></table></div>\n<h3>Mappings that grew</h3>\n");
	open_memory_table(out, "Mapping");
	for (size_t i = 0; i < s->grown_count; i++)
		put_memory_row(out, s->grown[i].name, s->grown[i].first, s->grown[i].last);
	buf_puts(out, "</tbody></table></div>");
}

static void put_walks(const void *source, struct report_file *f)
{
	const struct leak_source *s = source;
	struct buf *out = &f->text;
	for (size_t i = 0; i < s->model->walk_count; i++) {
		const struct leak_walk *w = &s->model->walks[i];
		buf_printf(out, "<tr><td class=\"n\">%.1f s</td>", (double)(w->at_ns - s->started_ns) / 1e9);
		put_count_cell(out, (int64_t)w->objects, false);
		put_bytes_cell(out, (int64_t)w->bytes, false);
		put_bytes_cell(out, (int64_t)w->loose_bytes, false);
		put_bytes_cell(out, (int64_t)w->free_bytes, false);
		put_bytes_cell(out, (int64_t)w->spaces[HEAP_GEN2].used, false);
		put_bytes_cell(out, (int64_t)w->spaces[HEAP_GEN_LOH].used, false);
		put_count_cell(out, (int64_t)w->pinned_objects, false);
		if (w->resident_bytes >= 0)
			put_bytes_cell(out, w->resident_bytes, false);
		else
			buf_puts(out, "<td class=\"n\">not known</td>");
		buf_printf(out, "<td class=\"n\">%.1f ms</td></tr>\n", (double)w->stop_us / 1000);
	}
}

static void put_about(const void *source, struct report_file *f)
{
	const struct leak_source *s = source;
	const struct leak_model *m = s->model;
	struct buf *out = &f->text;
	buf_puts(out, "<p>The heap was walked at the session&#39;s ends (and between). What hangs on the same path from the same root was compared: "
		      "objects move and die, paths stay. Each object counts on one path, the shortest from the most lasting root that "
		      "reaches it: statics first, stacks last.</p><dl>\n");
	if (m->walk_count)
		report_page_row(out, "Roots", "%s: %s",
				m->walks[0].types_only ? "none, objects were counted by type"
				: m->walks[0].exact    ? "exact, by a forced collection before each walk"
						       : "without a collection",
				m->walks[0].why ? m->walks[0].why : "");
	report_page_row(out, "Slowest growth that would be seen", "%.0f kB a minute", s->diagnosis->detectable_per_minute / 1000);
	if (m->no_place)
		report_page_row(out, "Small paths and types left out", "%" PRIu64, m->no_place);
	report_page_cost_rows(&s->head, out);
	buf_puts(out, "</dl>");
}

static void put_data(const void *source, struct report_file *f)
{
	(void)source;
	buf_puts(&f->text, "{}");
}

void leak_page_write(const void *source, struct report_file *f)
{
	static const struct report_hole holes[] = {{"facts", put_facts},   {"holders", put_holders}, {"types", put_types}, {"memory", put_memory},
						   {"walks", put_walks}, {"about", put_about},	   {"data", put_data}};
	const struct leak_source *s = source;
	const struct report_page page = {
		.head = &s->head,
		.eyebrow = "Memory leak",
		.content = report_asset_leak(),
		.holes = holes,
		.hole_count = sizeof holes / sizeof holes[0],
		.footer = "The same for programs: report.json.",
	};
	report_page_write(&page, source, f);
}
