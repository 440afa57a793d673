#include "agent/profilers/cpu/cpu_page.h"

#include "agent/report/phrase.h"
#include "agent/symbols/method_name.h"
#include "agent/stacks/report_html_data.h"
#include "agent/report/report_page.h"
#include <inttypes.h>

#define STATIC_METHODS 25

struct cpu_page {
	const struct report_source *s;
	struct html_plan plan;
};

/* figures --------------------------------------------------------------------------------------------------------- */

static void put_level(struct buf *out, double part, bool hot)
{
	if (part > 1)
		part = 1;
	buf_printf(out,
		   "<svg viewBox=\"0 0 100 26\" preserveAspectRatio=\"none\" aria-hidden=\"true\"><rect class=\"track\" y=\"10\" "
		   "width=\"100\" height=\"6\"/><rect class=\"level%s\" y=\"10\" width=\"%.1f\" height=\"6\"/></svg>",
		   hot ? " hot" : "", 100 * part);
}

static void put_spark(struct buf *out, const struct cpu_analysis *a)
{
	uint32_t most = 1;
	for (size_t i = 0; i < CPU_TIMELINE_BUCKETS; i++)
		if (a->timeline[i] > most)
			most = a->timeline[i];
	buf_printf(out, "<svg viewBox=\"0 0 %d 26\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"CPU over time\">",
		   CPU_TIMELINE_BUCKETS * 4);
	for (size_t i = 0; i < CPU_TIMELINE_BUCKETS; i++) {
		double h = 26.0 * a->timeline[i] / most;
		if (a->timeline[i])
			buf_printf(out, "<rect class=\"spark\" x=\"%zu\" y=\"%.1f\" width=\"3.4\" height=\"%.1f\"/>", i * 4, 26 - h, h);
	}
	buf_puts(out, "</svg>");
}

static void put_facts(const void *source, struct report_file *f)
{
	const struct cpu_page *p = source;
	struct buf *out = &f->text;
	const struct cpu_analysis *a = p->s->analysis;
	const struct cpu_capture *c = a->capture;
	double part = a->cpus_allowed > 0 ? a->cpus_used / a->cpus_allowed : 0;
	bool hot = a->limited && part >= 0.9;
	buf_printf(out, "<div class=\"fact%s\"><div class=\"k\">CPU used</div><div class=\"v\">%.2f", hot ? " warn" : "", a->cpus_used);
	if (a->cpus_allowed > 0)
		buf_printf(out, " <small>of %.1f %s</small>", a->cpus_allowed, a->limited ? "(limit)" : "CPUs");
	buf_puts(out, "</div>");
	put_level(out, part, hot);
	buf_puts(out, "</div>\n<div class=\"fact\"><div class=\"k\">CPU over time</div>");
	buf_printf(out, "<div class=\"v\">%.1f s <small>in %.0f s</small></div>", (double)a->cpu_ns / 1e9, (double)c->facts.duration_ns / 1e9);
	put_spark(out, a);
	buf_printf(out,
		   "</div>\n<div class=\"fact\"><div class=\"k\">Busy threads</div><div class=\"v\">%" PRIu32
		   " <small>of %zu</small></div>",
		   a->busy_threads, c->thread_count);
	put_level(out, c->thread_count ? (double)a->busy_threads / (double)c->thread_count : 0, false);
	buf_puts(out, "</div>\n");
	double throttled = p->s->diagnosis->throttled_percent;
	if (throttled >= 0) {
		buf_printf(out, "<div class=\"fact%s\"><div class=\"k\">Throttled</div><div class=\"v\">", throttled >= 5 ? " warn" : "");
		phrase_percent(out, throttled);
		buf_puts(out, " <small>of periods</small></div>");
		put_level(out, throttled / 100, throttled >= 5);
		buf_puts(out, "</div>\n");
	}
	buf_puts(out, "<div class=\"fact\"><div class=\"k\">Application paused</div><div class=\"v\">");
	report_head_pause(&c->facts, out);
	buf_printf(out, "</div><div class=\"k\">by the profiler; %" PRId64 " ms of CPU added</div></div>", c->facts.cost.added_cpu_ms);
}

static void put_categories(const void *source, struct report_file *f)
{
	const struct cpu_page *p = source;
	struct buf *out = &f->text;
	const struct cpu_analysis *a = p->s->analysis;
	double x = 0;
	if (a->samples == 0)
		return;
	buf_puts(out, "<svg viewBox=\"0 0 1000 12\" preserveAspectRatio=\"none\" aria-hidden=\"true\">");
	for (int i = 0; i < CATEGORY_COUNT; i++) {
		double w = 10 * cpu_analysis_percent(a, a->by_category[i]);
		if (a->by_category[i])
			buf_printf(out, "<rect class=\"c%d\" x=\"%.2f\" width=\"%.2f\" height=\"12\"/>", i, x, w > 2 ? w - 1 : w);
		x += w;
	}
	buf_puts(out, "</svg>\n<ul>");
	for (int i = 0; i < CATEGORY_COUNT; i++) {
		if (!a->by_category[i])
			continue;
		buf_printf(out, "<li><span class=\"dot c%d\"></span>%s <b>", i, cpu_category_title(i));
		phrase_percent(out, cpu_analysis_percent(a, a->by_category[i]));
		buf_puts(out, "</b></li>\n");
	}
	buf_puts(out, "</ul>");
}

/* What is seen where scripts do not run. */
static void put_table(const void *source, struct report_file *f)
{
	const struct cpu_page *p = source;
	struct buf *out = &f->text;
	const struct cpu_analysis *a = p->s->analysis;
	buf_puts(out, "<div class=\"scroll\"><table><thead><tr><th class=\"n\" scope=\"col\">In itself</th><th class=\"n\" scope=\"col\">"
		      "Total</th><th scope=\"col\">Method</th><th scope=\"col\" class=\"mod\">Module</th></tr></thead><tbody>\n");
	for (size_t i = 0; i < a->method_count && i < STATIC_METHODS; i++) {
		const struct cpu_method *m = &a->methods[a->by_self[i]];
		buf_puts(out, "<tr><td class=\"n\">");
		phrase_percent(out, cpu_analysis_percent(a, m->self));
		buf_puts(out, "</td><td class=\"n\">");
		phrase_percent(out, cpu_analysis_percent(a, m->total));
		buf_printf(out, "</td><td class=\"name\"><span class=\"dot l%d\"></span> ", (int)m->layer);
		report_page_text(out, m->name);
		if (m->marks & (METHOD_ASYNC | METHOD_ITERATOR))
			buf_printf(out, "<span class=\"badge\">%s</span>", m->marks & METHOD_ASYNC ? "async" : "iterator");
		buf_puts(out, "</td><td class=\"mod\">");
		report_page_text(out, m->module);
		buf_puts(out, "</td></tr>\n");
	}
	buf_puts(out, "</tbody></table></div>");
}

static void put_about(const void *source, struct report_file *f)
{
	const struct cpu_page *p = source;
	struct buf *out = &f->text;
	const struct cpu_analysis *a = p->s->analysis;
	const struct cpu_capture *c = a->capture;
	buf_puts(out, "<p>CPU time is sampled: each sample is the stack of a thread that was running at that moment, so shares of samples "
		      "are shares of CPU time. Threads that wait are not seen here. A method&#39;s total counts what it calls, too.</p><dl>\n");
	report_page_row(out, "Samples", "%" PRIu32 " at %" PRId64 " Hz (%s)", a->samples, c->frequency_hertz, c->method ? c->method : "unknown");
	report_page_row(out, "Lost or dropped", "%" PRId64, c->lost_samples + c->dropped);
	report_page_row(out, "Cut stacks", "%" PRIu32, a->truncated_samples);
	if (c->exact_stacks) {
		report_page_row(out, "Stacks that may lack callers", "%" PRId64, cpu_capture_incomplete(c));
		report_page_tail_call_row(out);
	}
	report_page_row(out, "Compiled frames without a name", "%" PRId64 " of %" PRId64, c->unresolved_frames,
		c->managed_frames + c->unresolved_frames);
	report_page_row(out, "Kernel frames", "%s", c->kernel_frames ? "yes" : "not allowed here: kernel time ends at the call into it");
	if (c->fallback_reason)
		report_page_row(out, "Why not perf events", "%s: %s", c->fallback_reason, c->fallback_message ? c->fallback_message : "");
	if (c->facts.beside_profiler)
		report_page_row(out, "Another profiler", "holds the process's main slot (an APM?); attached beside it for notifications only, which is all "
						 "that this report needs");
	report_page_cost_rows(&p->s->head, out);
	if (p->plan.hidden)
		report_page_row(out, "Left out of this page",
			"subtrees below %" PRIu64 " samples; %.2f %% of the samples end in them. report.json has all.",
			p->plan.least_total, cpu_analysis_percent(a, (uint32_t)p->plan.hidden));
	buf_puts(out, "</dl>");
}

static void put_data(const void *source, struct report_file *f)
{
	const struct cpu_page *p = source;
	html_data_write(&p->s->profile, &p->plan, NULL, f);
}

static const struct report_hole holes[] = {
	{"facts", put_facts}, {"categories", put_categories}, {"table", put_table}, {"about", put_about}, {"data", put_data},
};

void cpu_page_write(const void *source, struct report_file *f)
{
	const struct report_source *s = source;
	struct cpu_page cpu = {.s = s};
	struct report_page page = {
		.head = &s->head,
		.eyebrow = "CPU hot paths",
		.content = report_asset_cpu(),
		.js = report_asset_flame_js(),
		.holes = holes,
		.hole_count = sizeof holes / sizeof holes[0],
		.footer = "The same profile is in profile.pb.gz (pprof), stacks.folded, profile.speedscope.json and report.json.",
	};
	html_plan_make(&s->profile, 1, &cpu.plan);
	report_page_write(&page, &cpu, f);
	html_plan_fini(&cpu.plan);
}
