/* Context: any (end), own thread and CLR callback (the others). */
#include "profiler/base/pause_watch.h"

#include "common/proto/difference.h"
#include "profiler/base/now.h"

#include <errno.h>
#include <stdatomic.h>
#include <unistd.h>

enum { NONE, BEING_WRITTEN, WRITTEN };

static _Atomic uint64_t count, total_ns, max_pause_ns, max_wait_ns;
static _Atomic int running, exceeded;
static struct channel_pause first;
static uint64_t budget_ns;
static int wake_fd = -1;
static uint64_t walk_end_ns, walk_felt_ns; /* own thread */

void pause_watch_reset(uint64_t budget, int wake)
{
	atomic_store(&count, 0);
	atomic_store(&total_ns, 0);
	atomic_store(&max_pause_ns, 0);
	atomic_store(&max_wait_ns, 0);
	budget_ns = budget;
	wake_fd = wake;
	walk_end_ns = walk_felt_ns = 0;
	atomic_store(&exceeded, NONE);
}

static void exceed(enum channel_pause_kind kind, uint64_t ns)
{
	int none = NONE, error = errno;
	uint64_t one = 1;

	if (!atomic_compare_exchange_strong(&exceeded, &none, BEING_WRITTEN))
		return;
	first = (struct channel_pause){.kind = kind, .end_ns = now_ns(), .duration_ns = ns, .budget_ns = budget_ns};
	atomic_store(&exceeded, WRITTEN);
	while (write(wake_fd, &one, sizeof one) < 0 && errno == EINTR)
		;
	errno = error;
}

static uint64_t now_by(enum channel_pause_kind kind)
{
	return now_of(kind == CHANNEL_PAUSE_SIGNAL ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC);
}

uint64_t pause_watch_begin(enum channel_pause_kind kind)
{
	atomic_fetch_add(&running, 1);
	return now_by(kind);
}

bool pause_watch_busy(void)
{
	return atomic_load(&running) != 0;
}

void pause_watch_cancel(void)
{
	atomic_fetch_sub(&running, 1);
}

/* `felt_ns`: with those before it that it counts as one with. */
static void add_pause_time(_Atomic uint64_t *longest, uint64_t ns, uint64_t felt_ns)
{
	uint64_t max = atomic_load(longest);

	atomic_fetch_add(&count, 1);
	atomic_fetch_add(&total_ns, ns);
	while (felt_ns > max && !atomic_compare_exchange_weak(longest, &max, felt_ns))
		;
}

static uint64_t felt_at(uint64_t begin_ns)
{
	return walk_end_ns && is_within(begin_ns, walk_end_ns, PAUSE_WATCH_APART_NS) ? walk_felt_ns : 0;
}

uint64_t pause_watch_felt(void)
{
	return felt_at(now_ns());
}

static uint64_t feel(uint64_t begin_ns, uint64_t ns)
{
	walk_felt_ns = felt_at(begin_ns) + ns;
	walk_end_ns = begin_ns + ns;
	return walk_felt_ns;
}

void pause_watch_end(enum channel_pause_kind kind, uint64_t begin_ns)
{
	uint64_t ns = difference(now_by(kind), begin_ns);
	uint64_t felt_ns = kind == CHANNEL_PAUSE_WALK ? feel(begin_ns, ns) : ns;

	add_pause_time(kind == CHANNEL_PAUSE_WALK ? &max_pause_ns : &max_wait_ns, ns, felt_ns);
	if (budget_ns && felt_ns > budget_ns)
		exceed(kind, felt_ns);
	atomic_fetch_sub(&running, 1);
}

void pause_watch_end_brief(uint64_t begin_ns)
{
	uint64_t ns = difference(now_ns(), begin_ns);

	add_pause_time(&max_wait_ns, ns, ns);
	atomic_fetch_sub(&running, 1);
}

struct pause_counts pause_watch_counts(void)
{
	return (struct pause_counts){atomic_load(&count), atomic_load(&total_ns), atomic_load(&max_pause_ns), atomic_load(&max_wait_ns)};
}

bool pause_watch_exceeded(struct channel_pause *out)
{
	if (atomic_load(&exceeded) != WRITTEN)
		return false;
	*out = first;
	return true;
}
