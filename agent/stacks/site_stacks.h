/* The stacks of places that the library tells of as instruction pointers: named while the session runs, and kept in a capture. What was told waits
 * for the next site_stacks_flush(). Bounded: what finds no room stays without a stack. One thread. */
#ifndef DRDOTNET_SITE_STACKS_H
#define DRDOTNET_SITE_STACKS_H

#include "agent/stacks/capture.h"
#include "agent/stacks/frame_namer.h"

#include <stdbool.h>
#include <stdint.h>

struct channel_alloc_site;
struct site_stacks;

/* `into` outlives it. `proc_fd`: /proc/PID, borrowed; -1: none. */
struct site_stacks *site_stacks_new(struct cpu_capture *into, int proc_fd);
void site_stacks_free(struct site_stacks *s);

/* From here on managed frames have the file and line of their place, where their modules' symbols are there; site_stacks_account() adds which were. */
void site_stacks_tell_lines(struct site_stacks *s, frame_il_fn *ask, void *ctx);
void site_stacks_account(const struct site_stacks *s, struct source_account *out);

/* *stack becomes the capture's index at the next flush, until when it must stay where it is; it is left alone where there is no room. */
void site_stacks_add(struct site_stacks *s, const struct channel_alloc_site *site, uint32_t *stack);
/* The capture's index of the thread; UINT32_MAX: no room. */
uint32_t site_stacks_thread(struct site_stacks *s, uint32_t tid);

/* More than half of the room is used: flush now. */
bool site_stacks_want_flush(const struct site_stacks *s);
void site_stacks_flush(struct site_stacks *s, frame_resolve_fn *resolve, void *ctx);

/* Stand for those without a stack, or a thread: the capture's index; UINT32_MAX: no room. */
uint32_t site_stacks_none(struct site_stacks *s);
uint32_t site_stacks_nobody(struct site_stacks *s);

#endif
