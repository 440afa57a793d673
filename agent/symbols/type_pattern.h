/* What types of .NET and of its usual libraries tell about how a heap is used, by their names alone: nothing of their layout is known. Names
 * are those of heap_type.name. Pure; any thread. */
#ifndef DRDOTNET_TYPE_PATTERN_H
#define DRDOTNET_TYPE_PATTERN_H

#include <stdbool.h>

enum type_pattern { /* of one object of the type */
	TYPE_PATTERN_NONE,
	TYPE_PATTERN_TIMER,        /* a running timer: of Timer, PeriodicTimer, Task.Delay, a timeout */
	TYPE_PATTERN_TIMER_QUEUE,  /* the runtime's own: one for each CPU, with the list of those */
	TYPE_PATTERN_CANCELLATION, /* a CancellationTokenSource, linked ones too */
	TYPE_PATTERN_SCOPE,        /* a scope of Microsoft's dependency injection; its list of disposables: type_pattern_is_disposables() */
	TYPE_PATTERN_TRACKER,      /* what a DbContext of EF Core knows its entities by */
	TYPE_PATTERN_TRACKED,      /* an entity that it tracks */
	TYPE_PATTERN_LOAD_CONTEXT, /* a collectible AssemblyLoadContext or dynamic assembly that is not unloaded yet */
	TYPE_PATTERNS,
};

enum type_pattern type_pattern_of(const char *type);

/* The field of a scope that holds what the scope will dispose of when it ends. */
bool type_pattern_is_disposables(const char *type, const char *field);

/* A type of .NET itself, or of Microsoft's libraries, that holds things for others. C#'s own words ("string[]") are. */
bool type_pattern_is_framework(const char *type);

/* Arrays, and what System.Collections, the caches and the like have. */
bool type_pattern_is_collection(const char *type);

#endif
