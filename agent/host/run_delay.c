#include "agent/host/run_delay.h"

#include "agent/host/proc.h"
#include "common/base/cleanup.h"
#include "common/base/fsio.h"
#include "common/base/mem.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_THREADS 65536

int64_t run_delay_node_pressure(const char *proc_root)
{
	char path[512], text[256];
	int n = snprintf(path, sizeof path, "%s/pressure/cpu", proc_root);
	if (n < 0 || (size_t)n >= sizeof path || fsio_read_small(AT_FDCWD, path, text, sizeof text) <= 0)
		return -1;
	return proc_parse_pressure(text);
}

static int run_delay_by_tid(const void *x, const void *y)
{
	const struct run_delay_thread *a = x, *b = y;
	return a->tid < b->tid ? -1 : a->tid > b->tid;
}

/* Each thread's wait since its birth. False: none can be read. */
static bool read_run_delays(struct run_delay *r, int proc_fd)
{
	int fd = proc_fd >= 0 ? openat(proc_fd, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	AUTO_DIR DIR *dir = fsio_opendir_take(fd);
	for (struct dirent *d; dir && r->count < MAX_THREADS && (d = readdir(dir));) {
		uint32_t tid = (uint32_t)strtoul(d->d_name, NULL, 10);
		char path[64], text[128];
		snprintf(path, sizeof path, "task/%u/schedstat", tid);
		int64_t ns = tid && fsio_read_small(proc_fd, path, text, sizeof text) > 0 ? proc_parse_schedstat(text) : -1;
		if (ns < 0)
			continue;
		GROW(r->threads, r->count, r->cap);
		r->threads[r->count++] = (struct run_delay_thread){tid, ns};
	}
	if (r->count)
		qsort(r->threads, r->count, sizeof *r->threads, run_delay_by_tid);
	return r->count > 0;
}

void run_delay_begin(struct run_delay *r, int proc_fd)
{
	run_delay_fini(r);
	r->known = read_run_delays(r, proc_fd);
}

int64_t run_delay_since(const struct run_delay *r, int proc_fd)
{
	struct run_delay now = {0};
	int64_t sum = 0;
	if (!r->known || !read_run_delays(&now, proc_fd)) {
		run_delay_fini(&now);
		return -1;
	}
	for (size_t i = 0; i < now.count; i++) {
		const struct run_delay_thread *then = bsearch(&now.threads[i], r->threads, r->count, sizeof *r->threads, run_delay_by_tid);
		bool same = then && then->ns <= now.threads[i].ns; /* else the number was given to a new thread */
		sum += now.threads[i].ns - (same ? then->ns : 0);
	}
	run_delay_fini(&now);
	return sum;
}

void run_delay_fini(struct run_delay *r)
{
	free(r->threads);
	*r = (struct run_delay){0};
}
