#include "agent/profilers/deadlocks/deadlock_look.h"

#include "agent/locks/memory_pages.h"
#include "agent/locks/stack_ends.h"
#include "common/base/clock.h"
#include "common/base/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#define LOOK_STACK_BYTES 65536 /* of a thread's stack, from its top */

/* who waits for what ------------------------------------------------------------------------------------------------ */

/* The number of a lock that is no monitor, which several threads may wait for. */
static uint32_t keep_managed_lock(struct deadlock_look *l, const struct monitor *x)
{
	struct sync_table *t = &l->table;
	for (size_t i = l->monitors; i < t->waited_count; i++)
		if (t->waited[i].object == x->object) {
			if (!t->waited[i].owner) /* the one that may upgrade waits, too, and has come first */
				t->waited[i].owner = x->owner;
			return (uint32_t)i;
		}
	if (t->waited_count - l->monitors == SYNC_TABLE_WAITED) {
		t->full = true;
		return UINT32_MAX;
	}
	t->waited = mem_realloc(t->waited, t->waited_count + 1, sizeof *t->waited);
	t->waited[t->waited_count] = *x;
	return (uint32_t)t->waited_count++;
}

struct look_reader {
	const struct process_memory *memory;
	struct managed_locks *managed;
	struct managed_threads threads;
	struct stack_ends ends;
	uint64_t *stack;
};

static uint32_t waited_by(const struct look_reader *r, struct deadlock_look *l, const struct thread_wait *t)
{
	const struct sync_table monitors = {.waited = l->table.waited, .waited_count = l->monitors};
	struct monitor other;
	uint64_t sp = t->sp & ~UINT64_C(7);
	size_t bytes = stack_ends_bytes(&r->ends, sp, LOOK_STACK_BYTES);
	size_t words = process_memory_read(r->memory, sp, r->stack, bytes) / sizeof *r->stack;
	uint32_t lock = sync_table_waited(&monitors, r->stack, words);
	if (lock != UINT32_MAX)
		return lock;
	words = words < MANAGED_LOCK_STACK / sizeof *r->stack ? words : MANAGED_LOCK_STACK / sizeof *r->stack;
	return managed_locks_waited(r->managed, &r->threads, t->inner_tid, sp, r->stack, words, &other) ? keep_managed_lock(l, &other) : UINT32_MAX;
}

/* Only a thread that sleeps on a futex can wait for a lock. */
static void find_waits(const struct process_memory *m, int proc_fd, uint64_t table, struct managed_locks *managed, struct deadlock_look *l)
{
	struct look_reader r = {.memory = m, .managed = managed, .stack = mem_alloc(LOOK_STACK_BYTES)};
	stack_ends_load(proc_fd, &r.ends);
	managed_threads_read(m, &managed->contract, &r.threads);
	if (table)
		sync_table_read(m, table, &managed->contract, &r.threads, &l->table);
	managed_threads_name(&r.threads, m, managed->types, &managed->contract, l->threads, l->thread_count);
	l->monitors = l->table.waited_count;
	l->waits_for = mem_calloc(l->thread_count + 1, sizeof *l->waits_for);
	for (size_t i = 0; i < l->thread_count; i++)
		l->waits_for[i] = l->threads[i].system_call == SYS_futex && l->threads[i].sp ? waited_by(&r, l, &l->threads[i]) : UINT32_MAX;
	managed_threads_fini(&r.threads);
	stack_ends_fini(&r.ends);
	explicit_bzero(r.stack, LOOK_STACK_BYTES);
	free(r.stack);
}

/* Locks lie together: their pages are read once, after the threads were looked at. */
static void read_locks(const struct process_memory *m, int proc_fd, uint64_t table, struct managed_locks *managed, struct deadlock_look *l)
{
	struct memory_pages pages;
	const struct process_memory direct = managed->memory;
	memory_pages_init(&pages, m);
	managed->memory = pages.memory;
	find_waits(&pages.memory, proc_fd, table, managed, l);
	managed->memory = direct;
	memory_pages_fini(&pages);
}

int deadlock_look_take(const struct process_memory *m, int proc_fd, const struct dac_table *dac, struct managed_locks *managed, struct deadlock_look *out,
		       struct err *e)
{
	*out = (struct deadlock_look){.at_ns = clock_mono_ns(), .unread = dac->why ? dac->why : runtime_contract_unread(&managed->contract)};
	uint64_t table = out->unread ? 0 : sync_table_find(m, dac->words, dac->count);
	ssize_t threads = thread_wait_list(proc_fd, &out->threads, &out->full);
	if (threads < 0) {
		out->unread = "the process's threads could not be read";
		return thread_wait_explain(errno, e);
	}
	out->thread_count = (size_t)threads;
	out->table_found = table != 0;
	read_locks(m, proc_fd, table, managed, out);
	out->full |= out->table.full;
	if (work_budget_over(m->budget))
		out->unread = "reading the process's locks took more work than is spent on one process";
	out->took_ns = clock_mono_ns() - out->at_ns;
	return 0;
}

void deadlock_look_fini(struct deadlock_look *l)
{
	sync_table_fini(&l->table);
	free(l->threads);
	free(l->waits_for);
	*l = (struct deadlock_look){0};
}
