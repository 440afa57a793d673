/* The memory of another process, read from outside: nothing is stopped for it, so what is read may be torn, and whoever reads it checks it.
 * One thread. */
#ifndef DRDOTNET_PROCESS_MEMORY_H
#define DRDOTNET_PROCESS_MEMORY_H

#include "agent/host/work_budget.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct process_memory {
	/* How many bytes from `address` on could be read, from the first one; 0: none. */
	size_t (*read)(void *ctx, uint64_t address, void *out, size_t n);
	void *ctx;
	int fd;
	struct work_budget *budget; /* borrowed: reads that it refuses give nothing; NULL: there is none */
};

/* Of the process of an open /proc/PID. -1 with errno. */
int process_memory_open(struct process_memory *m, int proc_fd);
void process_memory_close(struct process_memory *m);

size_t process_memory_read(const struct process_memory *m, uint64_t address, void *out, size_t n);
/* All or nothing. */
bool process_memory_whole(const struct process_memory *m, uint64_t address, void *out, size_t n);
/* 0 where it cannot be read. */
uint64_t process_memory_word(const struct process_memory *m, uint64_t address);

#endif
