#include "agent/catalogue/catalogue.h"

#include "agent/catalogue/sentence.h"
#include "agent/report/report.h"
#include "common/base/cleanup.h"
#include "common/base/embed.h"
#include "common/base/fsio.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define POSSIBLE "Possible: "

#define CATALOGUE_FILE(symbol, name) EMBED_FILE(".rodata.catalogue", catalogue_##symbol, "catalogue/" name);
#include "catalogue/files.h"
#undef CATALOGUE_FILE

static const struct {
	const char *name, *data, *end;
} embedded[] = {
#define CATALOGUE_FILE(symbol, name) {name, catalogue_##symbol, catalogue_##symbol##_end},
#include "catalogue/files.h"
#undef CATALOGUE_FILE
};

/* reading ---------------------------------------------------------------------------------------------------------- */

static struct {
	struct catalogue_rule *rules;
	size_t rule_count, rule_room;
	struct rule_group *groups;
	size_t group_count, group_room;
} catalogue;

static const struct rule_group *group_of(const char *profiler)
{
	for (size_t i = 0; i < catalogue.group_count; i++)
		if (strcmp(catalogue.groups[i].profiler, profiler) == 0)
			return &catalogue.groups[i];
	return NULL;
}

static const struct catalogue_rule *find_rule(const char *id, const char *profiler)
{
	for (size_t i = 0; i < catalogue.rule_count; i++)
		if (strcmp(catalogue.rules[i].id, id) == 0 && (!profiler || strcmp(catalogue.rules[i].profiler, profiler) == 0))
			return &catalogue.rules[i];
	return NULL;
}

static int check_added(const struct catalogue_rule *r, const char *path, struct err *e)
{
	const struct rule_group *g = group_of(r->profiler);
	if (!g)
		return err_set(e, ERR_INVALID, 0, "%s: profiler: '%s' is not a profiler with rules in the catalogue", path, r->profiler);
	if (find_rule(r->id, r->profiler))
		return err_set(e, ERR_INVALID, 0, "%s: id: there is a rule '%s' of %s already", path, r->id, r->profiler);
	if (catalogue.rule_count >= CATALOGUE_RULES_MAX)
		return err_set(e, ERR_INVALID, 0, "%s: more than %d rules", path, CATALOGUE_RULES_MAX);
	return catalogue_rule_check(r, g, path, e);
}

static bool rule_comes_before(const struct catalogue_rule *a, const struct catalogue_rule *b)
{
	int profiler = strcmp(a->profiler, b->profiler);
	return profiler ? profiler < 0 : strcmp(a->id, b->id) < 0;
}

static void insert_rule(const struct catalogue_rule *r)
{
	size_t at = catalogue.rule_count;
	GROW(catalogue.rules, catalogue.rule_count, catalogue.rule_room);
	for (; at > 0 && rule_comes_before(r, &catalogue.rules[at - 1]); at--)
		catalogue.rules[at] = catalogue.rules[at - 1];
	catalogue.rules[at] = *r;
	catalogue.rule_count++;
}

static int load_rule(const char *text, size_t length, const char *path, bool user, struct err *e)
{
	struct catalogue_rule r;
	int rc = rule_file_parse(text, length, path, &r, e);
	if (!rc && user != (strncmp(r.id, "user/", 5) == 0))
		rc = err_set(e, ERR_INVALID, 0, "%s: id: '%s' must begin with 'user/'", path, r.id);
	rc = rc ? rc : check_added(&r, path, e);
	if (rc) {
		catalogue_rule_fini(&r);
		return rc;
	}
	insert_rule(&r);
	return 0;
}

static int load_group(const char *text, size_t length, const char *path, struct err *e)
{
	struct rule_group g;
	if (rule_group_parse(text, length, path, &g, e)) {
		rule_group_fini(&g);
		return -1;
	}
	GROW(catalogue.groups, catalogue.group_count, catalogue.group_room);
	catalogue.groups[catalogue.group_count++] = g;
	return 0;
}

static bool is_group(const char *name)
{
	return strstr(name, "/group.yaml") != NULL;
}

static void read_embedded(bool groups)
{
	for (size_t i = 0; i < sizeof embedded / sizeof *embedded; i++) {
		struct err e = ERR_INIT;
		size_t length = (size_t)(embedded[i].end - embedded[i].data);
		if (is_group(embedded[i].name) != groups)
			continue;
		if (groups ? load_group(embedded[i].data, length, embedded[i].name, &e) : load_rule(embedded[i].data, length, embedded[i].name, false, &e))
			LOG_ERROR("catalogue", "a rule is left out", LOG_S("error", e.message));
	}
}

static void read_catalogue(void)
{
	read_embedded(true);
	read_embedded(false);
}

static void load_catalogue(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, read_catalogue);
}

int catalogue_add_user(const char *text, size_t length, const char *path, struct err *e)
{
	load_catalogue();
	return load_rule(text, length, path, true, e);
}

size_t catalogue_count(void)
{
	load_catalogue();
	return catalogue.rule_count;
}

const struct catalogue_rule *catalogue_rule_at(size_t i)
{
	return i < catalogue_count() ? &catalogue.rules[i] : NULL;
}

const struct catalogue_rule *catalogue_find(const char *id, const char *profiler)
{
	load_catalogue();
	return find_rule(id, profiler);
}

const struct rule_group *catalogue_group(const char *profiler)
{
	load_catalogue();
	return group_of(profiler);
}

/* files ------------------------------------------------------------------------------------------------------------ */

static bool is_rule_file(const char *name)
{
	const char *dot = strrchr(name, '.');
	return dot && name[0] != '.' && (strcmp(dot, ".yaml") == 0 || strcmp(dot, ".yml") == 0) && strcmp(name, "group.yaml") != 0;
}

static int path_order(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void give_file(const char *path, void (*file)(void *context, const char *path, const char *text, size_t length, struct err *e), void *context)
{
	AUTO_BUF struct buf text;
	struct err e = ERR_INIT;
	fsio_read(AT_FDCWD, path, RULE_FILE_MAX_BYTES, &text, &e);
	file(context, path, buf_str(&text), text.len, &e);
}

int catalogue_each_file(const char *path, void (*file)(void *context, const char *path, const char *text, size_t length, struct err *e), void *context,
			struct err *e)
{
	char **list = NULL;
	size_t count = 0, room = 0;
	DIR *folder = opendir(path);
	if (!folder && errno != ENOTDIR)
		return err_set_errno(e, errno, "%s", path);
	if (!folder) {
		give_file(path, file, context);
		return 0;
	}
	for (const struct dirent *d; (d = readdir(folder));)
		if (is_rule_file(d->d_name)) {
			GROW(list, count, room);
			list[count++] = mem_printf("%s/%s", path, d->d_name);
		}
	closedir(folder);
	if (count)
		qsort(list, count, sizeof *list, path_order);
	for (size_t i = 0; i < count; i++) {
		give_file(list[i], file, context);
		free(list[i]);
	}
	free(list);
	return 0;
}

/* judging ---------------------------------------------------------------------------------------------------------- */

struct judging {
	const struct catalogue_rule *rule;
	const struct rule_group *group;
	struct scope *scope;
	struct err e; /* the first expression that failed: a fault of the rule */
};

static const char *judging_unit(const void *context, const char *name)
{
	const struct judging *j = context;
	return catalogue_rule_unit(j->rule, j->group, name);
}

static struct value value_of(struct judging *j, const char *expression)
{
	struct value v = {0};
	struct err e = ERR_INIT;
	if (expression && scope_evaluate(j->scope, expression, &v, &e) && !j->e.message[0])
		j->e = e;
	return v;
}

/* The first sentence whose condition holds; "": none does. */
static void put_choice(struct judging *j, const struct rule_choices *choices, size_t max_chars, struct buf *out)
{
	const struct sentence_units units = {judging_unit, j};
	struct err e = ERR_INIT;
	for (size_t i = 0; i < choices->count; i++) {
		const struct rule_choice *c = &choices->list[i];
		struct value holds = value_of(j, c->when);
		if (c->when && (holds.kind != VALUE_BOOLEAN || !holds.number))
			continue;
		if (sentence_put(j->scope, c->say, &units, max_chars, out, &e) && !j->e.message[0])
			j->e = e;
		return;
	}
}

static void not_measured(struct finding *f, const char *why)
{
	f->state = FINDING_NOT_MEASURED;
	f->score = 0;
	finding_message(f, "%s", why);
}

static void put_why_unknown(const struct judging *j, const char *name, struct buf *out)
{
	const struct rule_definition *d = name ? catalogue_rule_definition(j->rule, j->group, name) : NULL;
	if (d && d->unknown)
		buf_puts(out, d->unknown);
	else
		buf_printf(out, "%s was not measured", name ? name : "what it needs");
}

/* Found, possible, excluded, or not measured with the reason. */
static void judge_state(struct judging *j, struct finding *f)
{
	AUTO_BUF struct buf lacks;
	buf_init(&lacks, FINDING_MESSAGE_SIZE * 2);
	put_choice(j, &j->rule->needs, 0, &lacks);
	if (lacks.len) {
		not_measured(f, buf_str(&lacks));
		return;
	}
	struct value holds = value_of(j, j->rule->when);
	if (holds.kind == VALUE_UNKNOWN) {
		put_why_unknown(j, holds.unknown, &lacks);
		not_measured(f, buf_str(&lacks));
		return;
	}
	if (!holds.number) {
		f->state = FINDING_EXCLUDED;
		return;
	}
	struct value witnesses = value_of(j, j->rule->witnesses);
	f->score = rules_score(value_of(j, j->rule->score).number);
	f->state = witnesses.number >= 2 ? FINDING_FOUND : FINDING_POSSIBLE;
}

static void fill_found(struct judging *j, struct finding *f)
{
	AUTO_BUF struct buf text;
	size_t room = HEADLINE_MAX_CHARS - (f->state == FINDING_POSSIBLE ? strlen(POSSIBLE) : 0);
	buf_init(&text, FINDING_MESSAGE_SIZE * 4);
	put_choice(j, &j->rule->found, room, &text);
	finding_message(f, "%s", buf_str(&text));
	buf_reset(&text);
	put_choice(j, &j->rule->why, 0, &text);
	finding_evidence(f, "%s", buf_str(&text));
	buf_reset(&text);
	put_choice(j, &j->rule->fix, 0, &text);
	memcpy(f->fix, buf_str(&text), text_cut_utf8(buf_str(&text), sizeof f->fix - 1));
	struct value place = value_of(j, j->rule->place);
	if (place.kind == VALUE_TEXT)
		finding_place(f, place.text);
}

static void fill_ruled_out(struct judging *j, struct finding *f)
{
	AUTO_BUF struct buf text;
	buf_init(&text, FINDING_EVIDENCE_SIZE * 2);
	put_choice(j, &j->rule->ruled_out, 0, &text);
	finding_message(f, "%s", j->rule->name);
	finding_evidence(f, "%s", buf_str(&text));
}

static void finding_of_rule(const struct catalogue_rule *r, struct finding *f)
{
	*f = (struct finding){.precedence = r->precedence};
	memcpy(f->id, r->id, strnlen(r->id, sizeof f->id - 1));
	memcpy(f->name, r->name, text_cut_utf8(r->name, sizeof f->name - 1));
}

static void judge_rule(struct judging *j, struct finding *f)
{
	finding_of_rule(j->rule, f);
	judge_state(j, f);
	if (f->state == FINDING_EXCLUDED)
		fill_ruled_out(j, f);
	else if (f->state != FINDING_NOT_MEASURED)
		fill_found(j, f);
	if (j->e.message[0]) {
		LOG_ERROR("catalogue", "a rule fails", LOG_S("rule", j->rule->id), LOG_S("error", j->e.message));
		finding_of_rule(j->rule, f);
		not_measured(f, "the rule itself failed");
	}
}

static void let(struct scope *s, const struct rule_definitions *d)
{
	struct err e = ERR_INIT;
	for (size_t i = 0; i < d->count; i++)
		if (d->list[i].expression && scope_set_expression(s, d->list[i].name, d->list[i].expression, &e))
			LOG_ERROR("catalogue", "a name is left out", LOG_S("error", e.message));
}

static struct scope *scope_of_numbers(const struct rule_group *g, const struct rule_fields *fields, const void *numbers)
{
	struct scope *s = scope_new();
	for (size_t i = 0; i < fields->count; i++) {
		const struct rule_field *f = &fields->list[i];
		const char *at = (const char *)numbers + f->offset;
		if (f->text)
			scope_set_text(s, f->name, ((const struct rule_text *)at)->text);
		else
			scope_set_number(s, f->name, *(const double *)at);
	}
	let(s, &g->let);
	return s;
}

static void judge_in_scope(const struct catalogue_rule *r, const struct rule_group *g, struct scope *s, struct finding *f)
{
	struct judging j = {.rule = r, .group = g, .scope = s};
	let(s, &r->let);
	judge_rule(&j, f);
}

static bool is_not_said_beside(const char *profiler, const struct finding *lead, const struct finding *x)
{
	const struct catalogue_rule *r = catalogue_find(x->id, profiler);
	for (char **id = r ? r->not_beside : NULL; id && *id; id++)
		if (strcmp(*id, lead->id) == 0)
			return strcmp(lead->place, x->place) == 0;
	return false;
}

static void mark_repeating(const char *profiler, struct findings *f)
{
	const struct finding *lead = findings_lead(f);
	for (size_t i = 1; lead && i < f->count; i++)
		f->list[i].repeats = is_not_said_beside(profiler, lead, &f->list[i]);
}

void catalogue_judge_measured(const struct catalogue_rule *r, const json_t *measured, struct finding *out)
{
	const struct rule_group *g = catalogue_group(r->profiler);
	struct scope *s = scope_new();
	char key[RULE_KEY_BYTES];
	for (size_t i = 0; i < g->numbers.count; i++) {
		const struct rule_definition *d = &g->numbers.list[i];
		const json_t *value = json_object_get(measured, rules_json_key(d->name, key));
		if (d->unit)
			scope_set_number(s, d->name, json_is_number(value) ? json_number_value(value) : NAN);
		else
			scope_set_text(s, d->name, json_is_string(value) ? json_string_value(value) : "");
	}
	let(s, &g->let);
	judge_in_scope(r, g, s, out);
	scope_free(s);
}

void catalogue_judge(const char *profiler, const struct rule_fields *fields, const void *numbers, struct findings *out)
{
	load_catalogue();
	const struct rule_group *g = group_of(profiler);
	findings_begin(out, catalogue.rule_count, fields, numbers);
	if (!g)
		return;
	struct scope *s = scope_of_numbers(g, fields, numbers);
	for (size_t i = 0; i < catalogue.rule_count; i++) {
		const struct catalogue_rule *r = &catalogue.rules[i];
		struct finding f;
		if (strcmp(r->profiler, profiler) != 0)
			continue;
		judge_in_scope(r, g, s, &f);
		findings_add(out, &f);
	}
	scope_free(s);
	findings_sort(out);
	mark_repeating(profiler, out);
}
