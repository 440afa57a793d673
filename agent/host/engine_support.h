/* On which runtimes, C libraries and processors each way of looking into a process was held against applications that know the truth. What is read elsewhere
 * may be something else: there the rules that rest on it are not measured, never excluded. A table, and pure functions on it; any thread. */
#ifndef DRDOTNET_ENGINE_SUPPORT_H
#define DRDOTNET_ENGINE_SUPPORT_H

#include <stdbool.h>

#define ENGINE_TEXT_BYTES 96
#define ENGINE_BIT(engine) (1u << (engine))
#define ENGINE_ROOTS (ENGINE_BIT(ENGINE_HANDLES) | ENGINE_BIT(ENGINE_STATICS)) /* which are not all */

enum engine {
	ENGINE_MONITORS,   /* and their owners */
	ENGINE_LOCKS,      /* System.Threading.Lock, ReaderWriterLockSlim */
	ENGINE_TASKS,      /* on which threads block */
	ENGINE_POOL_QUEUE,
	ENGINE_ASYNC,      /* operations on the heap */
	ENGINE_NAMES,      /* of methods, from outside */
	ENGINE_HANDLES,
	ENGINE_STATICS,    /* of generic types */
	ENGINE_SLEEPERS,   /* stacks of threads that wait */
	ENGINE_SAMPLING,   /* by timers within the process */
	ENGINE_COUNT,
};

struct engine_platform {
	int major, minor; /* of the runtime; 0.0: it does not tell, and what it looks like must */
	bool musl, arm64;
};

/* As the runtime tells them: "10.0.12", "linux-musl-x64", "arm64"; each may be NULL: a processor that is not told is ours. */
void engine_platform_of(const char *version, const char *rid, const char *arch, struct engine_platform *out);

/* Each engine's reason. */
struct engine_support {
	char lacks[ENGINE_COUNT][ENGINE_TEXT_BYTES]; /* "this version does not read the locks of .NET 12 yet"; "": it was held against the truth there */
	unsigned partly; /* ENGINE_BIT()s: what was found there all the same, is; only nothing is excluded */
};

void engine_support_of(const struct engine_platform *p, struct engine_support *out);

/* What an engine saw does not fit what it read: it lacks some of it, for that reason. The first reason stays. */
void engine_doubt(struct engine_support *s, enum engine engine, const char *why);

/* Why what that engine reads is not measured there; NULL: it is. Borrows from `s`. */
const char *engine_lacks(const struct engine_support *s, enum engine engine);

#endif
