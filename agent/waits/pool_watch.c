#include "agent/waits/pool_watch.h"

#include "agent/waits/wait_kind.h"
#include "common/base/cleanup.h"
#include "common/base/mem.h"

#include <fcntl.h>
#include <stdlib.h>
#include <time.h>

#define EACH_NS 200000000
#define LIST_NS 2000000000 /* which threads are workers is asked so often */
#define REST 50            /* times the CPU time that a look takes */

void pool_watch_init(struct pool_watch *w, const struct process_memory *memory, int proc_fd, bool may)
{
	*w = (struct pool_watch){.proc_fd = proc_fd, .may = may};
	managed_locks_init(&w->runtime, memory, proc_fd);
}

void pool_watch_fini(struct pool_watch *w)
{
	managed_locks_fini(&w->runtime);
	pool_sights_fini(&w->sights);
}

static void list_workers(struct pool_watch *w)
{
	AUTO_FREE struct thread_wait *list = NULL;
	bool more;
	ssize_t count = thread_wait_list(w->proc_fd, &list, &more);
	w->worker_count = 0;
	for (ssize_t i = 0; i < count && w->worker_count < POOL_WATCH_WORKERS; i++)
		if (wait_kind_is_pool_name(list[i].name))
			w->workers[w->worker_count++] = list[i];
}

/* Where they sleep now; one that runs has no stack that could be read. */
static void find_workers(struct pool_watch *w)
{
	AUTO_FD int task_fd = openat(w->proc_fd, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; i < w->worker_count; i++) {
		struct thread_wait now = {0};
		bool there = task_fd >= 0 && thread_wait_call(task_fd, w->workers[i].tid, &now) == 0;
		w->workers[i].sp = there ? now.sp : 0;
	}
}

void pool_sights_add(struct pool_sights *s, int64_t at_ns, int64_t length)
{
	s->least = s->looks && s->least < length ? s->least : length;
	s->most = s->looks && s->most > length ? s->most : length;
	s->last = length;
	s->sum += (double)length;
	s->looks++;
	if (s->count == POOL_SIGHTS_MOST)
		return;
	GROW(s->list, s->count, s->cap);
	s->list[s->count++] = (struct pool_sight){at_ns, length};
}

void pool_sights_fini(struct pool_sights *s)
{
	free(s->list);
	*s = (struct pool_sights){0};
}

static int64_t look_cpu_ns(void)
{
	struct timespec t = {0};
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void pool_watch_look(struct pool_watch *w, int64_t now_ns)
{
	if (!w->may || !w->runtime.contract.known || now_ns < w->next_ns)
		return;
	int64_t began_ns = look_cpu_ns();
	if (now_ns >= w->list_ns) {
		list_workers(w);
		w->list_ns = now_ns + LIST_NS;
	}
	find_workers(w);
	uint64_t queue = pool_queue_find(&w->runtime.memory, w->runtime.types, w->workers, w->worker_count);
	int64_t length = pool_queue_length(&w->runtime.memory, w->runtime.types, queue);
	if (length != POOL_QUEUE_UNKNOWN)
		pool_sights_add(&w->sights, now_ns, length);
	int64_t rest_ns = (look_cpu_ns() - began_ns) * REST;
	w->next_ns = now_ns + (rest_ns > EACH_NS ? rest_ns : EACH_NS);
}
