#include "agent/report/report_json.h"

#include "agent/symbols/method_name.h"

#define OUTSIDE_TEXT_BYTES 300

void report_json_string(struct report_file *f, const char *key, const char *value)
{
	AUTO_BUF struct buf shown;
	buf_init(&shown, OUTSIDE_TEXT_BYTES * 16);
	if (value)
		method_name_printable(value, OUTSIDE_TEXT_BYTES, &shown);
	jsonw_string(&f->json, key, value ? buf_str(&shown) : NULL);
}

void report_json_marks(struct report_file *f, const char *key, unsigned marks)
{
	static const struct {
		unsigned mark;
		const char *name;
	} names[] = {{METHOD_ASYNC, "async"}, {METHOD_ITERATOR, "iterator"}, {METHOD_LAMBDA, "lambda"}, {METHOD_LOCAL, "local"},
		     {METHOD_DYNAMIC, "dynamic"}, {METHOD_NO_SYMBOL, "noSymbol"}};
	jsonw_array(&f->json, key);
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (marks & names[i].mark)
			jsonw_string(&f->json, NULL, names[i].name);
	jsonw_end(&f->json);
}

void report_json_record(struct report_file *f)
{
	jsonw_line(&f->json);
	jsonw_object(&f->json, NULL);
}

void report_json_end(struct report_file *f)
{
	jsonw_end(&f->json);
	report_file_flow(f);
}
