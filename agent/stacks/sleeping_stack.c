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

struct sleeping_words {
	uint64_t sp;
	const uint8_t *stack;
	size_t bytes;
	sleeping_stack_code_fn *is_code;
	void *ctx;
};

/* A saved pointer that leads up the stack, and a word behind it that is a return address. *next is where it leads, from `sp` on. */
static bool is_frame_at(const struct sleeping_words *w, size_t at, size_t *next)
{
	uint64_t pair[2];
	if (at > w->bytes || w->bytes - at < sizeof pair)
		return false;
	memcpy(pair, w->stack + at, sizeof pair);
	pair[1] &= code_machine_ours.address_bits;
	if (pair[0] <= w->sp + at || pair[0] >= w->sp + w->bytes || (pair[0] & 7) || pair[1] <= 0x10000 ||
	    (pair[1] >= w->sp && pair[1] <= w->sp + w->bytes) || !w->is_code(w->ctx, pair[1] - 1))
		return false;
	*next = (size_t)(pair[0] - w->sp);
	return true;
}

/* Functions above those of libc do keep one: the first pair that leads to another one. A register that libc has saved below its return address looks like
 * a frame, too, where it points into the stack, but leads to none; only where there is no better one, as near the thread's first function, it is taken. */
uint64_t sleeping_stack_frame_pointer(uint64_t sp, const uint8_t *stack, size_t bytes, sleeping_stack_code_fn *is_code, void *ctx)
{
	const struct sleeping_words w = {sp, stack, bytes, is_code, ctx};
	uint64_t alone = 0;
	size_t next, after;
	for (size_t at = 0; at < bytes; at += 8) {
		if (!is_frame_at(&w, at, &next))
			continue;
		if (is_frame_at(&w, next, &after))
			return sp + at;
		alone = alone ? alone : sp + at;
	}
	return alone;
}

static bool may_return_to(void *collect, uint64_t address)
{
	return cpu_collect_is_code(collect, address);
}

bool sleeping_stack_take(struct cpu_collect *collect, const struct process_memory *m, const struct thread_wait *t, int64_t time_ns, uint8_t *buffer)
{
	return sleeping_stack_take_top(collect, m, t, time_ns, buffer, SLEEPING_STACK_BYTES);
}

bool sleeping_stack_take_top(struct cpu_collect *collect, const struct process_memory *m, const struct thread_wait *t, int64_t time_ns, uint8_t *buffer,
			     size_t most)
{
	size_t bytes = t->sp ? process_memory_read(m, t->sp, buffer, most) : 0;
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
