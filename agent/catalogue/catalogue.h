/* The catalogue of findings: what is embedded at build time from catalogue/, and users' own rules beside it. It is read at first use and does not change
 * afterwards; users' rules are added before. Any thread. */
#ifndef DRDOTNET_CATALOGUE_H
#define DRDOTNET_CATALOGUE_H

#include "agent/catalogue/rule_file.h"
#include "agent/report/rules.h"
#include "common/base/jsonx.h"

#define CATALOGUE_RULES_MAX 1000

/* Calls for each rule file (*.yaml, *.yml) of a folder, or for the one file `path`; in order of their names. -1: `path` cannot be read. `text` is of the
 * call; e: set where the file could not be read. */
int catalogue_each_file(const char *path, void (*file)(void *context, const char *path, const char *text, size_t length, struct err *e), void *context,
			struct err *e);

/* Adds a user's rule; call it before threads judge. Its id begins with "user/". ERR_INVALID: it is left out, and why. */
int catalogue_add_user(const char *text, size_t length, const char *path, struct err *e);

size_t catalogue_count(void);
/* The rules, by profiler and id. NULL beyond the last. */
const struct catalogue_rule *catalogue_rule_at(size_t i);
/* The rule of that id that judges the profiler's numbers (several profilers may find the same); profiler NULL: the first one. NULL: there is none. */
const struct catalogue_rule *catalogue_find(const char *id, const char *profiler);
/* NULL: no rules of that profiler are in the catalogue. */
const struct rule_group *catalogue_group(const char *profiler);

/* What one rule says of the numbers of a report.json (`measured`); what is not there is unknown. */
void catalogue_judge_measured(const struct catalogue_rule *r, const json_t *measured, struct finding *out);

/* Judges the numbers by all rules of the profiler. `numbers` and `fields` are borrowed as long as *out is used; findings_fini(). */
void catalogue_judge(const char *profiler, const struct rule_fields *fields, const void *numbers, struct findings *out);

#endif
