#include "agent/profilers/threads/thread_kind.h"

#include "tests/unit/agent/stacks/make_capture.h"

#include <criterion/criterion.h>

#define START "libc:start_thread;rt:;lib:System.Threading.Thread:StartCallback;"
#define WAITS ";rt:;libc:pthread_cond_wait"
#define WORKER "libc:;rt:;lib:System.Threading.PortableThreadPool+WorkerThread:WorkerThreadStart;"

static const struct {
	const char *name, *stack; /* root first; NULL: not known */
	enum thread_kind kind;
	enum thread_wait_kind wait;
	const char *place;        /* the method of the innermost frame of the application */
} rows[] = {
	{".NET TP Worker", WORKER "lib:System.Threading.LowLevelLifoSemaphore:WaitNative" WAITS, THREAD_KIND_WORKER, THREAD_WAIT_IDLE, NULL},
	{"worker", WORKER "lib:System.Threading.ThreadPoolWorkQueue:Dispatch;app:Shop.Orders:Get;lib:System.Threading.Tasks.Task:Wait;"
	 "lib:System.Threading.ManualResetEventSlim:Wait;lib:System.Threading.Monitor:Wait" WAITS, THREAD_KIND_WORKER, THREAD_WAIT_TASK, "Get"},
	{".NET TP Gate", "libc:;lib:System.Threading.PortableThreadPool+GateThread:GateThreadStart;lib:System.Threading.WaitHandle:WaitOneNoCheck" WAITS,
	 THREAD_KIND_POOL, THREAD_WAIT_EVENT, NULL},
	{".NET Timer", "libc:;lib:System.Threading.TimerQueue:TimerThread;lib:System.Threading.WaitHandle:WaitOneNoCheck" WAITS, THREAD_KIND_TIMER,
	 THREAD_WAIT_EVENT, NULL},
	{".NET Sockets", START "lib:System.Net.Sockets.SocketAsyncEngine:EventLoop;lib:Interop+Sys:WaitForSocketEvents;libc:epoll_wait", THREAD_KIND_SOCKETS,
	 THREAD_WAIT_IO, NULL},
	{".NET File Watch", START "lib:System.IO.FileSystemWatcher+RunningInstance:ProcessEvents;lib:Interop+Sys:Read;libc:read", THREAD_KIND_LIBRARY,
	 THREAD_WAIT_IO, NULL},
	{"consumer", START "app:Shop.Worker:Run;lib:System.Collections.Concurrent.BlockingCollection`1:TryTakeWithNoTimeValidation;"
	 "lib:System.Threading.SemaphoreSlim:Wait;lib:System.Threading.Monitor:Wait" WAITS, THREAD_KIND_APPLICATION, THREAD_WAIT_QUEUE, "Run"},
	{"reader", START "app:Shop.Cache:Read;lib:System.Threading.Monitor:Enter_Slowpath" WAITS, THREAD_KIND_APPLICATION, THREAD_WAIT_LOCK, "Read"},
	{"reader", START "app:Shop.Cache:Read" WAITS, THREAD_KIND_APPLICATION, THREAD_WAIT_RUNTIME, "Read"},
	{"reader", START "app:Shop.Cache:Read;lib:System.Threading.Lock:EnterSlow;lib:System.Threading.WaitHandle:WaitOneNoCheck" WAITS,
	 THREAD_KIND_APPLICATION, THREAD_WAIT_LOCK, "Read"},
	{"native", START "app:Shop.Camera:Grab;libc:pause", THREAD_KIND_APPLICATION, THREAD_WAIT_NATIVE, "Grab"},
	{"joiner", START "app:Shop.Job:Run;lib:System.Threading.Thread:Join" WAITS, THREAD_KIND_APPLICATION, THREAD_WAIT_JOIN, "Run"},
	{"sleeper", START "app:Shop.Job:Run;lib:System.Threading.Thread:Sleep" WAITS, THREAD_KIND_APPLICATION, THREAD_WAIT_SLEEP, "Run"},
	{"job", "libc:;rt:;app:Shop.Job:Run;lib:System.Threading.WaitHandle:WaitOne" WAITS, THREAD_KIND_APPLICATION, THREAD_WAIT_EVENT, "Run"},
	{"gc", START "app:Shop.Job:Run;lib:System.GC:WaitForPendingFinalizers" WAITS, THREAD_KIND_APPLICATION, THREAD_WAIT_FINALIZERS, "Run"},
	{"client", START "app:Shop.Job:Run;lib:System.Net.Sockets.Socket:Receive;libc:recv", THREAD_KIND_APPLICATION, THREAD_WAIT_IO, "Run"},
	{".NET Finalizer", "libc:start_thread;rt:" WAITS, THREAD_KIND_FINALIZER, THREAD_WAIT_IDLE, NULL},
	{".NET Finalizer", "libc:;rt:;app:Shop.File:Finalize;lib:System.Threading.Thread:Sleep" WAITS, THREAD_KIND_FINALIZER, THREAD_WAIT_SLEEP, "Finalize"},
	{".NET Finalizer", NULL, THREAD_KIND_FINALIZER, THREAD_WAIT_OTHER, NULL},
	{".NET SynchManag", "libc:;rt:;libc:poll", THREAD_KIND_RUNTIME, THREAD_WAIT_IDLE, NULL},
	{".NET Server GC", "libc:;rt:;libc:", THREAD_KIND_GC, THREAD_WAIT_IDLE, NULL},
	{".NET BGC", "libc:;rt:;libc:", THREAD_KIND_GC, THREAD_WAIT_IDLE, NULL},
	{".NET EventPipe", "libc:;rt:;libc:poll", THREAD_KIND_DIAGNOSTICS, THREAD_WAIT_IDLE, NULL},
	{".NET TP Worker", "libc:start_thread;rt:;app:Shop.Job:Run;lib:System.Threading.Thread:Sleep" WAITS, THREAD_KIND_APPLICATION, THREAD_WAIT_SLEEP, "Run"},
	{"grpc", "libc:start_thread;libc:epoll_wait", THREAD_KIND_NATIVE, THREAD_WAIT_IDLE, NULL},
	{"who", NULL, THREAD_KIND_UNKNOWN, THREAD_WAIT_OTHER, NULL},
};

static struct thread_nature nature_of(struct made *m, const char *name, const char *stack, bool main, bool first)
{
	struct thread_nature n;
	struct thread_clues c = {.frames = m->capture.frames, .name = name, .main = main, .first_of_name = first, .asleep = true, .futex = true};
	if (stack) {
		uint32_t at = make_stack(m, stack, false);
		c.frames = m->capture.frames;
		c.stack = m->capture.stack_frames + m->capture.stacks[at].first;
		c.depth = m->capture.stacks[at].depth;
	}
	thread_kind_of(&c, &n);
	return n;
}

Test(thread_kind, is_told_by_frames_and_names)
{
	struct made m;
	make_begin(&m);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct thread_nature n = nature_of(&m, rows[i].name, rows[i].stack, false, true);
		cr_assert_str_eq(thread_kind_words[n.kind].word, thread_kind_words[rows[i].kind].word, "row %zu, %s", i, rows[i].name);
		cr_assert_str_eq(thread_wait_words[n.wait].word, thread_wait_words[rows[i].wait].word, "row %zu, %s", i, rows[i].name);
		cr_assert_eq(n.place == UINT32_MAX, rows[i].place == NULL, "row %zu", i);
	}
	make_end(&m);
}

Test(thread_kind, the_table_of_monitors_tells_who_waits_for_one)
{
	struct made m;
	struct thread_nature n;
	make_begin(&m);
	uint32_t at = make_stack(&m, START "app:Shop.Cache:Read" WAITS, false);
	struct thread_clues c = {.frames = m.capture.frames, .stack = m.capture.stack_frames + m.capture.stacks[at].first,
				 .depth = m.capture.stacks[at].depth, .name = "reader", .asleep = true, .futex = true, .monitor = true};
	thread_kind_of(&c, &n);
	cr_assert_eq(n.wait, THREAD_WAIT_LOCK);
	make_end(&m);
}

Test(thread_kind, a_name_that_the_runtime_knows_in_full)
{
	struct made m;
	make_begin(&m);
	cr_assert_eq(nature_of(&m, ".NET Tiered Compilation Worker", "libc:;rt:;libc:", false, true).kind, THREAD_KIND_TIERING);
	cr_assert_eq(nature_of(&m, ".NET Timers", "libc:;rt:;libc:", false, true).kind, THREAD_KIND_NATIVE);
	make_end(&m);
}

Test(thread_kind, a_name_alone_makes_no_finalizer)
{
	struct made m;
	make_begin(&m);
	static const char stack[] = "libc:;rt:;app:Shop.Job:Run;lib:System.Threading.WaitHandle:WaitOne" WAITS;
	cr_assert_eq(nature_of(&m, ".NET Finalizer", stack, false, false).kind, THREAD_KIND_APPLICATION);
	cr_assert_eq(nature_of(&m, ".NET Finalizer", "libc:;rt:", false, false).kind, THREAD_KIND_NATIVE);
	cr_assert_eq(nature_of(&m, ".NET Finalizer", START "app:Shop.Job:Run", false, true).kind, THREAD_KIND_APPLICATION, "Thread.Start made it");
	make_end(&m);
}

Test(thread_kind, the_first_thread_and_those_that_run)
{
	struct made m;
	make_begin(&m);
	static const char stack[] = "libc:;rt:;app:Shop.Program:Main;lib:System.Threading.Tasks.Task:Wait" WAITS;
	cr_assert_eq(nature_of(&m, "Shop", stack, true, false).kind, THREAD_KIND_MAIN);
	struct thread_nature n;
	thread_kind_of(&(struct thread_clues){.name = "x"}, &n);
	cr_assert_eq(n.wait, THREAD_WAIT_RUNS);
	const struct frame leaf = {.kind = FRAME_NATIVE, .module = (char *)"libc.so.6", .method = (char *)"recv"};
	thread_kind_of(&(struct thread_clues){.frames = &leaf, .stack = (const uint32_t[]){0}, .depth = 1, .cut = true, .name = "x", .asleep = true}, &n);
	cr_assert(n.kind == THREAD_KIND_UNKNOWN && n.wait == THREAD_WAIT_OTHER, "what it began with was not read");
	make_end(&m);
}
