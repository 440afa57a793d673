#include "common/api/session_options.h"

#include "common/api/reason.h"

#define SYMPTOM(id, name, key, option, ...) [PROFILER_##id] = option,
static const char *const symptoms[] = {PROFILER_LIST(SYMPTOM, )};
#define QUESTION(id, name, key, option, seconds, budget_ms, settings, question, ...) [PROFILER_##id] = question,
static const char *const questions[] = {PROFILER_LIST(QUESTION, )};

const char *session_options_symptom(enum profiler_kind profiler)
{
	return symptoms[profiler];
}

const char *session_options_question(enum profiler_kind profiler)
{
	return questions[profiler];
}

static struct session_options *options_of(const struct option_row *row, void *args)
{
	return (struct session_options *)(void *)((char *)args + row->at);
}

static int invalid(struct err *e)
{
	if (e)
		e->reason = REASON_InvalidSpec;
	return -1;
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

int session_option_profiler(const struct option_row *row, const char *name, const char *value, void *args, struct err *e)
{
	int kind = option_find_word(row->values, value);
	if (kind < 0) {
		option_expected(name, row->values, value, e);
		return invalid(e);
	}
	return choose_profiler(options_of(row, args), (enum profiler_kind)kind, e);
}

int session_options_check(const struct session_options *o, enum profiler_kind profiler, struct err *e)
{
	const struct {
		const char *option, *setting;
		bool given;
	} settings[] = {
		{"--frequency", "frequencyHertz", o->frequency_hertz != 0},
		{"--roots", "roots", o->roots != 0},
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
	if (o->roots)
		spec->roots = (enum heap_roots)(o->roots - 1);
	if (o->walks)
		spec->walks = o->walks;
	if (o->pause_budget_ms)
		spec->pause_budget_ms = o->pause_budget_ms;
	spec->reveal = spec->reveal || o->reveal;
}
