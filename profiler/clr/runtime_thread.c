/* Context: own thread; run_main and below: a thread made for one call. */
#include "profiler/clr/runtime_thread.h"

#include "profiler/clr/cor_heap_abi.h"
#include "profiler/clr/event_mask.h"
#include "profiler/clr/runtime_signal.h"
#include "profiler/base/own_thread.h"

#include <stdatomic.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STACK_BYTES (1024 * 1024) /* the runtime's own code runs on it */
#define NO_SESSION 1u             /* sessions are told apart by addresses */

static struct run {
	void *info;
	void (*fn)(void *ctx);
	void *ctx;
} run;
static _Atomic long runner; /* its thread id; 0: none waits for its callback */

void runtime_thread_created(void)
{
	long tid = syscall(SYS_gettid);

	if (atomic_compare_exchange_strong(&runner, &tid, 0))
		run.fn(run.ctx);
}

/* Ending an EventPipe session that there is not does nothing but make the caller known to the runtime. */
static void *run_main(void *unused)
{
	(void)unused;
	runtime_signal_unblock();
	atomic_store(&runner, syscall(SYS_gettid));
	info_event_pipe_stop_session(run.info, NO_SESSION);
	atomic_store(&runner, 0);
	return NULL;
}

void runtime_thread_run(void *info, void (*fn)(void *ctx), void *ctx)
{
	run = (struct run){info, fn, ctx};
	event_mask_add(info, COR_MONITOR_THREADS, 0);
	pthread_t thread;
	if (own_thread_start(&thread, STACK_BYTES, run_main, NULL) == 0)
		pthread_join(thread, NULL);
	event_mask_remove(info, COR_MONITOR_THREADS, 0);
}
