#include "agent/profilers/survivors/survivors_advice.h"

#include <string.h>

enum match { CONTAINS, BEGINS };

/* Types on the way that tell how something is held; the first row that fits any step counts. */
static const struct {
	const char *type;
	enum match match;
	const char *advice;
} by_type[] = {
	{"EventHandler", CONTAINS,
	 "Remedy: subscribers live as long as the event's owner: unsubscribe (-=) when they are done, or use a weak event"},
	{"System.Threading.TimerQueue", BEGINS, "Remedy: dispose of timers that are no longer needed; an active timer keeps its callback's object"},
	{"System.Threading.Timer", BEGINS, "Remedy: dispose of timers that are no longer needed; an active timer keeps its callback's object"},
	{"System.Threading.CancellationTokenSource", BEGINS,
	 "Remedy: dispose of the registrations of long-lived cancellation tokens: each keeps its callback's object"},
	{"System.Runtime.CompilerServices.ConditionalWeakTable", BEGINS,
	 "Remedy: values of a ConditionalWeakTable live as long as their keys: release the keys"},
	{"Microsoft.Extensions.Caching.Memory", BEGINS, "Remedy: give the memory cache a SizeLimit, its entries a size and an expiry"},
	{"(closure)", CONTAINS, "Remedy: a closure keeps all that it captures: remove the callback when it is done, or capture less"},
	{"System.Collections.", BEGINS,
	 "Remedy: bound the collection: remove what is done, or use a cache with a size limit and an expiry"},
};

static const char *const by_kind[SURVIVORS_KINDS] = {
	[SURVIVORS_STATIC] = "Remedy: a static field lives as long as the process: clear it, or bound what it holds",
	[SURVIVORS_THREAD_STATIC] = "Remedy: thread statics live as long as their threads: clear them when the work is done, pool threads never end",
	[SURVIVORS_HANDLE] = "Remedy: look for GCHandle.Alloc without Free, and for native code that keeps callbacks or objects",
	[SURVIVORS_PINNED_HANDLE] = "Remedy: free pinned handles soon; for lasting buffers use GC.AllocateArray(pinned: true) or a pool",
	[SURVIVORS_DEPENDENT_HANDLE] = "Remedy: values of a ConditionalWeakTable live as long as their keys: release the keys",
	[SURVIVORS_FINALIZER] = "Remedy: finalizers do not keep up: dispose of these objects, and find what blocks the finalizer thread",
	[SURVIVORS_STACK] = "Remedy: it is in use by running code: process smaller batches, or stream",
	[SURVIVORS_UNKNOWN] = "Remedy: run it again with roots: Exact to tell garbage from what handles hold",
};

static bool fits(const char *name, size_t row)
{
	const char *found = strstr(name, by_type[row].type);
	return by_type[row].match == BEGINS ? found == name : found != NULL;
}

static const char *advice_by_type(const struct heap_snapshot *s, const struct heap_path *p)
{
	for (size_t i = 0; p && i < p->step_count; i++)
		if (p->steps[i].field && strcmp(p->steps[i].field, "_invocationList") == 0)
			return by_type[0].advice;
	for (size_t row = 0; p && row < sizeof by_type / sizeof *by_type; row++)
		for (size_t i = 0; i < p->step_count; i++)
			if (fits(s->types[p->steps[i].type].name, row))
				return by_type[row].advice;
	return NULL;
}

const char *survivors_advice(const struct heap_snapshot *s, enum survivors_kind kind, const struct heap_path *p)
{
	if (kind == SURVIVORS_FINALIZER || kind == SURVIVORS_STACK || kind == SURVIVORS_UNKNOWN)
		return by_kind[kind];
	const char *advice = advice_by_type(s, p);
	if (advice || kind >= SURVIVORS_KINDS)
		return advice;
	if (kind == SURVIVORS_HANDLE && s->facts.names_unread)
		return "Remedy: it may be a static field, as not all of their names were read; else look for GCHandle.Alloc without Free";
	return by_kind[kind];
}

const char *survivors_advice_kept(const struct heap_snapshot *s, const struct heap_path *p)
{
	const char *advice = advice_by_type(s, p);
	return advice ? advice : "Remedy: release what it no longer needs, or bound what it holds";
}

const char *survivors_advice_unread(const struct heap_facts *f)
{
	if (f->why && strstr(f->why, "another profiler"))
		return "Remedy: run it again without the other profiler: a forced collection tells all roots";
	return "Remedy: run it again with roots: Exact, and the pause budget that it needs: a forced collection tells all roots";
}

const char *survivors_advice_disease(const char *id)
{
	static const struct {
		const char *id, *advice;
	} rows[] = {
		{"PinnedObjects",
		 "Remedy: pin for moments only; lasting buffers belong on the pinned object heap: GC.AllocateArray(pinned: true), or a pool"},
		{"LargeObjects", "Remedy: pool large arrays (ArrayPool), or compact once: GCSettings.LargeObjectHeapCompactionMode"},
		{"EventHandlers", "Remedy: subscribers live as long as the event's owner: unsubscribe (-=) when they are done, or use a weak event"},
		{"TimersPileUp", "Remedy: dispose of timers that are no longer needed; an active timer keeps its callback's object"},
		{"CancellationTokenSourcesPileUp",
		 "Remedy: dispose of CancellationTokenSources, linked ones above all (using): a long-lived token keeps each linked to it"},
		{"DisposablesInContainer",
		 "Remedy: resolve disposable services in a scope that ends (CreateScope in a using), not from the root provider"},
		{"TrackedEntities", "Remedy: short-lived DbContexts, one per unit of work; AsNoTracking() for reading, ChangeTracker.Clear() between batches"},
		{"AssemblyLoadContextsKept",
		 "Remedy: after Unload() nothing may refer to the context's types or objects: statics, events, caches and threads keep it"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (strcmp(rows[i].id, id) == 0)
			return rows[i].advice;
	return NULL;
}
