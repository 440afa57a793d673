/* /api/profilers: what each one answers, for which complaint, what that costs the application, and its settings as a JSON schema. */
#include "common/api/session_spec.h"
#include "common/rest/rest_private.h"

#define ROOTS                                                                                                                              \
	"\"roots\":{\"type\":\"string\",\"enum\":[\"Auto\",\"Exact\",\"NoCollection\"],\"default\":\"Auto\",\"title\":\"How the roots are found\"," \
	"\"description\":\"Exact: by a collection that is forced. NoCollection: without one; a shorter pause, not all roots are known. Auto: Exact " \
	"where its predicted pause fits into the longest that is allowed.\"}"
#define SETTINGS(properties) "{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{" properties "}}"
#define WALK "Once, while the heap is walked: as long as the heap is large, at most the pause budget."

static const struct profiler_words {
	const char *question, *description, *pauses;
	const char *symptoms[4]; /* what it answers best comes first */
	const char *settings;    /* the schema of the settings object */
} words[] = {
	[PROFILER_CPU_HOTPATHS] = {
		.question = "Where does the CPU time go?",
		.description = "Samples of the threads that run, with their stacks: methods, native code and kernel, as a flame graph.",
		.pauses = "Never: samples are taken from outside. Without perf events each thread waits some microseconds for a sample of itself.",
		.symptoms = {"CPU is high", "slow once in a while"},
		.settings = SETTINGS("\"frequencyHertz\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":999,\"default\":99,"
				     "\"title\":\"Samples per second and busy CPU\"}"),
	},
	[PROFILER_GC_SURVIVORS] = {
		.question = "What fills the heap, and what retains it?",
		.description = "All objects with what they hold alone, by type, namespace and assembly, and the paths from roots to them.",
		.pauses = WALK,
		.symptoms = {"memory is high"},
		.settings = SETTINGS(ROOTS),
	},
	[PROFILER_MEMORY_LEAK] = {
		.question = "What grows?",
		.description = "Takes at least two heap snapshots: what grew and stayed, what retains it, and when the memory limit will be reached.",
		.pauses = "Twice or more, while the heap is walked: as long as the heap is large, each at most the pause budget.",
		.symptoms = {"memory grows"},
		.settings = SETTINGS(ROOTS ",\"walks\":{\"type\":\"integer\",\"minimum\":2,\"maximum\":10,\"default\":3,"
					   "\"title\":\"How often the heap is walked\"}"),
	},
	[PROFILER_DUPLICATED_STRINGS] = {
		.question = "What do equal strings cost?",
		.description = "Strings with the same text, the bytes that they waste and the fields that hold them. Texts are redacted.",
		.pauses = WALK,
		.symptoms = {"memory is high"},
		.settings = SETTINGS(""),
	},
	[PROFILER_ALLOCATIONS] = {
		.question = "Who allocates?",
		.description = "Samples of allocations by type and stack: bytes and counts a second, as a flame graph.",
		.pauses = "Never: a thread waits some microseconds where one of its allocations is sampled.",
		.symptoms = {"it allocates a lot"},
		.settings = SETTINGS(""),
	},
	[PROFILER_RUNTIME_PAUSES] = {
		.question = "Which pauses did the runtime make, and why?",
		.description = "Each pause of the application by the runtime: collections by generation and cause, other suspensions, how long they took.",
		.pauses = "Never: it watches those of the runtime, whose threads wait less than a microsecond each time.",
		.symptoms = {"slow once in a while"},
		.settings = SETTINGS(""),
	},
	[PROFILER_DEADLOCKS] = {
		.question = "Which threads wait for each other?",
		.description = "The runtime's monitors and the threads that wait for them, at two moments: circles, and queues behind one holder.",
		.pauses = "Never: it is read from outside.",
		.symptoms = {"it hangs"},
		.settings = SETTINGS(""),
	},
};

static json_t *profiler_json(enum profiler_kind kind)
{
	const struct profiler_words *w = &words[kind];
	struct session_spec usual;
	session_spec_init(&usual, kind);
	json_t *symptoms = json_array();
	for (size_t i = 0; w->symptoms[i]; i++)
		json_array_append_new(symptoms, json_string(w->symptoms[i]));
	json_t *one = json_pack("{s:s, s:s, s:s, s:s, s:o, s:o, s:s, s:I, s:I, s:b}", "name", profiler_kind_name(kind), "question", w->question, "description",
				w->description, "pauses", w->pauses, "symptoms", symptoms, "settings", json_loads(w->settings, 0, NULL), "settingsField",
				profiler_settings_key(kind), "defaultDurationSeconds", (json_int_t)usual.duration_seconds,
				"defaultPauseBudgetMilliseconds", (json_int_t)usual.pause_budget_ms, "available", 1);
	session_spec_fini(&usual);
	return one;
}

int rest_profilers_get(struct rest_call *c)
{
	json_t *items = json_array();
	for (unsigned kind = 0; kind < sizeof words / sizeof *words; kind++)
		if (profiler_kinds() & 1u << kind && words[kind].question)
			json_array_append_new(items, profiler_json((enum profiler_kind)kind));
	return rest_answer(c, 200, json_pack("{s:o}", "items", items));
}
