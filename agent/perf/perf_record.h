/* The bytes of the records that a perf event writes with PERF_SAMPLE_TID | TIME | CALLCHAIN | REGS_USER | STACK_USER; those of context switches are read
 * with sample_id_all (perf_event_open(2), "MMAP layout"). Pure; any thread. Words are in host order, 8-byte aligned. */
#ifndef DRDOTNET_PERF_RECORD_H
#define DRDOTNET_PERF_RECORD_H

#include "common/proto/code_frame.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum perf_kind {
	PERF_KIND_OTHER,    /* well-formed and of no interest */
	PERF_KIND_SAMPLE,
	PERF_KIND_TALLY,    /* an event counted so many switches; nothing of a stack */
	PERF_KIND_LOST,     /* `count` records did not fit the ring */
	PERF_KIND_THROTTLE, /* the kernel paused the event */
	PERF_KIND_COMM,     /* a thread was named */
	PERF_KIND_FORK,     /* a thread was born that has inherited the event */
	PERF_KIND_SWITCH,   /* a thread lost its CPU, or got one */
};

struct perf_sample {
	uint32_t pid, tid;  /* in the opener's pid namespace */
	int64_t time_ns;    /* CLOCK_MONOTONIC (use_clockid) */
	bool in_kernel;     /* the thread was in a system call, a fault or an interrupt */
	const uint64_t *kernel, *user; /* leaf first; borrowed from the record */
	size_t kernel_depth, user_depth;
	bool has_registers; /* those of user mode; none of a kernel thread */
	struct code_registers registers;
	const uint8_t *stack; /* from registers.sp on; borrowed. It holds whatever the process computes with: secret */
	size_t stack_bytes;
};

struct perf_switch {
	int64_t time_ns;    /* CLOCK_MONOTONIC */
	uint32_t pid, tid;  /* in the opener's pid namespace */
	bool out;           /* it lost its CPU; else it got one */
	bool runnable;      /* out: it could have gone on, and waits for a CPU */
};

struct perf_record {
	enum perf_kind kind;
	union {
		struct perf_sample sample;
		uint64_t lost;
		struct {
			uint32_t pid, tid;
			char comm[16];
		} comm;
		struct {
			uint32_t pid, tid;
		} fork;
		struct perf_switch change;
	} u;
};

/* `bytes` is the size that the record's header states and >= 8. 0, or -1 when the record is not what its type says. */
int perf_record_parse(const uint64_t *words, size_t bytes, struct perf_record *out);

#endif
