#include "agent/locks/managed_locks.h"

#include "agent/locks/lock_object.h"

#include <string.h>

/* Where a ReaderWriterLockSlim has its fields. */
#define RW_WRITERS_WAIT 48
#define RW_READERS_WAIT 52
#define RW_UPGRADES_WAIT 56
#define RW_UPGRADERS_WAIT 60
#define RW_MAY_UPGRADE 64 /* managed id; -1: nobody */
#define RW_WRITES 68      /* the same */
#define RW_OWNERS 72
#define RW_BYTES 80
#define RW_WRITER_HELD 0x80000000u
#define NOBODY UINT32_MAX
#define WAITERS_MAX THREAD_WAITS_MAX

void managed_locks_init(struct managed_locks *l, const struct process_memory *memory, int proc_fd)
{
	*l = (struct managed_locks){.memory = *memory};
	runtime_contract_read(&l->memory, proc_fd, &l->contract);
	l->types = managed_types_new(&l->memory, &l->contract);
	managed_threads_check(&l->memory, proc_fd, l->types, &l->contract);
}

void managed_locks_init_of_8(struct managed_locks *l, const struct process_memory *memory)
{
	*l = (struct managed_locks){.memory = *memory};
	runtime_contract_of_8(&l->contract);
	l->types = managed_types_new(&l->memory, &l->contract);
}

void managed_locks_fini(struct managed_locks *l)
{
	managed_types_free(l->types);
	*l = (struct managed_locks){0};
}

void managed_locks_forget_if_full(struct managed_locks *l)
{
	if (!managed_types_full(l->types))
		return;
	managed_types_free(l->types);
	l->types = managed_types_new(&l->memory, &l->contract);
}

static uint32_t lock_field(const uint8_t *object, size_t at)
{
	uint32_t x;
	memcpy(&x, object + at, sizeof x);
	return x;
}

/* Who may upgrade keeps out those that want to write or to upgrade, too, but none that only wants to read. */
static bool read_rw_object(const uint8_t *o, const struct managed_threads *threads, struct monitor *out)
{
	uint32_t writes = lock_field(o, RW_WRITES), may = lock_field(o, RW_MAY_UPGRADE);
	uint32_t readers = lock_field(o, RW_READERS_WAIT);
	uint32_t others[] = {lock_field(o, RW_WRITERS_WAIT), lock_field(o, RW_UPGRADES_WAIT), lock_field(o, RW_UPGRADERS_WAIT)};
	if ((writes != NOBODY) != ((lock_field(o, RW_OWNERS) & RW_WRITER_HELD) != 0))
		return false;
	uint32_t holder = writes != NOBODY ? writes : readers == 0 ? may : NOBODY;
	out->owner = holder != NOBODY ? managed_threads_inner_tid(threads, holder) : 0;
	out->waiters = readers;
	for (size_t i = 0; i < 3; i++) {
		if (others[i] > WAITERS_MAX)
			return false;
		out->waiters += others[i];
	}
	return readers <= WAITERS_MAX;
}

bool managed_lock_read(const struct process_memory *m, enum lock_kind kind, uint64_t object, const struct managed_threads *threads, struct monitor *out)
{
	uint8_t o[RW_BYTES];
	if (kind == LOCK_KIND_LOCK)
		return lock_object_read(m, object, threads, out);
	if (!process_memory_whole(m, object, o, sizeof o))
		return false;
	*out = (struct monitor){.kind = kind, .object = object, .type = process_memory_word(m, object) & ~UINT64_C(7)};
	return read_rw_object(o, threads, out);
}

static enum lock_kind kind_of_type(const char *name)
{
	return strcmp(name, "System.Threading.Lock") == 0                   ? LOCK_KIND_LOCK
	       : strcmp(name, "System.Threading.ReaderWriterLockSlim") == 0 ? LOCK_KIND_READER_WRITER
									    : LOCK_KIND_MONITOR;
}

/* Who may upgrade wants to write now, and waits. */
static bool upgrades(const struct process_memory *m, uint64_t object)
{
	uint32_t waits, writes;
	return process_memory_whole(m, object + RW_UPGRADES_WAIT, &waits, sizeof waits) && waits &&
	       process_memory_whole(m, object + RW_WRITES, &writes, sizeof writes) && writes == NOBODY;
}

bool managed_locks_waited(struct managed_locks *l, const struct managed_threads *threads, uint32_t inner_tid, uint64_t sp, const uint64_t *words,
			  size_t count, struct monitor *out)
{
	for (size_t i = 0; l->contract.known && !l->locks_unread && i < count; i++) {
		if (words[i] >= sp && words[i] - sp < UINT64_C(1) << 20) /* the stack itself */
			continue;
		enum lock_kind kind = kind_of_type(managed_types_of(l->types, words[i]));
		if (kind == LOCK_KIND_MONITOR || !managed_lock_read(&l->memory, kind, words[i], threads, out) || !out->waiters)
			continue;
		if (out->owner != inner_tid)
			return true;
		if (kind == LOCK_KIND_READER_WRITER && upgrades(&l->memory, words[i])) {
			out->owner = 0; /* it has the right to upgrade, and waits for the readers */
			return true;
		}
	}
	return false;
}

const char *managed_locks_type(struct managed_locks *l, uint64_t type)
{
	return managed_types_name(l->types, type);
}
