#include "agent/report/report_json.h"

#include "agent/symbols/method_name.h"
#include "common/base/text.h"

#include <inttypes.h>
#include <string.h>

#define OUTSIDE_TEXT_BYTES 300

void report_json_shown(struct report_file *f, const char *key, const char *value)
{
	buf_printf(&f->text, ",\"%s\":", key);
	if (value)
		text_append_json(&f->text, value, strlen(value));
	else
		buf_puts(&f->text, "null");
}

void report_json_string(struct report_file *f, const char *key, const char *value)
{
	AUTO_BUF struct buf shown;
	buf_init(&shown, OUTSIDE_TEXT_BYTES * 16);
	if (value)
		method_name_printable(value, OUTSIDE_TEXT_BYTES, &shown);
	report_json_shown(f, key, value ? buf_str(&shown) : NULL);
}

void report_json_integer(struct report_file *f, const char *key, int64_t value)
{
	buf_printf(&f->text, ",\"%s\":%" PRId64, key, value);
}

void report_json_known(struct report_file *f, const char *key, int64_t value)
{
	if (value < 0)
		buf_printf(&f->text, ",\"%s\":null", key);
	else
		report_json_integer(f, key, value);
}

void report_json_number(struct report_file *f, const char *key, double value, int decimals)
{
	buf_printf(&f->text, ",\"%s\":%.*f", key, decimals, value);
}

void report_json_bool(struct report_file *f, const char *key, bool value)
{
	buf_printf(&f->text, ",\"%s\":%s", key, value ? "true" : "false");
}

void report_json_marks(struct report_file *f, const char *key, unsigned marks)
{
	static const struct {
		unsigned mark;
		const char *name;
	} names[] = {{METHOD_ASYNC, "async"}, {METHOD_ITERATOR, "iterator"}, {METHOD_LAMBDA, "lambda"}, {METHOD_LOCAL, "local"},
		     {METHOD_DYNAMIC, "dynamic"}, {METHOD_NO_SYMBOL, "noSymbol"}};
	const char *comma = "";
	buf_printf(&f->text, ",\"%s\":[", key);
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		if (!(marks & names[i].mark))
			continue;
		buf_printf(&f->text, "%s\"%s\"", comma, names[i].name);
		comma = ",";
	}
	buf_puts(&f->text, "]");
}
