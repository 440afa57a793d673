/* The calling thread's id without a system call each time: remembered by thread pointer for some moments. A thread that has just begun may get
 * the id of one that has just ended where it has its place. Any context that interrupts none of its own; lock-free. */
#ifndef DRDOTNET_THREAD_ID_H
#define DRDOTNET_THREAD_ID_H

#include <stdint.h>

#define THREAD_ID_KEEP_MS 50

uint32_t thread_id_now(uint64_t now_ns); /* CLOCK_MONOTONIC */
void thread_id_reset(void);

#endif
