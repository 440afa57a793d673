#include "agent/profilers/survivors/survivors_page.h"

#include "agent/report/report_page.h"
#include "common/base/size_text.h"
#include "agent/profilers/survivors/survivors_page_data.h"
#include "agent/profilers/survivors/survivors_source.h"
#include "agent/profilers/survivors/survivors_text.h"
#include "agent/profilers/survivors/survivors_types.h"

#include <inttypes.h>

#define STATIC_NODES 60
#define STATIC_PART 100 /* nodes of the tree that stand there without a script hold at least a 100th of the heap */
#define PAGE_TYPES 1000
#define DEEPEST 16      /* indentation ends there */

static const struct {
	const char *name, *title;
} generations[HEAP_GENERATIONS] = {
	{"generation 0", "youngest"},
	{"generation 1", "young"},
	{"generation 2", "old"},
	{"large object heap", "LOH: 85,000 bytes and more"},
	{"pinned object heap", "POH: allocated pinned"},
	{"frozen", "literals, never collected"},
};

/* cells ----------------------------------------------------------------------------------------------------------- */

static void put_bytes(struct buf *out, uint64_t bytes)
{
	buf_printf(out, "<td class=\"n\" data-v=\"%" PRIu64 "\">", bytes);
	size_text_bytes(out, bytes);
	buf_puts(out, "</td>");
}

static void put_count(struct buf *out, uint64_t count)
{
	buf_printf(out, "<td class=\"n\" data-v=\"%" PRIu64 "\">", count);
	size_text_count(out, count);
	buf_puts(out, "</td>");
}

/* What only a graph tells, with its share of the heap; without one the share is that of the objects' own bytes. */
static void put_not_known(struct buf *out)
{
	buf_puts(out, "<td class=\"n\" data-v=\"-1\">not known</td>");
}

static void put_share(struct buf *out, const struct survivors *s, uint64_t bytes)
{
	double percent = survivors_percent(s, bytes);
	buf_printf(out, "<td class=\"n\" data-v=\"%.4f\">", percent);
	survivors_text_percent(out, percent);
	buf_printf(out, "</td><td class=\"bar\"><svg aria-hidden=\"true\"><rect class=\"track\" width=\"100%%\" height=\"8\" rx=\"2\"/><rect class=\"level\" "
			"width=\"%.2f%%\" height=\"8\" rx=\"2\"/></svg></td>",
		   percent);
}

static void put_retained(struct buf *out, const struct survivors *s, const struct survivors_group *g)
{
	if (s->graph)
		put_bytes(out, g->total.retained);
	else
		put_not_known(out);
	put_share(out, s, s->graph ? g->total.retained : g->total.bytes);
}

static void put_name(struct buf *out, const char *class, const char *name)
{
	buf_printf(out, "<td class=\"%s\">", class);
	report_page_outside(out, name);
	buf_puts(out, "</td>");
}

/* facts ----------------------------------------------------------------------------------------------------------- */

static void begin_fact(struct buf *out, const char *key, bool warn)
{
	buf_printf(out, "<div class=\"fact%s\"><div class=\"k\">%s</div><div class=\"v\">", warn ? " warn" : "", key);
}

static void put_size_fact(struct buf *out, const char *key, uint64_t bytes, const char *below, bool warn)
{
	begin_fact(out, key, warn);
	size_text_bytes(out, bytes);
	buf_printf(out, "</div><div class=\"k\">%s</div></div>\n", below);
}

static void put_facts(const void *source, struct report_file *f)
{
	const struct survivors_source *x = source;
	const struct survivors *s = x->survivors;
	struct buf *out = &f->text;
	const struct survivors_node *most = s->holder_count ? &s->tree.nodes[s->holders[0].node] : NULL;
	AUTO_BUF struct buf small;
	buf_init(&small, 128);
	size_text_count(&small, s->objects);
	buf_puts(&small, " objects");
	put_size_fact(out, "On the heap", s->bytes, buf_str(&small), false);
	if (most) {
		buf_reset(&small);
		survivors_text_percent(&small, survivors_percent(s, most->retained));
		buf_puts(&small, " of the heap");
		put_size_fact(out, "Largest holder", most->retained, buf_str(&small), survivors_percent(s, most->retained) >= 50);
	}
	put_size_fact(out, "Old generation", s->spaces[HEAP_GEN2].bytes + s->spaces[HEAP_GEN2].dead_bytes, "generation 2", false);
	put_size_fact(out, "Large objects", s->spaces[HEAP_GEN_LOH].bytes + s->spaces[HEAP_GEN_LOH].dead_bytes, "large object heap", false);
	put_size_fact(out, "Free space", s->free_bytes, "between objects", s->free_bytes > s->bytes);
	begin_fact(out, "Application paused", false);
	report_head_pause(x->head.facts, out);
	buf_puts(out, "</div><div class=\"k\">by the profiler</div></div>");
}

/* A bar of the generations. */
static void put_split(const void *source, struct report_file *f)
{
	const struct survivors *s = ((const struct survivors_source *)source)->survivors;
	struct buf *out = &f->text;
	double all = (double)(s->bytes + s->free_bytes), at = 0;
	buf_puts(out, "<svg viewBox=\"0 0 1000 12\" preserveAspectRatio=\"none\" aria-hidden=\"true\">");
	for (int i = 0; i <= HEAP_GENERATIONS && all > 0; i++) {
		uint64_t bytes = i < HEAP_GENERATIONS ? s->spaces[i].bytes + s->spaces[i].dead_bytes : s->free_bytes;
		double width = 1000 * (double)bytes / all;
		if (bytes)
			buf_printf(out, "<rect class=\"g%d\" x=\"%.2f\" width=\"%.2f\" height=\"12\"/>", i, at, width > 2 ? width - 1 : width);
		at += width;
	}
	buf_puts(out, "</svg>\n<ul>");
	for (int i = 0; i <= HEAP_GENERATIONS; i++) {
		uint64_t bytes = i < HEAP_GENERATIONS ? s->spaces[i].bytes + s->spaces[i].dead_bytes : s->free_bytes;
		if (!bytes)
			continue;
		buf_printf(out, "<li><span class=\"dot g%d\"></span>%s <b>", i, i < HEAP_GENERATIONS ? generations[i].name : "free space");
		size_text_bytes(out, bytes);
		buf_puts(out, "</b></li>\n");
	}
	buf_puts(out, "</ul>");
}

/* tables ---------------------------------------------------------------------------------------------------------- */

/* The top of the tree, as it stands where scripts do not run. */
static void put_tree(const void *source, struct report_file *f)
{
	const struct survivors *s = ((const struct survivors_source *)source)->survivors;
	if (!s->graph)
		buf_puts(&f->text, "<tr><td class=\"name\" colspan=\"6\">Not known: objects were only counted by type, see the diagnosis.</td></tr>\n");
	uint32_t order[STATIC_NODES], count = survivors_tree_preorder(&s->tree, s->bytes / STATIC_PART + 1, order, STATIC_NODES);
	for (uint32_t i = 1; i < count; i++) {
		const struct survivors_node *n = &s->tree.nodes[order[i]];
		uint32_t level = n->depth < DEEPEST ? n->depth : DEEPEST;
		buf_printf(&f->text, "<tr><td class=\"name d%" PRIu32 "%s\">", level, n->label ? " root" : "");
		report_page_outside(&f->text, survivors_tree_name(&s->tree, s->snapshot, order[i]));
		buf_puts(&f->text, "</td>");
		put_bytes(&f->text, n->retained);
		put_share(&f->text, s, n->retained);
		put_count(&f->text, n->objects);
		if (n->label)
			buf_puts(&f->text, "<td class=\"n\"></td>");
		else
			put_bytes(&f->text, n->bytes);
		buf_puts(&f->text, "</tr>\n");
	}
}

static void put_step(struct buf *out, const struct survivors *s, const struct heap_path *p, size_t i)
{
	const struct heap_step *step = &p->steps[i];
	buf_puts(out, "<li>");
	if (step->field && step->field[0]) {
		buf_puts(out, "<span class=\"field\">");
		report_page_outside(out, step->field);
		buf_puts(out, "</span> ");
	}
	report_page_outside(out, s->snapshot->types[step->type].name);
	if (step->count != 1) {
		buf_puts(out, " <b>x ");
		size_text_count(out, step->count);
		buf_puts(out, "</b>");
	}
	if (step->nested)
		buf_puts(out, "<span class=\"badge\">holds its like</span>");
	buf_puts(out, "</li>");
}

static void put_paths(const void *source, struct report_file *f)
{
	const struct survivors *s = ((const struct survivors_source *)source)->survivors;
	struct buf *out = &f->text;
	if (!s->graph)
		buf_puts(out, "<tr><td class=\"name\" colspan=\"4\">Not known: objects were only counted by type, see the diagnosis.</td></tr>\n");
	for (size_t i = 0; i < s->paths.count; i++) {
		const struct heap_path *p = &s->paths.paths[i];
		buf_puts(out, "<tr>");
		put_bytes(out, p->held);
		put_share(out, s, p->held);
		buf_puts(out, "<td class=\"name\"><ol class=\"path\"><li class=\"root\">");
		report_page_outside(out, survivors_text_root(s->snapshot, p));
		buf_puts(out, "</li>");
		for (size_t k = 0; k < p->step_count; k++)
			put_step(out, s, p, k);
		buf_puts(out, "</ol></td></tr>\n");
		report_file_flow(f);
	}
}

static void put_types(const void *source, struct report_file *f)
{
	const struct survivors *s = ((const struct survivors_source *)source)->survivors;
	for (uint32_t i = 0; i < s->types.count && i < PAGE_TYPES; i++) {
		const struct survivors_group *g = &s->types.items[i];
		uint64_t own = g->total.bytes + g->total.dead_bytes;
		buf_puts(&f->text, "<tr>");
		put_retained(&f->text, s, g);
		put_bytes(&f->text, own);
		put_count(&f->text, g->total.count + g->total.dead_count);
		put_bytes(&f->text, g->total.generation_bytes[HEAP_GEN2] + g->total.generation_bytes[HEAP_GEN_LOH]);
		put_name(&f->text, "name", g->name);
		put_name(&f->text, "mod", s->snapshot->types[g->type].module);
		buf_puts(&f->text, "</tr>\n");
		report_file_flow(f);
	}
}

static void put_groups(const struct survivors *s, const struct survivors_groups *groups, struct report_file *f)
{
	for (uint32_t i = 0; i < groups->count; i++) {
		const struct survivors_group *g = &groups->items[i];
		buf_puts(&f->text, "<tr>");
		put_retained(&f->text, s, g);
		put_bytes(&f->text, g->total.bytes + g->total.dead_bytes);
		put_count(&f->text, g->total.count + g->total.dead_count);
		put_name(&f->text, "name", g->name[0] ? g->name : "(none)");
		buf_puts(&f->text, "</tr>\n");
		report_file_flow(f);
	}
}

static void put_namespaces(const void *source, struct report_file *f)
{
	const struct survivors *s = ((const struct survivors_source *)source)->survivors;
	put_groups(s, &s->namespaces, f);
}

static void put_assemblies(const void *source, struct report_file *f)
{
	const struct survivors *s = ((const struct survivors_source *)source)->survivors;
	put_groups(s, &s->assemblies, f);
}

static void put_generations(const void *source, struct report_file *f)
{
	const struct survivors *s = ((const struct survivors_source *)source)->survivors;
	for (int i = 0; i < HEAP_GENERATIONS; i++) {
		const struct heap_space *p = &s->spaces[i];
		buf_printf(&f->text, "<tr><td class=\"name\"><span class=\"dot g%d\"></span> %s <span class=\"badge\">%s</span></td>", i,
			   generations[i].name, generations[i].title);
		put_bytes(&f->text, p->bytes + p->dead_bytes);
		put_share(&f->text, s, p->bytes + p->dead_bytes);
		put_count(&f->text, p->count + p->dead_count);
		put_bytes(&f->text, p->free_bytes);
		if (p->largest_free_bytes || !p->free_bytes)
			put_bytes(&f->text, p->largest_free_bytes);
		else
			buf_puts(&f->text, "<td class=\"n\">not known</td>");
		put_count(&f->text, p->pinned_count);
		put_bytes(&f->text, p->dead_bytes);
		buf_puts(&f->text, "</tr>\n");
	}
}

static void put_kinds(const void *source, struct report_file *f)
{
	const struct survivors *s = ((const struct survivors_source *)source)->survivors;
	for (int i = 0; i < SURVIVORS_KINDS; i++) {
		if (!s->kinds[i].roots && !s->kinds[i].retained)
			continue;
		buf_printf(&f->text, "<tr><td class=\"name\">%s</td>", survivors_kind_title(s->snapshot, i));
		put_bytes(&f->text, s->kinds[i].retained);
		put_share(&f->text, s, s->kinds[i].retained);
		put_count(&f->text, s->kinds[i].roots);
		buf_puts(&f->text, "</tr>\n");
	}
}

static const char graph_about[] =
	"<p>All objects of the heap were read at one moment, with their references. To retain a byte is to be the only one that "
	"holds it: what would be freed if the holder let go. What static fields, thread statics or handles reach is held by "
	"those alone: stacks and the finalizer queue, which refer to it for the moment, take nothing from them. Paths are the "
	"shortest ways from a root.</p>";
static const char types_about[] =
	"<p>Objects were counted by type at one moment, without their references: how many there are and what they take, not what retains them. "
	"Shares are those of their own bytes. What nothing holds any more is counted too, until its collection.</p>";

static void put_about(const void *source, struct report_file *f)
{
	const struct survivors_source *x = source;
	const struct survivors *s = x->survivors;
	const struct heap_facts *w = &s->snapshot->facts;
	struct buf *out = &f->text;
	buf_puts(out, s->graph ? graph_about : types_about);
	buf_puts(out, "<dl>\n");
	report_page_row(out, "Roots", "%s",
			!s->graph ? "none" : w->way == HEAP_WAY_EXACT ? "all, by a forced collection" : "statics, handles and stacks, without a collection");
	if (w->why && w->why[0])
		report_page_row(out, "Why so", "%s", w->why);
	report_page_row(out, "Objects", "%" PRIu64, s->objects);
	if (s->graph)
		report_page_row(out, "References", "%" PRIu64, w->edges);
	else
		report_page_row(out, "Seen of the heap, at least", "%.0f %%", survivors_types_seen_percent(s));
	if (w->collection_stop_us)
		report_page_row(out, "Stop for the roots", "%.1f ms", (double)w->collection_stop_us / 1000);
	if (w->walk_stop_us)
		report_page_row(out, "Stop for the walk", "%.1f ms", (double)w->walk_stop_us / 1000);
	if (w->predicted_stop_us)
		report_page_row(out, "Longest stop, as predicted", "%.1f ms", (double)w->predicted_stop_us / 1000);
	report_page_row(out, "Analysis", "%" PRId64 " ms", x->analysis_ms);
	report_page_cost_rows(&x->head, out);
	buf_puts(out, "</dl>");
}

static const struct report_hole holes[] = {
	{"facts", put_facts},	  {"split", put_split},		  {"tree", put_tree},		{"paths", put_paths},
	{"types", put_types},	  {"namespaces", put_namespaces}, {"assemblies", put_assemblies}, {"generations", put_generations},
	{"kinds", put_kinds},	  {"about", put_about},		  {"data", survivors_page_data_write},
};

void survivors_page_write(const void *source, struct report_file *f)
{
	const struct survivors_source *x = source;
	struct report_page page = {
		.head = &x->head,
		.eyebrow = "GC survivors",
		.content = report_asset_survivors(),
		.css = report_asset_survivors_css(),
		.js = report_asset_survivors_js(),
		.holes = holes,
		.hole_count = sizeof holes / sizeof holes[0],
		.footer = "All figures are in report.json.",
	};
	report_page_write(&page, x, f);
}
