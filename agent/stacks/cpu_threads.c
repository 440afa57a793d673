#include "agent/stacks/cpu_threads.h"

#include "common/base/index_set.h"
#include "common/base/cleanup.h"
#include "common/base/fsio.h"
#include "common/base/mem.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_THREADS 65536

struct thread {
	uint32_t tid;         /* as we see it */
	uint32_t index;       /* in the capture; UINT32_MAX: not there yet */
	int64_t cpu_begin_ns; /* 0 for a thread born later */
	char name[64];        /* "" : ask */
};

struct cpu_threads {
	struct capture_builder *builder;
	int proc_fd;
	bool same_ids;
	struct thread *items;
	size_t count, cap;
	struct index_set by_tid;
};

struct cpu_threads *cpu_threads_new(struct capture_builder *b, int proc_fd, bool same_ids)
{
	struct cpu_threads *t = mem_alloc(sizeof *t);
	t->builder = b;
	t->proc_fd = proc_fd;
	t->same_ids = same_ids;
	return t;
}

void cpu_threads_free(struct cpu_threads *t)
{
	if (!t)
		return;
	free(t->items);
	index_set_fini(&t->by_tid);
	free(t);
}

static ssize_t read_thread_file(const struct cpu_threads *t, uint32_t tid, const char *file, char *out, size_t size)
{
	char path[64];
	snprintf(path, sizeof path, "task/%u/%s", tid, file);
	return t->proc_fd >= 0 ? fsio_read_small(t->proc_fd, path, out, size) : -1;
}

/* Nanoseconds on a CPU since the thread's birth; -1: it has ended. The first field of schedstat (the kernel's
 * Documentation/scheduler/sched-stats.rst). */
static int64_t thread_cpu_ns(const struct cpu_threads *t, uint32_t tid)
{
	char text[128];
	return read_thread_file(t, tid, "schedstat", text, sizeof text) > 0 ? strtoll(text, NULL, 10) : -1;
}

/* The innermost of the NSpid line's numbers. */
static int64_t read_inner_tid(const struct cpu_threads *t, uint32_t tid)
{
	char text[4096];
	if (t->same_ids || read_thread_file(t, tid, "status", text, sizeof text) <= 0)
		return tid;
	const char *at = strstr(text, "\nNSpid:");
	if (!at)
		return tid;
	at += 7;
	const char *end = at + strcspn(at, "\n");
	int64_t last = tid;
	for (char *next; at < end; at = next) {
		long v = strtol(at, &next, 10);
		if (next == at || next > end)
			break;
		last = v;
	}
	return last;
}

static struct thread *find_cpu_thread(struct cpu_threads *t, uint32_t tid)
{
	uint32_t hash = index_hash(INDEX_HASH_START, &tid, sizeof tid), i;
	size_t at = hash;
	while ((i = index_set_next(&t->by_tid, hash, &at)) != INDEX_NONE)
		if (t->items[i].tid == tid)
			return &t->items[i];
	return NULL;
}

static struct thread *find_or_add_cpu_thread(struct cpu_threads *t, uint32_t tid)
{
	struct thread *x = find_cpu_thread(t, tid);
	if (x || t->count >= MAX_THREADS)
		return x;
	GROW(t->items, t->count, t->cap);
	x = &t->items[t->count];
	*x = (struct thread){.tid = tid, .index = UINT32_MAX};
	index_set_add(&t->by_tid, index_hash(INDEX_HASH_START, &tid, sizeof tid), (uint32_t)t->count);
	t->count++;
	return x;
}

/* Calls fn for each thread that is there. */
static void each_task(struct cpu_threads *t, void (*fn)(struct cpu_threads *t, uint32_t tid))
{
	int fd = t->proc_fd >= 0 ? openat(t->proc_fd, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	AUTO_DIR DIR *dir = fsio_opendir_take(fd);
	for (struct dirent *d; dir && (d = readdir(dir));) {
		uint32_t tid = (uint32_t)strtoul(d->d_name, NULL, 10);
		if (tid)
			fn(t, tid);
	}
}

static void begin_one(struct cpu_threads *t, uint32_t tid)
{
	int64_t cpu = thread_cpu_ns(t, tid);
	struct thread *x = cpu >= 0 ? find_or_add_cpu_thread(t, tid) : NULL;
	if (x)
		x->cpu_begin_ns = cpu;
}

void cpu_threads_begin(struct cpu_threads *t)
{
	each_task(t, begin_one);
}

static void put_into_capture(struct cpu_threads *t, struct thread *x)
{
	if (!x->name[0] && read_thread_file(t, x->tid, "comm", x->name, sizeof x->name) < 0)
		x->name[0] = '\0';
	x->index = capture_add_thread(t->builder, read_inner_tid(t, x->tid), x->name);
}

uint32_t cpu_threads_index(struct cpu_threads *t, uint32_t tid)
{
	struct thread *x = find_or_add_cpu_thread(t, tid);
	if (x && x->index == UINT32_MAX)
		put_into_capture(t, x);
	return x ? x->index : UINT32_MAX;
}

void cpu_threads_named(struct cpu_threads *t, uint32_t tid, const char *name)
{
	struct thread *x = find_or_add_cpu_thread(t, tid);
	if (!x)
		return;
	snprintf(x->name, sizeof x->name, "%s", name);
	if (x->index != UINT32_MAX)
		capture_add_thread(t->builder, read_inner_tid(t, tid), x->name);
}

static void note_end(struct cpu_threads *t, uint32_t tid)
{
	struct thread *x = find_or_add_cpu_thread(t, tid);
	if (!x)
		return;
	x->name[0] = '\0'; /* as it is called now */
	put_into_capture(t, x);
}

void cpu_threads_end(struct cpu_threads *t, struct cpu_capture *c)
{
	each_task(t, note_end);
	for (size_t i = 0; i < t->count; i++) {
		const struct thread *x = &t->items[i];
		int64_t cpu = x->index < c->thread_count ? thread_cpu_ns(t, x->tid) : -1;
		if (cpu >= 0)
			c->threads[x->index].cpu_ns = cpu - x->cpu_begin_ns;
	}
}
