#include "agent/heap/heap_gaps.h"
#include "common/base/size_text.h"

#define HELD "what only they hold is held by no root that was read"

bool heap_gaps_hide_roots(const struct heap_walked *w, enum heap_way way)
{
	return way == HEAP_WAY_NO_COLLECTION && w->gap_count > 0;
}

/* The stop that would have done, with the reserve of any budget that is told. */
static int64_t budget_for_stacks_ms(const struct heap_walked *w, const struct heap_gap *g)
{
	double stacks_us = (double)w->stacks_us * (double)g->due / (double)(g->seen ? g->seen : 1), rest_us = (double)w->walk_us - (double)w->stacks_us;
	double ms = (stacks_us + (rest_us > 0 ? rest_us : 0)) / 1000 * 5 / 4;

	return ms < 3600000 ? (int64_t)ms + 1 : 3600000;
}

static void note_roots(const struct heap_walked *w, const struct heap_gap *g, struct limits *l)
{
	long long due = (long long)g->due, seen = (long long)g->seen;

	switch ((enum heap_gap_kind)g->kind) {
	case HEAP_GAP_THREADS:
		limits_note(l, "threads", seen, due, "The stacks and thread statics of %lld of %lld threads were not read: " HELD, due - seen, due);
		break;
	case HEAP_GAP_STACKS:
		limits_note(l, "stacks", due, seen,
			    "The stacks of %lld of %lld threads were not read within the pause budget: " HELD ". A pauseBudgetMilliseconds of %lld may do",
			    due - seen, due, (long long)budget_for_stacks_ms(w, g));
		break;
	case HEAP_GAP_STATICS:
		limits_note(l, "staticFields", seen, due, "%lld of %lld static fields were not read: " HELD, due - seen, due);
		break;
	case HEAP_GAP_THREAD_STATICS:
		limits_note(l, "threadStatics", due, seen, "Thread statics were not read to their end within the pause budget: " HELD);
		break;
	case HEAP_GAP_HANDLES:
		limits_note(l, "handles", -1, -1, "The runtime's handles were not all found or read: " HELD);
		break;
	case HEAP_GAP_MEMORY:
		limits_note(l, "ownMemory", -1, -1,
			    "The process cannot read its own memory (/proc/self/mem): handles and statics of generic types were not read: " HELD);
		break;
	case HEAP_GAP_RUNTIME:
		limits_note(l, "runtimeVersion", due, seen,
			    "Runtime %lld is newer than this version knows (%lld): handles and statics of generic types were not read: " HELD, seen, due);
		break;
	case HEAP_GAP_BARE_TYPES:
		limits_note(l, "threadForNames", due, seen,
			    "The static fields of %lld %s without methods were not read, as the process could not make a thread: " HELD, due - seen,
			    size_text_plural((double)(due - seen), "type", "types"));
		break;
	}
}

/* A collection has told all roots: only names are lacking. */
static void note_names(const struct heap_gap *g, struct limits *l)
{
	long long due = (long long)g->due, seen = (long long)g->seen;

	switch ((enum heap_gap_kind)g->kind) {
	case HEAP_GAP_STATICS:
		limits_note(l, "staticFields", seen, due,
			    "%lld of %lld static fields were not looked at: what they hold is held by a handle, without their name", due - seen, due);
		break;
	case HEAP_GAP_MEMORY:
		limits_note(l, "ownMemory", -1, -1, "The process cannot read its own memory (/proc/self/mem): statics of generic types have no names");
		break;
	case HEAP_GAP_RUNTIME:
		limits_note(l, "runtimeVersion", due, seen, "Runtime %lld is newer than this version knows (%lld): statics of generic types have no names",
			    seen, due);
		break;
	case HEAP_GAP_BARE_TYPES:
		limits_note(l, "threadForNames", due, seen,
			    "The static fields of %lld %s without methods have no names, as the process could not make a thread", due - seen,
			    size_text_plural((double)(due - seen), "type", "types"));
		break;
	case HEAP_GAP_THREADS:
	case HEAP_GAP_STACKS:
	case HEAP_GAP_THREAD_STATICS:
	case HEAP_GAP_HANDLES:
		break;
	}
}

bool heap_gaps_hide_names(const struct heap_walked *w, enum heap_way way)
{
	struct limits l = {0};

	heap_gaps_note(w, way, &l);
	return way == HEAP_WAY_EXACT && l.count > 0;
}

void heap_gaps_note(const struct heap_walked *w, enum heap_way way, struct limits *l)
{
	for (uint32_t i = 0; i < w->gap_count && way != HEAP_WAY_TYPES; i++) {
		if (way == HEAP_WAY_EXACT)
			note_names(&w->gaps[i], l);
		else
			note_roots(w, &w->gaps[i], l);
	}
}
