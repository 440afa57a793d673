#include "profiler/now.h"
#include "profiler/pause_watch.h"

#include <criterion/criterion.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define BUDGET_NS 1000000u

static int wake = -1;

static bool woken(void)
{
	uint64_t n;

	return read(wake, &n, sizeof n) == sizeof n;
}

static void begin(void)
{
	wake = eventfd(0, EFD_NONBLOCK);
	pause_watch_reset(BUDGET_NS, wake);
}

Test(pause_watch, what_is_longer_than_the_budget_is_told_once)
{
	struct channel_pause p;

	begin();
	uint64_t begin_ns = pause_watch_begin(CHANNEL_PAUSE_CALLBACK);
	cr_expect(pause_watch_busy());
	pause_watch_end(CHANNEL_PAUSE_CALLBACK, begin_ns);
	cr_expect(!pause_watch_busy() && !pause_watch_exceeded(&p) && !woken());
	for (int i = 1; i <= 2; i++) {
		pause_watch_begin(CHANNEL_PAUSE_WALK);
		pause_watch_end(CHANNEL_PAUSE_WALK, now_ns() - (uint64_t)i * 10 * BUDGET_NS);
	}
	cr_assert(woken() && pause_watch_exceeded(&p));
	cr_expect(p.kind == CHANNEL_PAUSE_WALK && p.budget_ns == BUDGET_NS);
	cr_expect(p.duration_ns >= 10 * BUDGET_NS && p.duration_ns < 20 * BUDGET_NS, "the first");
	cr_expect(pause_watch_counts().count == 3 && pause_watch_counts().max_ns >= 20 * BUDGET_NS);
}

Test(pause_watch, a_brief_callback_counts_but_ends_nothing)
{
	struct channel_pause p;

	begin();
	pause_watch_begin(CHANNEL_PAUSE_CALLBACK);
	cr_expect(pause_watch_busy());
	pause_watch_end_brief(now_ns() - 10 * BUDGET_NS);
	cr_expect(!pause_watch_busy() && !pause_watch_exceeded(&p) && !woken());
	cr_expect(pause_watch_counts().count == 1 && pause_watch_counts().total_ns >= 10 * BUDGET_NS);
}
