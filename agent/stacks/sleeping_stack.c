#include "agent/stacks/sleeping_stack.h"

#include "agent/perf/perf_record.h"
#include "agent/perf/secret_memory.h"

#include <string.h>

uint8_t *sleeping_stack_buffer_new(void)
{
	return secret_memory_new(SLEEPING_STACK_BYTES);
}

void sleeping_stack_buffer_free(uint8_t *buffer)
{
	secret_memory_free(buffer, SLEEPING_STACK_BYTES, SLEEPING_STACK_BYTES);
}

/* Those above the functions of libc do keep one: the first pair of a saved pointer that leads up the stack, and a word behind it that is a return
 * address. */
uint64_t sleeping_stack_frame_pointer(uint64_t sp, const uint8_t *stack, size_t bytes, sleeping_stack_code_fn *is_code, void *ctx)
{
	uint64_t pair[2];
	for (size_t at = 0; at + sizeof pair <= bytes; at += 8) {
		memcpy(pair, stack + at, sizeof pair);
		if (pair[0] > sp + at && pair[0] < sp + bytes && (pair[0] & 7) == 0 && pair[1] > 0x10000 && (pair[1] < sp || pair[1] > sp + bytes) &&
		    is_code(ctx, pair[1] - 1))
			return sp + at;
	}
	return 0;
}

static bool may_return_to(void *collect, uint64_t address)
{
	return cpu_collect_is_code(collect, address);
}

bool sleeping_stack_take(struct cpu_collect *collect, const struct process_memory *m, const struct thread_wait *t, int64_t time_ns, uint8_t *buffer)
{
	size_t bytes = t->sp ? process_memory_read(m, t->sp, buffer, SLEEPING_STACK_BYTES) : 0;
	if (!bytes)
		return false;
	struct perf_sample x = {
		.tid = (uint32_t)t->tid,
		.time_ns = time_ns,
		.has_registers = true,
		.registers = {.ip = t->ip, .sp = t->sp, .fp = sleeping_stack_frame_pointer(t->sp, buffer, bytes, may_return_to, collect)},
		.user = &t->ip,
		.user_depth = 1,
		.stack = buffer,
		.stack_bytes = bytes,
	};
	cpu_collect_perf_sample(collect, &x);
	return true;
}
