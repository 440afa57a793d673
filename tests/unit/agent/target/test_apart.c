/* Calls that hang cost their thread and nothing else (agent/target/apart.h). Under TSan, too: pthread_ is used below. */
#include "agent/host/work_budget.h"
#include "agent/target/apart.h"
#include "common/api/reason.h"
#include "common/base/clock.h"
#include "common/base/mem.h"

#include <criterion/criterion.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LONG_MS 60000
#define SHORT_MS 50
#define PATIENCE_MS 500 /* on a busy machine, too, it computes in so long */

static _Atomic int released;

struct work {
	int wait_fd; /* -1: does not wait */
	int value;
	bool beat, held;
	bool *refused; /* whether it may not read any more, at its end; NULL: not asked */
	int64_t computes_ms;
	void (*turn)(void *ctx); /* NULL: none */
	int turn_fd;
	_Atomic int turns;
};

static struct work *work_new(int wait_fd)
{
	struct work *w = mem_alloc(sizeof *w);
	w->wait_fd = wait_fd;
	return w;
}

static void work_release(void *ctx)
{
	free(ctx);
	released++;
}

static int64_t cpu_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void work_run(struct apart *a, void *ctx)
{
	struct work *w = ctx;
	char byte;
	if (w->turn)
		apart_meanwhile(a, w->turn);
	if (w->beat)
		apart_alive(a, LONG_MS);
	while (cpu_ms() < w->computes_ms)
		;
	if (w->wait_fd >= 0 && read(w->wait_fd, &byte, 1) != 1)
		return;
	struct work_budget budget;
	work_budget_begin_anew(&budget, WORK_NAMES);
	if (w->refused)
		*w->refused = !work_budget_spend(&budget, 1);
	w->held = apart_hold(a);
	if (w->held)
		apart_let_go(a);
	w->value = 42;
}

static void wait_until_none_hangs(void)
{
	for (int64_t until_ms = clock_mono_ms() + LONG_MS; apart_hanging() > 0 && clock_mono_ms() < until_ms;)
		clock_sleep_until_ms(clock_mono_ms() + 1);
	cr_expect_eq(apart_hanging(), 0);
}

Test(apart, what_is_done_is_the_callers_again)
{
	for (int i = 0; i < 200; i++) {
		struct work *w = work_new(-1);
		cr_assert_eq(apart_run("pod a", work_run, w, work_release, LONG_MS, NULL), 0);
		cr_expect(w->value == 42 && w->held);
		free(w);
	}
	cr_expect_eq(released, 0);
}

Test(apart, one_that_hangs_is_left_alone_until_it_returns)
{
	int gate[2];
	struct err e = ERR_INIT, again = ERR_INIT;
	cr_assert_eq(pipe(gate), 0);
	cr_expect_eq(apart_run("pod a", work_run, work_new(gate[0]), work_release, SHORT_MS, &e), -1);
	cr_expect_eq(e.kind, ERR_TIMEOUT);
	cr_expect(e.reason == REASON_ProcessUnresponsive);
	cr_expect_eq(apart_hanging(), 1);
	cr_expect_eq(released, 0, "its thread still uses it");
	cr_expect_eq(apart_run("pod a", work_run, work_new(-1), work_release, LONG_MS, &again), -1);
	cr_expect_eq(again.kind, ERR_RETRY);
	cr_expect_eq(released, 1, "what did not begin is released at once");
	struct work *other = work_new(-1);
	cr_expect_eq(apart_run("pod b", work_run, other, work_release, LONG_MS, NULL), 0, "another pod is no matter of it");
	free(other);
	cr_assert_eq(write(gate[1], "x", 1), 1);
	wait_until_none_hangs();
	for (int64_t until_ms = clock_mono_ms() + LONG_MS; released < 2 && clock_mono_ms() < until_ms;)
		clock_sleep_until_ms(clock_mono_ms() + 1);
	cr_expect_eq(released, 2);
	struct work *w = work_new(-1);
	cr_expect_eq(apart_run("pod a", work_run, w, work_release, LONG_MS, NULL), 0);
	free(w);
}

/* It ends as soon as it reads by a budget. */
Test(apart, one_that_is_left_alone_reads_no_more)
{
	static bool refused[2] = {true, false};
	int gate[2];
	cr_assert_eq(pipe(gate), 0);
	struct work *w = work_new(-1);
	w->refused = &refused[0];
	cr_expect_eq(apart_run("pod a", work_run, w, work_release, LONG_MS, NULL), 0);
	free(w);
	cr_expect_not(refused[0]);
	w = work_new(gate[0]);
	w->refused = &refused[1];
	cr_expect_eq(apart_run("pod a", work_run, w, work_release, SHORT_MS, NULL), -1);
	cr_assert_eq(write(gate[1], "x", 1), 1);
	wait_until_none_hangs();
	cr_expect(refused[1]);
}

Test(apart, a_sign_of_life_is_believed)
{
	int gate[2];
	cr_assert_eq(pipe(gate), 0);
	struct work *w = work_new(gate[0]);
	w->beat = true;
	cr_assert_eq(write(gate[1], "x", 1), 1);
	cr_expect_eq(apart_run("pod a", work_run, w, work_release, LONG_MS, NULL), 0);
	cr_expect_eq(w->value, 42);
	free(w);
}

/* Which lets it go here. */
static void turn(void *ctx)
{
	struct work *w = ctx;
	if (w->turns++ == 0)
		cr_expect_eq(write(w->turn_fd, "x", 1), 1);
}

Test(apart, the_caller_does_its_turns_while_it_waits)
{
	int gate[2];
	cr_assert_eq(pipe(gate), 0);
	struct work *w = work_new(gate[0]);
	w->turn_fd = gate[1];
	w->turn = turn;
	cr_expect_eq(apart_run("pod a", work_run, w, work_release, LONG_MS, NULL), 0);
	cr_expect(w->value == 42 && w->turns > 0);
	free(w);
}

Test(apart, what_computes_does_not_hang)
{
	struct work *w = work_new(-1);
	w->computes_ms = 3 * PATIENCE_MS;
	cr_expect_eq(apart_run("pod a", work_run, w, work_release, PATIENCE_MS, NULL), 0);
	cr_expect(w->value == 42 && w->held);
	free(w);
}

Test(apart, what_has_computed_may_hang_all_the_same)
{
	int gate[2];
	struct err e = ERR_INIT;
	cr_assert_eq(pipe(gate), 0);
	struct work *w = work_new(gate[0]);
	w->computes_ms = 3 * SHORT_MS;
	cr_expect_eq(apart_run("pod a", work_run, w, work_release, SHORT_MS, &e), -1);
	cr_expect_eq(e.kind, ERR_TIMEOUT);
	cr_assert_eq(write(gate[1], "x", 1), 1);
	wait_until_none_hangs();
}

Test(apart, places_are_told_apart)
{
	char place[APART_PLACE_SIZE];
	struct target t = {.pid = 7, .start_time = 9};
	apart_place(&t, place);
	cr_expect_str_eq(place, "process 7 since 9");
	t.shared_folder = (char *)"shop_web";
	apart_place(&t, place);
	cr_expect_str_eq(place, "folder shop_web");
	t.container_id = (char *)"abc";
	apart_place(&t, place);
	cr_expect_str_eq(place, "container abc");
	t.pod_uid = (char *)"uid";
	apart_place(&t, place);
	cr_expect_str_eq(place, "pod uid");
}

/* 500 ms of waiting have passed at 10,000, of a call that was to be given up at 10,000. */
static int64_t until_ms(int64_t ran_ms, int64_t ready_ms, bool is_ready)
{
	return apart_until_ms(&(struct apart_signs){500, ran_ms * 1000000, ready_ms * 1000000, is_ready}, 10000, 3000, 10000);
}

Test(apart, who_gets_no_cpu_does_not_hang)
{
	cr_expect_eq(until_ms(0, 0, false), 10000, "it waits for a file system");
	cr_expect_eq(until_ms(4, 0, false), 10000, "which lets it go now and then");
	cr_expect_eq(until_ms(5, 0, false), 13000, "it computes");
	cr_expect_eq(until_ms(1, 450, false), 10450, "it waited for a CPU");
	cr_expect_eq(until_ms(0, 0, true), 10500, "and still does");
	cr_expect_eq(until_ms(0, 900, true), 10900);
	cr_expect_eq(apart_until_ms(&(struct apart_signs){500, 500000000, 0, true}, 10000, 3000, 60000), 60000, "what was said to last longer");
}

/* What the last look said. */
static int poll_until_over(struct apart *a, struct err *e)
{
	int over = 0;
	for (int64_t until_ms = clock_mono_ms() + LONG_MS; !over && clock_mono_ms() < until_ms;) {
		over = apart_poll(a, e);
		clock_sleep_until_ms(clock_mono_ms() + 1);
	}
	return over;
}

Test(apart, who_cannot_wait_looks_again_and_again)
{
	int gate[2];
	struct err e = ERR_INIT;
	cr_assert_eq(pipe(gate), 0);
	struct work *w = work_new(gate[0]);
	struct apart *a = apart_begin("pod a", work_run, w, work_release, LONG_MS, &e);
	cr_assert_not_null(a);
	cr_expect_eq(apart_poll(a, &e), 0, "it has not returned");
	cr_assert_eq(write(gate[1], "x", 1), 1);
	cr_expect_eq(poll_until_over(a, &e), 1);
	cr_expect_eq(released, 0, "it is the caller's");
	free(w);
	a = apart_begin("pod a", work_run, work_new(gate[0]), work_release, SHORT_MS, &e);
	cr_expect_eq(poll_until_over(a, &e), -1);
	cr_expect_eq(e.kind, ERR_TIMEOUT);
	cr_expect_null(apart_begin("pod a", work_run, work_new(-1), work_release, LONG_MS, NULL));
	cr_expect_eq(released, 1);
	cr_assert_eq(write(gate[1], "x", 1), 1);
	wait_until_none_hangs();
}

Test(apart, what_nobody_looks_at_any_more_is_released_when_it_returns)
{
	int gate[2];
	cr_assert_eq(pipe(gate), 0);
	apart_drop(NULL);
	apart_drop(apart_begin("pod a", work_run, work_new(gate[0]), work_release, LONG_MS, NULL));
	cr_expect_eq(apart_hanging(), 1);
	cr_assert_eq(write(gate[1], "x", 1), 1);
	wait_until_none_hangs();
	struct apart *a = apart_begin("pod a", work_run, work_new(-1), work_release, LONG_MS, NULL);
	cr_assert_not_null(a);
	clock_sleep_until_ms(clock_mono_ms() + 20);
	apart_drop(a);
	for (int64_t until_ms = clock_mono_ms() + LONG_MS; released < 2 && clock_mono_ms() < until_ms;)
		clock_sleep_until_ms(clock_mono_ms() + 1);
	cr_expect_eq(released, 2);
}
