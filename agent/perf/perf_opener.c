#include "agent/perf/perf_opener.h"

#include "agent/arch/arch.h"
#include "agent/perf/perf_record.h"
#include "common/base/fsio.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define RING_MAX_BYTES (512 * 1024) /* with its first page 516 KiB, what the kernel lets a user lock for each CPU (perf_event_mlock_kb) */
#define WAKE_PART 8 /* of a ring: the rest is for the time until this process gets a CPU */
#define DEFAULT_MAX_STACK 127
#define SWITCH_STACK_BYTES 8192 /* functions of libc that wait keep no frame pointer: what the copy does not hold is not found */
#define MAX_STACK_CAP 512 /* CAPTURE_MAX_DEPTH: more would be cut anyway */

#ifndef PERF_FLAG_FD_CLOEXEC
#define PERF_FLAG_FD_CLOEXEC (1UL << 3)
#endif

static unsigned kernel_max_stack(void)
{
	char text[32];
	if (fsio_read_small(AT_FDCWD, "/proc/sys/kernel/perf_event_max_stack", text, sizeof text) <= 0)
		return DEFAULT_MAX_STACK;
	long v = strtol(text, NULL, 10);
	return v < 1 ? DEFAULT_MAX_STACK : v > MAX_STACK_CAP ? MAX_STACK_CAP : (unsigned)v;
}

/* As much as nearly all stacks need, and less where so many samples come that a ring would not hold them until they are read. */
static uint32_t stack_bytes_for(int64_t frequency_hertz)
{
	return frequency_hertz <= 125 ? 8192 : frequency_hertz <= 250 ? 4096 : 2048;
}

static size_t ring_bytes_for(int64_t frequency_hertz, uint32_t stack_bytes)
{
	/* A second of a busy CPU, at some 600 bytes a sample beside the stack. */
	size_t need = (size_t)frequency_hertz * (600 + stack_bytes), bytes = 64 * 1024;
	while (bytes < need && bytes < RING_MAX_BYTES)
		bytes *= 2;
	return bytes;
}

void perf_opener_init(struct perf_opener *o, int64_t frequency_hertz, bool kernel_chains, bool stacks)
{
	*o = (struct perf_opener){.group_fd = -1, .kernel = true, .kernel_chains = kernel_chains, .inherit_thread = true};
	o->max_stack = kernel_max_stack();
	o->period_ns = UINT64_C(1000000000) / (uint64_t)frequency_hertz;
	o->stack_bytes = stacks ? stack_bytes_for(frequency_hertz) : 0;
	o->ring_bytes = ring_bytes_for(frequency_hertz, o->stack_bytes);
}

void perf_opener_init_switches(struct perf_opener *o, uint64_t period)
{
	*o = (struct perf_opener){.group_fd = -1, .kernel = true, .inherit_thread = true, .switches = period};
	o->max_stack = kernel_max_stack();
	o->stack_bytes = SWITCH_STACK_BYTES;
	o->ring_bytes = RING_MAX_BYTES;
}

static void fill_attr(const struct perf_opener *o, struct perf_event_attr *a)
{
	*a = (struct perf_event_attr){
		.size = sizeof *a,
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = o->period_ns, /* fixed: a frequency would make the kernel guess again and again */
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN,
		.sample_max_stack = (uint16_t)o->max_stack,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.comm = 1,
		.watermark = 1,
		.wakeup_watermark = (uint32_t)(o->ring_bytes / WAKE_PART),
		.exclude_idle = 1,
		.exclude_hv = 1,
		.exclude_kernel = !o->kernel,
		.exclude_callchain_kernel = !o->kernel_chains,
		.disabled = !o->follow_threads,
	};
	if (o->switches) {
		a->config = PERF_COUNT_SW_CONTEXT_SWITCHES;
		a->sample_period = o->switches;
		a->context_switch = o->part != PERF_PART_STACKS;
		a->sample_id_all = 1; /* a switch says whose it was, and when */
		a->exclude_idle = 0;
	}
	if (o->switches && o->part == PERF_PART_RECORDS) {
		a->config = o->follow_threads ? PERF_COUNT_SW_DUMMY : PERF_COUNT_SW_CONTEXT_SWITCHES;
		a->sample_period = o->follow_threads ? 0 : PERF_TALLY_SWITCHES;
		a->sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
		a->sample_max_stack = 0;
		a->comm = 0;
	} else if (o->stack_bytes) {
		a->sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
		a->sample_regs_user = arch_ours.perf_registers;
		a->sample_stack_user = o->stack_bytes;
	}
	if (o->follow_threads) {
		a->inherit = 1;
		a->task = 1; /* a record for each thread that inherits */
#ifdef PERF_ATTR_SIZE_VER7
		a->inherit_thread = o->inherit_thread;
#endif
	}
}

static int open_once(const struct perf_opener *o, pid_t tid, int cpu)
{
	struct perf_event_attr a;
	fill_attr(o, &a);
	if (tid == -1 && o->group_fd >= 0)
		return (int)syscall(SYS_perf_event_open, &a, o->group_fd, cpu, -1, PERF_FLAG_FD_CLOEXEC | PERF_FLAG_PID_CGROUP);
	return (int)syscall(SYS_perf_event_open, &a, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static bool raise_descriptor_limit(void)
{
	struct rlimit r;
	if (getrlimit(RLIMIT_NOFILE, &r) < 0 || r.rlim_cur >= r.rlim_max)
		return false;
	r.rlim_cur = r.rlim_max;
	return setrlimit(RLIMIT_NOFILE, &r) == 0;
}

/* Takes one wish back after a refusal, so that the next try may succeed. False: nothing left to give up. */
static bool concede(struct perf_opener *o, int errnum)
{
	switch (errnum) {
	case EACCES:
	case EPERM:
		if (!o->follow_threads || !o->kernel || o->switches) /* a switch happens in the kernel */
			return false;
		o->kernel = o->kernel_chains = false;
		return true;
	case EINVAL:
	case E2BIG:
		if (!o->inherit_thread)
			return false;
		o->inherit_thread = false;
		return true;
	case EOVERFLOW:
		if (o->max_stack <= DEFAULT_MAX_STACK)
			return false;
		o->max_stack = DEFAULT_MAX_STACK;
		return true;
	case EMFILE:
		return raise_descriptor_limit();
	default:
		return false;
	}
}

int perf_opener_open(struct perf_opener *o, pid_t tid, int cpu)
{
	for (;;) {
		int fd = open_once(o, tid, cpu);
		if (fd >= 0 || !concede(o, errno))
			return fd;
	}
}
