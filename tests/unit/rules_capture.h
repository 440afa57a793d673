/* Rules on recorded captures: tests/captures/PROFILER/NAME.json is {"measured": {...}, "findings": ["Id", ...]}: what a report measured, and which rules
 * must find something in it, the leading one first. */
#ifndef DRDOTNET_RULES_CAPTURE_H
#define DRDOTNET_RULES_CAPTURE_H

#include "agent/report/rules.h"
#include "common/base/fsio.h"
#include "common/base/jsonx.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <glob.h>
#include <string.h>

#define CAPTURE_BYTES 16384

/* Numbers from `measured` of a report.json; members that are not there are unknown. */
static inline void read_measured(const json_t *measured, const struct rule_fields *fields, void *numbers, const char *where)
{
	char key[RULE_KEY_BYTES];
	rules_clear(fields, numbers);
	for (size_t i = 0; i < fields->count; i++) {
		const struct rule_field *f = &fields->list[i];
		const json_t *value = json_object_get(measured, rules_json_key(f->name, key));
		if (!value || json_is_null(value))
			continue;
		cr_assert(f->text ? json_is_string(value) : json_is_number(value), "%s: measured.%s", where, key);
		if (f->text)
			rules_set_text((struct rule_text *)((char *)numbers + f->offset), json_string_value(value));
		else
			*(double *)((char *)numbers + f->offset) = json_number_value(value);
	}
}

/* How a test judges the numbers that it has read. */
struct capture_judge {
	const struct rule *rules; /* NULL: the catalogue's, by judge() */
	size_t count;
	const struct rule_fields *fields;
	void (*judge)(const struct rule_fields *fields, const void *numbers, struct findings *out);
};

static inline void check_capture(const char *path, const struct capture_judge *by, void *numbers)
{
	struct err e = ERR_INIT;
	struct findings found;
	size_t i = 0;
	AUTO_BUF struct buf text;
	buf_init(&text, CAPTURE_BYTES);
	cr_assert_eq(fsio_read(AT_FDCWD, path, CAPTURE_BYTES - 1, &text, &e), 0, "%s: %s", path, e.message);
	AUTO_JSON json_t *capture = jsonx_parse(text.data, text.len, path, &e);
	cr_assert_not_null(capture, "%s: %s", path, e.message);
	read_measured(json_object_get(capture, "measured"), by->fields, numbers, path);
	if (by->judge)
		by->judge(by->fields, numbers, &found);
	else
		rules_run(by->rules, by->count, by->fields, numbers, &found);
	const json_t *due = json_object_get(capture, "findings");
	for (; i < found.count && found.list[i].score > 0; i++)
		cr_assert_str_eq(found.list[i].id, i < json_array_size(due) ? json_string_value(json_array_get(due, i)) : "(nothing more)", "%s", path);
	cr_assert_eq(i, json_array_size(due), "%s: %zu findings", path, i);
	findings_fini(&found);
}

/* Judges each recorded capture of the folder. */
static inline void check_captures_by(const char *profiler, const struct capture_judge *by, void *numbers)
{
	char pattern[256];
	glob_t found;
	snprintf(pattern, sizeof pattern, "tests/captures/%s/*.json", profiler);
	cr_assert_eq(glob(pattern, 0, NULL, &found), 0, "%s: no captures", pattern);
	for (size_t i = 0; i < found.gl_pathc; i++)
		check_capture(found.gl_pathv[i], by, numbers);
	globfree(&found);
}

static inline void check_captures(const char *profiler, const struct rule *rules, size_t count, const struct rule_fields *fields, void *numbers)
{
	const struct capture_judge by = {.rules = rules, .count = count, .fields = fields};
	check_captures_by(profiler, &by, numbers);
}

/* What the rules say of the numbers by that id, copied to *out; its state. */
static inline enum finding_state judged_by(const struct rule *rules, size_t count, const struct rule_fields *fields, const void *numbers, const char *id,
					   struct finding *out)
{
	struct findings f;
	rules_run(rules, count, fields, numbers, &f);
	for (size_t i = 0; i < f.count; i++)
		if (strcmp(f.list[i].id, id) == 0)
			*out = f.list[i];
	cr_assert_str_eq(out->id, id);
	findings_fini(&f);
	return out->state;
}

#endif
