#include "controller/kubectl/plugin_progress.h"

#include "common/api/session_spec.h"
#include "common/base/clock.h"
#include "common/base/text.h"

#include <string.h>

#define NAME_MAX_BYTES 300
#define MESSAGE_MAX_BYTES 2048
#define LINE_MAX_BYTES 65536
#define RESULT_MAX_BYTES (512 * 1024)
#define CONTINUED 2 /* spaces before the further lines of a paragraph */

const json_t *plugin_progress_condition(const json_t *session, const char *type)
{
	size_t i;
	json_t *c;
	json_array_foreach(jsonx_at(session, "status.conditions"), i, c) {
		if (strcmp(jsonx_str_at(c, "type", ""), type) == 0)
			return c;
	}
	return NULL;
}

static bool is_true(const json_t *c)
{
	return strcmp(jsonx_str_at(c, "status", ""), "True") == 0;
}

void plugin_progress_read(const json_t *session, struct plugin_progress *out)
{
	const json_t *succeeded = plugin_progress_condition(session, "Succeeded");
	*out = (struct plugin_progress){
		.completed = is_true(plugin_progress_condition(session, "Completed")),
		.succeeded = is_true(succeeded),
		.reason = jsonx_str_at(succeeded, "reason", ""),
		.message = jsonx_str_at(succeeded, "message", ""),
		.diagnosis = jsonx_str_at(session, "status.diagnosis", ""),
	};
	out->delivering = !out->completed && strcmp(out->reason, "Delivering") == 0 && out->diagnosis[0];
}

static void put_outside(struct buf *out, const char *s, size_t most)
{
	text_append_printable(out, s, text_cut_utf8(s, most));
}

/* When the last of the targets that are being profiled has its first sample behind it: from then on the duration runs. -1: none has. */
static int64_t seconds_left(const json_t *session, int64_t now_wall_ms)
{
	int64_t duration = jsonx_int_at(session, "status.effective.durationSeconds", jsonx_int_at(session, "spec.durationSeconds", 0)), most = -1;
	size_t i;
	json_t *target;
	if (duration == 0) /* one look, or it is not known yet */
		return -1;
	json_array_foreach(jsonx_at(session, "status.targets"), i, target) {
		const char *begun = jsonx_str_at(target, "firstSampleTime", NULL);
		int64_t begun_ms;
		if (!begun || strcmp(jsonx_str_at(target, "phase", ""), "Profiling") != 0 || clock_parse_rfc3339(begun, &begun_ms) < 0)
			continue;
		int64_t left_ms = begun_ms + duration * 1000 - now_wall_ms;
		int64_t left = left_ms < 0 ? 0 : (left_ms + 999) / 1000;
		left = left < duration ? left : duration;
		most = left > most ? left : most;
	}
	return most;
}

/* What the only target's profiler has seen so far. */
static void put_live(const json_t *session, struct buf *out)
{
	const json_t *targets = jsonx_at(session, "status.targets"), *only = json_array_size(targets) == 1 ? json_array_get(targets, 0) : NULL;
	const char *live = jsonx_str_at(only, "message", "");
	if (!live[0] || strcmp(jsonx_str_at(only, "phase", ""), "Profiling") != 0)
		return;
	buf_puts(out, ": ");
	put_outside(out, live, 160);
}

int plugin_progress_line(const json_t *session, int64_t now_wall_ms, struct buf *out)
{
	struct plugin_progress p;
	plugin_progress_read(session, &p);
	int64_t left = p.completed ? -1 : seconds_left(session, now_wall_ms);
	put_outside(out, jsonx_str_at(session, "metadata.name", ""), NAME_MAX_BYTES);
	buf_puts(out, ": ");
	put_outside(out, p.reason[0] ? p.reason : "Created", 60);
	if (left >= 0) {
		buf_printf(out, ", %lld s left", (long long)left);
		put_live(session, out);
	} else if (p.completed || strcmp(p.reason, "Profiling") == 0 || strcmp(p.reason, "Preparing") == 0 || strcmp(p.reason, "Analyzing") == 0) {
		/* these words say all */
	} else if (p.message[0]) {
		buf_puts(out, ", ");
		put_outside(out, p.message, 160);
	}
	return out->full ? -1 : 0;
}

/* The folder of a target's reports, when all have one: the length of what their URLs begin with. */
static size_t common_folder(const json_t *reports, const char **folder)
{
	size_t i, len = 0;
	json_t *report;
	json_array_foreach(reports, i, report) {
		const char *url = jsonx_str_at(report, "url", ""), *slash = strrchr(url, '/');
		size_t n = slash ? (size_t)(slash - url) + 1 : 0;
		if (n == 0 || (i > 0 && (n != len || memcmp(url, *folder, n) != 0)))
			return 0;
		*folder = url;
		len = n;
	}
	return len;
}

static void put_reports(const json_t *reports, struct buf *out)
{
	const char *folder = NULL;
	size_t i, len = common_folder(reports, &folder);
	json_t *report;
	if (!json_array_size(reports))
		return;
	buf_puts(out, len ? "  reports in " : "  reports:");
	if (len)
		text_append_printable(out, folder, len < MESSAGE_MAX_BYTES ? len : MESSAGE_MAX_BYTES);
	buf_puts(out, len ? "\n   " : "");
	json_array_foreach(reports, i, report) {
		buf_putc(out, ' ');
		put_outside(out, jsonx_str_at(report, "name", "?"), NAME_MAX_BYTES);
	}
	buf_putc(out, '\n');
}

static void put_progress_target(const json_t *target, const struct term_page *page, struct buf *out)
{
	AUTO_BUF struct buf line;
	buf_init(&line, LINE_MAX_BYTES);
	const char *phase = jsonx_str_at(target, "phase", ""), *reason = jsonx_str_at(target, "reason", "");
	const char *message = jsonx_str_at(target, "message", "");
	buf_puts(&line, "pod ");
	put_outside(&line, jsonx_str_at(target, "podName", "?"), NAME_MAX_BYTES);
	buf_puts(&line, " on ");
	put_outside(&line, jsonx_str_at(target, "nodeName", "?"), NAME_MAX_BYTES);
	buf_puts(&line, ": ");
	put_outside(&line, phase, 60);
	if (strcmp(phase, "Succeeded") != 0 && reason[0]) {
		buf_puts(&line, ", ");
		put_outside(&line, reason, 60);
	}
	if (message[0]) { /* of one that has succeeded, too: how its container ended */
		buf_puts(&line, ": ");
		put_outside(&line, message, MESSAGE_MAX_BYTES);
	}
	buf_putc(out, '\n');
	term_text_wrapped(page, buf_str(&line), 0, CONTINUED, out);
	buf_putc(out, '\n');
	put_reports(jsonx_at(target, "reports"), out);
}

static void put_comparison(const json_t *session, const struct term_page *page, struct buf *out)
{
	const char *comparison = jsonx_str_at(session, "status.comparison", "");
	if (!comparison[0])
		return;
	buf_puts(out, "\ncompared with ");
	put_outside(out, jsonx_str_at(session, "spec.baselineSession", "?"), NAME_MAX_BYTES);
	buf_puts(out, ":\n");
	term_text_put(page, comparison, false, out);
}

int plugin_progress_result(const json_t *session, const struct term_page *page, struct buf *out)
{
	struct plugin_progress p;
	size_t i;
	json_t *target;
	plugin_progress_read(session, &p);
	term_text_put(page, p.diagnosis, true, out);
	put_comparison(session, page, out);
	json_array_foreach(jsonx_at(session, "status.targets"), i, target)
		put_progress_target(target, page, out);
	return out->full ? -1 : 0;
}

void plugin_progress_print(const json_t *session)
{
	struct term_page page = term_page_of(stdout);
	AUTO_BUF struct buf text;
	buf_init(&text, RESULT_MAX_BYTES);
	plugin_progress_result(session, &page, &text);
	fputs(buf_str(&text), stdout);
	fflush(stdout);
}
