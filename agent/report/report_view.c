#include "agent/report/report_view.h"

#include "agent/report/report_packed.h"
#include "agent/symbols/method_name.h"
#include "common/base/clock.h"
#include "common/base/embed.h"
#include "common/base/fsio.h"
#include "common/base/text.h"

#include <inttypes.h>
#include <openssl/evp.h>
#include <string.h>

#define OUTSIDE_TEXT_BYTES 160
#define SUMMARY_BYTES (64u * 1024)

#define EMBED(symbol, path) EMBED_FILE(".rodata.report_assets", symbol, "agent/report/assets/" path)

EMBED(embedded_view, "view.html");
EMBED(embedded_css, "page.css");
EMBED(embedded_kit, "kit.js");
EMBED(embedded_theme, "theme.js");
EMBED(embedded_source, "source.js");
EMBED(embedded_stacks, "flame_tree.js");
EMBED(embedded_graph, "flame_graph.js");
EMBED(embedded_diff, "flame_diff.js");
EMBED(embedded_range, "flame_time.js");
EMBED(embedded_flame, "flame_section.js");
EMBED(embedded_tree, "tree.js");
EMBED(embedded_timeline, "timeline.js");

#define SCRIPTS 11

struct report_asset {
	const char *text; /* not NUL-terminated */
	size_t len;
};
/* The bytes of a file that EMBED_FILE() took in. */
#define REPORT_ASSET(symbol) ((struct report_asset){symbol, (size_t)(symbol##_end - symbol)})

struct filling {
	const struct report_page *page;
	const struct report_head *head;
	struct report_file *f;
	struct report_asset scripts[SCRIPTS];
};

static void put_outside_text(struct buf *out, const char *text)
{
	AUTO_BUF struct buf shown;
	buf_init(&shown, OUTSIDE_TEXT_BYTES * 16);
	method_name_printable(text, OUTSIDE_TEXT_BYTES, &shown);
	text_append_html(out, buf_str(&shown), shown.len);
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
	for (size_t i = 0; i < SCRIPTS; i++)
		put_hash(x->f, x->scripts[i]);
}

static void put_style_hashes(const struct filling *x)
{
	put_hash(x->f, REPORT_ASSET(embedded_css));
}

static void put_styles(const struct filling *x)
{
	put_asset(x->f, "style", REPORT_ASSET(embedded_css));
}

static void put_scripts(const struct filling *x)
{
	for (size_t i = 0; i < SCRIPTS; i++)
		put_asset(x->f, "script", x->scripts[i]);
}

/* the report's own files -------------------------------------------------------------------------------------------- */

static void put_data(const struct filling *x)
{
	report_packed_put(x->f, "report.json");
}

static void put_summary(const struct filling *x)
{
	AUTO_BUF struct buf text;
	buf_init(&text, SUMMARY_BYTES);
	if (fsio_read(x->f->dirfd, "summary.md", SUMMARY_BYTES - 1, &text, NULL) == 0)
		text_append_html(&x->f->text, buf_str(&text), text.len);
}

/* the head ------------------------------------------------------------------------------------------------------------ */

static void put_title(const struct filling *x)
{
	char scratch[64];
	put_outside_text(&x->f->text, report_head_subject(x->head, scratch, sizeof scratch));
	buf_puts(&x->f->text, ": ");
	text_append_html(&x->f->text, x->head->headline, strlen(x->head->headline));
}

static void put_part(struct buf *out, const char *label, const char *value)
{
	if (!value || !value[0])
		return;
	buf_printf(out, " &middot; %s", label);
	put_outside_text(out, value);
}

static void put_subject(const struct filling *x)
{
	struct buf *out = &x->f->text;
	const struct report_head *h = x->head;
	char scratch[64];
	buf_puts(out, "<strong>");
	put_outside_text(out, report_head_subject(h, scratch, sizeof scratch));
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
	const struct session_facts *s = x->head->facts;
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
	text_append_html(&x->f->text, x->head->headline, strlen(x->head->headline));
}

static void put_lines(const struct filling *x)
{
	AUTO_BUF struct buf text;
	buf_init(&text, DIAGNOSIS_MAX_BYTES + 1);
	report_head_text(x->head, &text);
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

static const struct {
	const char *name;
	void (*put)(const struct filling *x);
} holes[] = {
	{"title", put_title},	{"script-hashes", put_script_hashes}, {"style-hashes", put_style_hashes}, {"styles", put_styles},
	{"scripts", put_scripts}, {"subject", put_subject},	      {"when", put_when},		  {"eyebrow", put_eyebrow},
	{"headline", put_headline}, {"lines", put_lines},	      {"summary", put_summary},		  {"data", put_data},
	{"footer", put_footer},
};

static void fill_hole(const struct filling *x, const char *name, size_t len)
{
	for (size_t i = 0; i < sizeof holes / sizeof holes[0]; i++)
		if (strlen(holes[i].name) == len && memcmp(holes[i].name, name, len) == 0)
			holes[i].put(x);
}

void report_view_write(const struct report_page *page, const struct report_head *h, struct report_file *f)
{
	const struct filling x = {
		.page = page,
		.head = h,
		.f = f,
		.scripts = {REPORT_ASSET(embedded_theme), REPORT_ASSET(embedded_kit), REPORT_ASSET(embedded_source), REPORT_ASSET(embedded_stacks),
			    REPORT_ASSET(embedded_graph), REPORT_ASSET(embedded_diff), REPORT_ASSET(embedded_range),
			    REPORT_ASSET(embedded_flame), REPORT_ASSET(embedded_tree), REPORT_ASSET(embedded_timeline),
			    {page->script, (size_t)(page->script_end - page->script)}},
	};
	struct report_asset rest = REPORT_ASSET(embedded_view);
	while (rest.len) {
		const char *hole = memmem(rest.text, rest.len, "{{", 2);
		const char *end = hole ? memmem(hole, rest.len - (size_t)(hole - rest.text), "}}", 2) : NULL;
		size_t before = end ? (size_t)(hole - rest.text) : rest.len;
		buf_append(&f->text, rest.text, before);
		if (end)
			fill_hole(&x, hole + 2, (size_t)(end - hole) - 2);
		size_t used = end ? (size_t)(end + 2 - rest.text) : rest.len;
		rest = (struct report_asset){rest.text + used, rest.len - used};
		report_file_flow(f);
	}
}
