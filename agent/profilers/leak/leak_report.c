#include "agent/profilers/leak/leak_report.h"

#include "common/base/cleanup.h"
#include "common/base/embed.h"
#include "common/base/mem.h"

#include <stdlib.h>

EMBED_FILE(".rodata.report_assets", leak_view, "agent/profilers/leak/leak_view.js");

static const struct report_files files = {
	.summary = leak_summary_write,
	.json = leak_json_write,
	.page = {"Memory leak", "The same for programs: report.json.", leak_view, leak_view_end},
};

const char *leak_root_name(enum leak_root r)
{
	static const char *const names[] = {"static",	 "threadStatic", "handle", "pinnedHandle", "dependentHandle",
					    "finalizer", "other",	 "stack",  "unknown"};
	return names[r];
}

int64_t leak_source_type_grown(const struct leak_model *m, uint32_t type)
{
	size_t last = m->walk_count ? m->walk_count - 1 : 0;
	return (int64_t)(leak_model_type_at(m, type, last)->bytes - leak_model_type_at(m, type, 0)->bytes);
}

static int leak_type_by_growth(const void *a, const void *b, void *model)
{
	const struct leak_model *m = model;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	int64_t gx = leak_source_type_grown(m, x), gy = leak_source_type_grown(m, y);
	if (gx != gy)
		return gx < gy ? 1 : -1;
	uint64_t bx = leak_model_type_at(m, x, m->walk_count - 1)->bytes, by = leak_model_type_at(m, y, m->walk_count - 1)->bytes;
	return bx != by ? (bx < by ? 1 : -1) : (x > y) - (x < y);
}

static uint32_t *sorted_types(const struct leak_model *m)
{
	uint32_t *types = mem_calloc(m->type_count + 1, sizeof *types);
	for (uint32_t i = 0; i < m->type_count; i++)
		types[i] = i;
	qsort_r(types, m->type_count, sizeof *types, leak_type_by_growth, (void *)m);
	return types;
}

int leak_report_write(const struct leak_model *m, const struct session_facts *facts, int64_t started_ns, const struct session_spec *spec,
		      const struct report_context *context, int dirfd, struct report_result *out, struct err *e)
{
	struct leak_diagnosis diagnosis;
	struct memory_grown *grown = NULL;
	AUTO_FREE uint32_t *types = sorted_types(m);
	leak_diagnosis_make(m, &diagnosis);
	struct leak_source s = {
		.head = {.facts = facts, .spec = spec, .context = context, .headline = diagnosis.headline, .text = diagnosis.text,
			 .findings = &diagnosis.findings},
		.model = m,
		.diagnosis = &diagnosis,
		.started_ns = started_ns,
		.types = types,
		.type_count = m->type_count,
	};
	if (m->memory_known)
		s.grown_count = memory_growth_find(&m->first, &m->last, LEAK_MAPPINGS_MAX, &grown);
	s.grown = grown;
	int rc = report_write(&files, &s, &s.head, dirfd, out, e);
	memory_growth_free(grown, s.grown_count);
	leak_diagnosis_fini(&diagnosis);
	return rc;
}
