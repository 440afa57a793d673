#include "agent/profilers/deadlocks/deadlock_look.h"

#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/mem.h"

#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#define LOOK_STACK_BYTES 65536 /* of a thread's stack, from its top */

/* who waits for what ------------------------------------------------------------------------------------------------ */

uint32_t deadlock_look_waited(const struct sync_table *t, const uint64_t *words, size_t count)
{
	uint64_t lowest = UINT64_MAX, highest = 0;
	for (size_t i = 0; i < t->waited_count; i++) {
		uint64_t at = t->waited[i].sync_block;
		lowest = at < lowest ? at : lowest;
		highest = at > highest ? at : highest;
	}
	for (size_t k = 0; k < count; k++) {
		if (words[k] < lowest || words[k] > highest)
			continue;
		for (size_t i = 0; i < t->waited_count; i++)
			if (t->waited[i].sync_block == words[k])
				return (uint32_t)i;
	}
	return UINT32_MAX;
}

/* Only a thread that sleeps on a futex can wait for a monitor. */
static void find_waits(const struct process_memory *m, struct deadlock_look *l)
{
	AUTO_FREE uint64_t *stack = mem_alloc(LOOK_STACK_BYTES);
	l->waits_for = mem_calloc(l->thread_count + 1, sizeof *l->waits_for);
	for (size_t i = 0; i < l->thread_count; i++) {
		const struct thread_wait *t = &l->threads[i];
		l->waits_for[i] = UINT32_MAX;
		if (!l->table.waited_count || t->system_call != SYS_futex || !t->sp)
			continue;
		size_t bytes = process_memory_read(m, t->sp & ~UINT64_C(7), stack, LOOK_STACK_BYTES);
		l->waits_for[i] = deadlock_look_waited(&l->table, stack, bytes / sizeof *stack);
	}
	explicit_bzero(stack, LOOK_STACK_BYTES);
}

void deadlock_look_take(const struct process_memory *m, int proc_fd, const struct dac_table *dac, struct deadlock_look *out)
{
	*out = (struct deadlock_look){.at_ns = clock_mono_ns(), .unread = dac->why};
	uint64_t table = dac->why ? 0 : sync_table_find(m, dac->words, dac->count);
	ssize_t threads = thread_wait_list(proc_fd, &out->threads, &out->full);
	if (threads < 0) {
		out->unread = "the process's threads could not be read";
		return;
	}
	out->thread_count = (size_t)threads;
	out->table_found = table != 0;
	if (table)
		sync_table_read(m, table, &out->table);
	out->full |= out->table.full;
	find_waits(m, out);
}

void deadlock_look_fini(struct deadlock_look *l)
{
	sync_table_fini(&l->table);
	free(l->threads);
	free(l->waits_for);
	*l = (struct deadlock_look){0};
}
