/* The name of a thread of a process, from its /proc. Words of the process itself: outside text. Any thread. */
#ifndef DRDOTNET_THREAD_NAME_H
#define DRDOTNET_THREAD_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* `tid` as the process itself sees it; `same_ids`: so do we, else it is looked for among its threads. `proc_fd` is /proc/PID, -1: not to
 * be had. "" when the thread is gone or cannot be seen. */
void thread_name_read(int proc_fd, uint32_t tid, bool same_ids, char *out, size_t size);

#endif
