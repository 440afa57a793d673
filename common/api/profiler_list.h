/* The table of profilers: their names in the API and on command lines, and their defaults. The enum, the specification's reader, the options of
 * `drdotnet run` and `kubectl drdotnet profile` and their completion are made of it, so that a new profiler needs one row here. */
#ifndef DRDOTNET_PROFILER_LIST_H
#define DRDOTNET_PROFILER_LIST_H

/* A profiler's settings, as bits. */
#define PROFILER_FREQUENCY 1u
#define PROFILER_ROOTS 2u
#define PROFILER_WALKS 4u

/* X(identifier, name, field of the spec with its settings, option that stands for it, default seconds (0: it inspects the heap once), default pause
 * budget in milliseconds, settings, the question that it answers, further arguments of the list) */
#define PROFILER_LIST(X, ...)                                                                                                              \
	X(CPU_HOTPATHS, "CPUHotpaths", "cpuHotpaths", "--cpu", 30, 200, PROFILER_FREQUENCY,                                                \
	  "where does the CPU time go?", __VA_ARGS__)                                                                                      \
	X(GC_SURVIVORS, "GCSurvivors", "gcSurvivors", "--memory", 0, 500, PROFILER_ROOTS,                                                  \
	  "what fills the heap, and what retains it?", __VA_ARGS__)                                                                        \
	X(MEMORY_LEAK, "MemoryLeak", "memoryLeak", "--leak", 120, 500, PROFILER_ROOTS | PROFILER_WALKS,                                    \
	  "what grows?", __VA_ARGS__)                                                                                                      \
	X(DUPLICATED_STRINGS, "DuplicatedStrings", "duplicatedStrings", "--strings", 0, 500, 0,                                            \
	  "how much memory do duplicated strings use?", __VA_ARGS__)                                                                       \
	X(ALLOCATIONS, "Allocations", "allocations", "--allocations", 30, 200, 0,                                                          \
	  "which code allocates?", __VA_ARGS__)                                                                                            \
	X(RUNTIME_PAUSES, "RuntimePauses", "runtimePauses", "--pauses", 60, 200, 0,                                                        \
	  "which pauses does the runtime cause, and why?", __VA_ARGS__)                                                                    \
	X(DEADLOCKS, "Deadlocks", "deadlocks", "--deadlocks", 5, 200, 0,                                                                   \
	  "which threads wait for each other?", __VA_ARGS__)

#define PROFILER_IDENTIFIER(id, ...) PROFILER_##id,
enum profiler_kind { PROFILER_LIST(PROFILER_IDENTIFIER, ) };
#undef PROFILER_IDENTIFIER

#endif
