#include "common/api/label_selector.h"

#include "common/api/reason.h"
#include "common/base/mem.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define MAX_REQUIREMENTS 32
#define MAX_VALUES 32
#define LABEL_NAME_MAX 63
#define LABEL_PREFIX_MAX 253

static const char *const operator_names[] = {
	[LABEL_IN] = "In", [LABEL_NOT_IN] = "NotIn", [LABEL_EXISTS] = "Exists", [LABEL_DOES_NOT_EXIST] = "DoesNotExist"};

#define KEY_WORDS "expected a label's key, such as app or example.com/tier"

static int invalid_selector(struct err *e, const char *path, const char *what)
{
	return err_set_reason(e, ERR_INVALID, REASON_InvalidSpec, "%s: %s", path, what);
}

/* Letters, digits, '-', '_', '.', beginning and ending with a letter or digit, at most 63 characters. */
static bool is_label_name(const char *s, size_t len)
{
	if (len == 0 || len > LABEL_NAME_MAX || !isalnum((unsigned char)s[0]) || !isalnum((unsigned char)s[len - 1]))
		return false;
	for (size_t i = 0; i < len; i++) {
		if (!isalnum((unsigned char)s[i]) && !strchr("-_.", s[i]))
			return false;
	}
	return true;
}

static bool is_label_key(const char *s)
{
	const char *slash = strchr(s, '/');
	if (!slash)
		return is_label_name(s, strlen(s));
	size_t prefix = (size_t)(slash - s);
	if (prefix == 0 || prefix > LABEL_PREFIX_MAX)
		return false;
	for (size_t i = 0; i < prefix; i++) {
		if (!islower((unsigned char)s[i]) && !isdigit((unsigned char)s[i]) && s[i] != '-' && s[i] != '.')
			return false;
	}
	return is_label_name(slash + 1, strlen(slash + 1));
}

static bool is_label_value(const char *s)
{
	return *s == '\0' || is_label_name(s, strlen(s));
}

static int add_match_labels(const json_t *labels, const char *path, struct label_requirement *reqs, size_t *count, struct err *e)
{
	const char *key;
	json_t *value;
	json_object_foreach((json_t *)labels, key, value)
	{
		char at[200];
		snprintf(at, sizeof at, "%s.matchLabels.%.100s", path, key);
		if (*count == MAX_REQUIREMENTS)
			return invalid_selector(e, path, "at most 32 requirements are allowed");
		if (!is_label_key(key))
			return invalid_selector(e, at, KEY_WORDS);
		if (!json_is_string(value) || !is_label_value(json_string_value(value)))
			return invalid_selector(e, at, "expected a label value (a string of at most 63 letters, digits, '-', '_', '.')");
		struct label_requirement *r = &reqs[(*count)++];
		r->key = mem_strdup(key);
		r->op = LABEL_IN;
		r->values = mem_calloc(1, sizeof *r->values);
		r->values[0] = mem_strdup(json_string_value(value));
		r->value_count = 1;
	}
	return 0;
}

static int parse_operator(const char *name, struct label_requirement *r)
{
	for (size_t i = 0; i < sizeof operator_names / sizeof operator_names[0]; i++) {
		if (strcmp(name, operator_names[i]) == 0) {
			r->op = i;
			return 0;
		}
	}
	return -1;
}

static int read_values(const json_t *values, const char *at, struct label_requirement *r, struct err *e)
{
	size_t n = json_array_size(values);
	bool wants = r->op == LABEL_IN || r->op == LABEL_NOT_IN;
	if (wants != (n > 0) || n > MAX_VALUES)
		return invalid_selector(e, at, wants ? "In and NotIn need 1 to 32 values" : "Exists and DoesNotExist take no values");
	r->values = mem_calloc(n, sizeof *r->values);
	for (size_t i = 0; i < n; i++) {
		const json_t *v = json_array_get(values, i);
		if (!json_is_string(v) || !is_label_value(json_string_value(v)))
			return invalid_selector(e, at, "values: expected label values (strings of at most 63 letters, digits, '-', '_', '.')");
		r->values[r->value_count++] = mem_strdup(json_string_value(v));
	}
	return 0;
}

static int parse_expression(const json_t *item, const char *at, struct label_requirement *r, struct err *e)
{
	static const char *const known[] = {"key", "operator", "values", NULL};
	const char *key = NULL, *op = NULL;
	const json_t *values = NULL;
	if (!json_is_object(item))
		return invalid_selector(e, at, "expected an object");
	if (jsonx_only_keys(item, at, known, e) < 0 || jsonx_string(item, at, "key", true, &key, e) < 0 ||
	    jsonx_string(item, at, "operator", true, &op, e) < 0 || jsonx_array(item, at, "values", false, &values, e) < 0)
		return -1;
	if (!is_label_key(key))
		return invalid_selector(e, at, "key: " KEY_WORDS);
	if (parse_operator(op, r) < 0)
		return invalid_selector(e, at, "operator: must be In, NotIn, Exists or DoesNotExist");
	r->key = mem_strdup(key);
	return read_values(values, at, r, e);
}

static int add_expressions(const json_t *list, const char *path, struct label_requirement *reqs, size_t *count, struct err *e)
{
	size_t i;
	json_t *item;
	json_array_foreach(list, i, item)
	{
		char at[160];
		snprintf(at, sizeof at, "%s.matchExpressions[%zu]", path, i);
		if (*count == MAX_REQUIREMENTS)
			return invalid_selector(e, path, "at most 32 requirements are allowed");
		if (parse_expression(item, at, &reqs[(*count)++], e) < 0)
			return -1;
	}
	return 0;
}

int label_selector_from_json(const json_t *selector, const char *path, struct label_requirement **out, size_t *count, struct err *e)
{
	static const char *const known[] = {"matchLabels", "matchExpressions", NULL};
	const json_t *labels = NULL, *expressions = NULL;
	if (jsonx_only_keys(selector, path, known, e) < 0 || jsonx_object(selector, path, "matchLabels", false, &labels, e) < 0 ||
	    jsonx_array(selector, path, "matchExpressions", false, &expressions, e) < 0)
		return -1;
	struct label_requirement *reqs = mem_calloc(MAX_REQUIREMENTS, sizeof *reqs);
	size_t n = 0;
	int rc = add_match_labels(labels, path, reqs, &n, e);
	if (rc == 0)
		rc = add_expressions(expressions, path, reqs, &n, e);
	if (rc == 0 && n == 0)
		rc = invalid_selector(e, path, "must not be empty; name at least one label");
	if (rc < 0) {
		label_requirements_free(reqs, n);
		return -1;
	}
	*out = mem_realloc(reqs, n, sizeof *reqs);
	*count = n;
	return 0;
}

static bool is_match_label(const struct label_requirement *r)
{
	return r->op == LABEL_IN && r->value_count == 1;
}

static json_t *expression_to_json(const struct label_requirement *r)
{
	json_t *item = json_pack("{s:s, s:s}", "key", r->key, "operator", operator_names[r->op]);
	if (r->value_count > 0) {
		json_t *values = json_array();
		for (size_t i = 0; i < r->value_count; i++)
			json_array_append_new(values, json_string(r->values[i]));
		json_object_set_new(item, "values", values);
	}
	return item;
}

json_t *label_selector_to_json(const struct label_requirement *reqs, size_t count)
{
	json_t *selector = json_object();
	json_t *labels = json_object(), *expressions = json_array();
	for (size_t i = 0; i < count; i++) {
		if (is_match_label(&reqs[i]) && !json_object_get(labels, reqs[i].key))
			json_object_set_new(labels, reqs[i].key, json_string(reqs[i].values[0]));
		else
			json_array_append_new(expressions, expression_to_json(&reqs[i]));
	}
	if (json_object_size(labels) > 0)
		json_object_set(selector, "matchLabels", labels);
	if (json_array_size(expressions) > 0)
		json_object_set(selector, "matchExpressions", expressions);
	json_decref(labels);
	json_decref(expressions);
	return selector;
}

static void append_requirement(const struct label_requirement *r, struct buf *out)
{
	if (is_match_label(r)) {
		buf_printf(out, "%s=%s", r->key, r->values[0]);
		return;
	}
	if (r->op == LABEL_EXISTS || r->op == LABEL_DOES_NOT_EXIST) {
		buf_printf(out, "%s%s", r->op == LABEL_EXISTS ? "" : "!", r->key);
		return;
	}
	buf_printf(out, "%s %s (", r->key, r->op == LABEL_IN ? "in" : "notin");
	for (size_t i = 0; i < r->value_count; i++)
		buf_printf(out, "%s%s", i ? "," : "", r->values[i]);
	buf_putc(out, ')');
}

int label_selector_to_query(const struct label_requirement *reqs, size_t count, struct buf *out)
{
	for (size_t i = 0; i < count; i++) {
		if (i > 0)
			buf_putc(out, ',');
		append_requirement(&reqs[i], out);
	}
	return out->full ? -1 : 0;
}

static void requirement_fini(struct label_requirement *r)
{
	for (size_t i = 0; i < r->value_count; i++)
		free(r->values[i]);
	free(r->values);
	free(r->key);
}

void label_requirements_free(struct label_requirement *reqs, size_t count)
{
	for (size_t i = 0; reqs && i < count; i++)
		requirement_fini(&reqs[i]);
	free(reqs);
}

struct label_requirement *label_requirements_copy(const struct label_requirement *reqs, size_t count)
{
	if (count == 0)
		return NULL;
	struct label_requirement *copy = mem_calloc(count, sizeof *copy);
	for (size_t i = 0; i < count; i++) {
		copy[i].key = mem_strdup(reqs[i].key);
		copy[i].op = reqs[i].op;
		copy[i].value_count = reqs[i].value_count;
		copy[i].values = mem_calloc(reqs[i].value_count, sizeof *copy[i].values);
		for (size_t v = 0; v < reqs[i].value_count; v++)
			copy[i].values[v] = mem_strdup(reqs[i].values[v]);
	}
	return copy;
}
