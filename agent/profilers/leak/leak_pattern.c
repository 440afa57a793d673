#include "agent/profilers/leak/leak_pattern.h"

#include "agent/symbols/type_pattern.h"

#include <string.h>

#define MORE_SCOPES 10

static const struct {
	const char *name, *phrase, *remedy;
} patterns[LEAK_PATTERNS] = {
	[LEAK_EVENT_HANDLER] = {"eventHandler", "by event handlers",
		"Unsubscribe (-=) when the subscriber is done: the event keeps every subscriber alive."},
	[LEAK_TIMER] = {"timer", "by timers",
		"Dispose timers that are no longer needed: a running timer keeps its callback's object alive."},
	[LEAK_WEAK_TABLE] = {"conditionalWeakTable", "by a ConditionalWeakTable or dependent handles",
		"The values live as long as their keys: release the keys."},
	[LEAK_CLOSURE] = {"closure", "by delegates",
		"Remove the delegates when they are done, or do not capture what is large."},
	[LEAK_TRACKED] = {"trackedEntities", "by a DbContext, which tracks them",
		"Use a DbContext for one unit of work and dispose it; read with AsNoTracking(), or call ChangeTracker.Clear() between batches."},
	[LEAK_DISPOSABLES] = {"disposables", "by the dependency-injection container, which will dispose of them",
		"Resolve transient disposables in a scope (CreateScope) that is disposed, not from the root container, which keeps them to its end."},
	[LEAK_SCOPES] = {"scopes", "by scopes of dependency injection that nobody has disposed of",
		"Dispose of each scope when its work is done (using, or await using), and keep none."},
	[LEAK_ASYNC] = {"async", "by async methods that have not ended",
		"These calls never end: complete or cancel what they await (a timeout, a CancellationToken), or start fewer of them."},
	[LEAK_CANCELLATION] = {"cancellation", "by registrations at a CancellationToken",
		"Dispose the CancellationTokenRegistration, or linked sources, when the work is done."},
	[LEAK_FINALIZERS] = {"finalizerQueue", "by the finalizer queue",
		"A finalizer blocks or is slow: Dispose these objects, and look at what finalizers do."},
	[LEAK_THREAD_STATIC] = {"threadStatic", "by a thread static",
		"Clear the thread static when the work on the thread is done."},
	[LEAK_STATIC_COLLECTION] = {"staticCollection", "by a static collection",
		"Remove what is no longer needed, or bound the collection (MemoryCache with SizeLimit, an expiry)."},
	[LEAK_STATIC] = {"static", "by a static",
		"Release what is no longer needed: a static lives as long as the process."},
	[LEAK_HANDLE] = {"handle", "by handles", "Free each GCHandle; native code or interop may hold the rest."},
	[LEAK_STACK] = {"stack", "by a running method",
		"A method that never ends keeps them in its variables: bound what it collects."},
	[LEAK_OTHER] = {"other", "", "Follow the path and release what is no longer needed."},
};

const char *leak_pattern_name(enum leak_pattern p)
{
	return patterns[p].name;
}

const char *leak_pattern_phrase(enum leak_pattern p)
{
	return patterns[p].phrase;
}

static bool type_begins_with(const char *s, const char *with)
{
	return strncmp(s, with, strlen(with)) == 0;
}

/* A sign in the type's or the field's name that tells the pattern wherever it stands on the path. */
static enum leak_pattern sign_of(const char *type, const char *field)
{
	static const struct {
		const char *in_type, *field;
		enum leak_pattern pattern;
	} signs[] = {
		{NULL, "_invocationList", LEAK_EVENT_HANDLER},
		{"System.Threading.TimerQueue", NULL, LEAK_TIMER},
		{"System.Threading.PeriodicTimer", NULL, LEAK_TIMER},
		{"System.Timers.Timer", NULL, LEAK_TIMER},
		{"System.Threading.CancellationTokenSource", NULL, LEAK_CANCELLATION},
		{"System.Runtime.CompilerServices.ConditionalWeakTable", NULL, LEAK_WEAK_TABLE},
		{NULL, LEAK_DEPENDENT_FIELD, LEAK_WEAK_TABLE},
		{"StateMachineBox<", NULL, LEAK_ASYNC},
		{NULL, "_disposables", LEAK_DISPOSABLES},
		{"Microsoft.EntityFrameworkCore.ChangeTracking.", NULL, LEAK_TRACKED},
		{"<>c__DisplayClass", NULL, LEAK_CLOSURE}, /* as the compiler has it, and as it is shown */
		{"(closure)", NULL, LEAK_CLOSURE},
	};
	for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++) {
		if (signs[i].in_type ? strstr(type, signs[i].in_type) != NULL : strcmp(field, signs[i].field) == 0)
			return signs[i].pattern;
	}
	return LEAK_OTHER;
}

/* What kind of container an object is, or is the inside of. */
enum store { STORE_NONE, STORE_ARRAY, STORE_COLLECTION, STORE_QUEUE, STORE_CACHE, STORE_BUFFER };

static enum store store_of(const char *type)
{
	static const struct {
		const char *prefix, *word;
		enum store is;
	} stores[] = {
		{"Microsoft.Extensions.Caching.", "", STORE_CACHE},
		{"System.Runtime.Caching.", "", STORE_CACHE},
		{"System.Threading.Channels.", "", STORE_QUEUE},
		{"System.Collections.", "Queue", STORE_QUEUE},
		{"System.Collections.", "BlockingCollection", STORE_QUEUE},
		{"System.Collections.", "", STORE_COLLECTION},
		{"System.IO.MemoryStream", "", STORE_BUFFER},
		{"System.Text.StringBuilder", "", STORE_BUFFER},
		{"System.Buffers.ArrayBufferWriter", "", STORE_BUFFER},
	};
	size_t n = strlen(type);
	if (n > 2 && strcmp(type + n - 2, "[]") == 0 && !type_begins_with(type, "System.Collections."))
		return STORE_ARRAY;
	for (size_t i = 0; i < sizeof stores / sizeof stores[0]; i++) {
		if (type_begins_with(type, stores[i].prefix) && strstr(type, stores[i].word))
			return stores[i].is;
	}
	return STORE_NONE;
}

/* Of the holder and what of .NET's it is the inside of: a queue's segments, a cache's dictionary. A list in an object of the application's own is that list. */
static enum store holding_store(const struct leak_model *m, uint32_t holder)
{
	enum store found = STORE_NONE;
	for (uint32_t s = holder; m->steps[s].parent != LEAK_NONE; s = m->steps[s].parent) {
		const char *type = leak_model_text(m, m->steps[s].name);
		enum store is = store_of(type);
		if (is > found)
			found = is;
		if (is == STORE_NONE && !type_pattern_is_framework(type))
			break;
	}
	return found;
}

const char *leak_pattern_remedy(const struct leak_model *m, enum leak_pattern p, uint32_t holder)
{
	static const char *const stores[] = {
		[STORE_QUEUE] = "More is put in than is taken out: let the consumer keep up, or bound it (Channel.CreateBounded, a BlockingCollection with a "
				"capacity).",
		[STORE_CACHE] = "Give the cache a bound: SizeLimit, with a size and an expiration for each entry.",
		[STORE_BUFFER] = "It is written to and never emptied: write it out and empty it (SetLength(0), Clear), or begin a new one.",
	};
	enum store s = holding_store(m, holder);
	bool by_store = p == LEAK_STATIC_COLLECTION || p == LEAK_STATIC || p == LEAK_OTHER || p == LEAK_STACK;
	return by_store && (size_t)s < sizeof stores / sizeof stores[0] && stores[s] ? stores[s] : patterns[p].remedy;
}

static enum leak_pattern by_root(const struct leak_model *m, uint32_t holder)
{
	switch (m->steps[holder].root) {
	case LEAK_ROOT_STATIC:
		return holding_store(m, holder) == STORE_NONE ? LEAK_STATIC : LEAK_STATIC_COLLECTION;
	case LEAK_ROOT_THREAD_STATIC:
		return LEAK_THREAD_STATIC;
	case LEAK_ROOT_HANDLE:
	case LEAK_ROOT_PINNED_HANDLE:
		return LEAK_HANDLE;
	case LEAK_ROOT_DEPENDENT_HANDLE:
		return LEAK_WEAK_TABLE;
	case LEAK_ROOT_FINALIZER:
		return LEAK_FINALIZERS;
	case LEAK_ROOT_STACK:
		return LEAK_STACK;
	default:
		return LEAK_OTHER;
	}
}

bool leak_pattern_pooled(const struct leak_model *m, uint32_t step)
{
	for (uint32_t s = step; s != LEAK_NONE; s = m->steps[s].parent)
		if (strstr(leak_model_text(m, m->steps[s].name), "System.Buffers.") && strstr(leak_model_text(m, m->steps[s].name), "ArrayPool"))
			return true;
	return false;
}

/* A delegate that holds delegates (the paths make them one step) is a multicast one: an event's. */
static bool is_multicast(const struct leak_model *m, uint32_t target)
{
	uint32_t delegate = m->steps[target].parent;
	return strcmp(leak_model_text(m, m->steps[target].field), "_target") == 0 && m->steps[delegate].nested;
}

uint32_t leak_pattern_event(const struct leak_model *m, uint32_t step)
{
	uint32_t found = LEAK_NONE;
	for (uint32_t s = step; m->steps[s].parent != LEAK_NONE; s = m->steps[s].parent) {
		uint32_t delegate = m->steps[s].parent;
		bool of_event = strcmp(leak_model_text(m, m->steps[s].field), "_invocationList") == 0 || is_multicast(m, s);
		if (of_event && m->steps[delegate].parent != LEAK_NONE)
			found = delegate;
	}
	return found;
}

/* The scope of what it has to dispose of: one of ever more, not the container's own, which lives as long as that. */
static bool is_one_of_many_scopes(const struct leak_model *m, uint32_t scope)
{
	bool own = strcmp(leak_model_text(m, m->steps[scope].field), "Root") == 0;
	return !own && m->steps[scope].parent != LEAK_NONE && leak_model_more(m, scope) >= MORE_SCOPES;
}

enum leak_pattern leak_pattern_of(const struct leak_model *m, uint32_t step, uint32_t holder)
{
	enum leak_pattern found = LEAK_OTHER;
	for (uint32_t s = step; m->steps[s].parent != LEAK_NONE; s = m->steps[s].parent) {
		enum leak_pattern p = sign_of(leak_model_text(m, m->steps[s].name), leak_model_text(m, m->steps[s].field));
		if (is_multicast(m, s))
			p = LEAK_EVENT_HANDLER;
		if (p == LEAK_DISPOSABLES && !strstr(leak_model_text(m, m->steps[m->steps[s].parent].name), "DependencyInjection"))
			p = LEAK_OTHER;
		if (p == LEAK_DISPOSABLES && is_one_of_many_scopes(m, m->steps[s].parent))
			p = LEAK_SCOPES;
		if (p != LEAK_OTHER && (found == LEAK_OTHER || found == LEAK_CLOSURE))
			found = p; /* a closure below an event or a timer is what those hold */
	}
	return found != LEAK_OTHER ? found : by_root(m, holder);
}
