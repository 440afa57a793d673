#include "controller/kubectl/doctor_findings.h"

#include "common/base/cleanup.h"
#include "common/base/mem.h"
#include "common/base/text.h"
#include "controller/kubectl/plugin_print.h"

#include <stdarg.h>

#define WHAT_MAX_BYTES 1200
#define COLUMNS 3

static const char *const level_names[] = {[DOCTOR_OK] = "OK", [DOCTOR_WARN] = "WARN", [DOCTOR_FAIL] = "FAIL"};

void doctor_findings_add(struct doctor_findings *f, enum doctor_level level, const char *check, const char *remedy, const char *fmt, ...)
{
	AUTO_BUF struct buf raw, shown;
	buf_init(&raw, 16384);
	buf_init(&shown, WHAT_MAX_BYTES * 8);
	va_list args;
	va_start(args, fmt);
	buf_vprintf(&raw, fmt, args);
	va_end(args);
	text_append_printable(&shown, buf_str(&raw), text_cut_utf8(buf_str(&raw), WHAT_MAX_BYTES));
	GROW(f->items, f->count, f->cap);
	f->items[f->count++] = (struct doctor_finding){level, check, mem_strdup(buf_str(&shown)), remedy};
}

void doctor_findings_leave_out(struct doctor_findings *f, const char *check)
{
	for (size_t i = 0; i < f->left_out_count; i++)
		if (f->left_out[i] == check)
			return;
	if (f->left_out_count < DOCTOR_LEFT_OUT_MAX)
		f->left_out[f->left_out_count++] = check;
}

void doctor_findings_fini(struct doctor_findings *f)
{
	for (size_t i = 0; i < f->count; i++)
		free(f->items[i].what);
	free(f->items);
	*f = (struct doctor_findings){0};
}

enum doctor_level doctor_findings_worst(const struct doctor_findings *f)
{
	enum doctor_level worst = DOCTOR_OK;
	for (size_t i = 0; i < f->count; i++)
		worst = f->items[i].level > worst ? f->items[i].level : worst;
	return worst;
}

void doctor_findings_print(const struct doctor_findings *f, struct buf *out)
{
	static const char *const heads[COLUMNS] = {"STATE", "CHECK", "FOUND"};
	AUTO_FREE const char **cells = mem_calloc(f->count * COLUMNS + 1, sizeof *cells);
	size_t troubles = 0;
	for (size_t i = 0; i < f->count; i++) {
		cells[i * COLUMNS] = level_names[f->items[i].level];
		cells[i * COLUMNS + 1] = f->items[i].check;
		cells[i * COLUMNS + 2] = f->items[i].what;
	}
	plugin_print_table(heads, COLUMNS, cells, f->count, NULL, out);
	for (size_t i = 0; i < f->count; i++)
		if (f->items[i].remedy)
			buf_printf(out, "%s%s: %s\n", troubles++ ? "" : "\nwhat to do:\n", f->items[i].check, f->items[i].remedy);
}

json_t *doctor_findings_json(const struct doctor_findings *f)
{
	json_t *list = json_array();
	for (size_t i = 0; i < f->count; i++) {
		const struct doctor_finding *x = &f->items[i];
		json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s?}", "state", level_names[x->level], "check", x->check, "found", x->what, "remedy",
						      x->remedy));
	}
	return json_pack("{s:b, s:o}", "ok", doctor_findings_worst(f) < DOCTOR_FAIL, "findings", list);
}
