/* Context: any. */
#include "profiler/requests/route_values.h"

#include "common/proto/difference.h"

#include <string.h>

#define NAME_MOST 32

static unsigned unit_of(const struct event_text *t, size_t i)
{
	return t->data[2 * i] | (unsigned)t->data[2 * i + 1] << 8;
}

static bool text_begins(const struct event_text *t, size_t at, const char *ascii)
{
	size_t n = strlen(ascii);

	if (t->units < at + n)
		return false;
	for (size_t i = 0; i < n; i++)
		if (unit_of(t, at + i) != (unsigned char)ascii[i])
			return false;
	return true;
}

static struct event_text part_of(const struct event_text *t, size_t from, size_t to)
{
	return (struct event_text){t->data + 2 * from, difference(to, from)};
}

static size_t find_text(const struct event_text *t, size_t at, const char *ascii)
{
	while (at < t->units && !text_begins(t, at, ascii))
		at++;
	return at;
}

/* A word of letters, digits and _, as parameters of routes have them. */
static bool is_name(const struct event_text *t)
{
	static const char *const not_of_paths[] = {"controller", "action", "area", "page", "handler"};

	for (size_t i = 0; i < t->units; i++) {
		unsigned c = unit_of(t, i);
		bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
		if (!is_letter && (i == 0 || c < '0' || c > '9'))
			return false;
	}
	for (size_t i = 0; i < sizeof not_of_paths / sizeof *not_of_paths; i++)
		if (t->units == strlen(not_of_paths[i]) && text_begins(t, 0, not_of_paths[i]))
			return false;
	return t->units > 0 && t->units <= NAME_MOST;
}

void route_values_parse(const struct event_text *text, struct route_values *out)
{
	size_t at = 0;

	out->count = 0;
	while (out->count < ROUTE_VALUES_MOST && at < text->units && unit_of(text, at) == '[') {
		size_t comma = find_text(text, at, ", "), end = comma < text->units ? find_text(text, comma + 2, "],[") : text->units;
		bool last = end >= text->units;
		if (last && (text->units < comma + 3 || unit_of(text, difference(text->units, 1)) != ']'))
			return;
		const struct route_value v = {
			.name = part_of(text, at + 1, comma),
			.value = part_of(text, comma + 2, last ? difference(text->units, 1) : end),
		};
		if (is_name(&v.name))
			out->of[out->count++] = v;
		at = last ? text->units : end + 2;
	}
}

struct route_value *route_values_find(struct route_values *v, const struct event_text *path, size_t from, size_t to)
{
	for (unsigned i = 0; i < v->count; i++) {
		struct route_value *x = &v->of[i];
		if (!x->used && from + x->value.units == to && memcmp(x->value.data, path->data + 2 * from, 2 * x->value.units) == 0)
			return x;
	}
	return NULL;
}
