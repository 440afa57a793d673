/* How code of an ELF file that a process has mapped finds its caller: from the file's unwind table (.eh_frame_hdr and .eh_frame), as it lies in the
 * process's memory. Libraries need no frame pointers then: libc keeps none, nor do the runtime's helpers that are written in assembly.
 *
 * Sources: ELF-64 Object File Format 1.5, 5 and 7; Linux Standard Base 5.0, Core, 10.6.2 (.eh_frame_hdr).
 *
 * Pure but for `read`; any thread. The memory is the profiled process's, so anything. */
#ifndef DRDOTNET_UNWIND_TABLE_H
#define DRDOTNET_UNWIND_TABLE_H

#include "common/proto/code_frame.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* `bytes` bytes of the process from `address` on; false: not all of them are to be had. */
typedef bool unwind_read_fn(void *ctx, uint64_t address, void *out, size_t bytes);

/* Of one file. */
struct unwind_table {
	uint64_t header, pairs; /* addresses in the process; `pairs`: {i32 function's start, i32 its entry}, both from `header` on, by the first */
	uint32_t count;
};

/* The file whose first byte is mapped at `image`. false: it has no table that can be read. */
bool unwind_table_find(uint64_t image, unwind_read_fn *read, void *ctx, struct unwind_table *out);

/* The frame at the instruction at `ip`, as it is before that runs, and while a call that it makes does. false, and CODE_FRAME_UNKNOWN: the table knows no
 * function there, or one whose frame is not understood. */
bool unwind_table_frame(const struct unwind_table *t, uint64_t ip, unwind_read_fn *read, void *ctx, struct code_frame *out);

#endif
