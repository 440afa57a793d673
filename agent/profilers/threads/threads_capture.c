#include "agent/profilers/threads/threads_capture.h"

#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>

#define NS_PER_S INT64_C(1000000000)

static int64_t boot_now_ns(void)
{
	struct timespec now;
	return clock_gettime(CLOCK_BOOTTIME, &now) < 0 ? 0 : (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

int threads_look_take(int proc_fd, struct threads_look *out, struct err *e)
{
	*out = (struct threads_look){.at_ns = clock_mono_ns(), .boot_ns = boot_now_ns()};
	AUTO_FD int task_fd = openat(proc_fd, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ssize_t count = task_fd < 0 ? -1 : thread_wait_list(proc_fd, &out->waits, &out->full);
	out->unread = count < 0;
	if (count < 0)
		return thread_wait_explain(errno, e);
	out->count = (size_t)count;
	out->figures = mem_calloc(out->count + 1, sizeof *out->figures);
	for (size_t i = 0; i < out->count; i++)
		thread_figures_read(task_fd, out->waits[i].tid, &out->figures[i]);
	out->took_ns = clock_mono_ns() - out->at_ns;
	return 0;
}

void threads_look_fini(struct threads_look *l)
{
	free(l->waits);
	free(l->figures);
	*l = (struct threads_look){0};
}

static int64_t thread_age_ns(uint64_t start_time, int64_t boot_ns, int64_t ticks_per_second)
{
	if (!start_time || ticks_per_second <= 0 || start_time > (uint64_t)(INT64_MAX / NS_PER_S))
		return -1;
	int64_t ticks = (int64_t)start_time;
	int64_t began_ns = ticks / ticks_per_second * NS_PER_S + ticks % ticks_per_second * (NS_PER_S / ticks_per_second);
	return began_ns < boot_ns ? boot_ns - began_ns : 0;
}

/* An id may serve another thread by now: that one began later. */
static bool same_thread(const struct threads_look *first, size_t i, const struct threads_look *second, size_t k)
{
	return first->waits[i].tid == second->waits[k].tid && first->figures[i].start_time == second->figures[k].start_time;
}

static void pair_thread(const struct threads_look *first, size_t was, const struct threads_look *second, size_t is, struct seen_thread *out)
{
	const struct thread_figures *now = &second->figures[is];
	out->first = was < first->count && same_thread(first, was, second, is);
	out->cpu_ns = now->cpu_ns;
	if (!out->first)
		return;
	int64_t before_ns = first->figures[was].cpu_ns;
	out->cpu_ns = before_ns < 0 || now->cpu_ns < before_ns ? -1 : now->cpu_ns - before_ns;
	out->still = first->waits[was].switches == out->wait.switches && out->wait.state != 'R' && out->cpu_ns <= 0;
}

void threads_capture_pair(const struct threads_look *first, const struct threads_look *second, int64_t ticks_per_second, struct threads_capture *out)
{
	size_t at = 0, kept = 0;
	out->unread = first->unread || second->unread;
	out->full = first->full || second->full;
	out->between_ns = second->at_ns - first->at_ns;
	out->first_look_ns = first->took_ns;
	out->second_look_ns = second->took_ns;
	out->first_count = first->count;
	out->count = second->count;
	out->threads = mem_calloc(out->count + 1, sizeof *out->threads);
	for (size_t i = 0; i < second->count; i++) {
		struct seen_thread *t = &out->threads[i];
		while (at < first->count && first->waits[at].tid < second->waits[i].tid)
			at++;
		*t = (struct seen_thread){.wait = second->waits[i], .stack = THREADS_STACK_NONE};
		t->age_ns = thread_age_ns(second->figures[i].start_time, second->boot_ns, ticks_per_second);
		pair_thread(first, at, second, i, t);
		kept += t->first;
	}
	out->ended = first->count > kept ? first->count - kept : 0;
}

void threads_capture_fini(struct threads_capture *c)
{
	cpu_capture_fini(&c->stacks);
	free(c->threads);
	*c = (struct threads_capture){0};
}

const uint32_t *threads_capture_stack(const struct threads_capture *c, size_t thread, uint32_t *depth)
{
	uint32_t stack = c->threads[thread].stack;
	*depth = 0;
	if (stack >= c->stacks.stack_count)
		return NULL;
	*depth = c->stacks.stacks[stack].depth;
	return c->stacks.stack_frames + c->stacks.stacks[stack].first;
}
