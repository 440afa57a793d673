/* Opens the perf events of a sampler: what is asked of the kernel, and what is given up, one wish after the other, where it refuses.
 * The owner of the sampler owns this; its fields are read freely, and `follow_threads`, `group_fd`, `part` and `ring_bytes`
 * set, between the calls. */
#ifndef DRDOTNET_PERF_OPENER_H
#define DRDOTNET_PERF_OPENER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum perf_part { /* of what is asked about context switches: a ring that is full of stacks has no room for records, which are little */
	PERF_PART_BOTH,
	PERF_PART_STACKS,  /* samples with stacks */
	PERF_PART_RECORDS, /* of each switch */
};

#define PERF_TALLY_SWITCHES 64 /* an event of PERF_PART_RECORDS overflows once in so many: agent/perf/perf_leave.h */

struct perf_opener {
	bool follow_threads; /* events of a thread, which those that it starts inherit */
	int group_fd;        /* a control group's folder, borrowed: its processes alone; -1: no matter which */
	bool kernel;         /* exclude_kernel = 0 */
	bool kernel_chains;
	bool inherit_thread; /* Linux 5.13: only threads inherit, no child processes */
	unsigned max_stack;
	uint64_t period_ns;   /* of CPU time; 0: switches are counted */
	uint64_t switches;    /* one of so many has a sample; 0: CPU time is sampled */
	enum perf_part part;  /* of switches */
	uint32_t stack_bytes; /* of each sample; 0: no registers either */
	size_t ring_bytes;    /* that the event's ring is going to have: a part of it wakes the reader */
};

/* Wishes for this many samples a second of CPU time; `stacks`: each with its registers and the top of its stack. */
void perf_opener_init(struct perf_opener *o, int64_t frequency_hertz, bool kernel_chains, bool stacks);

/* Wishes for a record of each context switch, and a sample with the stack's top of one in `period` at which a thread loses its CPU. */
void perf_opener_init_switches(struct perf_opener *o, uint64_t period);

/* An event of `tid` (-1: all that runs there, of the group if there is one) on `cpu`. That of a thread runs at once, the other one when it is given leave
 * (agent/perf/perf_leave.h). Returns its descriptor, or -1 with errno. */
int perf_opener_open(struct perf_opener *o, pid_t tid, int cpu);

#endif
