#include "controller/sessions/baseline.h"

#include "common/base/mem.h"

#include <string.h>

static const struct link_report *delivered(const struct session_pod *p)
{
	for (size_t i = 0; i < p->job.report_count; i++) {
		if (strcmp(p->job.reports[i].name, BASELINE_REPORT) == 0 && p->job.reports[i].delivered)
			return &p->job.reports[i];
	}
	return NULL;
}

const struct session_pod *baseline_pod(const struct profiling_session *s, const char *name, const struct link_report **report)
{
	const struct session_pod *found = NULL;
	for (size_t i = 0; i < s->pod_count; i++) {
		const struct link_report *r = delivered(&s->pods[i]);
		bool named = name && strcmp(s->pods[i].pod_name, name) == 0;
		if (!r || (found && !named))
			continue;
		found = &s->pods[i];
		*report = r;
		if (named)
			break;
	}
	return found;
}

char *baseline_unusable(const struct profiling_session *s, const struct profiling_session *baseline)
{
	const char *name = s->spec.baseline_session;
	const struct link_report *report = NULL;
	if (strcmp(name, s->name) == 0)
		return mem_strdup("spec.baselineSession: a session cannot be its own baseline");
	if (!baseline || session_object_deleting(baseline))
		return mem_printf("spec.baselineSession: there is no session %s in namespace %s", name, s->namespace);
	if (!baseline->spec_valid || baseline->spec.profiler != s->spec.profiler)
		return mem_printf("spec.baselineSession: session %s is %s%s, not of %s", name, baseline->spec_valid ? "of the profiler " : "no valid one",
				  baseline->spec_valid ? profiler_kind_name(baseline->spec.profiler) : "", profiler_kind_name(s->spec.profiler));
	if (!session_object_completed(baseline))
		return mem_printf("spec.baselineSession: session %s has not finished", name);
	if (!baseline_pod(baseline, NULL, &report))
		return mem_printf("spec.baselineSession: session %s has no report", name);
	return NULL;
}
