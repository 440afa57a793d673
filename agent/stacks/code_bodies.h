/* Learns of instruction pointers how the callers of the code there are found: of managed code from its prolog, which is read from the process's
 * memory where the library says that it begins; of a library from its unwind table, which lies in the process's memory, too. One thread. */
#ifndef DRDOTNET_CODE_BODIES_H
#define DRDOTNET_CODE_BODIES_H

#include "agent/stacks/frame_namer.h"
#include "agent/stacks/ip_table.h"
#include "common/proto/channel_code.h"

#include <stddef.h>
#include <stdint.h>

/* Where the code of each pointer begins; out[i].bytes 0: the runtime knows none. -1: nothing to be had now. */
typedef int code_bodies_ask_fn(void *ctx, const uint64_t *ips, size_t count, struct channel_code_body *out);

struct code_bodies;

/* `proc_fd`: /proc/PID, borrowed during the call. */
struct code_bodies *code_bodies_new(int proc_fd);
void code_bodies_free(struct code_bodies *b);

/* Of each of the entries that is IP_CODE_NEW. -1: some could not be asked for, and stay so. */
int code_bodies_learn(struct code_bodies *b, struct ip_table *t, const uint32_t *entries, size_t count, struct frame_namer *places,
		      code_bodies_ask_fn *ask, void *ctx);

#endif
