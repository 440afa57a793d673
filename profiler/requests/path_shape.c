/* Context: any. */
#include "profiler/requests/path_shape.h"

#include "common/proto/difference.h"

#include <string.h>

#define WORD_MOST 32
#define DIGITS_MOST 2    /* "v1", "oauth2": more of them are an id */
#define UNITS_MOST 1024  /* of a path: what comes after is not looked at */
#define VOWELS_FROM 12   /* letters: a longer word without vowels is none */
#define NAME "{name}"
#define NAME_BYTES (sizeof NAME - 1)

static bool is_letter(unsigned c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_digit(unsigned c)
{
	return c >= '0' && c <= '9';
}

static bool is_vowel(unsigned c)
{
	return memchr("aeiouyAEIOUY", (int)c, 12) != NULL;
}

static unsigned unit_at(const struct event_text *t, size_t i)
{
	return t->data[2 * i] | (unsigned)t->data[2 * i + 1] << 8;
}

static void shape_put(struct path_shape *s, const char *text, size_t len)
{
	if (s->len + len > sizeof s->text)
		return;
	memcpy(s->text + s->len, text, len);
	s->len = (uint16_t)(s->len + len);
}

static void shape_puts(struct path_shape *s, const char *text)
{
	shape_put(s, text, strlen(text));
}

/* Letters and few digits, as people name routes. A dot is one of gRPC's service names: in the first segment only. */
static bool is_route_word(const struct event_text *t, size_t from, size_t to, bool first)
{
	size_t letters = 0, digits = 0, vowels = 0;

	if (to > from + (first ? 2 * WORD_MOST : WORD_MOST) || !is_letter(unit_at(t, from)))
		return false;
	for (size_t i = from; i < to; i++) {
		unsigned c = unit_at(t, i);
		if (is_letter(c)) {
			letters++;
			vowels += is_vowel(c);
		} else if (is_digit(c)) {
			digits++;
		} else if (c != '-' && c != '_' && !(c == '.' && first)) {
			return false;
		}
	}
	return digits <= DIGITS_MOST && (letters < VOWELS_FROM || vowels * 6 >= letters);
}

static void put_segment(struct path_shape *s, const struct event_text *t, size_t from, size_t to, bool first)
{
	char word[2 * WORD_MOST];

	if (from == to)
		return;
	if (!is_route_word(t, from, to, first) || s->len + difference(to, from) > sizeof s->text) {
		shape_puts(s, "{id}");
		return;
	}
	for (size_t i = from; i < to; i++)
		word[i - from] = (char)unit_at(t, i);
	s->word[s->words].at = (uint8_t)s->len;
	s->word[s->words].len = (uint8_t)difference(to, from);
	s->words++;
	shape_put(s, word, difference(to, from));
}

/* A client may send any word in its place. */
static void put_shape_method(struct path_shape *s, const struct event_text *method)
{
	static const char *const known[] = {"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "CONNECT", "TRACE", "QUERY",
					    "PROPFIND", "PROPPATCH", "MKCOL", "COPY", "MOVE", "LOCK", "UNLOCK", "SEARCH", "REPORT"};

	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (event_text_is(method, known[i], true)) {
			shape_puts(s, known[i]);
			shape_puts(s, " ");
			return;
		}
	shape_puts(s, "OTHER ");
}

/* "{ms}"; "{*path}" where the value is all that is left of the path. The place after it; `from`: it is no value of a parameter. */
static size_t put_parameter(struct path_shape *s, const struct event_text *path, size_t from, size_t to, struct route_values *values)
{
	struct route_value *v = route_values_find(values, path, from, to);
	bool rest = !v && (v = route_values_find(values, path, from, path->units)) != NULL;

	if (!v || s->len + v->name.units + 3 > sizeof s->text)
		return from;
	v->used = true;
	shape_puts(s, rest ? "{*" : "{");
	for (size_t i = 0; i < v->name.units; i++)
		s->text[s->len++] = (char)unit_at(&v->name, i);
	shape_puts(s, "}");
	return rest ? path->units : to;
}

/* `values` NULL: none are known. */
static void put_shape_path(struct path_shape *out, const struct event_text *path, struct route_values *values)
{
	size_t units = path->units < UNITS_MOST ? path->units : UNITS_MOST, from = 0;
	unsigned segments = 0;

	if (!units || unit_at(path, 0) != '/')
		shape_puts(out, "/");
	while (from < units) {
		size_t to = from;
		if (unit_at(path, from) == '/') {
			shape_puts(out, "/");
			from++;
			continue;
		}
		while (to < units && unit_at(path, to) != '/')
			to++;
		if (segments == PATH_SHAPE_SEGMENTS) {
			shape_puts(out, "{more}");
			return;
		}
		size_t after = values ? put_parameter(out, path, from, to, values) : from;
		if (after == from)
			put_segment(out, path, from, to, segments == 0);
		segments++;
		from = after > to ? after : to;
	}
	if (units < path->units && from < path->units)
		shape_puts(out, "{more}");
}

void path_shape_make(const struct event_text *method, const struct event_text *path, struct path_shape *out)
{
	out->len = 0;
	out->words = 0;
	put_shape_method(out, method);
	put_shape_path(out, path, NULL);
}

void path_shape_make_known(const struct event_text *method, const struct event_text *path, struct path_shape *out)
{
	out->len = 0;
	out->words = 0;
	put_shape_method(out, method);
	for (size_t i = 0; i < path->units && out->len < sizeof out->text; i++) {
		unsigned c = unit_at(path, i);
		out->text[out->len++] = c > ' ' && c <= '~' ? (char)c : '_';
	}
}

void path_shape_make_routed(const char *of, size_t of_len, const struct event_text *path, struct route_values *values, struct path_shape *out)
{
	const char *blank = memchr(of, ' ', of_len);

	out->len = 0;
	out->words = 0;
	shape_put(out, of, blank ? (size_t)(blank - of) + 1 : 0);
	put_shape_path(out, path, values);
}

/* Up to `end`, but nothing of a word that is not whole before it. */
static size_t cut_before_word(const struct path_shape *s, size_t end)
{
	for (unsigned i = 0; i < s->words; i++)
		if (s->word[i].at < end && (size_t)s->word[i].at + s->word[i].len > end)
			return s->word[i].at;
	return end;
}

/* Appends to an empty shape only: total, whatever the words are. */
void path_shape_fold(struct path_shape *s, unsigned i)
{
	const struct path_shape was = *s;
	size_t after = i < was.words ? (size_t)was.word[i].at + was.word[i].len : SIZE_MAX;
	size_t end = was.len < sizeof was.text ? was.len : sizeof was.text;

	s->words = 0;
	if (after > end)
		return;
	s->len = 0;
	shape_put(s, was.text, was.word[i].at);
	for (unsigned k = 0; k < i; k++)
		s->word[s->words++] = was.word[k];
	if (s->len + NAME_BYTES > sizeof s->text)
		return;
	shape_put(s, NAME, NAME_BYTES);
	if (end + NAME_BYTES > sizeof s->text + was.word[i].len)
		end = cut_before_word(&was, sizeof s->text + was.word[i].len - NAME_BYTES);
	if (end > after)
		shape_put(s, was.text + after, end - after);
	for (unsigned k = i + 1; k < was.words && (size_t)was.word[k].at + was.word[k].len <= end; k++) {
		s->word[s->words] = was.word[k];
		s->word[s->words++].at = (uint8_t)difference(was.word[k].at + NAME_BYTES, was.word[i].len);
	}
}

WRAPS uint64_t path_shape_hash(const struct path_shape *s, unsigned i)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (size_t k = 0; k < s->len; k++) {
		bool left_out = i < s->words && k >= s->word[i].at && k < (size_t)s->word[i].at + s->word[i].len;
		h = (h ^ (left_out ? 0u : (uint8_t)s->text[k])) * 0x100000001b3u;
		if (left_out)
			k = difference((size_t)s->word[i].at + s->word[i].len, 1);
	}
	h ^= h >> 32;
	return h ? h : 1;
}
