#include "common/api/session_options.h"

#include "common/api/reason.h"

#include <ctype.h>
#include <string.h>

/* What a command line calls a field of the spec. */
static const struct {
	const char *field, *option;
	bool word; /* the field is a word of the language, too: it is the field's name only where a value follows */
} fields[] = {
	{"pauseBudgetMilliseconds", "--pause-budget", false},
	{"durationSeconds", "--duration", false},
	{"frequencyHertz", "--frequency", false},
	{"baselineSession", "--baseline", false},
	{"walks", "--walks", true},
	{"roots", "--roots", true},
};

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
		return err_set_reason(e, ERR_INVALID, REASON_InvalidSpec, "%s and %s: a session runs one profiler",
				      profiler_kind_words(o->profiler)->option, profiler_kind_words(kind)->option);
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

/* words ------------------------------------------------------------------------------------------------------------ */

static size_t length_of(const char *text, const char *prefix)
{
	size_t len = strlen(prefix);
	return strncmp(text, prefix, len) == 0 ? len : 0;
}

/* "spec." and the field that holds a profiler's settings. */
static size_t length_of_path(const char *text)
{
#define SETTINGS_PATH(id, name, key, ...) key ".",
	static const char *const keys[] = {PROFILER_LIST(SETTINGS_PATH, )};
	size_t len = length_of(text, "spec."), more = 0;
	for (size_t i = 0; i < sizeof keys / sizeof *keys && !more; i++)
		more = length_of(text + len, keys[i]);
	return len + more;
}

/* A field at the beginning of `text`: appends its option. Returns how much of the text it replaces; 0: there is none. */
static size_t speak_field(const char *text, struct buf *out)
{
	size_t article = length_of(text, "a ") + length_of(text, "A "), path = length_of_path(text + article), at = article + path;
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
		size_t len = length_of(text + at, fields[i].field);
		const char *rest = text + at + len;
		if (!len || isalnum((unsigned char)*rest))
			continue;
		size_t between = length_of(rest, ": ");
		if (!between)
			between = length_of(rest, " of ");
		bool value = between && (isdigit((unsigned char)rest[between]) || isupper((unsigned char)rest[between]));
		if (fields[i].word && !value && !path)
			continue;
		buf_printf(out, "%s%s", fields[i].option, value ? " " : "");
		return at + len + (value ? between : 0);
	}
	return 0;
}

void session_options_speak(const char *text, struct buf *out)
{
	bool inside = false; /* a word, or a path */
	while (*text) {
		size_t len = inside ? 0 : speak_field(text, out);
		if (len == 0) {
			inside = isalnum((unsigned char)*text) || strchr("_-.", *text);
			buf_putc(out, *text++);
		}
		text += len;
	}
}
