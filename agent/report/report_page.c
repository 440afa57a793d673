#include "agent/report/report_page.h"

#include "agent/symbols/method_name.h"
#include "common/base/clock.h"
#include "common/base/text.h"

#include <inttypes.h>
#include <openssl/evp.h>
#include <stdarg.h>
#include <string.h>

#define OUTSIDE_TEXT_BYTES 160

struct filling {
	const struct report_page *page;
	const void *source;
	struct report_file *f;
};

void report_page_text(struct buf *out, const char *text)
{
	text_append_html(out, text, strlen(text));
}

void report_page_outside(struct buf *out, const char *text)
{
	AUTO_BUF struct buf shown;
	buf_init(&shown, OUTSIDE_TEXT_BYTES * 16);
	method_name_printable(text, OUTSIDE_TEXT_BYTES, &shown);
	report_page_text(out, buf_str(&shown));
}

void report_page_row(struct buf *out, const char *key, const char *format, ...)
{
	AUTO_BUF struct buf value;
	va_list args;
	buf_init(&value, 4096);
	va_start(args, format);
	buf_vprintf(&value, format, args);
	va_end(args);
	buf_printf(out, "<dt>%s</dt><dd>", key);
	report_page_outside(out, buf_str(&value));
	buf_puts(out, "</dd>\n");
}

void report_page_tail_call_row(struct buf *out)
{
	report_page_row(out, "Tail calls", "a method that ends by calling another may give its place on the stack to it: then it is missing, and its "
					   "caller seems to have called that one");
}

void report_page_cost_rows(const struct report_head *h, struct buf *out)
{
	AUTO_BUF struct buf held;
	buf_init(&held, 128);
	report_head_pause(h->facts, &held);
	report_page_row(out, "Application paused by the profiler", "%s", buf_str(&held));
	buf_reset(&held);
	report_head_collections(h->facts, "", &held);
	if (held.len)
		report_page_row(out, "Garbage collection", "%s", buf_str(&held));
	report_page_row(out, "Cost in the process", "%" PRId64 " ms of CPU", h->facts->cost.added_cpu_ms);
	report_page_row(out, "Cost in the agent", "%" PRId64 " ms of CPU", h->facts->cost.agent_cpu_ms);
	if (h->context->session_name && h->context->session_name[0])
		report_page_row(out, "Session", "%s/%s", h->context->session_namespace, h->context->session_name);
	if (h->context->requested_by && h->context->requested_by[0])
		report_page_row(out, "Requested by", "%s", h->context->requested_by);
}

/* styles and scripts ------------------------------------------------------------------------------------------------ */

/* For the Content-Security-Policy: the hash of exactly what stands between the tags. */
static void put_hash(struct report_file *f, struct report_asset asset)
{
	unsigned char digest[EVP_MAX_MD_SIZE], base64[EVP_MAX_MD_SIZE * 2];
	unsigned len = 0;
	if (!asset.len || EVP_Digest(asset.text, asset.len, digest, &len, EVP_sha256(), NULL) != 1)
		return;
	EVP_EncodeBlock(base64, digest, (int)len);
	buf_printf(&f->text, " 'sha256-%s'", (const char *)base64);
}

static void put_asset(struct report_file *f, const char *tag, struct report_asset asset)
{
	if (!asset.len)
		return;
	buf_printf(&f->text, "<%s>", tag);
	buf_append(&f->text, asset.text, asset.len);
	buf_printf(&f->text, "</%s>\n", tag);
}

static void put_script_hashes(const struct filling *x)
{
	put_hash(x->f, report_asset_page_js());
	put_hash(x->f, x->page->js);
}

static void put_style_hashes(const struct filling *x)
{
	put_hash(x->f, report_asset_page_css());
	put_hash(x->f, x->page->css);
}

static void put_styles(const struct filling *x)
{
	put_asset(x->f, "style", report_asset_page_css());
	put_asset(x->f, "style", x->page->css);
}

static void put_scripts(const struct filling *x)
{
	put_asset(x->f, "script", report_asset_page_js());
	put_asset(x->f, "script", x->page->js);
}

/* the head ------------------------------------------------------------------------------------------------------------ */

static void put_title(const struct filling *x)
{
	char scratch[64];
	report_page_outside(&x->f->text, report_head_subject(x->page->head, scratch, sizeof scratch));
	buf_puts(&x->f->text, ": ");
	report_page_text(&x->f->text, x->page->head->headline);
}

static void put_part(struct buf *out, const char *label, const char *value)
{
	if (!value || !value[0])
		return;
	buf_printf(out, " &middot; %s", label);
	report_page_outside(out, value);
}

static void put_subject(const struct filling *x)
{
	struct buf *out = &x->f->text;
	const struct report_head *h = x->page->head;
	char scratch[64];
	buf_puts(out, "<strong>");
	report_page_outside(out, report_head_subject(h, scratch, sizeof scratch));
	buf_puts(out, "</strong>");
	put_part(out, "pod ", h->context->pod_name);
	put_part(out, "container ", h->context->container);
	put_part(out, "node ", h->context->node_name);
	put_part(out, ".NET ", h->facts->target.runtime_version);
	buf_printf(out, " &middot; pid %" PRId64, h->facts->pid);
}

static void put_when(const struct filling *x)
{
	char when[CLOCK_RFC3339_SIZE];
	const struct session_facts *s = x->page->head->facts;
	clock_rfc3339(s->started_wall_ms, when);
	buf_printf(&x->f->text, "<time datetime=\"%s\">%.10s %.5s UTC</time>, %.0f s", when, when, when + 11, (double)s->duration_ns / 1e9);
	if (s->canceled)
		buf_puts(&x->f->text, ", ended early");
}

static void put_eyebrow(const struct filling *x)
{
	buf_puts(&x->f->text, x->page->eyebrow);
}

static void put_headline(const struct filling *x)
{
	report_page_text(&x->f->text, x->page->head->headline);
}

static void put_lines(const struct filling *x)
{
	AUTO_BUF struct buf text;
	buf_init(&text, DIAGNOSIS_MAX_BYTES + 1);
	report_head_text(x->page->head, &text);
	const char *line = strchr(buf_str(&text), '\n');
	if (!line)
		return;
	buf_puts(&x->f->text, "<ul class=\"lines\">\n");
	for (line++; *line;) {
		size_t n = strcspn(line, "\n");
		buf_puts(&x->f->text, "<li>");
		text_append_html(&x->f->text, line, n);
		buf_puts(&x->f->text, "</li>\n");
		line += n + (line[n] == '\n');
	}
	buf_puts(&x->f->text, "</ul>");
}

static void put_footer(const struct filling *x)
{
	buf_puts(&x->f->text, "Dr-Dotnet " DRDOTNET_VERSION ". This file needs no network. ");
	buf_puts(&x->f->text, x->page->footer);
}

/* the template ---------------------------------------------------------------------------------------------------- */

static void fill(const struct filling *x, struct report_asset rest);

static void put_content(const struct filling *x)
{
	fill(x, x->page->content);
}

static const struct {
	const char *name;
	void (*put)(const struct filling *x);
} common[] = {
	{"title", put_title},	{"script-hashes", put_script_hashes}, {"style-hashes", put_style_hashes}, {"styles", put_styles},
	{"scripts", put_scripts}, {"subject", put_subject},	      {"when", put_when},		  {"eyebrow", put_eyebrow},
	{"headline", put_headline}, {"lines", put_lines},	      {"content", put_content},		  {"footer", put_footer},
};

static bool is_name(const char *name, const char *text, size_t len)
{
	return strlen(name) == len && memcmp(name, text, len) == 0;
}

static void fill_hole(const struct filling *x, const char *name, size_t len)
{
	for (size_t i = 0; i < sizeof common / sizeof common[0]; i++)
		if (is_name(common[i].name, name, len))
			common[i].put(x);
	for (size_t i = 0; i < x->page->hole_count; i++)
		if (is_name(x->page->holes[i].name, name, len))
			x->page->holes[i].put(x->source, x->f);
}

static void fill(const struct filling *x, struct report_asset rest)
{
	while (rest.len) {
		const char *hole = memmem(rest.text, rest.len, "{{", 2);
		const char *end = hole ? memmem(hole, rest.len - (size_t)(hole - rest.text), "}}", 2) : NULL;
		size_t before = end ? (size_t)(hole - rest.text) : rest.len;
		buf_append(&x->f->text, rest.text, before);
		if (end)
			fill_hole(x, hole + 2, (size_t)(end - hole) - 2);
		size_t used = end ? (size_t)(end + 2 - rest.text) : rest.len;
		rest = (struct report_asset){rest.text + used, rest.len - used};
		report_file_flow(x->f);
	}
}

void report_page_write(const struct report_page *page, const void *source, struct report_file *f)
{
	const struct filling x = {page, source, f};
	fill(&x, report_asset_page());
}
