/* What `drdotnet run` and `kubectl drdotnet profile` have in common on their command lines: the profiler, by its name or by the symptom, and
 * its settings. Pure; any thread. */
#ifndef DRDOTNET_SESSION_OPTIONS_H
#define DRDOTNET_SESSION_OPTIONS_H

#include "common/api/session_spec.h"
#include "common/base/options.h"

struct session_options { /* zeroed: nothing is given, and the profiler is CPUHotpaths */
	enum profiler_kind profiler;
	bool has_profiler, reveal;
	int roots; /* 1 + enum heap_roots */
	int64_t duration_seconds, frequency_hertz, walks, pause_budget_ms;
};

/* Rows of an option table: the commands of the bits `takers` take them, and `field` of the program's arguments `args` is the struct session_options. */
#define SESSION_OPTION_ROWS(takers, args, field) \
	{.commands = (takers), .help = "symptoms (one of them; without any: --cpu)"}, \
	PROFILER_LIST(SESSION_SYMPTOM_ROW, takers, args, field) \
	{.name = "--profiler", .argument = "NAME", .commands = (takers), .set = session_option_profiler, .at = offsetof(args, field), \
	 .values = PROFILER_LIST(SESSION_PROFILER_NAME, ), .help = "the same by the profiler's name"}, \
	{.commands = (takers), .help = "settings of the profiler"}, \
	{.name = "--duration", .argument = "TIME", .commands = (takers), .set = option_set_duration, \
	 .at = offsetof(args, field.duration_seconds), .values = "10s 30s 1m 5m", \
	 .help = "how long, such as 30s or 2m; at most 1h (default: depends on the profiler)\n" \
		 "not for GCSurvivors and DuplicatedStrings, which inspect the heap once"}, \
	OPTION_NUMBER(args, field.frequency_hertz, "--frequency", "HERTZ", 1, 999, \
		      "CPUHotpaths: samples per second of CPU time, 1 to 999 (default: 99)", .commands = (takers), .values = "99 499 999"), \
	OPTION_WORD(args, field.roots, "--roots", "MODE", "Auto Exact NoCollection", \
		    "GCSurvivors, MemoryLeak: how GC roots are found: Exact (forces a full\n" \
		    "collection), NoCollection, or Auto: what the pause budget allows (default)", .commands = (takers), .least = 1), \
	OPTION_NUMBER(args, field.walks, "--walks", "N", 2, 10, \
		      "MemoryLeak: how many heap snapshots are taken, 2 to 10 (default: 3)", .commands = (takers), .values = "2 3 5"), \
	OPTION_NUMBER(args, field.pause_budget_ms, "--pause-budget", "MS", 1, 60000, \
		      "the longest pause of the application, 1 to 60000 milliseconds (default: 500\n" \
		      "for profilers that inspect the heap, else 200)", .commands = (takers), .values = "100 200 500 1000"), \
	OPTION_SWITCH(args, field.reveal, "--reveal", "show contents of the process's memory that reports redact otherwise", \
		      .commands = (takers))

#define SESSION_SYMPTOM_ROW(id, profiler, key, option, seconds, budget_ms, settings, question, symptoms, shows, pauses, takers, args, field) \
	{.name = option, .commands = (takers), .set = session_option_symptom, .at = offsetof(args, field), .least = PROFILER_##id, \
	 .help = question " (" profiler ")"},
#define SESSION_PROFILER_NAME(id, profiler, ...) profiler " "

option_set_fn session_option_symptom, session_option_profiler;

/* Each given setting is one that the profiler has, else ERR_INVALID. */
int session_options_check(const struct session_options *o, enum profiler_kind profiler, struct err *e);

/* What is given goes over what the spec says; after session_options_check(). */
void session_options_apply(const struct session_options *o, struct session_spec *spec);

/* The options in place of the fields of a spec that `text` names: "spec.pauseBudgetMilliseconds", "a pauseBudgetMilliseconds of 900" and
 * "memoryLeak.walks: 5" become "--pause-budget", "--pause-budget 900" and "--walks 5". For messages to somebody who wrote no manifest. Appends. */
void session_options_speak(const char *text, struct buf *out);

#endif
