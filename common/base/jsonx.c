#include "common/base/jsonx.h"

#include "common/base/clock.h"
#include "common/base/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH 64
#define FOUND_SIZE 64

static void *our_memory(size_t size)
{
	return mem_realloc(NULL, 1, size);
}

/* jansson takes its memory by mem.h's rule: where it has none, its functions would return NULL and a document go out with parts missing. */
__attribute__((constructor)) static void use_our_memory(void)
{
	json_set_alloc_funcs(our_memory, free);
}

/* jansson's own parser limit is deeper and fixed at its build, so the depth is checked on the text: brackets outside of strings. */
static bool too_deep(const char *text, size_t len)
{
	int depth = 0;
	bool in_string = false;
	for (size_t i = 0; i < len; i++) {
		char c = text[i];
		if (in_string) {
			if (c == '\\')
				i++;
			else if (c == '"')
				in_string = false;
		} else if (c == '"') {
			in_string = true;
		} else if (c == '{' || c == '[') {
			if (++depth > MAX_DEPTH)
				return true;
		} else if (c == '}' || c == ']') {
			depth--;
		}
	}
	return false;
}

json_t *jsonx_parse(const char *text, size_t len, const char *what, struct err *e)
{
	if (too_deep(text, len)) {
		err_set(e, ERR_PROTOCOL, 0, "%s: nested deeper than %d levels", what, MAX_DEPTH);
		return NULL;
	}
	json_error_t error;
	json_t *doc = json_loadb(text, len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
	if (!doc)
		err_set(e, ERR_PROTOCOL, 0, "%s: line %d column %d: %s", what, error.line, error.column, error.text);
	return doc;
}

struct bounded_dump {
	struct buf out;
};

static int dump_piece(const char *data, size_t len, void *ctx)
{
	struct bounded_dump *d = ctx;
	return buf_append(&d->out, data, len);
}

char *jsonx_dump(const json_t *doc, size_t max_bytes, struct err *e)
{
	struct bounded_dump d;
	buf_init(&d.out, max_bytes);
	if (json_dump_callback(doc, dump_piece, &d, JSON_COMPACT | JSON_ENCODE_ANY) < 0) {
		bool full = d.out.full;
		buf_fini(&d.out);
		err_set(e, full ? ERR_INVALID : ERR_INTERNAL, 0,
			full ? "JSON document is larger than %zu bytes" : "cannot write a JSON document (limit %zu bytes)", max_bytes);
		return NULL;
	}
	return buf_steal(&d.out);
}

/* "expected a string, found 30": short words for what stands there instead. */
static const char *describe_json(const json_t *v, char out[FOUND_SIZE])
{
	switch (json_typeof(v)) {
	case JSON_OBJECT:
		return "an object";
	case JSON_ARRAY:
		return "a list";
	case JSON_STRING:
		snprintf(out, FOUND_SIZE, "\"%.40s\"", json_string_value(v));
		return out;
	case JSON_INTEGER:
		snprintf(out, FOUND_SIZE, "%" JSON_INTEGER_FORMAT, json_integer_value(v));
		return out;
	case JSON_REAL:
		snprintf(out, FOUND_SIZE, "%g", json_real_value(v));
		return out;
	case JSON_TRUE:
		return "true";
	case JSON_FALSE:
		return "false";
	default:
		return "null";
	}
}

static const char *dot(const char *path)
{
	return *path ? "." : "";
}

/* Finds the field. 1: there; 0: absent and allowed to be; -1: required. */
static int find_field(const json_t *obj, const char *path, const char *key, bool required, const json_t **out, struct err *e)
{
	const json_t *v = obj ? json_object_get(obj, key) : NULL;
	if (v && !json_is_null(v)) {
		*out = v;
		return 1;
	}
	if (required)
		return err_set(e, ERR_INVALID, 0, "%s%s%s: required", path, dot(path), key);
	return 0;
}

static int wrong_type(const json_t *v, const char *path, const char *key, const char *expected, struct err *e)
{
	char found[FOUND_SIZE];
	return err_set(e, ERR_INVALID, 0, "%s%s%s: expected %s, found %s", path, dot(path), key, expected, describe_json(v, found));
}

int jsonx_object(const json_t *obj, const char *path, const char *key, bool required, const json_t **out, struct err *e)
{
	const json_t *v = NULL;
	int found = find_field(obj, path, key, required, &v, e);
	if (found == 1 && !json_is_object(v))
		return wrong_type(v, path, key, "an object", e);
	if (found >= 0)
		*out = v;
	return found < 0 ? -1 : 0;
}

int jsonx_array(const json_t *obj, const char *path, const char *key, bool required, const json_t **out, struct err *e)
{
	const json_t *v = NULL;
	int found = find_field(obj, path, key, required, &v, e);
	if (found == 1 && !json_is_array(v))
		return wrong_type(v, path, key, "a list", e);
	if (found >= 0)
		*out = v;
	return found < 0 ? -1 : 0;
}

int jsonx_string(const json_t *obj, const char *path, const char *key, bool required, const char **out, struct err *e)
{
	const json_t *v = NULL;
	int found = find_field(obj, path, key, required, &v, e);
	if (found <= 0)
		return found;
	if (!json_is_string(v))
		return wrong_type(v, path, key, "a string", e);
	if (strlen(json_string_value(v)) != json_string_length(v))
		return err_set(e, ERR_INVALID, 0, "%s%s%s: must not contain a NUL character", path, dot(path), key);
	*out = json_string_value(v);
	return 0;
}

int jsonx_int(const json_t *obj, const char *path, const char *key, bool required, int64_t least, int64_t most, int64_t *out,
	      struct err *e)
{
	const json_t *v = NULL;
	int found = find_field(obj, path, key, required, &v, e);
	if (found <= 0)
		return found;
	if (!json_is_integer(v))
		return wrong_type(v, path, key, "an integer", e);
	int64_t n = json_integer_value(v);
	if (n < least || n > most)
		return err_set(e, ERR_INVALID, 0, "%s%s%s: must be between %" PRId64 " and %" PRId64 ", found %" PRId64, path, dot(path),
			       key, least, most, n);
	*out = n;
	return 0;
}

int jsonx_bool(const json_t *obj, const char *path, const char *key, bool required, bool *out, struct err *e)
{
	const json_t *v = NULL;
	int found = find_field(obj, path, key, required, &v, e);
	if (found <= 0)
		return found;
	if (!json_is_boolean(v))
		return wrong_type(v, path, key, "true or false", e);
	*out = json_is_true(v);
	return 0;
}

static bool key_list_contains(const char *const *list, const char *key)
{
	for (; *list; list++) {
		if (strcmp(*list, key) == 0)
			return true;
	}
	return false;
}

int jsonx_only_keys(const json_t *obj, const char *path, const char *const *known, struct err *e)
{
	const char *key;
	json_t *value;
	json_object_foreach((json_t *)obj, key, value)
	{
		if (key_list_contains(known, key))
			continue;
		AUTO_BUF struct buf names;
		buf_init(&names, ERR_MESSAGE_SIZE);
		for (const char *const *k = known; *k; k++)
			buf_printf(&names, "%s%s", k == known ? "" : ", ", *k);
		return err_set(e, ERR_INVALID, 0, "%s%s%.60s: unknown field; %s%s", path, dot(path), key, *known ? "known are " : "none is known here",
			       buf_str(&names));
	}
	return 0;
}

const json_t *jsonx_at(const json_t *obj, const char *dotted)
{
	while (obj && *dotted) {
		const char *end = strchrnul(dotted, '.');
		obj = json_object_getn(obj, dotted, (size_t)(end - dotted));
		dotted = *end ? end + 1 : end;
	}
	return obj;
}

const char *jsonx_str_at(const json_t *obj, const char *dotted, const char *otherwise)
{
	const json_t *v = jsonx_at(obj, dotted);
	return json_is_string(v) ? json_string_value(v) : otherwise;
}

int64_t jsonx_int_at(const json_t *obj, const char *dotted, int64_t otherwise)
{
	const json_t *v = jsonx_at(obj, dotted);
	return json_is_integer(v) ? json_integer_value(v) : otherwise;
}

char *jsonx_dup_at(const json_t *obj, const char *dotted)
{
	return mem_strdup(jsonx_str_at(obj, dotted, NULL));
}

void jsonx_copy_at(const json_t *obj, const char *dotted, char *out, size_t size)
{
	snprintf(out, size, "%s", jsonx_str_at(obj, dotted, ""));
}

int64_t jsonx_time_at(const json_t *obj, const char *dotted)
{
	int64_t ms = 0;
	const char *text = jsonx_str_at(obj, dotted, NULL);
	return text && clock_parse_rfc3339(text, &ms) == 0 && ms > 0 ? ms : 0;
}
