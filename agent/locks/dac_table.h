/* The table of addresses that the runtime exports for debuggers (g_dacTable of libcoreclr.so, or of a single-file application's executable), read from the
 * process's memory. One thread. */
#ifndef DRDOTNET_DAC_TABLE_H
#define DRDOTNET_DAC_TABLE_H

#include "agent/locks/process_memory.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dac_table {
	uint64_t words[512];
	size_t count;
	const char *why; /* why it could not be read; NULL: it was; static */
};

/* Where the runtime's library has a variable that it exports, in the process's memory, and its size. False: it has none of that name. */
bool dac_table_export(int proc_fd, const char *name, uint64_t *address, uint64_t *size);

void dac_table_read(const struct process_memory *m, int proc_fd, struct dac_table *out);

#endif
