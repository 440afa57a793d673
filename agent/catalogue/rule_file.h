/* One finding of the catalogue: a YAML file catalogue/GROUP/Id.yaml, read into plain data; and a group, catalogue/GROUP/group.yaml: what the numbers of a
 * profiler mean. docs/catalogue.md teaches the form; catalogue/schema.json is for editors. Pure; any thread. */
#ifndef DRDOTNET_RULE_FILE_H
#define DRDOTNET_RULE_FILE_H

#include "common/base/err.h"

#include <stdbool.h>
#include <stddef.h>

#define RULE_FILE_MAX_BYTES 16384
#define RULE_CHOICES_MAX 16

/* Sentences of which the first is used whose condition holds. */
struct rule_choice {
	char *when; /* an expression; NULL: always */
	char *say;
};
struct rule_choices {
	struct rule_choice list[RULE_CHOICES_MAX];
	size_t count;
};

struct rule_definition { /* of `let` and of a group's numbers */
	char *name;
	char *expression; /* NULL: a number or text of the profiler */
	char *unit;       /* a format of sentence.h; NULL: a text */
	char *means;
	char *unknown;    /* a sentence: why it may be unknown; NULL: it never is */
};
struct rule_definitions {
	struct rule_definition *list;
	size_t count;
};

struct catalogue_rule {
	char *id, *profiler;
	char *name;                  /* a noun phrase: what is ruled out or not checked */
	struct rule_choices needs;   /* the first that holds says why it is not checked */
	struct rule_definitions let;
	char *when, *score, *witnesses; /* expressions; witnesses NULL: 1 */
	struct rule_choices found, why, ruled_out, fix;
	char *place;                 /* an expression: the method, type or thread; NULL: none */
	char **not_beside;           /* ids: not said where one of them leads with the same place; NULL-ended */
	int precedence;              /* of equal scores the higher one leads */
	char *meaning, *recognized, *confused; /* paragraphs for people */
	char **sources, **tests;     /* NULL-ended */
};

struct rule_group {
	char *profiler;
	struct rule_definitions numbers, let;
};

/* ERR_INVALID names the file, the field and the remedy. *out is to be freed in either case. */
int rule_file_parse(const char *text, size_t length, const char *path, struct catalogue_rule *out, struct err *e);
void catalogue_rule_fini(struct catalogue_rule *r);

int rule_group_parse(const char *text, size_t length, const char *path, struct rule_group *out, struct err *e);
void rule_group_fini(struct rule_group *g);

/* Holds the rule against its group: each name is there, each expression and sentence is sound. `path` names it in messages. */
int catalogue_rule_check(const struct catalogue_rule *r, const struct rule_group *g, const char *path, struct err *e);
/* NULL: neither the rule (may be NULL) nor the group has that name. */
const struct rule_definition *catalogue_rule_definition(const struct catalogue_rule *r, const struct rule_group *g, const char *name);
/* The format of a name where a sentence gives none; NULL: it is a text, or there is no such name. Of the rule (may be NULL) before the group. */
const char *catalogue_rule_unit(const struct catalogue_rule *r, const struct rule_group *g, const char *name);

#endif
