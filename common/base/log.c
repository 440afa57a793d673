#include "common/base/log.h"

#include "common/base/buf.h"
#include "common/base/clock.h"
#include "common/base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LINE_MAX_BYTES 8192
#define CUT_MESSAGE_BYTES 500

static enum log_level least_level = LOG_LEVEL_INFO;
static enum log_format line_format = LOG_FORMAT_AUTO;

static const char *const level_names[] = {"debug", "info", "warn", "error"};

void log_configure(enum log_level least, enum log_format format)
{
	least_level = least;
	line_format = format;
}

static void write_text(struct buf *line, const struct log_kv *kv)
{
	for (; kv->key; kv++) {
		buf_printf(line, " %s=", kv->key);
		if (kv->text)
			text_append_json(line, kv->text, strlen(kv->text));
		else
			buf_printf(line, "%" PRId64, kv->number);
	}
}

static void write_json(struct buf *line, const struct log_kv *kv)
{
	for (; kv->key; kv++) {
		buf_printf(line, ",\"%s\":", kv->key);
		if (kv->text)
			text_append_json(line, kv->text, strlen(kv->text));
		else
			buf_printf(line, "%" PRId64, kv->number);
	}
	buf_putc(line, '}');
}

static void format_json(struct buf *line, const char *when, enum log_level level, const char *component, const char *msg, const struct log_kv *kv)
{
	buf_printf(line, "{\"time\":\"%s\",\"level\":\"%s\",\"component\":\"%s\",\"msg\":", when, level_names[level], component);
	text_append_json(line, msg, strlen(msg));
	write_json(line, kv);
}

static void format_text(struct buf *line, const char *when, enum log_level level, const char *component, const char *msg, const struct log_kv *kv)
{
	buf_printf(line, "%s %-5s %s: ", when, level_names[level], component);
	text_append_printable(line, msg, strlen(msg));
	write_text(line, kv);
}

void log_write(enum log_level level, const char *component, const char *msg, const struct log_kv *kv)
{
	if (level < least_level)
		return;
	AUTO_BUF struct buf line;
	buf_init(&line, LINE_MAX_BYTES);
	char when[CLOCK_RFC3339_SIZE];
	clock_rfc3339_micro(clock_wall_ms() * 1000, when);
	bool json = line_format == LOG_FORMAT_JSON || (line_format == LOG_FORMAT_AUTO && !isatty(STDERR_FILENO));
	void (*format)(struct buf *, const char *, enum log_level, const char *, const char *, const struct log_kv *) = json ? format_json : format_text;
	format(&line, when, level, component, msg, kv + 1);
	if (line.full) { /* what happened is kept, what it happened to is not */
		static const struct log_kv none = {NULL, NULL, 0};
		char cut[CUT_MESSAGE_BYTES + 1];
		snprintf(cut, text_cut_utf8(msg, CUT_MESSAGE_BYTES) + 1, "%s", msg);
		buf_reset(&line);
		format(&line, when, level, component, cut, &none);
	}
	buf_putc(&line, '\n');
	if (write(STDERR_FILENO, line.data, line.len) < 0) {
		/* no log to write to: there is nobody to tell */
	}
}
