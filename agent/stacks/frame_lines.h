/* The lines of a batch of instruction pointers that the runtime has named: asks it for the IL of those whose modules have symbols, and the symbols for the
 * line. Without symbols nothing is asked. One thread. */
#ifndef DRDOTNET_FRAME_LINES_H
#define DRDOTNET_FRAME_LINES_H

#include "agent/stacks/frame_namer.h"
#include "agent/symbols/source_lines.h"

struct frame_lines;
struct resolved_function;

/* `proc_fd`: /proc/PID, borrowed during the call. */
struct frame_lines *frame_lines_new(int proc_fd, frame_il_fn *ask, void *ctx);
void frame_lines_free(struct frame_lines *l);

/* Fills out[count], zeroed where nothing is known (file NULL). functions[i] may be NULL. What is filled borrows from *l. */
void frame_lines_find(struct frame_lines *l, const uint64_t *ips, const struct resolved_function *const *functions, size_t count,
		      struct source_place *out);

void frame_lines_account(const struct frame_lines *l, struct source_account *out);

#endif
