/* A verdict as a table of rules over one plain struct of numbers. Each rule finds, excludes, or says that its numbers were not measured; what it says it
 * says with its evidence. The numbers are written to report.json as `measured`, so that any report can be read back and judged again: the recorded captures
 * of tests/captures/ are that. Pure; any thread.
 *
 *   #define CPU_NUMBERS(NUMBER, TEXT) NUMBER(samples) NUMBER(cpus_used) TEXT(hot_method)
 *   RULE_STRUCT(cpu_numbers, CPU_NUMBERS);          in the header: struct cpu_numbers, cpu_numbers_fields
 *   RULE_FIELDS(cpu_numbers, CPU_NUMBERS);          in one source file
 *
 * A number that was not measured is NAN, a text "". Of two rules that found, the one with the higher score leads; of equal ones, the first in the table. */
#ifndef DRDOTNET_RULES_H
#define DRDOTNET_RULES_H

#include "agent/host/engine_support.h"
#include "common/api/finding.h"
#include "common/base/buf.h"
#include "common/base/json_writer.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#define RULE_KEY_BYTES 64
#define RULE_TEXT_BYTES 240
#define RULES_MAX 40 /* of a profiler */

struct rule_text {
	char text[RULE_TEXT_BYTES];
};

struct rule_field {
	const char *name; /* as in C: "cpus_used"; in JSON "cpusUsed" */
	size_t offset;
	bool text;
};
struct rule_fields {
	const struct rule_field *list;
	size_t count, size; /* size: of the struct */
};

#define RULE_MEMBER_NUMBER(name) double name;
#define RULE_MEMBER_TEXT(name) struct rule_text name;
#define RULE_STRUCT(tag, LIST)                                  \
	struct tag {                                            \
		LIST(RULE_MEMBER_NUMBER, RULE_MEMBER_TEXT)      \
	};                                                      \
	extern const struct rule_fields tag##_fields

#define RULE_FIELD_NUMBER(name) {#name, offsetof(rule_numbers, name), false},
#define RULE_FIELD_TEXT(name) {#name, offsetof(rule_numbers, name), true},
#define RULE_FIELDS(tag, LIST)                                                                             \
	typedef struct tag rule_numbers;                                                                   \
	static const struct rule_field tag##_list[] = {LIST(RULE_FIELD_NUMBER, RULE_FIELD_TEXT)};          \
	const struct rule_fields tag##_fields = {tag##_list, sizeof tag##_list / sizeof *tag##_list, sizeof(struct tag)}

/* How sure a rule is. */
struct rule_score {
	int score;     /* 0: excluded; to 100: how much of the harm it explains */
	int witnesses; /* that do not depend on each other; below two it is only possible */
};

struct rule {
	const char *id;                                           /* "RegexBacktracking"; a section of docs/diseases.md */
	const char *(*needs)(const void *numbers);                /* NULL: all was measured; else why not, a short phrase. May be NULL: it needs nothing */
	struct rule_score (*test)(const void *numbers);
	/* Message, evidence and place of what was found, possible or excluded (out->state). The message of what is excluded is its name in plain words, and
	 * asked for where the numbers were not measured, too. */
	void (*says)(const void *numbers, struct finding *out);
};

/* What a rule's numbers rest on that is not documented. Ends with one without an id. */
struct rule_engines {
	const char *id;
	unsigned engines; /* ENGINE_BIT()s */
};

struct findings {
	struct finding *list; /* found, then possible ones, the highest score first; then excluded and not measured ones in the table's order */
	size_t count, room;
	const struct rule_fields *fields; /* of what was judged; borrowed, as these: */
	const void *numbers;
	const char *withheld; /* why rules were by findings_withhold(), the first one's reason; NULL: none was */
};

/* All numbers unknown, all texts empty. */
void rules_clear(const struct rule_fields *fields, void *numbers);
/* The name of a field in JSON: "cpus_used" as "cpusUsed". Gives `key`. */
const char *rules_json_key(const char *name, char key[RULE_KEY_BYTES]);
/* A name as a text of the numbers, cut to its room between characters; NULL: "". */
void rules_set_text(struct rule_text *out, const char *name);
static inline bool rules_known(double number)
{
	return !isnan(number);
}
/* A score from a share in percent: 1 to 100. */
int rules_score(double percent);

/* Evidence: "1.2 MB, 34% of the heap", `what` being " of the heap". */
void rules_share_evidence(struct finding *f, double bytes, double percent, const char *what);

/* Judges. `numbers` and `fields` are borrowed as long as *out is used. At most RULES_MAX rules. */
void rules_run(const struct rule *rules, size_t count, const struct rule_fields *fields, const void *numbers, struct findings *out);
void findings_fini(struct findings *f);

/* A judgement that is not made of a table of rules: begin, add each, sort. Findings of equal state, score and precedence stay as they were added. */
void findings_begin(struct findings *f, size_t most, const struct rule_fields *fields, const void *numbers);
void findings_add(struct findings *f, const struct finding *x); /* beyond `most`: left out */
void findings_sort(struct findings *f);

/* Something that all rules looked at was not read: what they excluded was not measured, for that reason. What they found stands. */
void findings_doubt(struct findings *f, const char *why);

/* What rests on an engine that lacks here was not measured, for its reason; on one that lacks in part, where it was excluded. Borrows from `s`. */
void findings_withhold(struct findings *f, const struct rule_engines *list, const struct engine_support *s);
/* The reason as a headline: "This version does not read the locks of .NET 12 yet". Appends. */
void findings_put_withheld(const struct findings *f, struct buf *out);

/* The finding that leads: found or possible; NULL: none is. */
const struct finding *findings_lead(const struct findings *f);
/* Its id; "none": nothing leads. Borrowed. */
const char *findings_lead_id(const struct findings *f);
/* The finding with that id that is found or possible; NULL: it is not. */
const struct finding *findings_find(const struct findings *f, const char *id);

/* Lines for the diagnosis, each begun with "\n": what else was found ("Also: ..."), what is excluded, what was not measured. Nothing where there is
 * nothing to say. */
void findings_put_others(const struct findings *f, struct buf *out);
void findings_put_seen(const struct findings *f, struct buf *out);

/* report.json's `findings`, `excluded`, `notMeasured` and `measured`. */
void findings_put_json(const struct findings *f, struct json_writer *w);

#endif
