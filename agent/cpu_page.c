#include "agent/report_html.h"

#include "agent/cpu_phrase.h"
#include "agent/method_name.h"
#include "agent/report_assets.h"
#include "agent/report_html_data.h"
#include "common/base/clock.h"
#include "common/base/text.h"

#include <inttypes.h>
#include <openssl/evp.h>
#include <string.h>

#define STATIC_METHODS 25
#define OUTSIDE_TEXT_BYTES 160

struct page {
	const struct report_source *s;
	struct report_file *f;
	struct html_plan plan;
};

static void put_text(struct buf *out, const char *text)
{
	text_append_html(out, text, strlen(text));
}

/* Text of others: visible, cut, escaped. */
static void put_outside(struct buf *out, const char *text)
{
	AUTO_BUF struct buf shown;
	buf_init(&shown, OUTSIDE_TEXT_BYTES * 16);
	method_name_printable(text, OUTSIDE_TEXT_BYTES, &shown);
	put_text(out, buf_str(&shown));
}

static void put_asset(struct report_file *f, struct report_asset asset)
{
	buf_append(&f->text, asset.text, asset.len);
}

/* For the Content-Security-Policy: the hash of exactly what stands between the tags. */
static void put_hash(struct report_file *f, struct report_asset asset)
{
	unsigned char digest[EVP_MAX_MD_SIZE], base64[EVP_MAX_MD_SIZE * 2];
	unsigned len = 0;
	if (EVP_Digest(asset.text, asset.len, digest, &len, EVP_sha256(), NULL) != 1)
		return;
	EVP_EncodeBlock(base64, digest, (int)len);
	buf_printf(&f->text, "sha256-%s", (const char *)base64);
}

/* head ------------------------------------------------------------------------------------------------------------ */

static void put_title(struct page *p)
{
	char scratch[64];
	put_outside(&p->f->text, report_subject(p->s, scratch, sizeof scratch));
	buf_puts(&p->f->text, ": ");
	put_text(&p->f->text, p->s->diagnosis->headline);
}

static void put_css_hash(struct page *p)
{
	put_hash(p->f, report_asset_css());
}

static void put_js_hash(struct page *p)
{
	put_hash(p->f, report_asset_js());
}

static void put_css(struct page *p)
{
	put_asset(p->f, report_asset_css());
}

static void put_js(struct page *p)
{
	put_asset(p->f, report_asset_js());
}

static void put_part(struct buf *out, const char *label, const char *value)
{
	if (!value || !value[0])
		return;
	buf_printf(out, " &middot; %s", label);
	put_outside(out, value);
}

static void put_subject(struct page *p)
{
	struct buf *out = &p->f->text;
	const struct cpu_capture *c = p->s->analysis->capture;
	char scratch[64];
	buf_puts(out, "<strong>");
	put_outside(out, report_subject(p->s, scratch, sizeof scratch));
	buf_puts(out, "</strong>");
	put_part(out, "pod ", p->s->context->pod_name);
	put_part(out, "container ", p->s->context->container);
	put_part(out, "node ", p->s->context->node_name);
	put_part(out, ".NET ", c->target.runtime_version);
	buf_printf(out, " &middot; pid %" PRId64, c->pid);
}

static void put_when(struct page *p)
{
	char when[CLOCK_RFC3339_SIZE];
	const struct cpu_capture *c = p->s->analysis->capture;
	clock_rfc3339(c->started_wall_ms, when);
	buf_printf(&p->f->text, "<time datetime=\"%s\">%.10s %.5s UTC</time>, %.0f s", when, when, when + 11,
		   (double)c->duration_ns / 1e9);
	if (c->canceled)
		buf_puts(&p->f->text, ", ended early");
}

static void put_headline(struct page *p)
{
	put_text(&p->f->text, p->s->diagnosis->headline);
}

static void put_lines(struct page *p)
{
	const char *line = strchr(p->s->diagnosis->text, '\n');
	if (!line)
		return;
	buf_puts(&p->f->text, "<ul class=\"lines\">\n");
	for (line++; *line;) {
		size_t n = strcspn(line, "\n");
		buf_puts(&p->f->text, "<li>");
		text_append_html(&p->f->text, line, n);
		buf_puts(&p->f->text, "</li>\n");
		line += n + (line[n] == '\n');
	}
	buf_puts(&p->f->text, "</ul>");
}

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

static void put_facts(struct page *p)
{
	struct buf *out = &p->f->text;
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
	buf_printf(out, "<div class=\"v\">%.1f s <small>in %.0f s</small></div>", (double)a->cpu_ns / 1e9, (double)c->duration_ns / 1e9);
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
		cpu_phrase_percent(out, throttled);
		buf_puts(out, " <small>of periods</small></div>");
		put_level(out, throttled / 100, throttled >= 5);
		buf_puts(out, "</div>\n");
	}
	buf_puts(out, "<div class=\"fact\"><div class=\"k\">Application held</div><div class=\"v\">");
	cpu_phrase_held(out, c);
	buf_printf(out, "</div><div class=\"k\">by the profiler; %" PRId64 " ms of CPU added</div></div>", c->cost.added_cpu_ms);
}

static void put_categories(struct page *p)
{
	struct buf *out = &p->f->text;
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
		cpu_phrase_percent(out, cpu_analysis_percent(a, a->by_category[i]));
		buf_puts(out, "</b></li>\n");
	}
	buf_puts(out, "</ul>");
}

/* What is seen where scripts do not run. */
static void put_table(struct page *p)
{
	struct buf *out = &p->f->text;
	const struct cpu_analysis *a = p->s->analysis;
	buf_puts(out, "<div class=\"scroll\"><table><thead><tr><th class=\"n\" scope=\"col\">In itself</th><th class=\"n\" scope=\"col\">"
		      "Total</th><th scope=\"col\">Method</th><th scope=\"col\" class=\"mod\">Module</th></tr></thead><tbody>\n");
	for (size_t i = 0; i < a->method_count && i < STATIC_METHODS; i++) {
		const struct cpu_method *m = &a->methods[a->by_self[i]];
		buf_puts(out, "<tr><td class=\"n\">");
		cpu_phrase_percent(out, cpu_analysis_percent(a, m->self));
		buf_puts(out, "</td><td class=\"n\">");
		cpu_phrase_percent(out, cpu_analysis_percent(a, m->total));
		buf_printf(out, "</td><td class=\"name\"><span class=\"dot l%d\"></span> ", (int)m->layer);
		put_text(out, m->name);
		if (m->marks & (METHOD_ASYNC | METHOD_ITERATOR))
			buf_printf(out, "<span class=\"badge\">%s</span>", m->marks & METHOD_ASYNC ? "async" : "iterator");
		buf_puts(out, "</td><td class=\"mod\">");
		put_text(out, m->module);
		buf_puts(out, "</td></tr>\n");
	}
	buf_puts(out, "</tbody></table></div>");
}

static void put_row(struct buf *out, const char *key, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void put_row(struct buf *out, const char *key, const char *format, ...)
{
	AUTO_BUF struct buf value;
	va_list args;
	buf_init(&value, 4096);
	va_start(args, format);
	buf_vprintf(&value, format, args);
	va_end(args);
	buf_printf(out, "<dt>%s</dt><dd>", key);
	put_outside(out, buf_str(&value));
	buf_puts(out, "</dd>\n");
}

static void put_about(struct page *p)
{
	struct buf *out = &p->f->text;
	const struct cpu_analysis *a = p->s->analysis;
	const struct cpu_capture *c = a->capture;
	buf_puts(out, "<p>CPU time is sampled: each sample is the stack of a thread that was running at that moment, so shares of samples "
		      "are shares of CPU time. Threads that wait are not seen here. A method&#39;s total counts what it calls, too.</p><dl>\n");
	put_row(out, "Samples", "%" PRIu32 " at %" PRId64 " Hz (%s)", a->samples, c->frequency_hertz, c->method ? c->method : "unknown");
	put_row(out, "Lost or dropped", "%" PRId64, c->lost_samples + c->dropped);
	put_row(out, "Cut stacks", "%" PRIu32, a->truncated_samples);
	put_row(out, "Compiled frames without a name", "%" PRId64 " of %" PRId64, c->unresolved_frames,
		c->managed_frames + c->unresolved_frames);
	put_row(out, "Kernel frames", "%s", c->kernel_frames ? "yes" : "not allowed here: kernel time ends at the call into it");
	if (c->fallback_reason)
		put_row(out, "Why not perf events", "%s: %s", c->fallback_reason, c->fallback_message ? c->fallback_message : "");
	if (c->beside_profiler)
		put_row(out, "Another profiler", "holds the process's main slot (an APM?); attached beside it for notifications only, which is all "
						 "that this report needs");
	AUTO_BUF struct buf held;
	buf_init(&held, 64);
	cpu_phrase_held(&held, c);
	put_row(out, "Application held by the profiler", "%s", buf_str(&held));
	put_row(out, "Cost in the process", "%" PRId64 " ms of CPU", c->cost.added_cpu_ms);
	put_row(out, "Cost in the agent", "%" PRId64 " ms of CPU", c->cost.agent_cpu_ms);
	if (p->s->context->session_name && p->s->context->session_name[0])
		put_row(out, "Session", "%s/%s", p->s->context->session_namespace, p->s->context->session_name);
	if (p->plan.hidden_samples)
		put_row(out, "Left out of this page",
			"subtrees below %" PRIu32 " samples; %.2f %% of the samples end in them. report.json has all.",
			p->plan.least_total, cpu_analysis_percent(a, p->plan.hidden_samples));
	buf_puts(out, "</dl>");
}

static void put_footer(struct page *p)
{
	buf_puts(&p->f->text, "Dr-Dotnet " DRDOTNET_VERSION ". This file needs no network. The same profile is in profile.pb.gz (pprof), "
			      "stacks.folded, profile.speedscope.json and report.json.");
}

static void put_data(struct page *p)
{
	html_data_write(p->s->analysis, &p->plan, p->f);
}

/* the template ---------------------------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	void (*put)(struct page *p);
} holes[] = {
	{"title", put_title},	    {"js-hash", put_js_hash},	{"css-hash", put_css_hash}, {"css", put_css},
	{"js", put_js},		    {"subject", put_subject},	{"when", put_when},	    {"headline", put_headline},
	{"lines", put_lines},	    {"facts", put_facts},	{"categories", put_categories}, {"table", put_table},
	{"about", put_about},	    {"footer", put_footer},	{"data", put_data},
};

static void fill_hole(struct page *p, const char *name, size_t len)
{
	for (size_t i = 0; i < sizeof holes / sizeof holes[0]; i++)
		if (strlen(holes[i].name) == len && memcmp(holes[i].name, name, len) == 0)
			holes[i].put(p);
}

void report_html_write(const struct report_source *s, struct report_file *f)
{
	struct page page = {.s = s, .f = f};
	struct report_asset rest = report_asset_template();
	html_plan_make(s->analysis, &page.plan);
	while (rest.len) {
		const char *hole = memmem(rest.text, rest.len, "{{", 2);
		const char *end = hole ? memmem(hole, rest.len - (size_t)(hole - rest.text), "}}", 2) : NULL;
		size_t before = end ? (size_t)(hole - rest.text) : rest.len;
		buf_append(&f->text, rest.text, before);
		if (end)
			fill_hole(&page, hole + 2, (size_t)(end - hole) - 2);
		size_t used = end ? (size_t)(end + 2 - rest.text) : rest.len;
		rest = (struct report_asset){rest.text + used, rest.len - used};
		report_file_flow(f);
	}
	html_plan_fini(&page.plan);
}
