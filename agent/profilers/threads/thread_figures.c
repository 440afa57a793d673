#include "agent/profilers/threads/thread_figures.h"

#include "agent/host/proc.h"
#include "common/base/fsio.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define FIGURES_BYTES 1024
#define NS_PER_S INT64_C(1000000000)

int64_t thread_figures_parse_run(const char *schedstat)
{
	char *end;
	if (schedstat[0] < '0' || schedstat[0] > '9')
		return -1;
	errno = 0;
	long long ns = strtoll(schedstat, &end, 10);
	return errno || *end != ' ' ? -1 : ns;
}

void thread_figures_read(int task_fd, pid_t tid, struct thread_figures *out)
{
	char path[64], text[FIGURES_BYTES];
	struct proc_stat stat;
	long ticks = sysconf(_SC_CLK_TCK);
	*out = (struct thread_figures){.cpu_ns = -1};
	snprintf(path, sizeof path, "%d/stat", (int)tid);
	if (fsio_read_small(task_fd, path, text, sizeof text) > 0 && proc_parse_stat(text, &stat) == 0) {
		out->start_time = stat.start_time;
		if (ticks > 0)
			out->cpu_ns = (int64_t)((stat.utime_ticks + stat.stime_ticks) * (uint64_t)(NS_PER_S / ticks));
	}
	snprintf(path, sizeof path, "%d/schedstat", (int)tid);
	int64_t run_ns = fsio_read_small(task_fd, path, text, sizeof text) > 0 ? thread_figures_parse_run(text) : -1;
	if (run_ns >= 0)
		out->cpu_ns = run_ns;
}
