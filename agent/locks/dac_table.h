/* The table of addresses that the runtime exports for debuggers (g_dacTable of libcoreclr.so, or of a single-file application's executable), read from the
 * process's memory. One thread. */
#ifndef DRDOTNET_DAC_TABLE_H
#define DRDOTNET_DAC_TABLE_H

#include "agent/locks/process_memory.h"

#include <stddef.h>
#include <stdint.h>

struct dac_table {
	uint64_t words[512];
	size_t count;
	const char *why; /* why it could not be read; NULL: it was; static */
};
void dac_table_read(const struct process_memory *m, int proc_fd, struct dac_table *out);

#endif
