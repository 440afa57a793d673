#include "agent/waits/lock_watch.h"

#include "common/base/clock.h"
#include "common/base/mem.h"

#include <stdlib.h>
#include <string.h>

#define EACH_NS 200000000
#define REST 100  /* times as long as a look takes */
#define SEARCH 32 /* looks: among so few monitors as there are at first another table may look like theirs */

void lock_watch_init(struct lock_watch *w, const struct process_memory *memory, int proc_fd, const struct runtime_contract *contract, const char *lacks)
{
	*w = (struct lock_watch){.memory = memory, .contract = contract};
	dac_table_read(memory, proc_fd, &w->dac);
	w->unread = lacks ? lacks : w->dac.why ? w->dac.why : runtime_contract_unread(contract);
}

void lock_watch_fini(struct lock_watch *w)
{
	free(w->locks);
	free(w->sightings);
	*w = (struct lock_watch){0};
}

static size_t lock_place(const struct lock_watch *w, uint64_t lock)
{
	size_t low = 0, high = w->lock_count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (w->locks[middle] < lock)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void learn_lock(struct lock_watch *w, uint64_t lock)
{
	size_t at = lock_place(w, lock);
	if ((at < w->lock_count && w->locks[at] == lock) || w->lock_count == LOCK_SIGHTINGS_MAX)
		return;
	GROW(w->locks, w->lock_count, w->lock_cap);
	memmove(w->locks + at + 1, w->locks + at, (w->lock_count - at) * sizeof *w->locks);
	w->locks[at] = lock;
	w->lock_count++;
}

void lock_watch_sighted(struct lock_watch *w, const struct lock_sighting *s)
{
	if (w->sighting_count == LOCK_SIGHTINGS_MAX)
		return;
	GROW(w->sightings, w->sighting_count, w->sighting_cap);
	w->sightings[w->sighting_count++] = *s;
}

static void keep_sighting(struct lock_watch *w, const struct monitor *m, int64_t now_ns)
{
	learn_lock(w, m->sync_block);
	lock_watch_sighted(w, &(struct lock_sighting){.at_ns = now_ns, .lock = m->sync_block, .owner = m->owner, .waiters = m->waiters});
}

static void look_at_table(struct lock_watch *w, uint64_t at, int64_t now_ns)
{
	struct sync_table table;
	struct managed_threads threads = {0};
	if (w->contract->monitors_are_locks)
		managed_threads_read(w->memory, w->contract, &threads);
	sync_table_read(w->memory, at, w->contract, &threads, &table);
	for (size_t i = 0; i < table.waited_count; i++)
		keep_sighting(w, &table.waited[i], now_ns);
	sync_table_fini(&table);
	managed_threads_fini(&threads);
}

void lock_watch_look(struct lock_watch *w, int64_t now_ns)
{
	if (w->unread || now_ns < w->next_ns)
		return;
	if (w->looks % SEARCH == 0 || w->looks < 4)
		w->hint = w->dac.count;
	uint64_t at = sync_table_find_again(w->memory, w->dac.words, w->dac.count, &w->hint);
	if (at)
		look_at_table(w, at, now_ns);
	w->looks++;
	int64_t rest_ns = (clock_mono_ns() - now_ns) * REST;
	w->next_ns = now_ns + (rest_ns > EACH_NS ? rest_ns : EACH_NS);
}

uint64_t lock_watch_on_stack(const struct lock_watch *w, const uint8_t *stack, size_t bytes)
{
	if (!w->lock_count)
		return 0;
	uint64_t lowest = w->locks[0], highest = w->locks[w->lock_count - 1], word;
	for (size_t at = 0; at + sizeof word <= bytes; at += sizeof word) {
		memcpy(&word, stack + at, sizeof word);
		if (word < lowest || word > highest)
			continue;
		size_t place = lock_place(w, word);
		if (place < w->lock_count && w->locks[place] == word)
			return word;
	}
	return 0;
}
