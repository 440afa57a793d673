#include "profiler/base/now.h"
#include "profiler/base/pause_watch.h"

#include <criterion/criterion.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define BUDGET_NS UINT64_C(60000000000) /* longer than a machine holds a thread up */
#define SHORT_NS UINT64_C(1000000)

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
		pause_watch_begin(CHANNEL_PAUSE_CALLBACK);
		pause_watch_end(CHANNEL_PAUSE_CALLBACK, now_ns() - (uint64_t)i * 10 * BUDGET_NS);
	}
	cr_assert(woken() && pause_watch_exceeded(&p));
	cr_expect(p.kind == CHANNEL_PAUSE_CALLBACK && p.budget_ns == BUDGET_NS);
	cr_expect(p.duration_ns >= 10 * BUDGET_NS && p.duration_ns < 20 * BUDGET_NS, "the first");
	cr_expect(pause_watch_counts().count == 3 && pause_watch_counts().max_wait_ns >= 20 * BUDGET_NS && pause_watch_counts().max_pause_ns == 0);
}

static void stop(uint64_t begin_ns)
{
	pause_watch_begin(CHANNEL_PAUSE_WALK);
	pause_watch_end(CHANNEL_PAUSE_WALK, begin_ns);
}

/* Two stops one after the other; the longest, as it was felt. A machine may keep us from running between the two. */
static uint64_t felt_ns(uint64_t first_ns, uint64_t second_ns)
{
	for (int i = 0; i < 50; i++) {
		pause_watch_reset(first_ns + second_ns - 1, wake);
		stop(now_ns() - first_ns);
		uint64_t begin_ns = now_ns();
		while (now_ns() - begin_ns < second_ns)
			;
		bool near = pause_watch_felt() != 0;
		stop(begin_ns);
		if (near)
			return pause_watch_counts().max_pause_ns;
	}
	return 0;
}

Test(pause_watch, stops_for_a_walk_that_follow_each_other_count_as_one)
{
	struct channel_pause p;
	const uint64_t long_ns = 3 * PAUSE_WATCH_APART_NS, short_ns = SHORT_NS;

	begin();
	cr_expect_eq(pause_watch_felt(), 0);
	cr_expect_geq(felt_ns(long_ns, short_ns), long_ns + short_ns);
	cr_expect(pause_watch_exceeded(&p) && p.duration_ns >= long_ns + short_ns);
	cr_expect(pause_watch_counts().count == 2 && pause_watch_counts().max_wait_ns == 0, "nobody waited alone");
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
