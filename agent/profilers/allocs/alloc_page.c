#include "agent/profilers/allocs/alloc_report.h"

#include "agent/report/phrase.h"
#include "agent/stacks/report_html_data.h"
#include "agent/report/report_page.h"
#include "common/base/size_text.h"

#include <inttypes.h>

#define ROWS 200
#define UNIT 1024 /* bytes that 1 of the page stands for: a sample has some 100 of them */

struct alloc_page {
	const struct alloc_source *s;
	struct stack_profile profile;
	struct html_plan plan;
};

static void put_spark(struct buf *out, const struct alloc_analysis *a)
{
	uint64_t most = 1;
	for (size_t i = 0; i < CPU_TIMELINE_BUCKETS; i++)
		most = a->timeline[i] > most ? a->timeline[i] : most;
	buf_printf(out, "<svg viewBox=\"0 0 %d 26\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"Bytes over time\">",
		   CPU_TIMELINE_BUCKETS * 4);
	for (size_t i = 0; i < CPU_TIMELINE_BUCKETS; i++) {
		double h = 26.0 * (double)a->timeline[i] / (double)most;
		if (a->timeline[i])
			buf_printf(out, "<rect class=\"spark\" x=\"%zu\" y=\"%.1f\" width=\"3.4\" height=\"%.1f\"/>", i * 4, 26 - h, h);
	}
	buf_puts(out, "</svg>");
}

static void put_fact(struct buf *out, const char *key, const char *value, const char *more, const struct alloc_analysis *over_time)
{
	buf_printf(out, "<div class=\"fact\"><div class=\"k\">%s</div><div class=\"v\">%s <small>%s</small></div>", key, value, more);
	if (over_time)
		put_spark(out, over_time);
	buf_puts(out, "</div>\n");
}

static void put_facts(const void *source, struct report_file *f)
{
	const struct alloc_page *p = source;
	const struct alloc_analysis *a = p->s->analysis;
	struct buf *out = &f->text;
	AUTO_BUF struct buf value, more;
	buf_init(&value, 256);
	buf_init(&more, 256);
	alloc_phrase_rate(&value, a, a->all.bytes);
	size_text_bytes(&more, alloc_whole(a->all.bytes));
	put_fact(out, "Allocated", buf_str(&value), buf_str(&more), a);
	buf_reset(&value);
	size_text_count(&value, alloc_whole(a->seconds > 0 ? a->all.objects / a->seconds : a->all.objects));
	put_fact(out, "Objects", buf_str(&value), "a second", NULL);
	buf_reset(&value);
	buf_reset(&more);
	phrase_percent(&value, alloc_analysis_percent(a, a->large_bytes));
	alloc_phrase_rate(&more, a, a->large_bytes);
	put_fact(out, "Large objects", buf_str(&value), buf_str(&more), NULL);
	buf_reset(&value);
	buf_reset(&more);
	phrase_percent(&value, a->seconds > 0 ? (double)a->base.collections.total_ns / 1e7 / a->seconds : 0);
	buf_printf(&more, "of the time, %" PRIu32 " collections", a->base.collections.count);
	put_fact(out, "Stopped to collect", buf_str(&value), buf_str(&more), NULL);
	buf_reset(&value);
	report_head_pause(&a->capture->stacks.facts, &value);
	put_fact(out, "Application paused", buf_str(&value), "by the profiler", NULL);
}

/* cells ----------------------------------------------------------------------------------------------------------- */

static void put_estimate(struct buf *out, const struct alloc_analysis *a, const struct alloc_estimate *e)
{
	double seconds = a->seconds > 0 ? a->seconds : 1, half = 50 * (alloc_estimate_high(e) - alloc_estimate_low(e)) / e->bytes;
	double part = alloc_analysis_percent(a, e->bytes);
	buf_printf(out, "<tr><td class=\"n\" data-v=\"%.4f\">", part);
	phrase_percent(out, part);
	buf_printf(out, "</td><td class=\"n\" data-v=\"%.0f\">", e->bytes / seconds);
	size_text_bytes(out, alloc_whole(e->bytes / seconds));
	buf_printf(out, "</td><td class=\"n\" data-v=\"%.4f\">&plusmn; ", half);
	phrase_percent(out, half);
	buf_printf(out, "</td><td class=\"n\" data-v=\"%.0f\">", e->objects / seconds);
	size_text_count(out, alloc_whole(e->objects / seconds));
	buf_puts(out, "</td>");
}

static void put_name(struct buf *out, const char *name)
{
	buf_puts(out, "<td class=\"name\">");
	report_page_text(out, name);
	buf_puts(out, "</td>");
}

static void put_sites(const void *source, struct report_file *f)
{
	const struct alloc_page *p = source;
	const struct alloc_analysis *a = p->s->analysis;
	for (size_t i = 0; i < a->site_count && i < ROWS; i++) {
		const struct alloc_sum *s = &a->sites[i];
		put_estimate(&f->text, a, &s->estimate);
		buf_puts(&f->text, "<td class=\"name\">");
		report_page_text(&f->text, a->capture->types[s->type]);
		buf_puts(&f->text, s->heap == ALLOC_LARGE	? " <span class=\"badge\">large</span></td>"
				   : s->heap == ALLOC_PINNED ? " <span class=\"badge\">pinned</span></td>"
							     : "</td>");
		put_name(&f->text, s->method == CPU_NO_METHOD ? "(none)" : a->base.methods[s->method].name);
		buf_puts(&f->text, "</tr>\n");
		report_file_flow(f);
	}
}

static void put_types(const void *source, struct report_file *f)
{
	const struct alloc_page *p = source;
	const struct alloc_analysis *a = p->s->analysis;
	for (size_t i = 0; i < a->type_count && i < ROWS; i++) {
		const struct alloc_sum *t = &a->types[i];
		double large = 100 * t->large_bytes / t->estimate.bytes, each = t->estimate.bytes / t->estimate.objects;
		put_estimate(&f->text, a, &t->estimate);
		buf_printf(&f->text, "<td class=\"n\" data-v=\"%.0f\">", each);
		size_text_bytes(&f->text, alloc_whole(each));
		buf_printf(&f->text, "</td><td class=\"n\" data-v=\"%.2f\">", large);
		if (large > 0)
			phrase_percent(&f->text, large);
		buf_puts(&f->text, "</td>");
		put_name(&f->text, a->capture->types[t->type]);
		buf_puts(&f->text, "</tr>\n");
		report_file_flow(f);
	}
}

static void put_about(const void *source, struct report_file *f)
{
	const struct alloc_page *p = source;
	const struct alloc_analysis *a = p->s->analysis;
	const struct alloc_capture *c = a->capture;
	struct buf *out = &f->text;
	bool tick = c->event == ALLOC_EVENT_TICK;
	buf_puts(out, "<p>Allocations are sampled by the runtime itself, one about each 100 KB, each with its stack. Bytes and objects are estimates; the "
		      "&#177; is half the width of their 95 % confidence interval. The leaf of each stack is the type that is allocated.</p>");
	buf_puts(out, tick ? "<p>This runtime has the event AllocationTick, whose samples come at a fixed distance: a pattern that repeats may be over- or "
			     "underestimated by more than the interval says. .NET 10 has random samples.</p><dl>\n"
			   : "<dl>\n");
	report_page_row(out, "Samples", "%" PRIu64 " (%s)", a->all.samples, tick ? "AllocationTick" : "AllocationSampled");
	if (c->sampled_ns < c->covered_ns)
		report_page_row(out, "Sampled", "%.0f %% of the time, so that it costs little; what was sampled stands for all",
				100.0 * (double)c->sampled_ns / (double)c->covered_ns);
	report_page_row(out, "Dropped", "%" PRIu64, c->dropped);
	report_page_row(out, "Cut stacks", "%" PRIu64 " samples", a->cut_samples);
	report_page_row(out, "Without a stack", "%" PRIu64 " samples", a->stackless_samples);
	report_page_row(out, "Stacks that may lack callers", "%" PRIu64 " samples", c->incomplete);
	report_page_tail_call_row(out);
	report_page_row(out, "Compiled frames without a name", "%" PRId64 " of %" PRId64, c->stacks.unresolved_frames,
			c->stacks.managed_frames + c->stacks.unresolved_frames);
	if (c->stacks.facts.beside_profiler)
		report_page_row(out, "Another profiler", "may hold the process's main slot; attached for notifications only, which is all that "
								 "this report needs");
	report_page_cost_rows(&p->s->head, out);
	if (p->plan.hidden)
		report_page_row(out, "Left out of this page", "subtrees below %" PRIu64 " bytes; %.2f %% end in them. report.json has all.",
				p->plan.least_total, alloc_analysis_percent(a, (double)p->plan.hidden));
	buf_puts(out, "</dl>");
}

static void put_data(const void *source, struct report_file *f)
{
	const struct alloc_page *p = source;
	html_data_write(&p->profile, &p->plan, ",\"unit\":\"bytes\"", f);
}

static const struct report_hole holes[] = {
	{"facts", put_facts}, {"sites", put_sites}, {"types", put_types}, {"about", put_about}, {"data", put_data},
};

void alloc_page_write(const void *source, struct report_file *f)
{
	const struct alloc_source *s = source;
	struct alloc_page alloc = {.s = s};
	struct report_page page = {
		.head = &s->head,
		.eyebrow = "Allocations",
		.content = report_asset_allocs(),
		.js = report_asset_flame_js(),
		.holes = holes,
		.hole_count = sizeof holes / sizeof holes[0],
		.footer = "The same profile is in profile.pb.gz (pprof: alloc_space, alloc_objects), stacks.folded, profile.speedscope.json and "
			  "report.json.",
	};
	char scratch[64];
	alloc_analysis_profile(s->analysis, report_head_subject(&s->head, scratch, sizeof scratch), s->head.headline, &alloc.profile);
	html_plan_make(&alloc.profile, UNIT, &alloc.plan);
	report_page_write(&page, &alloc, f);
	html_plan_fini(&alloc.plan);
}
