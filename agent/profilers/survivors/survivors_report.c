#include "agent/profilers/survivors/survivors_report.h"

#include "agent/profilers/survivors/survivors_json.h"
#include "agent/profilers/survivors/survivors_source.h"
#include "agent/profilers/survivors/survivors_summary.h"
#include "common/base/clock.h"
#include "common/base/embed.h"

EMBED_FILE(".rodata.report_assets", survivors_view, "agent/profilers/survivors/survivors_view.js");

static const struct report_files files = {
	.summary = survivors_summary_write,
	.json = survivors_json_write,
	.page = {"GC survivors", "All figures are in report.json.", survivors_view, survivors_view_end},
};

int survivors_report_write(const struct heap_snapshot *snapshot, int64_t began_ms, const struct session_facts *facts,
			   const struct session_spec *spec, const struct report_context *ctx, int dirfd, struct report_result *out, struct err *e)
{
	struct survivors survivors;
	struct survivors_diagnosis diagnosis;
	const struct heap_graph_options lasting = {.dirfd = dirfd, .lasting_first = true};
	struct heap_graph *graph = snapshot->counts ? NULL : heap_graph_new(snapshot, &lasting, e);
	if (!graph && !snapshot->counts)
		return -1;
	int rc = 0;
	if (graph)
		rc = survivors_make(graph, &survivors, e);
	else
		survivors_make_types(snapshot, &survivors);
	if (rc == 0) {
		survivors_diagnosis_make(&survivors, &diagnosis);
		const struct survivors_source source = {
			.survivors = &survivors,
			.diagnosis = &diagnosis,
			.head = {.facts = facts, .spec = spec, .context = ctx, .headline = diagnosis.headline, .text = diagnosis.text,
				 .findings = &diagnosis.found},
			.analysis_ms = clock_mono_ms() - began_ms,
		};
		rc = report_write(&files, &source, &source.head, dirfd, out, e);
		survivors_diagnosis_fini(&diagnosis);
	}
	survivors_fini(&survivors);
	heap_graph_free(graph);
	return rc;
}
