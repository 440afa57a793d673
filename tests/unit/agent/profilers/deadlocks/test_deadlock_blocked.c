#include "agent/profilers/deadlocks/deadlock_blocked.h"

#include "common/base/mem.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#define THREADS 6

/* Threads that sleep on a futex, the last three of them pool workers; each calls `type`.`method` in Shop.Orders.Get. */
static void made_process(struct deadlock_capture *c, const char *type, const char *method)
{
	char *library = (char *)"System.Private.CoreLib.dll";
	const struct frame frames[] = {
		{.kind = FRAME_MANAGED, .module = library, .type = (char *)"System.Threading.ManualResetEventSlim", .method = (char *)"Wait"},
		{.kind = FRAME_MANAGED, .module = library, .type = (char *)type, .method = (char *)method},
		{.kind = FRAME_MANAGED, .module = (char *)"Shop.dll", .type = (char *)"Shop.Orders", .method = (char *)"Get"},
	};
	uint32_t stack[3];
	*c = (struct deadlock_capture){.main_tid = 1, .thread_count = THREADS};
	struct capture_builder *b = capture_builder_new(&c->stacks);
	for (size_t i = 0; i < 3; i++)
		stack[i] = capture_add_frame(b, &frames[i]);
	uint32_t number = capture_add_stack(b, stack, 3, false);
	capture_builder_free(b);
	c->threads = mem_calloc(THREADS, sizeof *c->threads);
	for (uint32_t i = 0; i < THREADS; i++) {
		struct locked_thread *t = &c->threads[i];
		*t = (struct locked_thread){.lock = WAIT_NONE, .first = true, .still = true, .stack = number};
		t->wait = (struct thread_wait){.inner_tid = 10 + i, .state = 'S', .system_call = SYS_futex, .sp = 0x7000};
		snprintf(t->wait.name, sizeof t->wait.name, "%s", i < 3 ? "request" : ".NET TP Worker");
	}
}

static enum blocked_kind kind_of(const char *type, const char *method)
{
	struct deadlock_capture c;
	struct deadlock_blocked b;
	made_process(&c, type, method);
	deadlock_blocked_find(&c, &b);
	enum blocked_kind kind = b.count ? b.items[0].kind : BLOCKED_NOT;
	deadlock_capture_fini(&c);
	return kind;
}

Test(deadlock_blocked, what_is_waited_for_is_told_by_what_the_application_called)
{
	cr_expect_eq(kind_of("System.Threading.SemaphoreSlim", "Wait"), BLOCKED_SEMAPHORE);
	cr_expect_eq(kind_of("System.Threading.Tasks.Task`1", "get_Result"), BLOCKED_TASK);
	cr_expect_eq(kind_of("System.Threading.Tasks.Task", "Wait"), BLOCKED_TASK);
	cr_expect_eq(kind_of("System.Runtime.CompilerServices.TaskAwaiter`1", "GetResult"), BLOCKED_TASK);
	cr_expect_eq(kind_of("System.Runtime.CompilerServices.ConfiguredTaskAwaitable+ConfiguredTaskAwaiter", "GetResult"), BLOCKED_TASK);
	cr_expect_eq(kind_of("System.Threading.WaitHandle", "WaitOne"), BLOCKED_HANDLE);
	cr_expect_eq(kind_of("System.Collections.Concurrent.BlockingCollection`1", "Take"), BLOCKED_NOT, "it waits for work");
	cr_expect_eq(kind_of("System.Threading.Tasks.TaskCompletionSource", "SetResult"), BLOCKED_NOT);
}

Test(deadlock_blocked, groups_by_place_and_counts_workers)
{
	struct deadlock_capture c;
	struct deadlock_blocked b;
	made_process(&c, "System.Threading.Tasks.Task`1", "get_Result");
	c.threads[0].wait.inner_tid = 1;   /* the main thread */
	c.threads[1].still = false;
	c.threads[2].wait.timed = true;    /* it will give up */
	c.threads[3].first = false;        /* a worker that was made in between */
	deadlock_blocked_find(&c, &b);
	cr_assert_eq(b.count, 1);
	cr_expect_str_eq(b.items[0].place->method, "Get");
	cr_expect(b.items[0].threads == 3 && b.items[0].workers == 2, "%u, %u", b.items[0].threads, b.items[0].workers);
	cr_expect(b.workers == 2 && b.workers_blocked == 2, "%u, %u", b.workers, b.workers_blocked);
	c.threads[5].wait.system_call = SYS_epoll_wait;
	deadlock_blocked_find(&c, &b);
	cr_expect(b.workers == 2 && b.workers_blocked == 1, "one waits for something else");
	deadlock_capture_fini(&c);
}
