#include "agent/profilers/threads/threads_capture.h"

#include "agent/host/proc.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#define SECOND INT64_C(1000000000)
#define TICKS 100

static struct threads_look made_look(int64_t at_s, struct thread_wait *waits, struct thread_figures *figures, size_t count)
{
	return (struct threads_look){.at_ns = at_s * SECOND, .boot_ns = (1000 + at_s) * SECOND, .waits = waits, .figures = figures, .count = count};
}

Test(threads_capture, who_has_not_run)
{
	struct thread_wait before[] = {
		{.tid = 1, .switches = 5, .state = 'S'}, {.tid = 2, .switches = 5, .state = 'S'}, {.tid = 3, .switches = 5, .state = 'S'},
		{.tid = 4, .switches = 9, .state = 'R'}, {.tid = 6, .switches = 1, .state = 'S'}, {.tid = 8, .switches = 1, .state = 'S'},
	};
	struct thread_figures was[] = {{10, 500}, {10, 500}, {10, 500}, {10, 500}, {10, 500}, {10, 500}};
	struct thread_wait after[] = {
		{.tid = 1, .switches = 5, .state = 'S'}, {.tid = 2, .switches = 6, .state = 'S'}, {.tid = 3, .switches = 5, .state = 'S'},
		{.tid = 4, .switches = 9, .state = 'R'}, {.tid = 7, .switches = 5, .state = 'S'}, {.tid = 8, .switches = 1, .state = 'S'},
	};
	struct thread_figures is[] = {{10, 500}, {17, 500}, {30, 500}, {SECOND, 500}, {3, 100400}, {10, 90000}};
	struct threads_look first = made_look(0, before, was, 6), second = made_look(5, after, is, 6);
	struct threads_capture c = {0};
	threads_capture_pair(&first, &second, TICKS, &c);
	cr_assert_eq(c.count, 6);
	cr_assert_eq(c.between_ns, 5 * SECOND);
	cr_assert(c.threads[0].still && c.threads[0].first && c.threads[0].cpu_ns == 0, "nothing happened");
	cr_assert(!c.threads[1].still && c.threads[1].cpu_ns == 7, "it was switched to");
	cr_assert(!c.threads[2].still, "it used CPU time");
	cr_assert(!c.threads[3].still && c.threads[3].cpu_ns == SECOND - 10, "it runs");
	cr_assert(!c.threads[4].first && !c.threads[4].still && c.threads[4].cpu_ns == 3, "it is new");
	cr_assert_eq(c.threads[4].age_ns, 1005 * SECOND - 1004 * SECOND);
	cr_assert(!c.threads[5].first, "its id serves another thread by now");
	cr_assert_eq(c.ended, 2);
	threads_capture_fini(&c);
}

static void *sleep_for_test(void *fd)
{
	char byte;
	return read(*(int *)fd, &byte, 1) < 0 ? fd : NULL;
}

Test(threads_capture, looks_at_itself)
{
	struct threads_look first, second;
	struct threads_capture c = {0};
	pthread_t thread;
	int pipes[2], proc_fd = proc_open(PROC_ROOT, getpid());
	cr_assert_eq(pipe(pipes), 0);
	pthread_create(&thread, NULL, sleep_for_test, &pipes[0]);
	for (bool asleep = false; !asleep;) { /* until it is in its read() */
		threads_look_take(proc_fd, &first, NULL);
		for (size_t i = 0; i < first.count; i++)
			asleep |= first.waits[i].tid != getpid() && first.waits[i].system_call == 0;
		if (!asleep)
			threads_look_fini(&first);
	}
	size_t still = 0;
	for (int looks = 0; !still && looks < 1000; looks++) { /* who is in a call may not sleep yet */
		threads_look_take(proc_fd, &second, NULL);
		threads_capture_pair(&first, &second, sysconf(_SC_CLK_TCK), &c);
		for (size_t i = 0; i < c.count; i++) {
			still += c.threads[i].still;
			cr_assert_geq(c.threads[i].age_ns, 0);
			cr_assert_lt(c.threads[i].age_ns, 3600 * SECOND);
		}
		threads_capture_fini(&c);
		c = (struct threads_capture){0};
		threads_look_fini(&first);
		first = second;
	}
	cr_assert_geq(still, 1);
	cr_assert_eq(write(pipes[1], "x", 1), 1);
	pthread_join(thread, NULL);
	threads_look_fini(&first);
	close(proc_fd);
}

Test(threads_capture, figures_of_the_kernel)
{
	cr_assert_eq(thread_figures_parse_run("37120000 63224 1"), 37120000);
	cr_assert_eq(thread_figures_parse_run("0 0 0"), 0);
	static const char *const strange[] = {"", " 1 2", "-1 2 3", "12", "99999999999999999999 1 1", "x 1 1"};
	for (size_t i = 0; i < sizeof strange / sizeof *strange; i++)
		cr_assert_eq(thread_figures_parse_run(strange[i]), -1, "%s", strange[i]);
	struct thread_figures f;
	thread_figures_read(-1, 1, &f);
	cr_assert(f.cpu_ns == -1 && f.start_time == 0);
}
