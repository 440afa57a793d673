#include "agent/waits/wait_sleepers.h"

#include "agent/waits/wait_plan.h"
#include "agent/stacks/sleeping_stack.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/fsio.h"
#include "common/base/mem.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LIST_EACH 8 /* looks: new threads are found so late */
#define LOOK_BYTES 16384
#define TRIES 2     /* a thread that woke while it was looked at */

void wait_sleepers_fini(struct wait_sleepers *w)
{
	if (w->buffer)
		sleeping_stack_buffer_free(w->buffer);
	free(w->tids);
	w->buffer = NULL;
	w->tids = NULL;
}

bool wait_sleepers_take(struct wait_sleepers *w, const struct thread_wait *t, size_t most, struct wait_event *out)
{
	*out = (struct wait_event){.kind = WAIT_EVENT_STACK, .tid = (uint32_t)t->tid, .time_ns = clock_mono_ns(), .fault = t->system_call < 0};
	if (!w->buffer)
		w->buffer = sleeping_stack_buffer_new();
	if (!sleeping_stack_take_top(w->collect, w->memory, t, out->time_ns, w->buffer, most))
		return false;
	out->lock = lock_watch_on_stack(w->locks, w->buffer, most);
	explicit_bzero(w->buffer, most);
	w->taken(w->ctx);
	return true;
}

/* looks ------------------------------------------------------------------------------------------------------------ */

static int64_t own_thread_ns(void)
{
	struct timespec t = {0};
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void list_sleepers(struct wait_sleepers *w, int task_fd)
{
	AUTO_DIR DIR *dir = fsio_opendir_take(openat(task_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	w->tid_count = w->listed = 0;
	if (!dir)
		return;
	for (struct dirent *entry; (entry = readdir(dir));) {
		pid_t tid = (pid_t)atoi(entry->d_name);
		if (tid <= 0)
			continue;
		if (w->tid_count == THREAD_WAITS_MAX) {
			w->more = true;
			return;
		}
		GROW(w->tids, w->tid_count, w->tid_cap);
		w->tids[w->tid_count++] = tid;
	}
}

/* A stack that was read while its thread went on would be that of no wait. */
static void look_again(struct wait_sleepers *w, struct wait_looks *looks, struct look_thread *t, int task_fd, uint64_t ran)
{
	pid_t tid = (pid_t)t->tid;
	for (int i = 0; i < TRIES; i++) {
		struct thread_wait now;
		struct wait_event stack = {0};
		struct thread_times after;
		if (thread_wait_call(task_fd, tid, &now) < 0 || !now.sp)
			break;
		bool taken = wait_sleepers_take(w, &now, LOOK_BYTES, &stack);
		if (thread_wait_times(task_fd, tid, &after) < 0)
			break;
		if (after.ran == ran) {
			stack.time_ns = taken ? stack.time_ns : 0;
			wait_looks_change(looks, t, ran, true, &stack);
			return;
		}
		ran = after.ran;
	}
	if (t->asleep || t->ran == UINT64_MAX)
		wait_looks_change(looks, t, ran, false, NULL);
	t->ran = ran;
}

void wait_sleepers_look(struct wait_sleepers *w, struct wait_looks *looks, int64_t now_ns)
{
	if (now_ns < w->next_ns)
		return;
	int64_t began_ns = own_thread_ns();
	AUTO_FD int task_fd = openat(w->proc_fd, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (task_fd < 0)
		return;
	if (!w->tid_count || ++w->listed >= LIST_EACH)
		list_sleepers(w, task_fd);
	wait_looks_begin(looks, now_ns, w->next_ns);
	if (w->starts)
		cpu_collect_age_maps(w->collect);
	for (size_t i = 0; i < w->tid_count; i++) {
		struct thread_times times;
		if (thread_wait_times(task_fd, w->tids[i], &times) < 0)
			continue;
		struct look_thread *t = wait_looks_thread(looks, (uint32_t)w->tids[i]);
		wait_looks_times(looks, t, &(struct wait_reading){.at_ns = clock_mono_ns(), .run_ns = times.run_ns, .delay_ns = times.delay_ns});
		if (!t->asleep || t->ran != times.ran)
			look_again(w, looks, t, task_fd, times.ran);
	}
	wait_looks_end(looks);
	w->next_ns = now_ns + wait_plan_look_ns(own_thread_ns() - began_ns, wait_plan_random(&w->random));
}
