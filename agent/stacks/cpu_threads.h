/* The threads of a sampled process: their names, their tids inside the process, and the kernel's account of their CPU
 * time at the session's ends. One thread owns it. Words are the process's own. */
#ifndef DRDOTNET_CPU_THREADS_H
#define DRDOTNET_CPU_THREADS_H

#include "agent/stacks/capture.h"

#include <stdbool.h>
#include <stdint.h>

struct cpu_threads;

/* `proc_fd`: /proc/PID, borrowed; -1: not to be had (then tids are taken as they are). `same_ids`: the process's tids are those
 * that we see. */
struct cpu_threads *cpu_threads_new(struct capture_builder *b, int proc_fd, bool same_ids);
void cpu_threads_free(struct cpu_threads *t);

/* Notes every thread's CPU time as the session's beginning. */
void cpu_threads_begin(struct cpu_threads *t);

/* The capture's index of the thread; a new one is asked for its name. UINT32_MAX when the capture is full. */
uint32_t cpu_threads_index(struct cpu_threads *t, uint32_t tid);

/* The thread has got this name. Only for threads that are known already or turn up later. */
void cpu_threads_named(struct cpu_threads *t, uint32_t tid, const char *name);

/* Fills cpu_ns and the last names of the threads that are still there, and adds those that used no CPU. */
void cpu_threads_end(struct cpu_threads *t, struct cpu_capture *c);

#endif
