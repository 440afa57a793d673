#include "controller/kubectl/plugin_target.h"

#include "common/api/label_selector.h"
#include "common/base/cleanup.h"
#include "common/base/mem.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define LABELS_MAX_BYTES 4096
#define APPS "/apis/apps/v1"

static const struct {
	const char *words; /* each with a space behind it */
	const char *api, *plural, *word;
} types[] = {
	{"deploy deployment deployments deployment.apps deployments.apps ", APPS, "deployments", "deployment"},
	{"sts statefulset statefulsets statefulset.apps statefulsets.apps ", APPS, "statefulsets", "statefulset"},
	{"ds daemonset daemonsets daemonset.apps daemonsets.apps ", APPS, "daemonsets", "daemonset"},
	{"rs replicaset replicasets replicaset.apps replicasets.apps ", APPS, "replicasets", "replicaset"},
	{"job jobs job.batch jobs.batch ", "/apis/batch/v1", "jobs", "job"},
	{"svc service services ", "/api/v1", "services", "service"},
	{"po pod pods ", NULL, NULL, NULL},
};

bool plugin_target_is_name(const char *s)
{
	size_t len = strlen(s);
	if (len == 0 || len > 253 || !isalnum((unsigned char)s[0]) || !isalnum((unsigned char)s[len - 1]))
		return false;
	for (size_t i = 0; i < len; i++)
		if (!islower((unsigned char)s[i]) && !isdigit((unsigned char)s[i]) && s[i] != '-' && s[i] != '.')
			return false;
	return true;
}

static bool has_word(const char *words, const char *word, size_t len)
{
	for (const char *w = words; *w;) {
		size_t n = strcspn(w, " ");
		if (n == len && memcmp(w, word, len) == 0)
			return true;
		w += n + 1;
	}
	return false;
}

static int set_name(struct plugin_target *out, const char *name, const char *text, struct err *e)
{
	if (!plugin_target_is_name(name))
		return err_set(e, ERR_INVALID, 0, "%.100s: no name of an object; expected TYPE/NAME, such as deploy/checkout, or a pod's name", text);
	snprintf(out->name, sizeof out->name, "%s", name);
	return 0;
}

static int parse_name(const char *text, struct plugin_target *out, struct err *e)
{
	const char *slash = strchr(text, '/');
	if (!slash)
		return set_name(out, text, text, e);
	for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
		if (!has_word(types[i].words, text, (size_t)(slash - text)))
			continue;
		out->kind = types[i].api ? PLUGIN_TARGET_WORKLOAD : PLUGIN_TARGET_POD;
		out->api = types[i].api;
		out->plural = types[i].plural;
		out->word = types[i].word;
		return set_name(out, slash + 1, text, e);
	}
	return err_set(e, ERR_INVALID, 0, "%.100s: unknown type; known are deploy, sts, ds, rs, job, svc and pod", text);
}

int plugin_target_parse(const char *text, const char *labels, struct plugin_target *out, struct err *e)
{
	*out = (struct plugin_target){.kind = labels ? PLUGIN_TARGET_LABELS : PLUGIN_TARGET_POD};
	if (!labels)
		return parse_name(text, out, e);
	out->selector = plugin_target_labels(labels, e);
	return out->selector ? 0 : -1;
}

void plugin_target_fini(struct plugin_target *t)
{
	json_decref(t->selector);
	t->selector = NULL;
}

/* labels ----------------------------------------------------------------------------------------------------------- */

struct reader {
	const char *at;
	json_t *labels, *expressions;
};

static void skip_space(struct reader *r)
{
	r->at += strspn(r->at, " \t");
}

/* A key or a value: whatever stands until a sign; what it may be is checked by label_selector.h. */
static char *parse_selector_word(struct reader *r)
{
	skip_space(r);
	size_t len = strcspn(r->at, " \t,=!()<>");
	char *word = mem_strndup(r->at, len);
	r->at += len;
	skip_space(r);
	return word;
}

static bool take_sign(struct reader *r, const char *sign)
{
	size_t len = strlen(sign);
	if (strncmp(r->at, sign, len) != 0)
		return false;
	r->at += len;
	return true;
}

static void add_selector_expression(struct reader *r, const char *key, const char *operator, json_t *values)
{
	json_t *x = json_object();
	json_object_set_new(x, "key", json_string(key));
	json_object_set_new(x, "operator", json_string(operator));
	if (values)
		json_object_set_new(x, "values", values);
	json_array_append_new(r->expressions, x);
}

/* "(a, b)" */
static json_t *take_values(struct reader *r)
{
	json_t *values = json_array();
	bool more = take_sign(r, "(");
	bool closed = false;
	while (more) {
		AUTO_FREE char *value = parse_selector_word(r);
		json_array_append_new(values, json_string(value));
		more = take_sign(r, ",");
		closed = !more && take_sign(r, ")");
	}
	if (!closed) {
		json_decref(values);
		return NULL;
	}
	skip_space(r);
	return values;
}

static bool parse_selector_set(struct reader *r, const char *key, const char *operator)
{
	skip_space(r);
	json_t *values = take_values(r);
	if (values)
		add_selector_expression(r, key, operator, values);
	return values != NULL;
}

static bool take_not_equal(struct reader *r, const char *key)
{
	AUTO_FREE char *value = parse_selector_word(r);
	add_selector_expression(r, key, "NotIn", json_pack("[s]", value));
	return true;
}

static bool take_equal(struct reader *r, const char *key)
{
	AUTO_FREE char *value = parse_selector_word(r);
	if (json_object_get(r->labels, key)) /* twice: both must hold */
		add_selector_expression(r, key, "In", json_pack("[s]", value));
	else
		json_object_set_new(r->labels, key, json_string(value));
	return true;
}

static bool take_requirement(struct reader *r)
{
	skip_space(r);
	bool absent = take_sign(r, "!");
	AUTO_FREE char *key = parse_selector_word(r);
	if (!key[0])
		return false;
	if (absent || *r->at == ',' || !*r->at) {
		add_selector_expression(r, key, absent ? "DoesNotExist" : "Exists", NULL);
		return true;
	}
	if (take_sign(r, "!="))
		return take_not_equal(r, key);
	if (take_sign(r, "==") || take_sign(r, "="))
		return take_equal(r, key);
	if (take_sign(r, "notin"))
		return parse_selector_set(r, key, "NotIn");
	return take_sign(r, "in") && parse_selector_set(r, key, "In");
}

static int check_selector(const json_t *selector, const char *path, struct err *e)
{
	struct label_requirement *reqs = NULL;
	size_t count = 0;
	if (label_selector_from_json(selector, path, &reqs, &count, e) < 0)
		return -1;
	label_requirements_free(reqs, count);
	return 0;
}

/* Only what is there: {} in a manifest tells nobody anything. */
static json_t *selector_of(json_t *labels, json_t *expressions)
{
	json_t *out = json_object();
	if (json_object_size(labels))
		json_object_set(out, "matchLabels", labels);
	if (json_array_size(expressions))
		json_object_set(out, "matchExpressions", expressions);
	return out;
}

json_t *plugin_target_labels(const char *text, struct err *e)
{
	AUTO_JSON json_t *labels = json_object();
	AUTO_JSON json_t *expressions = json_array();
	struct reader r = {.at = text, .labels = labels, .expressions = expressions};
	bool more = strlen(text) <= LABELS_MAX_BYTES, good = more;
	while (more && good) {
		good = take_requirement(&r);
		more = take_sign(&r, ",");
	}
	if (!good || *r.at) {
		err_set(e, ERR_INVALID, 0, "-l: expected labels such as app=checkout,tier in (a,b),!legacy; not understood from \"%.40s\"", r.at);
		return NULL;
	}
	json_t *out = selector_of(labels, expressions);
	if (check_selector(out, "-l", e) == 0)
		return out;
	json_decref(out);
	return NULL;
}

json_t *plugin_target_selector_of(const json_t *object, const char *what, struct err *e)
{
	const json_t *found = jsonx_at(object, "spec.selector");
	json_t *selector = NULL;
	if (!json_is_object(found) || !json_object_size(found)) {
		err_set(e, ERR_INVALID, 0, "%s selects no pods: it has no spec.selector", what);
		return NULL;
	}
	bool plain = strcmp(jsonx_str_at(object, "kind", ""), "Service") == 0;
	selector = plain ? json_pack("{s:O}", "matchLabels", found) : json_deep_copy(found);
	AUTO_FREE char *path = mem_printf("%s: spec.selector", what);
	if (check_selector(selector, path, e) == 0)
		return selector;
	json_decref(selector);
	return NULL;
}
