#include "agent/profilers/deadlocks/deadlock_doubt.h"

#include "common/base/mem.h"

#include <criterion/criterion.h>
#include <sys/syscall.h>

#define THREADS 3

/* Threads that sleep on a futex in what Shop.Orders.Get called, by way of `inner` where that is there. */
static void made_process(struct deadlock_capture *c, const char *type, const char *method, const char *inner)
{
	char *library = (char *)"System.Private.CoreLib.dll";
	const struct frame frames[] = {
		{.kind = FRAME_MANAGED, .module = library, .type = (char *)"System.Threading.WaitHandle", .method = (char *)"WaitOneNoCheck"},
		{.kind = FRAME_MANAGED, .module = library, .type = (char *)(inner ? inner : "System.Threading.WaitHandle"), .method = (char *)"TryEnterSlow"},
		{.kind = FRAME_MANAGED, .module = library, .type = (char *)type, .method = (char *)method},
		{.kind = FRAME_MANAGED, .module = (char *)"Shop.dll", .type = (char *)"Shop.Orders", .method = (char *)"Get"},
		{.kind = FRAME_MANAGED, .module = library, .type = (char *)"System.Threading.Monitor", .method = (char *)"Enter"},
	};
	uint32_t stack[5];
	*c = (struct deadlock_capture){.thread_count = THREADS, .table_found = true, .named = true};
	struct capture_builder *b = capture_builder_new(&c->stacks);
	for (size_t i = 0; i < 5; i++)
		stack[i] = capture_add_frame(b, &frames[i]);
	uint32_t number = capture_add_stack(b, stack, 5, false);
	capture_builder_free(b);
	c->threads = mem_calloc(THREADS, sizeof *c->threads);
	for (uint32_t i = 0; i < THREADS; i++) {
		c->threads[i] = (struct locked_thread){.lock = WAIT_NONE, .first = true, .still = true, .stack = number};
		c->threads[i].wait = (struct thread_wait){.tid = (pid_t)(10 + i), .inner_tid = 10 + i, .system_call = SYS_futex, .sp = 0x7000, .switches = 4};
	}
}

static size_t doubts(const char *type, const char *method, const char *inner)
{
	struct deadlock_capture c;
	made_process(&c, type, method, inner);
	size_t count = deadlock_doubt_count(&c);
	deadlock_capture_fini(&c);
	return count;
}

Test(deadlock_doubt, who_stands_in_a_lock_wants_one)
{
	cr_expect_eq(doubts("System.Threading.Lock", "TryEnterSlow", NULL), THREADS);
	cr_expect_eq(doubts("System.Threading.Lock", "EnterScope", "System.Threading.Lock"), THREADS);
	cr_expect_eq(doubts("System.Threading.Monitor", "Enter_Slowpath", NULL), THREADS);
}

Test(deadlock_doubt, who_does_not_is_no_reason)
{
	cr_expect_eq(doubts("System.Threading.Condition", "Wait", NULL), 0);
	cr_expect_eq(doubts("System.Threading.Monitor", "Wait", "System.Threading.Lock"), 0, "it takes the lock again at its end");
	cr_expect_eq(doubts("System.Threading.SemaphoreSlim", "Wait", NULL), 0);
	cr_expect_eq(doubts("System.Threading.WaitHandle", "WaitOne", NULL), 0, "the frame behind the application's is not asked");
	cr_expect_eq(doubts("System.Threading.Monitor", "Exit", NULL), 0);
}

Test(deadlock_doubt, only_who_has_not_moved_and_waits_for_nothing_that_was_found)
{
	struct deadlock_capture c;
	made_process(&c, "System.Threading.Lock", "TryEnterSlow", NULL);
	struct thread_wait now[THREADS];
	for (size_t i = 0; i < THREADS; i++)
		now[i] = c.threads[i].wait;
	cr_assert_not_null(deadlock_doubt_why(&c, now, THREADS));
	cr_assert_null(deadlock_doubt_why(&c, now, 0), "they have ended");
	now[0].switches = now[1].switches = now[2].switches = 5;
	cr_assert_null(deadlock_doubt_why(&c, now, THREADS), "they have run since the locks were read");
	now[2].switches = 4;
	cr_assert_not_null(deadlock_doubt_why(&c, now, THREADS));
	c.threads[2].wait.timed = true;
	cr_assert_null(deadlock_doubt_why(&c, now, THREADS));
	c.threads[2].wait.timed = false;
	c.threads[2].lock = 0;
	cr_assert_null(deadlock_doubt_why(&c, now, THREADS), "its lock was found");
	c.threads[2].lock = WAIT_NONE;
	c.full = true;
	cr_assert_null(deadlock_doubt_why(&c, now, THREADS), "not all were looked at");
	deadlock_capture_fini(&c);
}
