#include "common/base/json_writer.h"

#include "common/base/text.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

struct json_writer jsonw_on(struct buf *out)
{
	return (struct json_writer){.out = out};
}

void jsonw_line(struct json_writer *w)
{
	w->line = true;
}

/* What stands before a value. */
static void begin_value(struct json_writer *w, const char *key)
{
	assert(!w->depth || (key == NULL) == (w->arrays & 1));
	if (w->filled)
		buf_putc(w->out, ',');
	if (w->line)
		buf_putc(w->out, '\n');
	if (key) {
		buf_putc(w->out, '"');
		buf_puts(w->out, key);
		buf_append(w->out, "\":", 2);
	}
	w->filled = true;
	w->line = false;
}

static void open_level(struct json_writer *w, const char *key, bool array)
{
	begin_value(w, key);
	assert(w->depth < JSON_WRITER_DEPTH);
	buf_putc(w->out, array ? '[' : '{');
	w->arrays = w->arrays << 1 | array;
	w->depth++;
	w->filled = false;
}

void jsonw_object(struct json_writer *w, const char *key)
{
	open_level(w, key, false);
}

void jsonw_array(struct json_writer *w, const char *key)
{
	open_level(w, key, true);
}

void jsonw_end(struct json_writer *w)
{
	assert(w->depth > 0);
	buf_putc(w->out, w->arrays & 1 ? ']' : '}');
	w->arrays >>= 1;
	w->depth--;
	w->filled = true;
	w->line = false;
}

void jsonw_text(struct json_writer *w, const char *key, const char *value, size_t len)
{
	begin_value(w, key);
	text_append_json(w->out, value, len);
}

void jsonw_string(struct json_writer *w, const char *key, const char *value)
{
	if (value)
		jsonw_text(w, key, value, strlen(value));
	else
		jsonw_null(w, key);
}

void jsonw_integer(struct json_writer *w, const char *key, int64_t value)
{
	begin_value(w, key);
	buf_printf(w->out, "%" PRId64, value);
}

void jsonw_unsigned(struct json_writer *w, const char *key, uint64_t value)
{
	char digits[20];
	size_t at = sizeof digits;
	do
		digits[--at] = (char)('0' + value % 10);
	while (value /= 10);
	begin_value(w, key);
	buf_append(w->out, digits + at, sizeof digits - at);
}

void jsonw_number(struct json_writer *w, const char *key, double value, int decimals)
{
	if (!isfinite(value)) {
		jsonw_null(w, key);
		return;
	}
	begin_value(w, key);
	buf_printf(w->out, "%.*f", decimals, value);
}

void jsonw_bool(struct json_writer *w, const char *key, bool value)
{
	begin_value(w, key);
	buf_puts(w->out, value ? "true" : "false");
}

void jsonw_null(struct json_writer *w, const char *key)
{
	begin_value(w, key);
	buf_puts(w->out, "null");
}

void jsonw_known(struct json_writer *w, const char *key, int64_t value)
{
	if (value < 0)
		jsonw_null(w, key);
	else
		jsonw_integer(w, key, value);
}
