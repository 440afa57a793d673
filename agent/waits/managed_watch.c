#include "agent/waits/managed_watch.h"

#include "agent/locks/memory_pages.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/fsio.h"
#include "common/base/mem.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#define EACH_NS 200000000
#define REST 100       /* times the CPU time that a look takes */
#define STACKS_MAX 64  /* that one look reads */

void managed_watch_init(struct managed_watch *w, const struct process_memory *memory, int proc_fd, struct lock_watch *locks, bool may)
{
	*w = (struct managed_watch){.proc_fd = proc_fd, .locks = locks, .stack = mem_alloc(MANAGED_LOCK_STACK)};
	managed_locks_init(&w->runtime, memory, proc_fd);
	w->runtime.locks_unread = !may;
}

void managed_watch_fini(struct managed_watch *w)
{
	managed_locks_fini(&w->runtime);
	free(w->stack);
	*w = (struct managed_watch){0};
}

static int64_t own_cpu_ns(void)
{
	struct timespec t = {0};
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* The threads that look_at_threads() may read, those that were passed over by the last look first. Gives how many. */
static size_t list_in_turn(struct managed_watch *w, int task_fd, pid_t **out)
{
	AUTO_DIR DIR *dir = fsio_opendir_take(openat(task_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	AUTO_FREE pid_t *all = NULL;
	size_t count = 0, cap = 0;
	if (!dir)
		return 0;
	for (struct dirent *entry; count < THREAD_WAITS_MAX && (entry = readdir(dir));) {
		pid_t tid = (pid_t)atoi(entry->d_name);
		if (tid <= 0)
			continue;
		GROW(all, count, cap);
		all[count++] = tid;
	}
	*out = mem_calloc(count + 1, sizeof **out);
	for (size_t i = 0; i < count; i++)
		(*out)[i] = all[(w->turn + i) % count];
	return count;
}

/* What a thread waits for, if that is such a lock that somebody holds. */
static void look_at_waiter(struct managed_watch *w, const struct memory_pages *pages, const struct managed_threads *threads, const struct thread_wait *t)
{
	struct monitor x;
	uint64_t sp = t->sp & ~UINT64_C(7);
	size_t words = process_memory_read(pages->source, sp, w->stack, MANAGED_LOCK_STACK) / sizeof *w->stack;
	if (!managed_locks_waited(&w->runtime, threads, 0, sp, w->stack, words, &x) || !x.owner)
		return;
	lock_watch_sighted(w->locks, &(struct lock_sighting){.at_ns = clock_mono_ns(), .lock = x.object, .owner = x.owner, .waiters = x.waiters, .kind = x.kind,
							     .waiter = (uint32_t)t->tid, .look = w->looks});
}

static void look_at_threads(struct managed_watch *w, const struct memory_pages *pages, int task_fd)
{
	AUTO_FREE pid_t *tids = NULL;
	struct managed_threads threads;
	struct thread_wait t;
	size_t count = list_in_turn(w, task_fd, &tids), read = 0, i = 0;
	managed_threads_read(&pages->memory, &w->runtime.contract, &threads);
	for (; i < count && read < STACKS_MAX; i++) {
		if (thread_wait_call(task_fd, tids[i], &t) < 0 || t.system_call != SYS_futex || !t.sp)
			continue;
		look_at_waiter(w, pages, &threads, &t);
		read++;
	}
	w->turn = i < count ? (w->turn + i) % count : 0;
	explicit_bzero(w->stack, MANAGED_LOCK_STACK);
	managed_threads_fini(&threads);
}

/* Locks lie together, as the types do: their pages are read once a look. */
static void look_through_pages(struct managed_watch *w, int task_fd)
{
	const struct process_memory direct = w->runtime.memory;
	struct memory_pages pages;
	memory_pages_init(&pages, &direct);
	w->runtime.memory = pages.memory;
	look_at_threads(w, &pages, task_fd);
	w->runtime.memory = direct;
	memory_pages_fini(&pages);
}

void managed_watch_look(struct managed_watch *w, int64_t now_ns)
{
	if (!w->runtime.contract.known || w->runtime.locks_unread || now_ns < w->next_ns)
		return;
	int64_t began_ns = own_cpu_ns();
	AUTO_FD int task_fd = openat(w->proc_fd, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (task_fd < 0)
		return;
	managed_locks_forget_if_full(&w->runtime);
	w->looks++;
	look_through_pages(w, task_fd);
	int64_t rest_ns = (own_cpu_ns() - began_ns) * REST;
	w->next_ns = now_ns + (rest_ns > EACH_NS ? rest_ns : EACH_NS);
}
