#include "agent/heap/heap_choice.h"

#include "common/api/reason.h"

#include <stdio.h>

#define EXACT_TRIES 2 /* each is a full collection: where another way is open it is taken then */

int64_t heap_choice_budget(int64_t us)
{
	return us / 1000 * 5 / 4 + 1;
}

/* The stop of a walk without a forced collection, with the look before it. */
static int64_t walk_alone_us(const struct heap_prediction *p)
{
	return (int64_t)(p->probe_us + p->walk_us);
}

/* Only who has asked for a collection can do without. */
static int too_large(const struct heap_prediction *p, const struct heap_walk_options *o, int64_t us, struct err *e)
{
	char other[80] = "";

	if (o->roots == HEAP_ROOTS_EXACT && p->flags & HEAP_CAN_WALK && walk_alone_us(p) < us)
		snprintf(other, sizeof other, "; roots: NoCollection would stop it for about %lld ms", (long long)(walk_alone_us(p) / 1000));
	return err_set_reason(e, ERR_INVALID, REASON_HeapTooLarge,
			      "a walk through this heap (%llu MB) would stop the application for about %lld ms, and the pause budget is %lld ms: "
			      "a pauseBudgetMilliseconds of %lld would do%s",
			      (unsigned long long)(p->heap_bytes >> 20), (long long)(us / 1000), (long long)o->budget_ms,
			      (long long)heap_choice_budget(us), other);
}

int heap_choice_too_large_here(uint64_t objects, const struct heap_lack *lack, struct err *e)
{
	if (lack->limit_bytes)
		return err_set_reason(e, ERR_INVALID, REASON_HeapTooLargeForAgent,
				      "the graph of a heap of %llu objects does not fit what the agent's memory limit leaves: a limit of %lld Mi would do",
				      (unsigned long long)objects, (long long)(lack->limit_bytes >> 20) + 1);
	return err_set_reason(e, ERR_INVALID, REASON_HeapTooLargeForAgent,
			      "the graph of a heap of %llu objects needs %lld MB for files beside the reports, more than the disk and the agent's quota leave",
			      (unsigned long long)objects, (long long)(lack->file_bytes / 1000000) + 1);
}

static int choose_way(struct heap_choice *out, enum heap_way way, int64_t us, const char *why)
{
	*out = (struct heap_choice){.way = way, .why = why, .predicted_us = us};
	return 0;
}

/* Where objects may be counted alone: not on .NET 8, whose heap can only be walked in a collection, and not beside another profiler, where a
 * collection must come first. */
bool heap_choice_may_count(const struct heap_prediction *p, const struct heap_walk_options *o)
{
	return o->types && o->roots == HEAP_ROOTS_AUTO && p->flags & HEAP_CAN_COLLECT && p->flags & HEAP_CAN_WALK;
}

int heap_choice_types(const struct heap_prediction *p, const struct heap_walk_options *o, int64_t us, const struct heap_lack *lack,
			struct heap_choice *out)
{
	int64_t types_us = (int64_t)p->types_us, budget_us = o->budget_ms * 1000;

	choose_way(out, HEAP_WAY_TYPES, o->budget_ms && types_us > budget_us ? budget_us : types_us,
		   o->types_only ? "asked for"
		   : us	     ? "the walk that shows holders would stop for longer than the pause budget"
			     : "the heap graph does not fit into the agent's memory");
	out->needs = (struct heap_needs){
		.budget_ms = us ? heap_choice_budget(us) : 0,
		.limit_bytes = lack->limit_bytes,
		.file_bytes = lack->file_bytes,
	};
	return 0;
}

static struct heap_lack predicted_lack(const struct heap_prediction *p, const struct heap_walk_options *o, const struct heap_room *room)
{
	return heap_room_lack(room, heap_room_stream(p->objects), o->graph ? heap_room_graph(p->objects, 0) : 0);
}

/* What of the stacks the budget has no time for is not read, and said. */
static int64_t with_stacks(const struct heap_prediction *p, int64_t walk_us, int64_t budget_us)
{
	return (int64_t)p->stacks_us < budget_us - walk_us ? walk_us + (int64_t)p->stacks_us : budget_us;
}

/* The graph's ways. 1: none fits; *us: what the cheapest would stop for. */
static int choose_graph(const struct heap_prediction *p, enum heap_roots roots, int64_t budget_ms, int64_t *us, struct heap_choice *out)
{
	bool can_collect = p->flags & HEAP_CAN_COLLECT, can_walk = p->flags & HEAP_CAN_WALK;
	int64_t walk_us = walk_alone_us(p), collection_us = (int64_t)p->collection_us + (can_walk ? walk_us : (int64_t)p->probe_us);
	int64_t budget_us = budget_ms ? budget_ms * 1000 : INT64_MAX;

	if (!can_collect && !(p->flags & HEAP_QUIET)) /* a collection comes first all the same, see profiler/heap/heap_walk.c */
		walk_us = collection_us;
	if (can_collect && (roots != HEAP_ROOTS_NO_COLLECTION || !can_walk) && collection_us <= budget_us)
		return choose_way(out, HEAP_WAY_EXACT, collection_us,
				  roots == HEAP_ROOTS_EXACT ? "asked for"
				  : can_walk		? "its predicted stop fits the pause budget"
							: "the heap of .NET 8 can only be walked in a collection");
	if (can_walk && roots != HEAP_ROOTS_EXACT && walk_us <= budget_us)
		return choose_way(out, HEAP_WAY_NO_COLLECTION, with_stacks(p, walk_us, budget_us),
				  roots == HEAP_ROOTS_NO_COLLECTION ? "asked for"
				  : can_collect			? "a forced collection would stop for longer than the pause budget"
								: "another profiler has the process's main slot");
	*us = can_walk && roots != HEAP_ROOTS_EXACT ? walk_us : collection_us;
	return 1;
}

int heap_choice_make(const struct heap_prediction *p, const struct heap_walk_options *o, const struct heap_room *room, struct heap_choice *out,
		     struct err *e)
{
	bool can_collect = p->flags & HEAP_CAN_COLLECT, can_walk = p->flags & HEAP_CAN_WALK;
	struct heap_lack lack = predicted_lack(p, o, room);
	int64_t us = 0;

	if (!can_collect && (o->roots == HEAP_ROOTS_EXACT || !can_walk))
		return err_set_reason(e, ERR_INVALID, REASON_ProfilerAlreadyActive,
				      can_walk ? "another profiler has the process's main slot: beside it roots can only be known without a collection"
					       : "another profiler has the process's main slot: beside it the heap of .NET 8 cannot be walked");
	int late = choose_graph(p, o->roots, o->budget_ms, &us, out);
	bool lacks = lack.limit_bytes || lack.file_bytes;
	if (!late && !lacks && !o->types_only)
		return 0;
	if (heap_choice_may_count(p, o))
		return heap_choice_types(p, o, us, &lack, out);
	return late ? too_large(p, o, us, e) : heap_choice_too_large_here(p->objects, &lack, e);
}

bool heap_choice_falls_short(const struct heap_prediction *p, const struct heap_walk_options *o, const struct heap_room *room)
{
	bool can_collect = p->flags & HEAP_CAN_COLLECT, can_walk = p->flags & HEAP_CAN_WALK;
	struct heap_lack lack = predicted_lack(p, o, room);
	struct heap_choice c;
	int64_t us;

	if (o->types_only || (!can_collect && (o->roots == HEAP_ROOTS_EXACT || !can_walk)))
		return false;
	return lack.limit_bytes || lack.file_bytes || choose_graph(p, o->roots, o->budget_ms, &us, &c) != 0;
}

void heap_choice_revise(struct heap_prediction *p, uint64_t objects)
{
	if (!p->objects)
		return;
	double of_before = (double)objects / (double)p->objects;

	p->walk_us = (uint64_t)((double)p->walk_us * of_before);
	p->collection_us = (uint64_t)((double)p->collection_us * of_before);
	p->types_us = (uint64_t)((double)p->types_us * of_before);
	p->objects = objects;
}

bool heap_choice_give_way(const struct heap_prediction *p, enum heap_roots roots, int64_t budget_ms, unsigned tries, bool late,
			struct heap_choice *choice)
{
	bool fits = !budget_ms || (int64_t)p->walk_us <= budget_ms * 1000; /* some time after the stops before */

	if (roots != HEAP_ROOTS_AUTO || choice->way != HEAP_WAY_EXACT || !(p->flags & HEAP_CAN_WALK) || !fits)
		return false;
	if (!late && tries < EXACT_TRIES)
		return false;
	choose_way(choice, HEAP_WAY_NO_COLLECTION, (int64_t)p->walk_us,
		   late ? "the forced collection took longer than predicted" : "the application's own collections came between each time");
	return true;
}
