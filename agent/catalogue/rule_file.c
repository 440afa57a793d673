#include "agent/catalogue/rule_file.h"

#include "agent/catalogue/expression_syntax.h"
#include "agent/catalogue/sentence.h"
#include "common/base/cleanup.h"
#include "common/base/jsonx.h"
#include "common/base/mem.h"
#include "common/base/yaml_json.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ID_MAX_BYTES 40

/* reading ---------------------------------------------------------------------------------------------------------- */

static int read_yaml_object(const char *text, size_t length, const char *path, json_t **out, struct err *e)
{
	if (length > RULE_FILE_MAX_BYTES)
		return err_set(e, ERR_INVALID, 0, "%s: more than %d bytes", path, RULE_FILE_MAX_BYTES);
	*out = jsonx_parse_yaml(text, length, path, e);
	if (!*out)
		return -1;
	return json_is_object(*out) ? 0 : err_set(e, ERR_INVALID, 0, "%s: expected fields such as 'id: SomeFinding'", path);
}

static int field_bad(const char *path, const char *field, const char *what, struct err *e)
{
	return err_set(e, ERR_INVALID, 0, "%s: %s: %s", path, field, what);
}

/* A string, or a number or truth value as it is written. NULL: it is neither. */
static char *scalar_text(const json_t *value)
{
	if (json_is_string(value))
		return mem_strdup(json_string_value(value));
	if (json_is_integer(value))
		return mem_printf("%lld", (long long)json_integer_value(value));
	if (json_is_real(value))
		return mem_printf("%g", json_real_value(value));
	return json_is_boolean(value) ? mem_strdup(json_is_true(value) ? "true" : "false") : NULL;
}

/* Without the line breaks that a folded text ends with. */
static void trim_end(char *text)
{
	for (size_t n = strlen(text); n && isspace((unsigned char)text[n - 1]); n--)
		text[n - 1] = '\0';
}

static int read_text(const json_t *of, const char *path, const char *field, bool required, char **out, struct err *e)
{
	const json_t *value = json_object_get(of, field);
	if (!value || json_is_null(value))
		return required ? field_bad(path, field, "is missing", e) : 0;
	*out = scalar_text(value);
	if (!*out)
		return field_bad(path, field, "expected a text", e);
	trim_end(*out);
	return (*out)[0] ? 0 : field_bad(path, field, "is empty", e);
}

static int read_texts(const json_t *of, const char *path, const char *field, char ***out, struct err *e)
{
	const json_t *value = json_object_get(of, field);
	size_t count = json_array_size(value);
	if (!value)
		return 0;
	if (!json_is_array(value))
		return field_bad(path, field, "expected a list of texts", e);
	*out = mem_calloc(count + 1, sizeof **out);
	for (size_t i = 0; i < count; i++)
		if (!((*out)[i] = scalar_text(json_array_get(value, i))))
			return field_bad(path, field, "expected a list of texts", e);
	return 0;
}

static int only_keys(const json_t *of, const char *path, const char *field, const char *const *known, struct err *e)
{
	return jsonx_only_keys(of, field, known, e) ? err_prefix(e, "%s", path) : 0;
}

static int read_one_choice(const json_t *value, const char *path, const char *field, struct rule_choice *out, struct err *e)
{
	static const char *const known[] = {"if", "say", NULL};
	if (!json_is_object(value))
		return field_bad(path, field, "expected a sentence, or a list of {if: CONDITION, say: SENTENCE}", e);
	return only_keys(value, path, field, known, e) || read_text(value, path, "if", false, &out->when, e) ||
	       read_text(value, path, "say", true, &out->say, e) ? -1 : 0;
}

/* A sentence, or a list of {if, say}. */
static int read_choices(const json_t *of, const char *path, const char *field, bool required, struct rule_choices *out, struct err *e)
{
	const json_t *value = json_object_get(of, field);
	if (!json_is_array(value)) {
		if (read_text(of, path, field, required, &out->list[0].say, e))
			return -1;
		out->count = out->list[0].say != NULL;
		return 0;
	}
	if (json_array_size(value) > RULE_CHOICES_MAX)
		return field_bad(path, field, "more than 16 choices", e);
	for (size_t i = 0; i < json_array_size(value); i++, out->count++)
		if (read_one_choice(json_array_get(value, i), path, field, &out->list[i], e)) {
			out->count++;
			return -1;
		}
	return 0;
}

static int check_unit(const char *path, const char *name, const char *unit, struct err *e)
{
	return !unit || sentence_is_format(unit) ? 0 : field_bad(path, name, "no such unit; quote one such as \".2\"", e);
}

static int read_definition(const char *name, const json_t *value, const char *path, struct rule_definition *out, struct err *e)
{
	static const char *const known[] = {"is", "unit", "means", "unknown", NULL};
	out->name = mem_strdup(name);
	if (!json_is_object(value))
		return (out->expression = scalar_text(value)) ? 0 : field_bad(path, name, "expected an expression", e);
	return only_keys(value, path, name, known, e) || read_text(value, path, "is", false, &out->expression, e) ||
	       read_text(value, path, "unit", false, &out->unit, e) || check_unit(path, name, out->unit, e) ||
	       read_text(value, path, "means", false, &out->means, e) || read_text(value, path, "unknown", false, &out->unknown, e) ? -1 : 0;
}

static int read_definitions(const json_t *of, const char *path, const char *field, struct rule_definitions *out, struct err *e)
{
	json_t *value = json_object_get(of, field), *one;
	const char *name;
	if (!value)
		return 0;
	if (!json_is_object(value))
		return field_bad(path, field, "expected names and their meaning", e);
	out->list = mem_calloc(json_object_size(value) + 1, sizeof *out->list);
	json_object_foreach(value, name, one)
		if (read_definition(name, one, path, &out->list[out->count++], e))
			return -1;
	return 0;
}

static int read_precedence(const json_t *of, const char *path, int *out, struct err *e)
{
	int64_t n = 0;
	if (jsonx_int(of, "", "precedence", false, -100, 100, &n, e))
		return err_prefix(e, "%s", path);
	*out = (int)n;
	return 0;
}

/* "user/SlowCache", "RetryStorm": as Kubernetes' status takes it. */
static int check_id(const char *path, const char *id, struct err *e)
{
	const char *name = strncmp(id, "user/", 5) == 0 ? id + 5 : id;
	size_t n = 0;
	while (isalnum((unsigned char)name[n]))
		n++;
	return isupper((unsigned char)name[0]) && !name[n] && n <= ID_MAX_BYTES ? 0 :
	       field_bad(path, "id", "expected letters and digits that begin with a capital, at most 40, such as 'RetryStorm' or 'user/SlowCache'", e);
}

static int read_rule(const json_t *doc, const char *path, struct catalogue_rule *out, struct err *e)
{
	static const char *const known[] = {"id", "profiler", "name", "needs", "let", "when", "score", "witnesses", "found", "why", "ruled_out", "fix", "place",
					    "not_beside", "precedence", "meaning", "recognized", "confused", "sources", "tests", NULL};
	return only_keys(doc, path, "", known, e) || read_text(doc, path, "id", true, &out->id, e) || check_id(path, out->id, e) ||
	       read_text(doc, path, "profiler", true, &out->profiler, e) || read_text(doc, path, "name", true, &out->name, e) ||
	       read_choices(doc, path, "needs", false, &out->needs, e) || read_definitions(doc, path, "let", &out->let, e) ||
	       read_text(doc, path, "when", true, &out->when, e) || read_text(doc, path, "score", true, &out->score, e) ||
	       read_text(doc, path, "witnesses", false, &out->witnesses, e) || read_choices(doc, path, "found", true, &out->found, e) ||
	       read_choices(doc, path, "why", true, &out->why, e) || read_choices(doc, path, "ruled_out", false, &out->ruled_out, e) ||
	       read_choices(doc, path, "fix", true, &out->fix, e) || read_text(doc, path, "place", false, &out->place, e) ||
	       read_texts(doc, path, "not_beside", &out->not_beside, e) || read_precedence(doc, path, &out->precedence, e) ||
	       read_text(doc, path, "meaning", true, &out->meaning, e) || read_text(doc, path, "recognized", true, &out->recognized, e) ||
	       read_text(doc, path, "confused", false, &out->confused, e) || read_texts(doc, path, "sources", &out->sources, e) ||
	       read_texts(doc, path, "tests", &out->tests, e) ? -1 : 0;
}

int rule_file_parse(const char *text, size_t length, const char *path, struct catalogue_rule *out, struct err *e)
{
	AUTO_JSON json_t *doc = NULL;
	*out = (struct catalogue_rule){0};
	return read_yaml_object(text, length, path, &doc, e) ? -1 : read_rule(doc, path, out, e);
}

int rule_group_parse(const char *text, size_t length, const char *path, struct rule_group *out, struct err *e)
{
	static const char *const known[] = {"profiler", "numbers", "let", NULL};
	AUTO_JSON json_t *doc = NULL;
	*out = (struct rule_group){0};
	return read_yaml_object(text, length, path, &doc, e) || only_keys(doc, path, "", known, e) ||
	       read_text(doc, path, "profiler", true, &out->profiler, e) || read_definitions(doc, path, "numbers", &out->numbers, e) ||
	       read_definitions(doc, path, "let", &out->let, e) ? -1 : 0;
}

/* freeing ---------------------------------------------------------------------------------------------------------- */

static void choices_fini(struct rule_choices *c)
{
	for (size_t i = 0; i < c->count; i++) {
		free(c->list[i].when);
		free(c->list[i].say);
	}
}

static void definitions_fini(struct rule_definitions *d)
{
	for (size_t i = 0; i < d->count; i++) {
		free(d->list[i].name);
		free(d->list[i].expression);
		free(d->list[i].unit);
		free(d->list[i].means);
		free(d->list[i].unknown);
	}
	free(d->list);
}

static void texts_fini(char **texts)
{
	for (char **t = texts; t && *t; t++)
		free(*t);
	free(texts);
}

void catalogue_rule_fini(struct catalogue_rule *r)
{
	char *texts[] = {r->id,    r->profiler, r->name,       r->when,    r->score, r->witnesses,
			 r->place, r->meaning,  r->recognized, r->confused};
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		free(texts[i]);
	choices_fini(&r->needs);
	choices_fini(&r->found);
	choices_fini(&r->why);
	choices_fini(&r->ruled_out);
	choices_fini(&r->fix);
	definitions_fini(&r->let);
	texts_fini(r->not_beside);
	texts_fini(r->sources);
	texts_fini(r->tests);
	*r = (struct catalogue_rule){0};
}

void rule_group_fini(struct rule_group *g)
{
	free(g->profiler);
	definitions_fini(&g->numbers);
	definitions_fini(&g->let);
	*g = (struct rule_group){0};
}

/* checks ----------------------------------------------------------------------------------------------------------- */

static const struct rule_definition *definition_in(const struct rule_definitions *d, const char *name)
{
	for (size_t i = 0; i < d->count; i++)
		if (strcmp(d->list[i].name, name) == 0)
			return &d->list[i];
	return NULL;
}

const struct rule_definition *catalogue_rule_definition(const struct catalogue_rule *r, const struct rule_group *g, const char *name)
{
	const struct rule_definition *d = r ? definition_in(&r->let, name) : NULL;
	d = d ? d : definition_in(&g->let, name);
	return d ? d : definition_in(&g->numbers, name);
}

const char *catalogue_rule_unit(const struct catalogue_rule *r, const struct rule_group *g, const char *name)
{
	const struct rule_definition *d = catalogue_rule_definition(r, g, name);
	return d ? d->unit : NULL;
}

struct check {
	const struct catalogue_rule *rule;
	const struct rule_group *group;
	const char *path, *field;
	struct scope *scope; /* of numbers that are unknown and texts: in two passes each comparison is met */
	struct err *e;
	bool failed;
};

static const char *checked_unit(const void *context, const char *name)
{
	const struct check *c = context;
	return catalogue_rule_unit(c->rule, c->group, name);
}

static void check_defined(void *context, const char *name, size_t length)
{
	struct check *c = context;
	AUTO_FREE char *text = mem_strndup(name, length);
	if (c->failed || strcmp(text, EXPRESSION_UNKNOWN) == 0 || catalogue_rule_definition(c->rule, c->group, text))
		return;
	c->failed = true;
	err_set(c->e, ERR_INVALID, 0, "%s: %s: there is no number '%s' of %s; `drdotnet rules numbers %s` lists them", c->path, c->field, text,
		c->rule->profiler, c->rule->profiler);
}

static void check_names(void *context, const char *expression)
{
	expression_names(expression, check_defined, context);
}


static void check_pair(void *context, const char *names[2], const size_t lengths[2])
{
	struct check *c = context;
	for (int i = 0; i < 2 && !c->failed; i++) {
		AUTO_FREE char *name = mem_strndup(names[i], lengths[i]);
		c->failed = catalogue_rule_unit(c->rule, c->group, name) != NULL;
		if (c->failed)
			err_set(c->e, ERR_INVALID, 0, "%s: %s: '%s' is a number: compare it by <= and >=", c->path, c->field, name);
	}
}

/* Names, types and syntax. *out: its value where nothing is known. */
static int try_expression(struct check *c, const char *field, const char *expression, struct value *out)
{
	struct err why = ERR_INIT;
	c->field = field;
	if (expression_check(expression, &why))
		return err_set(c->e, ERR_INVALID, 0, "%s: %s: %s", c->path, field, why.message);
	check_names(c, expression);
	expression_equalities(expression, check_pair, c);
	if (!c->failed && scope_evaluate(c->scope, expression, out, &why))
		return err_set(c->e, ERR_INVALID, 0, "%s: %s: %s", c->path, field, why.message);
	return c->failed ? -1 : 0;
}

static int check_expression(struct check *c, const char *field, const char *expression)
{
	struct value v;
	return expression ? try_expression(c, field, expression, &v) : 0;
}

static bool is_condition(const struct value *v)
{
	return v->kind == VALUE_BOOLEAN || (v->kind == VALUE_UNKNOWN && !isnan(v->number));
}

static int check_condition(struct check *c, const char *field, const char *expression)
{
	struct value v = {0};
	if (try_expression(c, field, expression, &v))
		return -1;
	return is_condition(&v) ? 0 : err_set(c->e, ERR_INVALID, 0, "%s: %s: expected a comparison, such as '%s > 0'", c->path, field, expression);
}

static int check_place(struct check *c, const char *expression)
{
	struct value v = {0};
	if (!expression)
		return 0;
	if (try_expression(c, "place", expression, &v))
		return -1;
	return v.kind == VALUE_TEXT ? 0 : err_set(c->e, ERR_INVALID, 0, "%s: place: expected a text, such as a method", c->path);
}

/* A constant is within its bounds; what is computed is cut to them. */
static int check_number(struct check *c, const char *field, const char *expression, double least, double most)
{
	struct value v = {0};
	if (!expression)
		return 0;
	if (try_expression(c, field, expression, &v))
		return -1;
	if (v.kind == VALUE_TEXT || is_condition(&v))
		return err_set(c->e, ERR_INVALID, 0, "%s: %s: expected a number", c->path, field);
	bool constant = v.kind == VALUE_NUMBER && expression[strspn(expression, "-.0123456789")] == '\0';
	return constant && (v.number < least || v.number > most) ? err_set(c->e, ERR_INVALID, 0, "%s: %s: expected %g to %g", c->path, field, least, most) : 0;
}

static int check_sentence(struct check *c, const char *field, const char *sentence, const struct sentence_units *units)
{
	struct err why = ERR_INIT;
	AUTO_BUF struct buf text;
	buf_init(&text, 4 * RULE_FILE_MAX_BYTES);
	c->field = field;
	if (sentence_check(sentence, units, &why))
		return err_set(c->e, ERR_INVALID, 0, "%s: %s: %s", c->path, field, why.message);
	sentence_expressions(sentence, check_names, c);
	if (!c->failed && sentence_put(c->scope, sentence, units, 0, &text, &why))
		return err_set(c->e, ERR_INVALID, 0, "%s: %s: %s", c->path, field, why.message);
	return c->failed ? -1 : 0;
}

static int check_choices(struct check *c, const char *field, const struct rule_choices *choices)
{
	const struct sentence_units units = {checked_unit, c};
	for (size_t i = 0; i < choices->count; i++) {
		const struct rule_choice *one = &choices->list[i];
		if ((one->when && check_condition(c, field, one->when)) || check_sentence(c, field, one->say, &units))
			return -1;
	}
	return 0;
}

static int check_definitions(struct check *c, const struct rule_definitions *d)
{
	for (size_t i = 0; i < d->count; i++)
		if (check_expression(c, d->list[i].name, d->list[i].expression))
			return -1;
	return 0;
}

/* What is unknown or wrong in an expression is said of the field that has it: a name that is none is left out here. */
static void define(struct scope *s, const struct rule_definitions *d)
{
	struct err e = ERR_INIT;
	for (size_t i = 0; i < d->count; i++) {
		const struct rule_definition *one = &d->list[i];
		if (one->expression)
			scope_set_expression(s, one->name, one->expression, &e);
		else if (one->unit)
			scope_set_number(s, one->name, NAN);
		else
			scope_set_text(s, one->name, "x");
	}
}

static int check_needs(struct check *c, const struct rule_choices *needs)
{
	for (size_t i = 0; i < needs->count; i++)
		if (!needs->list[i].when)
			return err_set(c->e, ERR_INVALID, 0, "%s: needs: expected a list of {if: CONDITION, say: REASON}", c->path);
	return check_choices(c, "needs", needs);
}

static int check_fields(struct check *c, const struct catalogue_rule *r, const struct rule_group *g)
{
	return check_definitions(c, &g->let) || check_definitions(c, &r->let) || check_condition(c, "when", r->when) ||
	       check_number(c, "score", r->score, 1, 100) || check_number(c, "witnesses", r->witnesses, 1, 9) || check_place(c, r->place) ||
	       check_needs(c, &r->needs) || check_choices(c, "found", &r->found) || check_choices(c, "why", &r->why) ||
	       check_choices(c, "ruled_out", &r->ruled_out) || check_choices(c, "fix", &r->fix) ? -1 : 0;
}

int catalogue_rule_check(const struct catalogue_rule *r, const struct rule_group *g, const char *path, struct err *e)
{
	struct check c = {.rule = r, .group = g, .path = path, .scope = scope_new(), .e = e};
	define(c.scope, &g->numbers);
	define(c.scope, &g->let);
	define(c.scope, &r->let);
	int rc = check_fields(&c, r, g);
	scope_free(c.scope);
	return rc;
}
