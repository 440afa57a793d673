#include "agent/cli/cli_output.h"

#include "agent/cli/cli_typeset.h"
#include "agent/cli/cli_words.h"
#include "common/api/reason.h"
#include "common/base/buf.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/fsio.h"
#include "common/base/jsonx.h"
#include "common/base/mem.h"
#include "common/base/size_text.h"
#include "common/base/text.h"
#include "common/terminal/term_text.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SUMMARY_MAX (256 * 1024)
#define JSON_MAX (1024 * 1024)
#define LIVE_WIDTH 56 /* the narrowest terminal's line has room for it */

static void put_live(FILE *out, const char *live, size_t room)
{
	room = room > LIVE_WIDTH ? room : LIVE_WIDTH;
	if (strlen(live) <= room)
		fprintf(out, ": %s", live);
	else
		fprintf(out, ": %.*s…", (int)text_cut_utf8(live, room - 1), live);
}

void cli_output_progress(FILE *out, const struct session_progress *p)
{
	double elapsed = (double)p->elapsed_ms / 1000, duration = (double)p->duration_ms / 1000;
	struct term_page page = term_page_of(out);
	int used = fprintf(out, "\r\033[K%s", job_phase_name(p->phase));
	if (p->phase == JOB_PROFILING)
		used += fprintf(out, " %.0f s", elapsed);
	if (p->phase == JOB_PROFILING && p->duration_ms) /* 0: it looks once */
		used += fprintf(out, " of %.0f s", duration);
	if (p->phase == JOB_PROFILING && p->live && p->live[0])
		put_live(out, p->live, used > 0 && page.width > (size_t)used + 2 ? page.width - (size_t)used - 2 : 0);
	else if (p->phase == JOB_PROFILING && p->samples)
		fprintf(out, ", %lld %s", (long long)p->samples, size_text_plural((double)p->samples, "sample", "samples"));
	fflush(out);
}

void cli_output_progress_end(FILE *out)
{
	fprintf(out, "\r\033[K");
	fflush(out);
}

static void print_summary(FILE *out, const char *markdown)
{
	struct term_page page = term_page_of(out);
	AUTO_BUF struct buf words, text;
	buf_init(&words, SUMMARY_MAX * 2);
	buf_init(&text, SUMMARY_MAX * 8);
	cli_words_put(markdown, &words);
	cli_typeset(&page, buf_str(&words), &text);
	fputs(buf_str(&text), out);
}

static bool result_has_report(const struct report_result *r, const char *name)
{
	for (size_t i = 0; i < r->report_count; i++)
		if (strcmp(r->reports[i].name, name) == 0)
			return true;
	return false;
}

/* As terminals know it: https://gist.github.com/egmontkob/eb114294efbcd5adb1944c9f3cb5feda */
static void print_link(FILE *out, const char *path)
{
	char host[256] = "";
	gethostname(host, sizeof host - 1);
	fprintf(out, "\033]8;;file://%s", host);
	for (const unsigned char *c = (const unsigned char *)path; *c; c++)
		fprintf(out, isalnum(*c) || strchr("/-_.~", *c) ? "%c" : "%%%02X", *c);
	fprintf(out, "\033\\%s\033]8;;\033\\", path);
}

/* Where the report is, as one may click or paste it. */
static void print_place(FILE *out, const struct report_result *r, const char *dir)
{
	AUTO_FREE char *whole = realpath(dir, NULL);
	const char *page = result_has_report(r, "report.html") ? "report.html" : "report.json";
	AUTO_FREE char *path = mem_printf("%s/%s", whole ? whole : dir, page);
	fputs("\nReport: ", out);
	if (term_page_of(out).colour)
		print_link(out, path);
	else
		fputs(path, out);
	fputs("\nOther files in that folder:", out);
	for (size_t i = 0; i < r->report_count; i++)
		if (strcmp(r->reports[i].name, page) != 0)
			fprintf(out, " %s", r->reports[i].name);
	fputc('\n', out);
}

/* In the words of a command line; owned by the caller. */
static char *spoken(const char *text)
{
	AUTO_BUF struct buf words;
	buf_init(&words, SUMMARY_MAX);
	cli_words_put(text ? text : "", &words);
	return mem_strdup(buf_str(&words));
}

static void print_remedy(FILE *errors, const char *reason, const char *message)
{
	const char *remedy = cli_words_remedy(reason);
	AUTO_BUF struct buf b;
	buf_init(&b, 8192);
	text_append_printable(&b, message, strlen(message));
	fprintf(errors, "drdotnet: %s%s%s%s%s\n", reason ? reason : "", reason ? ": " : "", buf_str(&b), remedy ? ". " : "", remedy ? remedy : "");
}

void cli_output_text(FILE *out, FILE *errors, const struct session_outcome *o, int dirfd, const char *dir,
		     const char *comparison)
{
	AUTO_BUF struct buf summary = {0};
	if (o->report.report_count && fsio_read(dirfd, "summary.md", SUMMARY_MAX, &summary, NULL) == 0)
		print_summary(out, buf_str(&summary));
	if (comparison) {
		struct term_page page = term_page_of(out);
		AUTO_BUF struct buf text;
		buf_init(&text, SUMMARY_MAX * 8);
		term_text_put(&page, comparison, false, &text);
		fprintf(out, "\nCompared with the baseline:\n%s", buf_str(&text));
	}
	if (o->report.report_count)
		print_place(out, &o->report, dir);
	AUTO_FREE char *message = spoken(o->message);
	if (o->phase == JOB_FAILED)
		print_remedy(errors, o->reason, message);
	else if (*message && strcmp(message, "completed") != 0)
		fprintf(errors, "drdotnet: %s\n", message);
}

static json_t *text_or_null(const char *s)
{
	json_t *v = s ? json_string(s) : NULL;
	return v ? v : json_null(); /* also for bytes that are not UTF-8 */
}

static json_t *time_or_null(int64_t wall_ms)
{
	char text[CLOCK_RFC3339_SIZE];
	return wall_ms ? json_string(clock_rfc3339_micro(wall_ms * 1000, text)) : json_null();
}

static json_t *local_reports_json(const struct report_result *r, const char *dir)
{
	json_t *list = json_array();
	for (size_t i = 0; i < r->report_count; i++) {
		const struct link_report *x = &r->reports[i];
		AUTO_FREE char *path = mem_printf("%s/%s", dir, x->name);
		json_array_append_new(list, json_pack("{s:s, s:o, s:s, s:I, s:s}", "name", x->name, "path", text_or_null(path), "mediaType",
						      x->media_type, "sizeBytes", (json_int_t)x->size_bytes, "sha256", x->sha256));
	}
	return list;
}

static void print_json_take(FILE *out, json_t *doc)
{
	AUTO_FREE char *text = jsonx_dump(doc, JSON_MAX, NULL);
	fprintf(out, "%s\n", text ? text : "{}");
	json_decref(doc);
}

void cli_output_json(FILE *out, const struct session_outcome *o, const struct target *t, const char *dir, const char *comparison)
{
	json_t *doc = json_object();
	AUTO_FREE char *message = o->message ? spoken(o->message) : NULL;
	json_object_set_new(doc, "phase", text_or_null(job_phase_name(o->phase)));
	json_object_set_new(doc, "reason", text_or_null(o->reason));
	json_object_set_new(doc, "message", text_or_null(message));
	json_object_set_new(doc, "remedy", text_or_null(o->phase == JOB_FAILED ? cli_words_remedy(o->reason) : NULL));
	json_object_set_new(doc, "headline", text_or_null(o->report.headline));
	json_object_set_new(doc, "diagnosis", text_or_null(o->report.diagnosis));
	json_object_set_new(doc, "findings", findings_to_json(o->report.findings, o->report.finding_count));
	if (comparison)
		json_object_set_new(doc, "comparison", text_or_null(comparison));
	json_object_set_new(doc, "directory", text_or_null(o->report.report_count ? dir : NULL));
	json_object_set_new(doc, "startTime", time_or_null(o->started_wall_ms));
	json_object_set_new(doc, "firstSampleTime", time_or_null(o->first_sample_wall_ms));
	json_object_set_new(doc, "reports", local_reports_json(&o->report, dir));
	json_object_set_new(doc, "cost", session_cost_to_json(&o->cost));
	json_object_set_new(doc, "target", json_pack("{s:I, s:o, s:o}", "pid", (json_int_t)t->pid, "entrypoint", text_or_null(t->entrypoint),
						     "runtimeVersion", text_or_null(t->runtime_version)));
	print_json_take(out, doc);
}

void cli_output_error(FILE *out, FILE *errors, bool json, const struct err *e)
{
	/* Of a manifest the fields are wrong that it has. */
	AUTO_FREE char *message = e->reason == REASON_InvalidSpec ? mem_strdup(e->message) : spoken(e->message);
	if (!json) {
		print_remedy(errors, e->reason, message);
		return;
	}
	json_t *doc = json_object();
	json_object_set_new(doc, "phase", text_or_null(job_phase_name(JOB_FAILED)));
	json_object_set_new(doc, "reason", text_or_null(e->reason));
	json_object_set_new(doc, "message", text_or_null(message));
	json_object_set_new(doc, "remedy", text_or_null(cli_words_remedy(e->reason)));
	json_object_set_new(doc, "reports", json_array());
	print_json_take(out, doc);
}
