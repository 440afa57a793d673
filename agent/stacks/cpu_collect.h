/* Turns samples into a capture while a session runs. Samples are collected as raw addresses, interned, for about a second;
 * cpu_collect_flush() then names the addresses that are new and moves the samples into the capture as stacks of functions, so that
 * memory stays bounded and code that disappears has been named before. Code of one method at several addresses (tiers, on-stack
 * replacement) becomes one function there. One thread owns it. */
#ifndef DRDOTNET_CPU_COLLECT_H
#define DRDOTNET_CPU_COLLECT_H

#include "agent/stacks/capture.h"
#include "agent/stacks/frame_namer.h"
#include "agent/perf/perf_record.h"
#include "agent/attach/profiler_channel.h"

#include <stdbool.h>
#include <stdint.h>

/* Where code begins: code_bodies_ask_fn. */
struct channel_code_body;
typedef int cpu_collect_code_fn(void *ctx, const uint64_t *ips, size_t count, struct channel_code_body *out);

struct cpu_collect_options {
	struct cpu_capture *capture; /* filled; outlives the collector */
	int proc_fd;                 /* /proc/PID, borrowed; -1 in shared tmp mode: no mappings, no native names */
	const struct buf *maps;      /* of a process that cannot be read any more: its mappings, executable and root; NULL: by proc_fd */
	const char *main_path;
	int root_fd;
	bool same_ids;               /* the process sees its threads by the ids that the samples have */
	int64_t started_ns;          /* CLOCK_MONOTONIC; samples before are clamped to it */
	unsigned max_depth;          /* so many addresses in a chain: the kernel has cut it; 0: no limit known */
	bool by_timers;              /* the library walks the stacks, by the code of each function */
	cpu_collect_code_fn *code;   /* NULL: stacks of perf samples are what frame pointers tell */
	void *code_ctx;
	frame_il_fn *il;             /* NULL: frames are told without their lines */
	void *il_ctx;
};

struct cpu_collect;

struct cpu_collect *cpu_collect_new(const struct cpu_collect_options *o);
void cpu_collect_free(struct cpu_collect *c);

/* The threads' CPU times at the beginning. */
void cpu_collect_begin(struct cpu_collect *c);

void cpu_collect_perf_sample(struct cpu_collect *c, const struct perf_sample *s);
void cpu_collect_timer_sample(struct cpu_collect *c, const struct channel_sample *s);
/* The capture's index of a thread, by its id as we see it; UINT32_MAX: there is no room. */
uint32_t cpu_collect_thread(struct cpu_collect *c, uint32_t tid);
void cpu_collect_thread_name(struct cpu_collect *c, uint32_t tid, const char *name);

/* More than half of the room for raw samples is used: flush now. What does not fit is dropped and counted. */
bool cpu_collect_wants_flush(const struct cpu_collect *c);
void cpu_collect_flush(struct cpu_collect *c, frame_resolve_fn *resolve, void *ctx);

/* After the last flush: samples by time, threads with their CPU time. */
void cpu_collect_finish(struct cpu_collect *c);

/* Whether code lies at an address of the process; true, too, where there are no mappings to tell by. */
bool cpu_collect_is_code(struct cpu_collect *c, uint64_t ip);
/* Where code is mapped all the time, as in a process that starts: the mappings are as old as the last call, or flush. */
void cpu_collect_age_maps(struct cpu_collect *c);

uint64_t cpu_collect_sample_count(const struct cpu_collect *c); /* taken so far, flushed or not */
int64_t cpu_collect_first_sample_ns(const struct cpu_collect *c); /* CLOCK_MONOTONIC; 0: none yet */

#endif
