#include "agent/profilers/pauses/pause_capture.h"

#include "common/base/buf.h"

#include <stdlib.h>

static const struct {
	const char *name, *title;
} reasons[PAUSE_REASON_COUNT] = {
	[PAUSE_COLLECTION] = {"collection", "blocking collection"},
	[PAUSE_BACKGROUND] = {"backgroundCollection", "phase of a background collection"},
	[PAUSE_CODE] = {"code", "change of code (ReJIT)"},
	[PAUSE_DEBUGGER] = {"debugger", "debugger"},
	[PAUSE_PROFILER] = {"profiler", "another profiler"},
	[PAUSE_SHUTDOWN] = {"shutdown", "end of the process"},
	[PAUSE_OTHER] = {"other", "the runtime's own work"},
};

static const struct {
	const char *name, *title;
} causes[CAUSE_COUNT] = {
	[CAUSE_UNKNOWN] = {"unknown", "not told by the runtime"},
	[CAUSE_ALLOCATION] = {"allocation", "a generation's budget was used up"},
	[CAUSE_ALLOCATION_LARGE] = {"allocationLarge", "the budget of large objects was used up"},
	[CAUSE_INDUCED] = {"induced", "asked for"},
	[CAUSE_INDUCED_LOW_MEMORY] = {"inducedLowMemory", "asked for, memory being low"},
	[CAUSE_LOW_MEMORY] = {"lowMemory", "memory is low"},
	[CAUSE_CONTAINER_LIMIT] = {"containerLimit", "the host asked for memory"},
	[CAUSE_OUT_OF_SPACE] = {"outOfSpace", "no space for an object"},
	[CAUSE_OUT_OF_SPACE_LARGE] = {"outOfSpaceLarge", "no space for a large object"},
	[CAUSE_IDLE] = {"idle", "the process was idle"},
	[CAUSE_INTERNAL] = {"internal", "the collector's own decision"},
	[CAUSE_STRESS] = {"stress", "stress mode of the collector"},
	[CAUSE_TUNING] = {"tuning", "tuning of background collections"},
	[CAUSE_OTHER] = {"other", "something else"},
	[CAUSE_NOT_LOOKED] = {"notLooked", "not looked at: there were too many"},
};

const char *pause_reason_name(enum pause_reason r)
{
	return reasons[r].name;
}

const char *pause_reason_title(enum pause_reason r)
{
	return reasons[r].title;
}

const char *pause_cause_name(enum pause_cause c)
{
	return causes[c].name;
}

const char *pause_cause_title(enum pause_cause c)
{
	return causes[c].title;
}

/* gc_reason of the runtime's gc.h; the event's documentation has the first eight. */
enum pause_cause pause_cause_of(unsigned reason)
{
	static const enum pause_cause known[] = {
		CAUSE_ALLOCATION, CAUSE_INDUCED, CAUSE_LOW_MEMORY, CAUSE_IDLE, CAUSE_ALLOCATION_LARGE, CAUSE_OUT_OF_SPACE,
		CAUSE_OUT_OF_SPACE_LARGE, CAUSE_INDUCED, CAUSE_STRESS, CAUSE_INDUCED_LOW_MEMORY, CAUSE_INDUCED, CAUSE_CONTAINER_LIMIT,
		CAUSE_INTERNAL, CAUSE_CONTAINER_LIMIT, CAUSE_TUNING, CAUSE_TUNING, CAUSE_INTERNAL, CAUSE_INDUCED,
	};
	return reason < sizeof known / sizeof *known ? known[reason] : CAUSE_OTHER;
}

void pause_kind_title(const struct pause_kind *k, struct buf *out)
{
	if (k->generation < 0) {
		buf_puts(out, k->reason == PAUSE_BACKGROUND ? "background collection, last phase" : reasons[k->reason].title);
		return;
	}
	buf_printf(out, "gen %d collection", k->generation);
	if (k->reason == PAUSE_BACKGROUND)
		buf_puts(out, " in the background, first phase");
	if (k->induced)
		buf_puts(out, ", induced");
	else if (k->cause != CAUSE_UNKNOWN && k->cause != CAUSE_ALLOCATION && k->cause < CAUSE_NOT_LOOKED)
		buf_printf(out, ": %s", causes[k->cause].title);
}

void pause_capture_fini(struct pause_capture *c)
{
	if (!c)
		return;
	free(c->pauses);
	free(c->kinds);
	free(c->inducers);
	free(c->late);
	cpu_capture_fini(&c->stacks);
	session_facts_fini(&c->facts);
	*c = (struct pause_capture){0};
}
