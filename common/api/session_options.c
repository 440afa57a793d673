#include "common/api/session_options.h"

#include "common/api/reason.h"

#include <strings.h>

static const char *const symptoms[] = {
	[PROFILER_CPU_HOTPATHS] = "--cpu",	     [PROFILER_GC_SURVIVORS] = "--memory",     [PROFILER_MEMORY_LEAK] = "--leak",
	[PROFILER_DUPLICATED_STRINGS] = "--strings", [PROFILER_ALLOCATIONS] = "--allocations", [PROFILER_RUNTIME_PAUSES] = "--pauses",
};

const char *session_options_symptom(enum profiler_kind profiler)
{
	return symptoms[profiler];
}

static struct session_options *options_of(const struct option_row *row, void *args)
{
	return (struct session_options *)(void *)((char *)args + row->at);
}

static int choose_profiler(struct session_options *o, enum profiler_kind kind, struct err *e)
{
	if (o->has_profiler && o->profiler != kind)
		return err_set_reason(e, ERR_INVALID, REASON_InvalidSpec, "%s and %s: a session runs one profiler", symptoms[o->profiler], symptoms[kind]);
	o->profiler = kind;
	o->has_profiler = true;
	return 0;
}

int session_option_symptom(const struct option_row *row, const char *name, const char *value, void *args, struct err *e)
{
	(void)name, (void)value;
	return choose_profiler(options_of(row, args), (enum profiler_kind)row->least, e);
}

/* By its name, in upper or lower case. */
static int find_profiler(const char *name, enum profiler_kind *out)
{
	for (unsigned i = 0; profiler_kinds() >> i; i++) {
		if (strcasecmp(profiler_kind_name((enum profiler_kind)i), name) == 0) {
			*out = (enum profiler_kind)i;
			return 0;
		}
	}
	return -1;
}

static const char *nearest_profiler(const char *name)
{
	const char *names[32];
	size_t count = 0;
	for (; profiler_kinds() >> count; count++)
		names[count] = profiler_kind_name((enum profiler_kind)count);
	return option_nearest(name, names, count);
}

int session_option_profiler(const struct option_row *row, const char *name, const char *value, void *args, struct err *e)
{
	enum profiler_kind kind;
	if (find_profiler(value, &kind) == 0)
		return choose_profiler(options_of(row, args), kind, e);
	const char *nearest = nearest_profiler(value);
	return err_set_reason(e, ERR_INVALID, REASON_InvalidSpec, "%s: expected " PROFILER_NAMES ", found \"%.80s\"%s%s%s", name, value,
			      nearest ? "; did you mean " : "", nearest ? nearest : "", nearest ? "?" : "");
}

int session_option_roots(const struct option_row *row, const char *name, const char *value, void *args, struct err *e)
{
	struct session_options *o = options_of(row, args);
	o->has_roots = true;
	if (heap_roots_parse(value, &o->roots) == 0)
		return 0;
	return err_set_reason(e, ERR_INVALID, REASON_InvalidSpec, "%s: expected Auto, Exact or NoCollection, found \"%.80s\"", name, value);
}

int session_options_check(const struct session_options *o, enum profiler_kind profiler, struct err *e)
{
	const struct {
		const char *option, *setting;
		bool given;
	} settings[] = {
		{"--frequency", "frequencyHertz", o->frequency_hertz != 0},
		{"--roots", "roots", o->has_roots},
		{"--walks", "walks", o->walks != 0},
	};
	for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
		if (settings[i].given && !profiler_has_setting(profiler, settings[i].setting))
			return err_set_reason(e, ERR_INVALID, REASON_InvalidSpec, "%s: %s does not have this setting; omit it", settings[i].option,
					      profiler_kind_name(profiler));
	if (o->duration_seconds && profiler_takes_one_look(profiler))
		return err_set_reason(e, ERR_INVALID, REASON_InvalidSpec, "--duration: %s inspects the heap once and has no duration; omit it",
				      profiler_kind_name(profiler));
	return 0;
}

void session_options_apply(const struct session_options *o, struct session_spec *spec)
{
	if (o->duration_seconds)
		spec->duration_seconds = o->duration_seconds;
	if (o->frequency_hertz)
		spec->frequency_hertz = o->frequency_hertz;
	if (o->has_roots)
		spec->roots = o->roots;
	if (o->walks)
		spec->walks = o->walks;
	if (o->pause_budget_ms)
		spec->pause_budget_ms = o->pause_budget_ms;
	spec->reveal = spec->reveal || o->reveal;
}
