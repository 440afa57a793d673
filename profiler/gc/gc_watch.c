/* Context: own thread and CLR callback. All threads are stopped while a callback runs: it waits for nothing. */
#include "profiler/gc/gc_watch.h"

#include "profiler/stacks/sample_ring.h"

#include <stdatomic.h>

#define MAX_OPEN 4 /* a background collection and one in the foreground, and room for what never finished */
#define WORDS 3    /* start, end, thread and generation */

/* `who`: thread and generation in one word; 0: free. It is 0 while the start is written. */
static struct {
	_Atomic uint64_t who, start_ns;
} open[MAX_OPEN];
static struct sample_ring ring;

void gc_watch_reset(void)
{
	uint64_t record[WORDS];

	for (int i = 0; i < MAX_OPEN; i++)
		atomic_store(&open[i].who, 0);
	while (sample_ring_take(&ring, record, WORDS))
		;
	atomic_store(&ring.dropped, 0);
}

static uint64_t who_is(uint32_t tid, uint32_t generation)
{
	return (uint64_t)tid << 32 | generation;
}

static uint64_t begun_at(int i)
{
	return atomic_load(&open[i].who) ? atomic_load(&open[i].start_ns) : 0;
}

/* The place of this thread's unfinished collection, else a free one, else the oldest. */
static int open_of(uint32_t tid)
{
	int best = 0;

	for (int i = 0; i < MAX_OPEN; i++) {
		if (atomic_load(&open[i].who) >> 32 == tid)
			return i;
		if (begun_at(i) < begun_at(best))
			best = i;
	}
	return best;
}

void gc_watch_started(uint32_t tid, uint32_t generation, uint64_t now_ns)
{
	int i = open_of(tid);

	atomic_store(&open[i].who, 0);
	atomic_store(&open[i].start_ns, now_ns);
	atomic_store(&open[i].who, who_is(tid, generation));
}

void gc_watch_finished(uint32_t tid, uint64_t now_ns)
{
	int i = open_of(tid);
	uint64_t who = atomic_load(&open[i].who);
	const uint64_t record[WORDS] = {atomic_load(&open[i].start_ns), now_ns, who};

	if (who >> 32 == tid && atomic_compare_exchange_strong(&open[i].who, &who, 0))
		sample_ring_put(&ring, record, WORDS, NULL, 0);
}

size_t gc_watch_take(struct channel_collection *out, size_t cap)
{
	uint64_t record[WORDS];
	size_t count = 0;

	for (; count < cap && sample_ring_take(&ring, record, WORDS); count++)
		out[count] = (struct channel_collection){
			.start_ns = record[0], .end_ns = record[1], .tid = (uint32_t)(record[2] >> 32), .generation = (uint32_t)record[2]};
	return count;
}

uint64_t gc_watch_dropped(void)
{
	return atomic_load(&ring.dropped);
}
