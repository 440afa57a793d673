#include "agent/profilers/deadlocks/deadlock_analysis.h"
#include "agent/profilers/deadlocks/deadlock_pair.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 4

/* Threads 10, 20, 30, 40; locks A, held by 10 and wanted by 20, and B, held by 20 and wanted by 10; 30 wants A, too. */
struct scene {
	struct monitor locks[2];
	struct thread_wait threads[THREADS];
	uint32_t waits_for[THREADS];
};

static struct scene deadlock(void)
{
	struct scene s = {.locks = {{.object = 0x1000, .sync_block = 0x9000, .owner = 10, .waiters = 2},
				    {.object = 0x2000, .sync_block = 0xa000, .owner = 20, .waiters = 1}},
			  .waits_for = {1, 0, 0, UINT32_MAX}};
	for (uint32_t i = 0; i < THREADS; i++)
		s.threads[i] = (struct thread_wait){.tid = (pid_t)(100 + i), .inner_tid = 10 * (i + 1), .state = 'S', .switches = 5};
	return s;
}

static struct deadlock_look look_at(struct scene *s, int64_t at_ns)
{
	return (struct deadlock_look){.at_ns = at_ns,
				      .table = {.waited = s->locks, .waited_count = 2, .entries = 7},
				      .table_found = true,
				      .threads = s->threads,
				      .thread_count = THREADS,
				      .waits_for = s->waits_for};
}

static void pair(struct scene *before, struct scene *after, struct deadlock_capture *c, struct deadlock_analysis *a)
{
	struct deadlock_look first = look_at(before, 1000000000), second = look_at(after, 3000000000);
	*c = (struct deadlock_capture){0};
	deadlock_pair_make(&first, &second, c);
	deadlock_analysis_make(c, a);
}

static void done(struct deadlock_capture *c, struct deadlock_analysis *a)
{
	deadlock_analysis_fini(a);
	deadlock_capture_fini(c);
}

Test(deadlock_pair, what_stands_at_both_looks_is_a_circle)
{
	struct scene s = deadlock();
	struct deadlock_capture c;
	struct deadlock_analysis a;
	pair(&s, &s, &c, &a);
	cr_assert_eq(c.between_ns, 2000000000);
	cr_assert_eq(a.circle_count, 1);
	cr_assert_eq(a.circles[0].count, 2);
	cr_assert_eq(a.circles[0].behind, 1);
	cr_assert(a.circles[0].agreed);
	cr_assert(deadlock_pair_matters(&c, 2));
	cr_assert(!deadlock_pair_matters(&c, 3));
	done(&c, &a);
}

Test(deadlock_pair, a_thread_that_ran_makes_no_edge)
{
	struct scene before = deadlock(), after = deadlock();
	struct deadlock_capture c;
	struct deadlock_analysis a;
	after.threads[1].switches++;
	pair(&before, &after, &c, &a);
	cr_assert_eq(a.circle_count, 0);
	cr_assert_eq(a.waiting, 3);
	cr_assert_eq(a.lasting, 2);
	done(&c, &a);
}

Test(deadlock_pair, another_holder_or_another_kind_makes_no_edge)
{
	struct deadlock_capture c;
	struct deadlock_analysis a;
	for (int change = 0; change < 4; change++) {
		struct scene before = deadlock(), after = deadlock();
		if (change == 0)
			after.locks[0].owner = 40;
		else if (change == 1)
			after.locks[0].kind = LOCK_KIND_LOCK;
		else if (change == 2)
			before.waits_for[1] = UINT32_MAX;
		else
			after.locks[0].owner = before.locks[0].owner = 0;
		pair(&before, &after, &c, &a);
		cr_assert_eq(a.circle_count, 0, "change %d", change);
		done(&c, &a);
	}
}

Test(deadlock_pair, a_lock_that_a_collection_has_moved_is_the_same)
{
	struct scene before = deadlock(), after = deadlock();
	struct deadlock_capture c;
	struct deadlock_analysis a;
	after.locks[0].object = 0x3000;
	pair(&before, &after, &c, &a);
	cr_assert_eq(a.circle_count, 1);
	cr_assert(deadlock_analysis_proven(&a, true));
	done(&c, &a);
}

Test(deadlock_pair, a_time_limit_proves_nothing)
{
	struct scene s = deadlock();
	struct deadlock_capture c;
	struct deadlock_analysis a;
	s.threads[0].timed = true;
	pair(&s, &s, &c, &a);
	cr_assert_eq(a.circle_count, 1);
	cr_assert(!deadlock_analysis_proven(&a, false));
	done(&c, &a);
}

/* Gives each thread that waits a stack of one frame. */
static void put_stacks(struct deadlock_capture *c, const char *type)
{
	const struct frame f = {.kind = FRAME_MANAGED, .type = (char *)type, .method = (char *)"TryEnterSlow"};
	struct capture_builder *b = capture_builder_new(&c->stacks);
	uint32_t frame = capture_add_frame(b, &f), stack = capture_add_stack(b, &frame, 1, false);
	capture_builder_free(b);
	for (size_t i = 0; i < c->thread_count; i++)
		c->threads[i].stack = stack;
}

static void pair_locks(const char *on_stack, struct deadlock_capture *c, struct deadlock_analysis *a)
{
	struct scene s = deadlock();
	for (size_t i = 0; i < 2; i++)
		s.locks[i] = (struct monitor){.kind = LOCK_KIND_LOCK, .object = s.locks[i].object, .owner = s.locks[i].owner, .waiters = s.locks[i].waiters};
	pair(&s, &s, c, a);
	cr_assert_eq(a->circle_count, 1);
	cr_assert(deadlock_analysis_proven(a, false));
	cr_assert(!deadlock_analysis_proven(a, true), "not before their stacks say so, too");
	deadlock_analysis_fini(a);
	if (on_stack)
		put_stacks(c, on_stack);
	deadlock_pair_witness(c);
	deadlock_analysis_make(c, a);
}

Test(deadlock_pair, a_lock_that_is_no_monitor_needs_its_methods_on_the_stack)
{
	struct deadlock_capture c;
	struct deadlock_analysis a;
	pair_locks("System.Threading.Lock", &c, &a);
	cr_assert(deadlock_analysis_proven(&a, true));
	done(&c, &a);
	pair_locks("System.Threading.WaitHandle", &c, &a);
	cr_assert_eq(a.circle_count, 0, "the lock's address is left on the stacks");
	cr_assert_eq(a.waiting, 0);
	done(&c, &a);
	pair_locks(NULL, &c, &a);
	cr_assert_eq(a.circle_count, 1);
	cr_assert(!a.circles[0].agreed, "without names it is only possible");
	done(&c, &a);
}

Test(deadlock_pair, waiters_that_were_not_found_leave_it_possible)
{
	struct scene s = deadlock();
	struct deadlock_capture c;
	struct deadlock_analysis a;
	s.locks[1].waiters = 2;
	pair(&s, &s, &c, &a);
	cr_assert_eq(a.circle_count, 1);
	cr_assert(!a.circles[0].agreed);
	done(&c, &a);
}

Test(deadlock_pair, threads_come_and_go_between_the_looks)
{
	struct scene before = deadlock(), after = deadlock();
	struct deadlock_capture c;
	struct deadlock_analysis a;
	before.threads[0].tid = 99; /* ended; after's first thread is a new one */
	pair(&before, &after, &c, &a);
	cr_assert_eq(a.circle_count, 0);
	cr_assert_eq(a.queue, 2, "20 waits for 10, and so does 30");
	done(&c, &a);
}

Test(deadlock_pair, a_holder_that_has_ended_is_nobody)
{
	struct scene s = deadlock();
	struct deadlock_capture c;
	struct deadlock_analysis a;
	s.locks[0].owner = 77;
	pair(&s, &s, &c, &a);
	cr_assert_eq(a.circle_count, 0);
	cr_assert_eq(c.locks[0].holder, WAIT_NONE);
	done(&c, &a);
}

Test(deadlock_pair, the_innermost_lock_on_a_stack_is_what_is_waited_for)
{
	struct scene s = deadlock();
	const struct sync_table t = {.waited = s.locks, .waited_count = 2};
	cr_assert_eq(sync_table_waited(&t, (uint64_t[]){1, 0x9500, 0xa000, 0x9000}, 4), 1);
	cr_assert_eq(sync_table_waited(&t, (uint64_t[]){1, 2, 3}, 3), UINT32_MAX);
	cr_assert_eq(sync_table_waited(&(struct sync_table){0}, (uint64_t[]){0}, 1), UINT32_MAX);
}

/* 20 and 30 want the lock that 10 holds, which blocks on a task that `runner` runs. */
static void pair_task(uint32_t runner, struct deadlock_capture *c, struct deadlock_analysis *a)
{
	struct scene s = deadlock();
	s.waits_for[0] = UINT32_MAX;
	pair(&s, &s, c, a);
	deadlock_analysis_fini(a);
	const struct waited_lock task = {.monitor = {.kind = LOCK_KIND_TASK, .object = 0x5000, .owner = c->threads[runner].wait.inner_tid, .waiters = 1},
					 .holder = runner, .seen = 1};
	c->locks = realloc(c->locks, 4 * sizeof *c->locks);
	c->locks[c->lock_count] = task;
	c->threads[0].lock = (uint32_t)c->lock_count++;
	c->threads[0].lasting = true;
	c->threads[0].framed = true;
	deadlock_analysis_make(c, a);
}

Test(deadlock_pair, a_task_closes_a_circle)
{
	struct deadlock_capture c;
	struct deadlock_analysis a;
	pair_task(1, &c, &a);
	cr_assert_eq(a.circle_count, 1);
	cr_assert_eq(a.circles[0].count, 2);
	cr_assert_eq(a.circles[0].tasks, 1);
	cr_assert_eq(a.circles[0].behind, 1);
	cr_assert(deadlock_analysis_proven(&a, true));
	cr_assert_eq(a.waiting, 2, "a task is no lock");
	deadlock_analysis_fini(&a);
	c.threads[0].cancelable = true;
	deadlock_analysis_make(&c, &a);
	cr_assert_eq(a.circles[0].cancelable, 1);
	cr_assert(!deadlock_analysis_proven(&a, true));
	deadlock_analysis_fini(&a);
	c.threads[0].cancelable = c.threads[0].framed = false;
	deadlock_analysis_make(&c, &a);
	cr_assert(deadlock_analysis_proven(&a, false));
	cr_assert(!deadlock_analysis_proven(&a, true), "its stack says nothing of a task");
	done(&c, &a);
}

Test(deadlock_pair, a_task_that_another_thread_runs_is_no_queue)
{
	struct deadlock_capture c;
	struct deadlock_analysis a;
	pair_task(3, &c, &a);
	cr_assert_eq(a.circle_count, 0);
	cr_assert_eq(a.head, 0, "the holder of the lock, not who runs its task");
	cr_assert_eq(a.queue, 2);
	cr_assert(deadlock_analysis_on_task(&c, 0));
	cr_assert(deadlock_pair_matters(&c, 3));
	done(&c, &a);
}
