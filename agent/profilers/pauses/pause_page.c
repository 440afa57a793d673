#include "agent/report/phrase.h"
#include "agent/symbols/method_name.h"
#include "agent/profilers/pauses/pause_report.h"
#include "agent/report/report_page.h"
#include "common/base/size_text.h"
#include "common/base/cleanup.h"
#include "common/base/text.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define PAGE_EVENTS 5000
#define STATIC_BARS 300
#define GROUPS 50
#define STACK_FRAMES 40

static const struct pause_analysis *analysis_of(const void *source)
{
	return ((const struct pause_source *)source)->analysis;
}

static const char *class_of(const struct pause_kind *k)
{
	return k->reason == PAUSE_BACKGROUND ? "background" : k->reason == PAUSE_COLLECTION ? "blocking" : "other";
}

/* figures ------------------------------------------------------------------------------------------------------------------ */

static void put_fact(struct buf *out, const char *key, bool warn, int64_t ns, const char *small)
{
	buf_printf(out, "<div class=\"fact%s\"><div class=\"k\">%s</div><div class=\"v\">", warn ? " warn" : "", key);
	pause_phrase_ns(out, ns);
	if (small)
		buf_printf(out, " <small>%s</small>", small);
	buf_puts(out, "</div></div>\n");
}

static void put_facts(const void *source, struct report_file *f)
{
	const struct pause_analysis *a = analysis_of(source);
	struct buf *out = &f->text;
	buf_printf(out, "<div class=\"fact%s\"><div class=\"k\">Time paused</div><div class=\"v\">", a->share_percent >= 5 ? " warn" : "");
	phrase_percent(out, a->share_percent);
	buf_puts(out, " <small>of the session</small></div></div>\n<div class=\"fact\"><div class=\"k\">Pauses</div><div class=\"v\">");
	size_text_count(out, a->capture->pause_count);
	buf_printf(out, " <small>%.1f a minute</small></div></div>\n", a->per_minute);
	put_fact(out, "Longest", a->length.max_ns >= 100000000, a->length.max_ns, NULL);
	put_fact(out, "99 % at most", false, a->length.p99_ns, NULL);
	put_fact(out, "Until all had stopped", a->suspending.max_ns >= 10000000, a->suspending.max_ns, "at most");
	buf_puts(out, "<div class=\"fact\"><div class=\"k\">Application paused</div><div class=\"v\">");
	report_head_pause(&a->capture->facts, out);
	buf_printf(out, "</div><div class=\"k\">by the profiler; %" PRId64 " ms of CPU added</div></div>",
		   a->capture->facts.cost.added_cpu_ms);
}

/* What is seen where scripts do not run: the longest pause of each slice of the session, on a logarithmic scale. */
static void put_timeline(const void *source, struct report_file *f)
{
	const struct pause_analysis *a = analysis_of(source);
	const struct pause_capture *c = a->capture;
	const struct pause *bars[STATIC_BARS] = {0};
	double most = log10(1 + (double)a->length.max_ns / 1000), duration = (double)c->facts.duration_ns;
	for (size_t i = 0; i < c->pause_count && duration > 0; i++) {
		size_t at = (size_t)(STATIC_BARS * fmin((double)c->pauses[i].start_ns / duration, 0.9999));
		if (!bars[at] || pause_length_ns(bars[at]) < pause_length_ns(&c->pauses[i]))
			bars[at] = &c->pauses[i];
	}
	buf_printf(&f->text, "<svg viewBox=\"0 0 %d 100\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"Pauses over time\">",
		   STATIC_BARS * 4);
	for (size_t i = 0; i < STATIC_BARS; i++) {
		if (!bars[i])
			continue;
		double length = (double)pause_length_ns(bars[i]), h = most > 0 ? 96 * log10(1 + length / 1000) / most : 0;
		double red = length > 0 ? h * (double)bars[i]->suspend_ns / length : 0;
		buf_printf(&f->text,
			   "<rect class=\"p-%s\" x=\"%zu\" y=\"%.1f\" width=\"3\" height=\"%.1f\"/><rect class=\"p-suspending\" x=\"%zu\" "
			   "y=\"%.1f\" width=\"3\" height=\"%.1f\"/>",
			   class_of(&c->kinds[bars[i]->kind]), i * 4, 100 - h, h, i * 4, 100 - red, red);
	}
	buf_puts(&f->text, "</svg>");
}

/* tables ------------------------------------------------------------------------------------------------------------------- */

static void put_ns_cell(struct buf *out, int64_t ns)
{
	buf_printf(out, "<td class=\"n\" data-v=\"%" PRId64 "\">", ns);
	pause_phrase_ns(out, ns);
	buf_puts(out, "</td>");
}

static void put_sum_cells(const struct pause_sum *s, struct buf *out)
{
	buf_printf(out, "<td class=\"n\">%" PRIu32 "</td>", s->count);
	put_ns_cell(out, s->total_ns);
	put_ns_cell(out, s->longest_ns);
}

#define SUM_HEADS \
	"<th class=\"n\" scope=\"col\" data-by=\"n\">Pauses</th><th class=\"n\" scope=\"col\" data-by=\"n\">Time</th>" \
	"<th class=\"n\" scope=\"col\" data-by=\"n\">Longest</th>"

static void put_sums(const char *title, const char *head, const struct pause_sum *sums, size_t count, const char *(*title_of)(uint32_t),
		     struct buf *out)
{
	if (!count)
		return;
	buf_printf(out, "<h2>%s</h2><div class=\"scroll\"><table data-sort><thead><tr>" SUM_HEADS "<th scope=\"col\" data-by=\"t\">%s</th></tr>"
			"</thead><tbody>\n",
		   title, head);
	for (size_t i = 0; i < count; i++) {
		buf_puts(out, "<tr>");
		put_sum_cells(&sums[i], out);
		buf_printf(out, "<td class=\"name\">%s</td></tr>\n", title_of(sums[i].index));
	}
	buf_puts(out, "</tbody></table></div>");
}

static const char *reason_title(uint32_t index)
{
	return pause_reason_title(index);
}

static const char *cause_title(uint32_t index)
{
	return pause_cause_title(index);
}

static void put_generations(const struct pause_analysis *a, struct buf *out)
{
	buf_puts(out, "<h2>Collections by generation</h2><div class=\"scroll\"><table data-sort><thead><tr><th scope=\"col\" data-by=\"t\">"
		      "Generation</th><th class=\"n\" scope=\"col\" data-by=\"n\">Collections</th><th class=\"n\" scope=\"col\" data-by=\"n\">"
		      "Induced</th>" SUM_HEADS "</tr></thead><tbody>\n");
	for (int g = 0; g < 3; g++)
		for (int background = 0; background < 2; background++) {
			const struct pause_collections *c = &a->capture->collections[g][background];
			if (!c->count && !a->by_generation[g][background].count)
				continue;
			buf_printf(out, "<tr><td>gen %d, %s</td><td class=\"n\">%" PRIu32 "</td><td class=\"n\">%" PRIu32 "</td>", g,
				   background ? "background" : "blocking", c->count, c->induced);
			put_sum_cells(&a->by_generation[g][background], out);
			buf_puts(out, "</tr>\n");
		}
	buf_puts(out, "</tbody></table></div>");
}

static void put_why(const void *source, struct report_file *f)
{
	const struct pause_analysis *a = analysis_of(source);
	if (!a->capture->pause_count) {
		buf_puts(&f->text, "<p>The runtime made no pause in this session.</p>");
		return;
	}
	put_sums("Reasons", "The runtime stopped its threads for", a->by_reason, a->reason_count, reason_title, &f->text);
	if (a->cause_count)
		put_generations(a, &f->text);
	if (pause_analysis_sampled(a))
		buf_printf(&f->text, "<p>Of %zu pauses for collections %zu were looked at for what made the runtime collect, and for who asked: "
				"the figures of those below are estimates for all.</p>", a->sample.collections, a->sample.looked);
	if (a->capture->causes_known)
		put_sums("What made the runtime collect", "Cause", a->by_cause, a->cause_count, cause_title, &f->text);
}

static void put_method_cell(const struct pause_analysis *a, uint32_t stack, struct buf *out)
{
	const struct cpu_capture *stacks = &a->capture->stacks;
	struct method_name name;
	uint32_t frame = pause_stack_method(stacks, stack);
	buf_puts(out, "<td class=\"name\">");
	if (frame == PAUSE_NONE) {
		buf_puts(out, "not known</td>");
		return;
	}
	method_name_make(&stacks->frames[frame], &name);
	buf_puts(out, "<details><summary>");
	report_page_text(out, name.text);
	buf_puts(out, "</summary><ol class=\"stack\">");
	for (uint32_t i = 0; i < stacks->stacks[stack].depth && i < STACK_FRAMES; i++) {
		method_name_make(&stacks->frames[stacks->stack_frames[stacks->stacks[stack].first + i]], &name);
		buf_puts(out, "<li>");
		report_page_text(out, name.text);
		buf_puts(out, "</li>");
	}
	buf_puts(out, "</ol></details></td>");
}

static void put_inducers(const struct pause_analysis *a, struct report_file *f)
{
	buf_puts(&f->text, "<h2>Induced collections</h2>");
	if (!a->inducer_count) {
		buf_printf(&f->text, "<p>%s</p>", a->induced.count ? "Collections were induced, but no stack is available." : "None were induced.");
		return;
	}
	buf_puts(&f->text, "<div class=\"scroll\"><table data-sort><thead><tr>" SUM_HEADS "<th scope=\"col\" data-by=\"t\">Method (its stack)"
			   "</th></tr></thead><tbody>\n");
	for (size_t i = 0; i < a->inducer_count && i < GROUPS; i++) {
		buf_puts(&f->text, "<tr>");
		put_sum_cells(&a->by_inducer[i], &f->text);
		put_method_cell(a, a->capture->inducers[a->by_inducer[i].index], &f->text);
		buf_puts(&f->text, "</tr>\n");
		report_file_flow(f);
	}
	buf_puts(&f->text, "</tbody></table></div>");
}

static void put_late(const struct pause_analysis *a, struct report_file *f)
{
	buf_puts(&f->text, "<h2>Who stopped late</h2>");
	if (!a->late_count) {
		buf_printf(&f->text, "<p>%s</p>", a->late.count ? "Some suspensions took longer than a millisecond, but not for one thread."
								 : "No suspension took longer than a millisecond.");
		return;
	}
	buf_puts(&f->text, "<div class=\"scroll\"><table data-sort><thead><tr>" SUM_HEADS "<th scope=\"col\" data-by=\"t\">Thread</th><th "
			   "scope=\"col\" data-by=\"t\">Where it was (its stack)</th></tr></thead><tbody>\n");
	for (size_t i = 0; i < a->late_count && i < GROUPS; i++) {
		const struct pause_late *l = &a->capture->late[a->by_late[i].index];
		buf_puts(&f->text, "<tr>");
		put_sum_cells(&a->by_late[i], &f->text);
		buf_puts(&f->text, "<td>");
		if (l->thread[0])
			report_page_outside(&f->text, l->thread);
		else
			buf_printf(&f->text, "thread %" PRIu32, l->tid);
		buf_puts(&f->text, "</td>");
		put_method_cell(a, l->stack, &f->text);
		buf_puts(&f->text, "</tr>\n");
		report_file_flow(f);
	}
	buf_puts(&f->text, "</tbody></table></div>");
}

static void put_who(const void *source, struct report_file *f)
{
	put_inducers(analysis_of(source), f);
	put_late(analysis_of(source), f);
}

static void put_slowest(const void *source, struct report_file *f)
{
	const struct pause_analysis *a = analysis_of(source);
	struct buf *out = &f->text;
	buf_puts(out, "<div class=\"tools\" hidden><label class=\"field\"><span class=\"sr\">Search the pauses</span><input type=\"search\" "
		      "data-filter=\"slowest\" placeholder=\"Search\" autocomplete=\"off\"></label><output id=\"slowest-count\"></output></div>"
		      "<div class=\"scroll\"><table id=\"slowest\" data-sort><thead><tr><th class=\"n\" scope=\"col\" data-by=\"n\">After</th>"
		      "<th class=\"n\" scope=\"col\" data-by=\"n\">Length</th><th class=\"n\" scope=\"col\" data-by=\"n\">Until all had stopped"
		      "</th><th class=\"n\" scope=\"col\" data-by=\"n\">Stopped</th><th scope=\"col\" data-by=\"t\">For</th></tr></thead><tbody>\n");
	for (size_t i = 0; i < a->slowest_count; i++) {
		const struct pause *p = &a->capture->pauses[a->slowest[i]];
		buf_printf(out, "<tr><td class=\"n\">%.3f s</td>", (double)p->start_ns / 1e9);
		put_ns_cell(out, pause_length_ns(p));
		put_ns_cell(out, p->suspend_ns);
		put_ns_cell(out, p->stopped_ns);
		buf_puts(out, "<td>");
		pause_kind_title(&a->capture->kinds[p->kind], out);
		buf_puts(out, "</td></tr>\n");
	}
	buf_puts(out, "</tbody></table></div>");
}

static void put_lengths(const void *source, struct report_file *f)
{
	const struct pause_analysis *a = analysis_of(source);
	struct buf *out = &f->text;
	uint32_t most = 1;
	buf_puts(out, "<h2>Pauses by length</h2><div class=\"scroll\"><table><thead><tr><th scope=\"col\">Length</th><th class=\"n\" "
		      "scope=\"col\">Pauses</th><th class=\"bar\"><span class=\"sr\">As a bar</span></th><th class=\"n\" scope=\"col\">Until all "
		      "had stopped</th></tr></thead><tbody>\n");
	for (size_t i = 0; i < PAUSE_HISTOGRAM_STEPS; i++)
		most = a->histogram[i] > most ? a->histogram[i] : most;
	for (size_t i = 0; i < PAUSE_HISTOGRAM_STEPS; i++) {
		if (!a->histogram[i] && !a->histogram_suspending[i])
			continue;
		buf_puts(out, "<tr><td>from ");
		pause_phrase_ns(out, pause_histogram_from_us(i) * 1000);
		buf_printf(out, "</td><td class=\"n\">%" PRIu32 "</td><td class=\"bar\"><svg viewBox=\"0 0 100 8\" preserveAspectRatio=\"none\" "
				"aria-hidden=\"true\"><rect class=\"level\" width=\"%.1f\" height=\"8\"/></svg></td><td class=\"n\">%" PRIu32
				"</td></tr>\n",
			   a->histogram[i], 100.0 * a->histogram[i] / most, a->histogram_suspending[i]);
	}
	buf_puts(out, "</tbody></table></div>");
}

static void put_about(const void *source, struct report_file *f)
{
	const struct pause_source *s = source;
	const struct pause_capture *c = s->analysis->capture;
	struct buf *out = &f->text;
	const char *said;
	buf_puts(out, "<p>A pause is the time from the runtime&#39;s beginning to suspend its managed threads until it lets them go on. It has "
		      "two parts: until every thread has come to a halt, and what the runtime does then. The runtime itself tells of each "
		      "one.</p>");
	for (size_t i = 0; (said = pause_limit(s->analysis, i)); i++)
		buf_printf(out, "<p>%s</p>", said);
	buf_puts(out, "<dl>\n");
	report_page_row(out, "Pauses", "%zu", c->pause_count);
	report_page_row(out, "Not kept", "%" PRIu64, c->dropped);
	report_page_row(out, "Given up by the runtime", "%" PRIu64, c->abandoned);
	if (c->taken_stacks) {
		report_page_row(out, "Stacks that may lack callers", "%" PRIu64 " of %" PRIu64, c->incomplete_stacks, c->taken_stacks);
		report_page_tail_call_row(out);
	}
	if (c->facts.beside_profiler)
		report_page_row(out, "Another profiler", "may hold the process's main slot: this one needs notifications only");
	report_page_cost_rows(&s->head, out);
	buf_puts(out, "</dl>");
}

/* the script's data ---------------------------------------------------------------------------------------------------------- */

static void put_kinds(const struct pause_capture *c, struct buf *out)
{
	buf_puts(out, ",\"kinds\":[");
	for (size_t i = 0; i < c->kind_count; i++) {
		AUTO_BUF struct buf title;
		buf_init(&title, 256);
		pause_kind_title(&c->kinds[i], &title);
		buf_puts(out, i ? "," : "");
		text_append_json(out, buf_str(&title), title.len);
	}
	buf_puts(out, "],\"classes\":[");
	for (size_t i = 0; i < c->kind_count; i++)
		buf_printf(out, "%s\"%s\"", i ? "," : "", class_of(&c->kinds[i]));
	buf_puts(out, "]");
}

static void put_column(const struct pause_capture *c, const char *name, int column, int64_t from_ns, struct report_file *f)
{
	bool first = true;
	buf_printf(&f->text, ",\"%s\":[", name);
	for (size_t i = 0; i < c->pause_count; i++) {
		const struct pause *p = &c->pauses[i];
		const int64_t values[] = {p->start_ns / 1000, p->suspend_ns / 1000, p->stopped_ns / 1000, p->kind};
		if (pause_length_ns(p) < from_ns)
			continue;
		buf_puts(&f->text, first ? "" : ",");
		report_file_number(f, (uint64_t)values[column]);
		report_file_flow(f);
		first = false;
	}
	buf_puts(&f->text, "]");
}

static void put_data(const void *source, struct report_file *f)
{
	static const char *const names[] = {"start", "suspending", "stopped", "kind"};
	const struct pause_capture *c = analysis_of(source)->capture;
	size_t omitted;
	int64_t from_ns = pause_listed_from_ns(c, PAGE_EVENTS, &omitted);
	buf_printf(&f->text, "{\"duration\":%" PRId64 ",\"omitted\":%zu", c->facts.duration_ns / 1000, omitted);
	put_kinds(c, &f->text);
	for (int column = 0; column < 4; column++)
		put_column(c, names[column], column, from_ns, f);
	buf_puts(&f->text, "}");
}

static const struct report_hole holes[] = {
	{"facts", put_facts},	  {"timeline", put_timeline}, {"why", put_why},	  {"who", put_who},
	{"slowest", put_slowest}, {"lengths", put_lengths},   {"about", put_about}, {"data", put_data},
};

void pause_page_write(const void *source, struct report_file *f)
{
	const struct pause_source *s = source;
	struct report_page page = {
		.head = &s->head,
		.eyebrow = "Runtime pauses",
		.content = report_asset_pauses(),
		.css = report_asset_pauses_css(),
		.js = report_asset_pauses_js(),
		.holes = holes,
		.hole_count = sizeof holes / sizeof *holes,
		.footer = "The same is in report.json, and in short in summary.md.",
	};
	report_page_write(&page, source, f);
}
