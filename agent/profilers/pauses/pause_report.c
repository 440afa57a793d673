#include "agent/profilers/pauses/pause_report.h"

#include "common/base/cleanup.h"
#include "common/base/embed.h"
#include "common/base/mem.h"
#include "common/proto/channel_stops.h"

#include <stdlib.h>

EMBED_FILE(".rodata.report_assets", pause_view, "agent/profilers/pauses/pause_view.js");

static const struct report_files files = {
	.summary = pause_summary_write,
	.json = pause_json_write,
	.page = {"Runtime pauses", "The same is in report.json, and in short in summary.md.", pause_view, pause_view_end},
};

int pause_report_write(const struct pause_capture *c, const struct session_spec *spec, const struct report_context *ctx, int dirfd,
		       struct report_result *out, struct err *e)
{
	struct pause_analysis analysis;
	struct pause_diagnosis diagnosis;
	pause_analysis_run(c, &analysis);
	pause_diagnosis_make(&analysis, &diagnosis);
	const struct pause_source source = {
		.analysis = &analysis,
		.diagnosis = &diagnosis,
		.head = {.facts = &c->facts, .spec = spec, .context = ctx, .headline = diagnosis.headline, .text = diagnosis.text,
			 .findings = &diagnosis.findings},
	};
	int rc = report_write(&files, &source, &source.head, dirfd, out, e);
	pause_diagnosis_fini(&diagnosis);
	pause_analysis_fini(&analysis);
	return rc;
}

static int falling(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;
	return (*x < *y) - (*x > *y);
}

int64_t pause_listed_from_ns(const struct pause_capture *c, size_t max, size_t *omitted)
{
	*omitted = 0;
	if (c->pause_count <= max)
		return 0;
	AUTO_FREE int64_t *lengths = mem_calloc(c->pause_count, sizeof *lengths);
	for (size_t i = 0; i < c->pause_count; i++)
		lengths[i] = pause_length_ns(&c->pauses[i]);
	qsort(lengths, c->pause_count, sizeof *lengths, falling);
	int64_t from_ns = lengths[max] + 1; /* of equal ones all or none */
	for (size_t i = 0; i < c->pause_count; i++)
		*omitted += pause_length_ns(&c->pauses[i]) < from_ns;
	return from_ns;
}

#define TEXT_OF(number) TEXT_OF_THIS(number)
#define TEXT_OF_THIS(number) #number

const char *pause_limit(const struct pause_analysis *a, size_t i)
{
	const struct pause_capture *c = a->capture;
	const char *said[3];
	size_t count = 0;
	bool any = false;
	for (size_t k = 0; k < c->kind_count; k++)
		any |= c->kinds[k].generation >= 0;
	if (any && !c->causes_known)
		said[count++] = "GC events were unavailable, so the causes of collections are unknown; with Server GC also who induced them.";
	if (pause_analysis_sampled(a))
		said[count++] = "Collections came more often than " TEXT_OF(CHANNEL_STOPS_DETAILS) " times a second: what made the runtime collect, "
				"and who asked for it, was looked at for a part of them, and is an estimate for the others. Counts and times of "
				"pauses and generations are of all.";
	if (c->dropped)
		said[count++] = "More pauses came than could be kept: counts and times are too low.";
	return i < count ? said[i] : NULL;
}
