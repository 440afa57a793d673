/* Context: own thread; CLR callback of the collection that it waits for. */
#include "profiler/heap/heap_gaps.h"

static struct heap_gap gaps[HEAP_GAPS_MAX];
static uint32_t count;

void heap_gaps_reset(void)
{
	count = 0;
}

void heap_gaps_note(enum heap_gap_kind kind, uint64_t due, uint64_t seen)
{
	for (uint32_t i = 0; i < count; i++)
		if (gaps[i].kind == kind)
			return;
	if (count < HEAP_GAPS_MAX)
		gaps[count++] = (struct heap_gap){.kind = (uint8_t)kind, .due = due, .seen = seen};
}

void heap_gaps_tell(struct heap_walked *w)
{
	w->gap_count = count;
	for (uint32_t i = 0; i < count; i++)
		w->gaps[i] = gaps[i];
}
