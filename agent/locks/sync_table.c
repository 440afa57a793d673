#include "agent/locks/sync_table.h"

#include "agent/arch/arch.h"
#include "agent/locks/lock_object.h"
#include "common/base/mem.h"

#include <stdlib.h>
#include <string.h>

#define ENTRY_BYTES 16
#define CHUNK 256             /* entries read at once */
#define HOLES 1024            /* in a row: behind them is nothing */
#define PROBED 63             /* entries of a candidate */
#define INDEX_MASK 0x03ffffffu
#define HEADER_MASK 0x0fffffffu
#define HEADER_INDEX 0x08000000u /* the object's header holds an index of this table */
#define STATE_LOCKED 1u
#define STATE_WAITERS_SHIFT 6

struct entry {
	uint64_t sync_block, object;
};

/* The header of an object lies in the four bytes before it. */
static bool names_entry(const struct process_memory *m, uint64_t object, size_t index)
{
	uint32_t header;
	return arch_may_be_structure(object) && process_memory_whole(m, object - sizeof header, &header, sizeof header) &&
	       (header & HEADER_MASK) == (HEADER_INDEX | (uint32_t)(index & INDEX_MASK));
}

/* How many of the first entries name objects that name them, from the first on; freed ones (odd) count for nothing. */
static size_t table_likeness(const struct process_memory *m, uint64_t table)
{
	struct entry e[PROBED];
	size_t like = 0;
	if (!arch_may_be_structure(table))
		return 0;
	size_t have = process_memory_read(m, table + ENTRY_BYTES, e, sizeof e) / sizeof *e;
	for (size_t i = 0; i < have; i++) {
		if (e[i].object & 1)
			continue;
		if (!names_entry(m, e[i].object, i + 1))
			break;
		like++;
	}
	return like;
}

static uint64_t table_behind(const struct process_memory *m, uint64_t word)
{
	return arch_may_be_structure(word) ? process_memory_word(m, word) : 0;
}

uint64_t sync_table_find(const struct process_memory *m, const uint64_t *dac, size_t words)
{
	size_t hint = words;
	return sync_table_find_again(m, dac, words, &hint);
}

uint64_t sync_table_find_again(const struct process_memory *m, const uint64_t *dac, size_t words, size_t *hint)
{
	uint64_t best = *hint < words ? table_behind(m, dac[*hint]) : 0;
	size_t most = 0;
	if (best && table_likeness(m, best))
		return best;
	best = 0;
	for (size_t i = 0; i < words; i++) {
		uint64_t table = table_behind(m, dac[i]);
		size_t like = table_likeness(m, table);
		if (like > most) {
			most = like;
			best = table;
			*hint = i;
		}
	}
	return best;
}

struct table_reader {
	const struct process_memory *memory;
	const struct runtime_contract *contract;
	const struct managed_threads *threads;
};

/* A monitor that nobody has ever waited for has none. */
static bool read_lock_of(const struct table_reader *r, const struct entry *e, struct monitor *out)
{
	uint64_t handle = process_memory_word(r->memory, e->sync_block + r->contract->monitor_lock);
	uint64_t lock = arch_may_be_structure(handle) ? process_memory_word(r->memory, handle) : 0;
	if (!arch_may_be_structure(lock) || !lock_object_read(r->memory, lock, r->threads, out))
		*out = (struct monitor){0};
	out->kind = LOCK_KIND_MONITOR;
	out->sync_block = lock;
	return true;
}

static bool read_words(const struct table_reader *r, const struct entry *e, struct monitor *out)
{
	uint32_t words[6];
	if (!process_memory_whole(r->memory, e->sync_block, words, sizeof words))
		return false;
	*out = (struct monitor){
		.sync_block = e->sync_block,
		.owner = words[0] & STATE_LOCKED ? words[4] : 0,
		.recursion = words[1],
		.waiters = words[0] >> STATE_WAITERS_SHIFT,
	};
	return true;
}

static bool read_monitor(const struct table_reader *r, const struct entry *e, struct monitor *out)
{
	if (!arch_may_be_structure(e->sync_block) || !(r->contract->monitors_are_locks ? read_lock_of(r, e, out) : read_words(r, e, out)))
		return false;
	out->object = e->object;
	out->type = process_memory_word(r->memory, e->object) & ~UINT64_C(7);
	return true;
}

static void keep_waited(struct sync_table *t, const struct monitor *x, size_t *cap)
{
	if (!x->waiters)
		return;
	if (t->waited_count == SYNC_TABLE_WAITED) {
		t->full = true;
		return;
	}
	GROW(t->waited, t->waited_count, *cap);
	t->waited[t->waited_count++] = *x;
}

static int by_sync_block(const void *a, const void *b)
{
	const struct monitor *x = a, *y = b;
	return (x->sync_block > y->sync_block) - (x->sync_block < y->sync_block);
}

static void read_entries(const struct table_reader *r, uint64_t table, struct sync_table *out)
{
	struct entry chunk[CHUNK];
	struct monitor x;
	size_t cap = 0, holes = 0;
	*out = (struct sync_table){0};
	for (size_t index = 1; holes < HOLES; index += CHUNK) {
		size_t have = process_memory_read(r->memory, table + index * ENTRY_BYTES, chunk, sizeof chunk) / sizeof *chunk;
		for (size_t i = 0; i < have; i++) {
			bool used = names_entry(r->memory, chunk[i].object, index + i) && read_monitor(r, &chunk[i], &x);
			holes = used ? 0 : holes + 1;
			out->entries += used;
			if (used)
				keep_waited(out, &x, &cap);
		}
		if (index >= SYNC_TABLE_MAX)
			out->full = true;
		if (have < CHUNK || out->full)
			return;
	}
}

void sync_table_read(const struct process_memory *m, uint64_t table, const struct runtime_contract *c, const struct managed_threads *threads,
		     struct sync_table *out)
{
	const struct table_reader r = {m, c, threads};
	read_entries(&r, table, out);
	if (out->waited_count)
		qsort(out->waited, out->waited_count, sizeof *out->waited, by_sync_block);
}

uint32_t sync_table_waited(const struct sync_table *t, const uint64_t *words, size_t count)
{
	for (size_t k = 0; k < count && t->waited_count; k++) {
		const struct monitor key = {.sync_block = words[k]};
		if (words[k] < t->waited[0].sync_block || words[k] > t->waited[t->waited_count - 1].sync_block)
			continue;
		const struct monitor *found = bsearch(&key, t->waited, t->waited_count, sizeof key, by_sync_block);
		if (found)
			return (uint32_t)(found - t->waited);
	}
	return UINT32_MAX;
}

void sync_table_fini(struct sync_table *t)
{
	free(t->waited);
	*t = (struct sync_table){0};
}
