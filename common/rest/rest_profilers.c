/* /api/profilers: what each one answers, for which complaint, and its settings as a JSON schema. */
#include "common/api/session_spec.h"
#include "common/rest/rest_private.h"

static const struct profiler_words {
	const char *question, *settings_field;
	const char *symptoms[5];
	const char *settings; /* the schema of the settings object */
} words[] = {
	[PROFILER_CPU_HOTPATHS] = {
		.question = "Where does the CPU time go?",
		.settings_field = "cpuHotpaths",
		.symptoms = {"CPU is high", "slow once in a while"},
		.settings = "{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{\"frequencyHertz\":{\"type\":\"integer\","
			    "\"minimum\":1,\"maximum\":999,\"default\":99,\"title\":\"Samples per second and busy CPU\"}}}",
	},
};

static json_t *describe(enum profiler_kind kind)
{
	const struct profiler_words *w = &words[kind];
	struct session_spec usual;
	session_spec_init(&usual, kind);
	json_t *symptoms = json_array();
	for (size_t i = 0; w->symptoms[i]; i++)
		json_array_append_new(symptoms, json_string(w->symptoms[i]));
	json_t *settings = json_loads(w->settings, 0, NULL);
	json_t *one = json_pack("{s:s, s:s, s:o, s:o, s:s, s:I, s:b}", "name", profiler_kind_name(kind), "question", w->question, "symptoms", symptoms,
				"settings", settings, "settingsField", w->settings_field, "defaultDurationSeconds",
				(json_int_t)usual.duration_seconds, "available", 1);
	session_spec_fini(&usual);
	return one;
}

int rest_profilers_get(struct rest_call *c)
{
	json_t *items = json_array();
	for (unsigned kind = 0; kind < sizeof words / sizeof *words; kind++)
		if (profiler_kinds() & 1u << kind && words[kind].question)
			json_array_append_new(items, describe((enum profiler_kind)kind));
	return rest_answer(c, 200, json_pack("{s:o}", "items", items));
}
