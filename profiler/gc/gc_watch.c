/* Context: own thread and CLR callback. The application stands while a callback runs: the lock is held for some nanoseconds. */
#include "profiler/gc/gc_watch.h"

#include <pthread.h>

#define MAX_OPEN 4 /* a background collection and one in the foreground, and room for what never finished */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct channel_collection open[MAX_OPEN]; /* start_ns 0: free */
static struct channel_collection ring[GC_WATCH_CAP];
static uint64_t head, tail; /* counts: ring[tail..head) modulo its size */
static uint64_t forgotten;

void gc_watch_reset(void)
{
	pthread_mutex_lock(&lock);
	for (int i = 0; i < MAX_OPEN; i++)
		open[i].start_ns = 0;
	head = tail = forgotten = 0;
	pthread_mutex_unlock(&lock);
}

/* The place of this thread's unfinished collection, else a free one, else the oldest. */
static struct channel_collection *open_of(uint32_t tid)
{
	struct channel_collection *best = &open[0];

	for (int i = 0; i < MAX_OPEN; i++) {
		if (open[i].start_ns && open[i].tid == tid)
			return &open[i];
		if (open[i].start_ns < best->start_ns)
			best = &open[i];
	}
	return best;
}

void gc_watch_started(uint32_t tid, uint32_t generation, uint64_t now_ns)
{
	pthread_mutex_lock(&lock);
	*open_of(tid) = (struct channel_collection){.start_ns = now_ns, .tid = tid, .generation = generation};
	pthread_mutex_unlock(&lock);
}

void gc_watch_finished(uint32_t tid, uint64_t now_ns)
{
	pthread_mutex_lock(&lock);
	struct channel_collection *c = open_of(tid);
	if (c->start_ns && c->tid == tid) {
		c->end_ns = now_ns;
		if (head - tail == GC_WATCH_CAP) {
			tail++;
			forgotten++;
		}
		ring[head++ % GC_WATCH_CAP] = *c;
		c->start_ns = 0;
	}
	pthread_mutex_unlock(&lock);
}

size_t gc_watch_take(struct channel_collection *out, size_t cap)
{
	size_t count = 0;

	pthread_mutex_lock(&lock);
	while (count < cap && tail < head)
		out[count++] = ring[tail++ % GC_WATCH_CAP];
	pthread_mutex_unlock(&lock);
	return count;
}

uint64_t gc_watch_forgotten(void)
{
	pthread_mutex_lock(&lock);
	uint64_t n = forgotten;
	pthread_mutex_unlock(&lock);
	return n;
}
