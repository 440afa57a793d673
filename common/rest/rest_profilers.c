/* /api/profilers: what each one answers, for which complaint, what that costs the application (common/api/profiler_list.h), and its settings as a JSON
 * schema. */
#include "common/api/session_spec.h"
#include "common/rest/rest_private.h"

#include <ctype.h>
#include <string.h>

/* A profiler's settings, as JSON schemas. */
static const struct {
	const char *name, *schema;
} settings[] = {
	{"frequencyHertz", "{\"type\":\"integer\",\"minimum\":1,\"maximum\":999,\"default\":99,\"title\":\"Samples per second and busy CPU\"}"},
	{"roots", "{\"type\":\"string\",\"enum\":[\"Auto\",\"Exact\",\"NoCollection\"],\"default\":\"Auto\",\"title\":\"How the roots are found\","
		  "\"description\":\"Exact: by a collection that is forced. NoCollection: without one; a shorter pause, not all roots are known. "
		  "Auto: Exact where its predicted pause fits into the longest one that is allowed.\"}"},
	{"walks", "{\"type\":\"integer\",\"minimum\":2,\"maximum\":10,\"default\":3,\"title\":\"How often the heap is walked\"}"},
};

static json_t *settings_schema(enum profiler_kind kind)
{
	json_t *properties = json_object();
	for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
		if (profiler_has_setting(kind, settings[i].name))
			json_object_set_new(properties, settings[i].name, json_loads(settings[i].schema, 0, NULL));
	return json_pack("{s:s, s:b, s:o}", "type", "object", "additionalProperties", 0, "properties", properties);
}

static json_t *symptoms_json(const char *symptoms)
{
	json_t *list = json_array();
	for (const char *s = symptoms; *s;) {
		size_t n = strcspn(s, "|");
		json_array_append_new(list, json_stringn(s, n));
		s += n + (s[n] == '|');
	}
	return list;
}

static json_t *profiler_json(enum profiler_kind kind)
{
	const struct profiler_words *w = profiler_kind_words(kind);
	struct session_spec usual;
	session_spec_init(&usual, kind);
	json_t *one = json_pack("{s:s, s:o, s:s, s:s, s:o, s:o, s:s, s:I, s:I, s:b}", "name", profiler_kind_name(kind), "question",
				json_sprintf("%c%s", toupper((unsigned char)w->question[0]), w->question + 1), "description", w->shows, "pauses", w->pauses,
				"symptoms", symptoms_json(w->symptoms), "settings", settings_schema(kind), "settingsField", profiler_settings_key(kind),
				"defaultDurationSeconds", (json_int_t)usual.duration_seconds, "defaultPauseBudgetMilliseconds",
				(json_int_t)usual.pause_budget_ms, "available", 1);
	session_spec_fini(&usual);
	return one;
}

int rest_profilers_get(struct rest_call *c)
{
	json_t *items = json_array();
	for (unsigned kind = 0; profiler_kinds() >> kind; kind++)
		json_array_append_new(items, profiler_json((enum profiler_kind)kind));
	return rest_answer(c, 200, json_pack("{s:o}", "items", items));
}
