/* Samples the CPU use of one process from outside, with the kernel's CPU clock (PERF_COUNT_SW_CPU_CLOCK) and frame-pointer
 * call chains. The process is never stopped and nothing is loaded into it.
 *
 * Two ways, chosen by what the kernel allows (docs/decisions/cpu-sampling.md has the measurements):
 *   PERF_WAY_CPU     one event for each CPU. Sees threads from their first instruction. Needs CAP_PERFMON. The kernel samples the process's container
 *                    alone (agent/perf/perf_group.h), or else every process; those of others are dropped here.
 *   PERF_WAY_THREAD  events on each thread and CPU, inherited by threads that are born later. Needs the right to trace the process.
 *
 * One thread owns a sampler. Memory: a ring of at most 512 KiB a CPU, counted as locked memory of the agent's user; and another one of at most
 * 128 KiB for the records of switches, which stacks would leave no room. With `stacks` the rings hold what the sampled processes compute with. */
#ifndef DRDOTNET_PERF_SAMPLER_H
#define DRDOTNET_PERF_SAMPLER_H

#include "agent/host/cgroup_dir.h"
#include "agent/perf/perf_record.h"
#include "common/base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum perf_way { PERF_WAY_CPU, PERF_WAY_THREAD };

struct perf_sampler_options {
	pid_t pid;              /* as this process sees it; 0 with `group`: all processes of it */
	const struct cgroup_dir *group; /* of a container that may have no process yet, borrowed during the call; NULL: the process's own */
	int proc_fd;            /* /proc/PID, for its threads; borrowed during the call */
	int64_t frequency_hertz;
	bool kernel_chains;     /* kernel frames wanted; given only where the kernel allows it */
	uint64_t switches;      /* not 0: no CPU time, but context switches, one of so many with a stack */
	bool stacks;            /* each sample with its registers and the top of its stack */
	bool only_thread_way;   /* these two for tests and measurements */
	bool every_process;     /* also where the kernel could filter */
};

struct perf_sampler_stats {
	uint64_t samples;       /* of the process */
	uint64_t switches;      /* of its threads, from and to a CPU */
	uint64_t other_samples; /* of other processes (in the same container, where the kernel filters), dropped unread */
	uint64_t lost, throttled, malformed;
	uint64_t lost_stacks;   /* of switches, whose records are all there: in `lost` there are none of them */
};

typedef void perf_sample_fn(void *ctx, const struct perf_sample *s);
typedef void perf_comm_fn(void *ctx, uint32_t tid, const char *comm);
typedef void perf_switch_fn(void *ctx, const struct perf_switch *x);

struct perf_sampler;

/* Opens and starts. NULL: ERR_DENIED with REASON_PerfEventsForbidden and what forbids it; ERR_GONE when the process ended. */
struct perf_sampler *perf_sampler_open(const struct perf_sampler_options *o, struct err *e);
void perf_sampler_close(struct perf_sampler *s);

enum perf_way perf_sampler_way(const struct perf_sampler *s);
bool perf_sampler_kernel(const struct perf_sampler *s);      /* time in the kernel is sampled */
bool perf_sampler_filtered(const struct perf_sampler *s);    /* processes of other containers are not sampled */
/* The process was moved out of what is sampled: since then there are no samples of it. Asked before the end. */
bool perf_sampler_left_group(const struct perf_sampler *s);
unsigned perf_sampler_max_depth(const struct perf_sampler *s); /* a chain of so many addresses was cut by the kernel */
int64_t perf_sampler_started_ns(const struct perf_sampler *s); /* CLOCK_MONOTONIC */
size_t perf_sampler_event_count(const struct perf_sampler *s);

/* Readable when a part of a ring is full. */
int perf_sampler_fd(const struct perf_sampler *s);

/* Hands over what the rings hold, one CPU's after the other's, and lets the events go on: those of a sampler that is not drained for two seconds end in the
 * kernel, and begin again with the next call (agent/perf/perf_leave.h, perf_keeper.h). `on_comm` and `on_switch` may be NULL. */
void perf_sampler_drain(struct perf_sampler *s, perf_sample_fn *on_sample, perf_comm_fn *on_comm, perf_switch_fn *on_switch, void *ctx);

/* No further samples; what the rings hold may still be drained. */
void perf_sampler_stop(struct perf_sampler *s);

const struct perf_sampler_stats *perf_sampler_stats(const struct perf_sampler *s);

#endif
