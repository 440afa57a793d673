#include "agent/profilers/strings/strings_report.h"

#include "common/base/embed.h"

EMBED_FILE(".rodata.report_assets", strings_view, "agent/profilers/strings/strings_view.js");

static const struct report_files files = {
	.summary = strings_summary_write,
	.json = strings_json_write,
	.page = {"Duplicated strings", "The same for programs: report.json.", strings_view, strings_view_end},
};

const char *strings_report_shown(const struct strings_analysis *a)
{
	return a->revealed ? "Contents are revealed: the first characters of values are shown, as the session was allowed to."
			   : "Contents are not shown: of each value its length, the kinds of its characters and a name made with a key that was "
			     "thrown away. A session with reveal shows the first characters.";
}

int64_t strings_report_stop_us(const struct strings_analysis *a)
{
	const struct heap_facts *f = &a->snapshot->facts;
	return f->paused_us;
}

int strings_report_write(const struct strings_analysis *a, const struct session_facts *facts, const struct session_spec *spec,
			 const struct report_context *context, int dirfd, struct report_result *out, struct err *e)
{
	struct strings_diagnosis diagnosis;
	strings_diagnosis_make(a, &diagnosis);
	const struct strings_source s = {
		.head = {.facts = facts, .spec = spec, .context = context, .headline = diagnosis.headline, .text = diagnosis.text,
			 .findings = &diagnosis.found},
		.analysis = a,
		.diagnosis = &diagnosis,
	};
	int rc = report_write(&files, &s, &s.head, dirfd, out, e);
	strings_diagnosis_fini(&diagnosis);
	return rc;
}
