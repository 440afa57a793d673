/* YAML by libyaml's event parser, as JSON values. Scalars are read by the core schema of YAML 1.2 (section 10.3.2) narrowed to what
 * Kubernetes' own reader accepts: null, true/false, integers, floats; quoted scalars are strings. */
#include "common/base/yaml_json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#define MAX_DEPTH 64
#define MAX_NODES 100000

struct reader {
	yaml_parser_t parser;
	const char *what;
	int depth;
	int nodes;
};

static json_t *read_node(struct reader *r, const yaml_event_t *first, struct err *e);

static int fail_at(const struct reader *r, yaml_mark_t at, const char *problem, struct err *e)
{
	return err_set(e, ERR_INVALID, 0, "%s: line %zu column %zu: %s", r->what, at.line + 1, at.column + 1, problem);
}

static int next_event(struct reader *r, yaml_event_t *event, struct err *e)
{
	if (yaml_parser_parse(&r->parser, event))
		return 0;
	yaml_mark_t at = r->parser.problem_mark;
	return fail_at(r, at, r->parser.problem ? r->parser.problem : "not YAML", e);
}

static bool is_word_of(const char *s, const char *const *words)
{
	for (; *words; words++) {
		if (strcmp(s, *words) == 0)
			return true;
	}
	return false;
}

static bool looks_decimal(const char *s)
{
	if (*s == '-' || *s == '+')
		s++;
	return *s >= '0' && *s <= '9' && s[strspn(s, "0123456789")] == '\0';
}

static bool looks_float(const char *s)
{
	const char *p = s + (*s == '-' || *s == '+');
	size_t whole = strspn(p, "0123456789");
	p += whole;
	size_t fraction = 0;
	if (*p == '.') {
		fraction = strspn(p + 1, "0123456789");
		p += 1 + fraction;
	}
	if (whole + fraction == 0)
		return false;
	if (*p == 'e' || *p == 'E') {
		p++;
		p += *p == '-' || *p == '+';
		if (*p < '0' || *p > '9')
			return false;
		p += strspn(p, "0123456789");
	}
	return *p == '\0';
}

static json_t *plain_scalar(const char *s, size_t len)
{
	static const char *const nulls[] = {"", "~", "null", "Null", "NULL", NULL};
	static const char *const trues[] = {"true", "True", "TRUE", NULL};
	static const char *const falses[] = {"false", "False", "FALSE", NULL};
	if (strlen(s) != len)
		return json_stringn(s, len);
	if (is_word_of(s, nulls))
		return json_null();
	if (is_word_of(s, trues))
		return json_true();
	if (is_word_of(s, falses))
		return json_false();
	if (looks_decimal(s)) {
		errno = 0;
		long long n = strtoll(s, NULL, 10);
		if (errno == 0)
			return json_integer(n);
	}
	if (looks_float(s)) {
		json_t *real = json_real(strtod(s, NULL)); /* NULL for an overflow to infinity */
		if (real)
			return real;
	}
	return json_stringn(s, len);
}

static json_t *read_scalar(const struct reader *r, const yaml_event_t *event, struct err *e)
{
	const char *s = (const char *)event->data.scalar.value;
	size_t len = event->data.scalar.length;
	bool plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE && event->data.scalar.plain_implicit;
	json_t *v = plain ? plain_scalar(s, len) : json_stringn(s, len);
	if (!v)
		fail_at(r, event->start_mark, "not a valid UTF-8 scalar", e);
	return v;
}

static json_t *read_sequence(struct reader *r, struct err *e)
{
	AUTO_JSON json_t *list = json_array();
	for (;;) {
		yaml_event_t event;
		if (next_event(r, &event, e) < 0)
			return NULL;
		if (event.type == YAML_SEQUENCE_END_EVENT) {
			yaml_event_delete(&event);
			return json_incref(list);
		}
		json_t *item = read_node(r, &event, e);
		yaml_event_delete(&event);
		if (!item)
			return NULL;
		json_array_append_new(list, item);
	}
}

/* One "key: value" whose key event has been read. */
static int read_pair(struct reader *r, const yaml_event_t *key, json_t *into, struct err *e)
{
	if (key->type != YAML_SCALAR_EVENT)
		return fail_at(r, key->start_mark, "a mapping's key must be a scalar", e);
	const char *name = (const char *)key->data.scalar.value;
	size_t len = key->data.scalar.length;
	if (strlen(name) != len)
		return fail_at(r, key->start_mark, "a mapping's key must not contain a NUL character", e);
	if (json_object_get(into, name))
		return fail_at(r, key->start_mark, "the key stands twice in this mapping", e);
	yaml_event_t event;
	if (next_event(r, &event, e) < 0)
		return -1;
	json_t *value = read_node(r, &event, e);
	yaml_event_delete(&event);
	if (!value)
		return -1;
	if (json_object_set_new(into, name, value) < 0)
		return fail_at(r, key->start_mark, "not a valid UTF-8 key", e);
	return 0;
}

static json_t *read_mapping(struct reader *r, struct err *e)
{
	AUTO_JSON json_t *object = json_object();
	for (;;) {
		yaml_event_t event;
		if (next_event(r, &event, e) < 0)
			return NULL;
		if (event.type == YAML_MAPPING_END_EVENT) {
			yaml_event_delete(&event);
			return json_incref(object);
		}
		int rc = read_pair(r, &event, object, e);
		yaml_event_delete(&event);
		if (rc < 0)
			return NULL;
	}
}

static json_t *read_node(struct reader *r, const yaml_event_t *first, struct err *e)
{
	if (++r->nodes > MAX_NODES) {
		fail_at(r, first->start_mark, "the document has too many values", e);
		return NULL;
	}
	if (first->type == YAML_SCALAR_EVENT)
		return read_scalar(r, first, e);
	if (first->type == YAML_ALIAS_EVENT) {
		fail_at(r, first->start_mark, "aliases are not supported; write the value out", e);
		return NULL;
	}
	if (r->depth >= MAX_DEPTH) {
		fail_at(r, first->start_mark, "nested too deeply", e);
		return NULL;
	}
	r->depth++;
	json_t *v = first->type == YAML_SEQUENCE_START_EVENT ? read_sequence(r, e) : read_mapping(r, e);
	r->depth--;
	return v;
}

/* Reads up to the one document; the rest of the stream must be empty. */
static json_t *read_document(struct reader *r, struct err *e)
{
	AUTO_JSON json_t *doc = NULL;
	for (;;) {
		yaml_event_t event;
		if (next_event(r, &event, e) < 0)
			return NULL;
		yaml_event_type_t type = event.type;
		bool second = type == YAML_DOCUMENT_START_EVENT && doc;
		bool node = type == YAML_SCALAR_EVENT || type == YAML_ALIAS_EVENT || type == YAML_SEQUENCE_START_EVENT ||
			    type == YAML_MAPPING_START_EVENT;
		if (second)
			fail_at(r, event.start_mark, "only one document is expected", e);
		else if (node)
			doc = read_node(r, &event, e);
		yaml_event_delete(&event);
		if (second || (node && !doc))
			return NULL;
		if (type == YAML_STREAM_END_EVENT)
			break;
	}
	if (!doc)
		err_set(e, ERR_INVALID, 0, "%s: empty document", r->what);
	return doc ? json_incref(doc) : NULL;
}

json_t *jsonx_parse_yaml(const char *text, size_t len, const char *what, struct err *e)
{
	struct reader r = {.what = what};
	if (!yaml_parser_initialize(&r.parser)) {
		err_set(e, ERR_INTERNAL, 0, "%s: cannot start the YAML parser", what);
		return NULL;
	}
	yaml_parser_set_input_string(&r.parser, (const unsigned char *)text, len);
	yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
	json_t *doc = read_document(&r, e);
	yaml_parser_delete(&r.parser);
	return doc;
}
