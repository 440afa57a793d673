/* The table of profilers: their names in the API and on command lines, and their defaults. The enum, the specification's reader, the options of
 * `drdotnet run` and `kubectl drdotnet profile` with their completion, what the REST API says of it, and its parts of the resource definitions
 * (crds/generate.py) are made of it, so that a new profiler needs one row here. */
#ifndef DRDOTNET_PROFILER_LIST_H
#define DRDOTNET_PROFILER_LIST_H

/* A profiler's settings, as bits. */
#define PROFILER_FREQUENCY 1u
#define PROFILER_ROOTS 2u
#define PROFILER_WALKS 4u

/* X(identifier, name, field of the spec with its settings, option that stands for it, default seconds (0: it inspects the heap once), default pause
 * budget in milliseconds, settings; the question that it answers; symptoms, what it answers best first, with '|' between; what it shows; when it
 * pauses the application; further arguments of the list). crds/generate.py reads the rows, too: a text is one literal. */
#define PROFILER_LIST(X, ...)                                                                                                              \
	X(CPU_HOTPATHS, "CPUHotpaths", "cpuHotpaths", "--cpu", 30, 200, PROFILER_FREQUENCY,                                                \
	  "where does the CPU time go?", "CPU is high|slow once in a while",                                                               \
	  "Samples of the threads that run, with their stacks: methods, native code and kernel, as a flame graph.",                        \
	  "Never: samples are taken from outside. Without perf events each thread waits some microseconds for a sample of itself.", __VA_ARGS__) \
	X(GC_SURVIVORS, "GCSurvivors", "gcSurvivors", "--memory", 0, 500, PROFILER_ROOTS,                                                  \
	  "what fills the heap, and what retains it?", "memory is high",                                                                   \
	  "All objects with what they hold alone, by type, namespace and assembly, and the paths from roots to them.",                     \
	  "Once, while the heap is walked: as long as the heap is large, at most the pause budget.", __VA_ARGS__)                          \
	X(MEMORY_LEAK, "MemoryLeak", "memoryLeak", "--leak", 120, 500, PROFILER_ROOTS | PROFILER_WALKS,                                    \
	  "what grows?", "memory grows",                                                                                                   \
	  "Takes at least two heap snapshots: what grew and stayed, what retains it, and when the memory limit will be reached.",          \
	  "Twice or more, while the heap is walked: as long as the heap is large, each at most the pause budget.", __VA_ARGS__)            \
	X(DUPLICATED_STRINGS, "DuplicatedStrings", "duplicatedStrings", "--strings", 0, 500, 0,                                            \
	  "how much memory do duplicated strings use?", "memory is high",                                                                  \
	  "Strings with the same text, the bytes that they waste and the fields that hold them. Texts are redacted.",                      \
	  "Once, while the heap is walked: as long as the heap is large, at most the pause budget.", __VA_ARGS__)                          \
	X(ALLOCATIONS, "Allocations", "allocations", "--allocations", 30, 200, 0,                                                          \
	  "which code allocates?", "it allocates a lot",                                                                                   \
	  "Samples of allocations by type and stack: bytes and counts a second, as a flame graph.",                                        \
	  "Never: a thread waits some microseconds where one of its allocations is sampled.", __VA_ARGS__)                                 \
	X(RUNTIME_PAUSES, "RuntimePauses", "runtimePauses", "--pauses", 60, 200, 0,                                                        \
	  "which pauses does the runtime cause, and why?", "slow once in a while",                                                         \
	  "Each pause of the application by the runtime: collections by generation and cause, other suspensions, how long they took.",     \
	  "Never: it watches those of the runtime, whose threads wait less than a microsecond each time.", __VA_ARGS__)                    \
	X(EXCEPTIONS, "Exceptions", "exceptions", "--exceptions", 30, 200, 0,                                                              \
	  "what is thrown, and from where?", "it throws a lot",                                                                            \
	  "Exceptions by type, message shape, throwing and catching method: how many a second, and what they cost. Texts are redacted.",   \
	  "Never: a thread waits some microseconds where it throws.", __VA_ARGS__)                                                         \
	X(DEADLOCKS, "Deadlocks", "deadlocks", "--deadlocks", 5, 200, 0,                                                                   \
	  "which threads wait for each other?", "it hangs",                                                                                \
	  "The runtime's monitors and the threads that wait for them, at two moments: circles, and queues behind one holder.",             \
	  "Never: it is read from outside.", __VA_ARGS__)                                                                                  \
	X(STUCK_TASKS, "StuckTasks", "stuckTasks", "--stuck-tasks", 10, 500, 0,                                                            \
	  "which async operations hang, and at which await?", "it hangs",                                                                  \
	  "Async methods that have not ended, by where they wait, for what, and who called them: those that did not move in between.",     \
	  "Twice, while the heap is walked: as long as the heap is large, each at most the pause budget.", __VA_ARGS__)                             \
	X(WAITS, "Waits", "waits", "--waits", 10, 200, 0,                                                                                  \
	  "where do threads wait, and who makes them wait?", "it is slow and uses little CPU",                                              \
	  "Each wait of each thread, by what it waits for and where: locks, tasks, I/O, sleep, the thread pool, as an off-CPU flame graph.", \
	  "Never: context switches are followed from outside.", __VA_ARGS__)                                                                 \
	X(THREADS, "Threads", "threads", "--threads", 5, 200, 0,                                                                           \
	  "what is every thread doing, and which have not moved?", "it hangs|too many threads",                                            \
	  "All threads at two moments, by kind, place and stack: which have not run, which multiply, and a finalizer that is blocked.",    \
	  "Never: it is read from outside.", __VA_ARGS__)                                                                                  \
	X(SLOW_REQUESTS, "SlowRequests", "slowRequests", "--slow-requests", 30, 200, 0,                                                    \
	  "which requests are slow, and where does their time go?", "requests are slow|it is slow and uses little CPU",                    \
	  "Each request of ASP.NET Core by endpoint: rate, latencies, failures, what is in flight, and where the slow ones spend their time.", \
	  "Never: a thread waits some microseconds where a request begins and ends.", __VA_ARGS__)

#define PROFILER_IDENTIFIER(id, ...) PROFILER_##id,
enum profiler_kind { PROFILER_LIST(PROFILER_IDENTIFIER, ) };
#undef PROFILER_IDENTIFIER

#endif
