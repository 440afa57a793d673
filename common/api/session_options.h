/* What `drdotnet run` and `kubectl drdotnet profile` have in common on their command lines: the profiler, by its name or by the symptom, and
 * its settings. Pure; any thread. */
#ifndef DRDOTNET_SESSION_OPTIONS_H
#define DRDOTNET_SESSION_OPTIONS_H

#include "common/api/session_spec.h"
#include "common/base/options.h"

struct session_options { /* zeroed: nothing is given */
	enum profiler_kind profiler;
	bool has_profiler, has_roots, reveal;
	enum heap_roots roots;
	int64_t duration_seconds, frequency_hertz, walks, pause_budget_ms; /* 0: not given */
};

/* Rows of an option table: the commands of the bits `takers` take them, and `field` of the program's arguments `args` is the struct session_options. */
#define SESSION_OPTION_ROWS(takers, args, field) \
	SESSION_SYMPTOM("--cpu", takers, args, field, PROFILER_CPU_HOTPATHS, "where does the CPU time go? (CPUHotpaths)"), \
	SESSION_SYMPTOM("--memory", takers, args, field, PROFILER_GC_SURVIVORS, "what fills the heap, and what retains it? (GCSurvivors)"), \
	SESSION_SYMPTOM("--leak", takers, args, field, PROFILER_MEMORY_LEAK, "what grows? (MemoryLeak)"), \
	SESSION_SYMPTOM("--strings", takers, args, field, PROFILER_DUPLICATED_STRINGS, \
			"how much memory do duplicated strings use? (DuplicatedStrings)"), \
	SESSION_SYMPTOM("--allocations", takers, args, field, PROFILER_ALLOCATIONS, "which code allocates? (Allocations)"), \
	SESSION_SYMPTOM("--pauses", takers, args, field, PROFILER_RUNTIME_PAUSES, \
			"which pauses does the runtime cause, and why? (RuntimePauses)"), \
	{.name = "--profiler", .argument = "NAME", .commands = (takers), .set = session_option_profiler, .at = offsetof(args, field), \
	 .values = "CPUHotpaths GCSurvivors MemoryLeak DuplicatedStrings Allocations RuntimePauses", \
	 .help = "the profiler by its name"}, \
	{.name = "--duration", .argument = "TIME", .commands = (takers), .set = option_set_duration, \
	 .at = offsetof(args, field.duration_seconds), .values = "10s 30s 1m 5m", \
	 .help = "how long, such as 30s or 2m; at most 1h (default: depends on the profiler)\n" \
		 "not for GCSurvivors and DuplicatedStrings, which inspect the heap once"}, \
	{.name = "--frequency", .argument = "HERTZ", .commands = (takers), .set = option_set_number, \
	 .at = offsetof(args, field.frequency_hertz), .least = 1, .most = 999, .values = "99 499 999", \
	 .help = "CPUHotpaths: samples per second of CPU time, 1 to 999 (default: 99)"}, \
	{.name = "--roots", .argument = "MODE", .commands = (takers), .set = session_option_roots, .at = offsetof(args, field), \
	 .values = "Auto Exact NoCollection", \
	 .help = "GCSurvivors, MemoryLeak: how GC roots are found: Exact (forces a full\n" \
		 "collection), NoCollection, or Auto: what the pause budget allows (default)"}, \
	{.name = "--walks", .argument = "N", .commands = (takers), .set = option_set_number, .at = offsetof(args, field.walks), \
	 .least = 2, .most = 10, .values = "2 3 5", .help = "MemoryLeak: how many heap snapshots are taken, 2 to 10 (default: 3)"}, \
	{.name = "--pause-budget", .argument = "MS", .commands = (takers), .set = option_set_number, \
	 .at = offsetof(args, field.pause_budget_ms), .least = 1, .most = 60000, .values = "100 200 500 1000", \
	 .help = "the longest pause of the application, 1 to 60000 milliseconds (default: 500\n" \
		 "for profilers that inspect the heap, else 200)"}, \
	{.name = "--reveal", .commands = (takers), .set = option_set_on, .at = offsetof(args, field.reveal), \
	 .help = "show contents of the process's memory that reports redact otherwise"}

#define SESSION_SYMPTOM(option, takers, args, field, kind, question) \
	{.name = option, .commands = (takers), .set = session_option_symptom, .at = offsetof(args, field), .least = (kind), .help = question}

option_set_fn session_option_symptom, session_option_profiler, session_option_roots;

/* Each given setting is one that the profiler has, else ERR_INVALID. */
int session_options_check(const struct session_options *o, enum profiler_kind profiler, struct err *e);

/* What is given goes over what the spec says; after session_options_check(). */
void session_options_apply(const struct session_options *o, struct session_spec *spec);

/* "--cpu", "--memory", ...: the option that stands for a profiler. */
const char *session_options_symptom(enum profiler_kind profiler);

#endif
