#include "agent/cli_settings.h"

#include "common/api/reason.h"

static int check_takes(const struct session_spec *spec, bool given, const char *option, const char *setting, struct err *e)
{
	if (!given || profiler_has_setting(spec->profiler, setting))
		return 0;
	return err_set_reason(e, ERR_INVALID, REASON_InvalidSpec, "%s: %s does not take it; leave it out", option, profiler_kind_name(spec->profiler));
}

int cli_settings_apply(const struct cli_args *a, struct session_spec *spec, struct err *e)
{
	if (check_takes(spec, a->frequency_hertz, "--frequency", "frequencyHertz", e) < 0 || check_takes(spec, a->has_roots, "--roots", "roots", e) < 0 ||
	    check_takes(spec, a->walks, "--walks", "walks", e) < 0)
		return -1;
	if (a->duration_seconds && profiler_takes_one_look(spec->profiler))
		return err_set_reason(e, ERR_INVALID, REASON_InvalidSpec, "--duration: %s takes one look at the heap: leave it out",
				      profiler_kind_name(spec->profiler));
	if (spec->baseline_session)
		return err_set_reason(e, ERR_INVALID, REASON_InvalidSpec,
				      "spec.baselineSession: names a session of a cluster; here a file is compared with: --baseline FILE");
	if (a->duration_seconds)
		spec->duration_seconds = a->duration_seconds;
	if (a->frequency_hertz)
		spec->frequency_hertz = a->frequency_hertz;
	if (a->has_roots)
		spec->roots = a->roots;
	if (a->walks)
		spec->walks = a->walks;
	if (a->pause_budget_ms)
		spec->pause_budget_ms = a->pause_budget_ms;
	spec->reveal = spec->reveal || a->reveal;
	return 0;
}
