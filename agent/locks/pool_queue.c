#include "agent/locks/pool_queue.h"

#include "common/base/mem.h"

#include <stdlib.h>
#include <string.h>

#define WORKERS_ASKED 8
#define STACK_BYTES 32768   /* of a worker's stack, from its top */
#define QUEUE_WORDS 5       /* of a ThreadPoolWorkQueue that may be one of its queues */
#define SEGMENTS_MAX 4096   /* of one queue */
#define SLOTS_MAX (1u << 20) /* of a segment: ConcurrentQueue makes no larger ones */

/* Where a ConcurrentQueue has its first and last segment, and a segment its fields. */
#define QUEUE_LAST 16
#define QUEUE_FIRST 24
#define SEGMENT_SLOTS 8
#define SEGMENT_NEXT 16
#define SEGMENT_MASK 24
#define SEGMENT_FROZEN 29
#define SEGMENT_PADDED 32 /* then padding, its head, padding again, its tail */
#define SEGMENT_BYTES 512 /* more than it has */

static bool is_a(struct managed_types *types, uint64_t object, const char *type)
{
	return object && (!types || strcmp(managed_types_of(types, object), type) == 0);
}

static bool is_queue_of_pool(struct managed_types *types, uint64_t object)
{
	return is_a(types, object, "System.Threading.ThreadPoolWorkQueue");
}

uint64_t pool_queue_on_stack(struct managed_types *types, uint64_t sp, const uint64_t *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (words[i] - sp >= UINT64_C(1) << 20 && is_queue_of_pool(types, words[i])) /* not the stack itself */
			return words[i];
	return 0;
}

static bool is_worker(const struct thread_wait *t)
{
	return strncmp(t->name, ".NET TP Worker", 14) == 0 && t->sp;
}

/* A word that a call has left on one stack may be where the queue was before it was moved: most must agree. */
static uint64_t most_named(const uint64_t *found, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		size_t same = 0;
		for (size_t k = 0; k < count; k++)
			same += found[k] == found[i];
		if (same * 2 > count)
			return found[i];
	}
	return 0;
}

uint64_t pool_queue_find(const struct process_memory *m, struct managed_types *types, const struct thread_wait *list, size_t count)
{
	uint64_t found[WORKERS_ASKED], *stack = mem_alloc(STACK_BYTES);
	size_t asked = 0, read = 0;
	for (size_t i = 0; i < count && read < WORKERS_ASKED; i++) {
		if (!is_worker(&list[i]))
			continue;
		read++;
		uint64_t sp = list[i].sp & ~UINT64_C(7);
		found[asked] = pool_queue_on_stack(types, sp, stack, process_memory_read(m, sp, stack, STACK_BYTES) / sizeof *stack);
		asked += found[asked] != 0;
	}
	explicit_bzero(stack, STACK_BYTES);
	free(stack);
	return most_named(found, asked);
}

struct queue_segment {
	uint64_t slots, next;
	uint32_t mask, head, tail;
	bool frozen; /* another one follows: its tail is twice its size too high */
};

static bool read_segment(const struct arch *arch, const struct process_memory *m, struct managed_types *types, uint64_t at, struct queue_segment *out)
{
	uint8_t bytes[SEGMENT_BYTES];
	uint32_t slots = 0, head = SEGMENT_PADDED + arch->padding, tail = head + arch->padding;
	if (!is_a(types, at, "System.Collections.Concurrent.ConcurrentQueueSegment`1") || !process_memory_whole(m, at, bytes, tail + sizeof out->tail))
		return false;
	memcpy(&out->slots, bytes + SEGMENT_SLOTS, sizeof out->slots);
	memcpy(&out->next, bytes + SEGMENT_NEXT, sizeof out->next);
	memcpy(&out->mask, bytes + SEGMENT_MASK, sizeof out->mask);
	memcpy(&out->head, bytes + head, sizeof out->head);
	memcpy(&out->tail, bytes + tail, sizeof out->tail);
	out->frozen = bytes[SEGMENT_FROZEN];
	return out->mask < SLOTS_MAX && ((out->mask + 1) & out->mask) == 0 && process_memory_whole(m, out->slots + 8, &slots, sizeof slots) &&
	       slots == out->mask + 1;
}

/* -1: it was torn. */
static int64_t count_segment(const struct queue_segment *s)
{
	uint32_t used = s->tail - s->head - (s->frozen ? 2 * (s->mask + 1) : 0);
	if (s->frozen && used > s->mask + 1 && s->tail - s->head <= s->mask + 1)
		used = s->tail - s->head; /* it was frozen between the two */
	return used <= s->mask + 1 ? (int64_t)used : -1;
}

static int64_t count_items(const struct arch *arch, const struct process_memory *m, struct managed_types *types, uint64_t queue)
{
	uint64_t at = process_memory_word(m, queue + QUEUE_FIRST), last = process_memory_word(m, queue + QUEUE_LAST);
	int64_t items = 0;
	for (int i = 0; i < SEGMENTS_MAX; i++) {
		struct queue_segment s;
		if (!read_segment(arch, m, types, at, &s))
			return POOL_QUEUE_UNKNOWN;
		int64_t more = count_segment(&s);
		if (more < 0)
			return POOL_QUEUE_UNKNOWN;
		items += more;
		if (at == last)
			return items;
		at = s.next;
	}
	return POOL_QUEUE_UNKNOWN;
}

int64_t pool_queue_length_on(const struct arch *arch, const struct process_memory *m, struct managed_types *types, uint64_t queue)
{
	int64_t items = 0;
	int queues = 0;
	if (!is_queue_of_pool(types, queue))
		return POOL_QUEUE_UNKNOWN;
	for (int i = 1; i < QUEUE_WORDS; i++) {
		uint64_t object = process_memory_word(m, queue + 8u * (unsigned)i);
		if (!is_a(types, object, "System.Collections.Concurrent.ConcurrentQueue`1"))
			continue;
		int64_t more = count_items(arch, m, types, object);
		if (more < 0)
			return POOL_QUEUE_UNKNOWN;
		items += more;
		queues++;
	}
	return queues ? items : POOL_QUEUE_UNKNOWN;
}

int64_t pool_queue_length(const struct process_memory *m, struct managed_types *types, uint64_t queue)
{
	return pool_queue_length_on(&arch_ours, m, types, queue);
}
