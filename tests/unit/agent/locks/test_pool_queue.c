#include "agent/locks/pool_queue.h"

#include <criterion/criterion.h>
#include <string.h>

#define BASE UINT64_C(0x20000)
#define BYTES 0x1000
#define QUEUE 0x100    /* the pool's */
#define ITEMS 0x200    /* its ConcurrentQueue */
#define SEGMENT(i) (0x300 + (i) * 0x200)
#define SLOTS(i) (0x300 + (i) * 0x200 + 0x180)

/* A pool's queue with segments of 32, 64 and 128 items. Types are not asked: managed_types.c has a test of its own. */
#include "tests/unit/agent/locks/fake_memory.h"

static void put(size_t at, uint64_t value, size_t bytes)
{
	memcpy(memory + at, &value, bytes);
}

static void put_segment(unsigned i, uint32_t head, uint32_t tail, bool more)
{
	uint32_t size = 32u << i;
	size_t at = SEGMENT(i);
	put(at + 8, BASE + SLOTS(i), 8);
	put(at + 16, more ? BASE + SEGMENT(i + 1) : 0, 8);
	put(at + 24, size - 1, 4);
	memory[at + 29] = more;
	put(at + 96, head, 4);
	put(at + 160, tail + (more ? 2 * size : 0), 4);
	put(SLOTS(i) + 8, size, 4);
}

static void put_queue(unsigned last)
{
	memset(memory, 0, sizeof memory);
	put(QUEUE + 8, BASE + ITEMS, 8);
	put(ITEMS + 16, BASE + SEGMENT(last), 8);
	put(ITEMS + 24, BASE + SEGMENT(0), 8);
}

static int64_t queue_length(void)
{
	return pool_queue_length(&fake, NULL, BASE + QUEUE);
}

Test(pool_queue, one_segment_that_goes_round)
{
	put_queue(0);
	put_segment(0, 0, 0, false);
	cr_expect_eq(queue_length(), 0);
	put_segment(0, 3, 20, false);
	cr_expect_eq(queue_length(), 17);
	put_segment(0, 1000, 1032, false);
	cr_expect_eq(queue_length(), 32);
	put_segment(0, UINT32_MAX - 4, 5, false);
	cr_expect_eq(queue_length(), 10, "the counters begin anew");
}

Test(pool_queue, several_segments)
{
	put_queue(2);
	put_segment(0, 30, 32, true);
	put_segment(1, 0, 64, true);
	put_segment(2, 0, 100, false);
	cr_expect_eq(queue_length(), 2 + 64 + 100);
}

Test(pool_queue, one_that_is_torn_is_not_known)
{
	put_queue(0);
	put_segment(0, 20, 3, false);
	cr_expect_eq(queue_length(), POOL_QUEUE_UNKNOWN, "the tail is behind the head");
	put_segment(0, 3, 20, false);
	put(SEGMENT(0) + 24, 30, 4);
	cr_expect_eq(queue_length(), POOL_QUEUE_UNKNOWN, "no segment has such a size");
	put_segment(0, 3, 20, false);
	put(SLOTS(0) + 8, 16, 4);
	cr_expect_eq(queue_length(), POOL_QUEUE_UNKNOWN, "the slots are others");
	put_queue(2);
	put_segment(0, 3, 20, true);
	put(SEGMENT(0) + 16, BASE + SEGMENT(0), 8);
	cr_expect_eq(queue_length(), POOL_QUEUE_UNKNOWN, "a ring");
	cr_expect_eq(pool_queue_length(&fake, NULL, 0), POOL_QUEUE_UNKNOWN);
	cr_expect_eq(pool_queue_length(&fake, NULL, BASE + BYTES), POOL_QUEUE_UNKNOWN);
}

Test(pool_queue, a_stack_leads_to_the_queue)
{
	const uint64_t sp = UINT64_C(0x7ffd00000000), words[] = {0, sp + 16, BASE + QUEUE, BASE + ITEMS, 0};
	cr_expect_eq(pool_queue_on_stack(NULL, sp, words, 5), BASE + QUEUE);
	cr_expect_eq(pool_queue_on_stack(NULL, sp, words, 2), 0, "the stack itself");
}

/* Its head and tail lie further apart there. */
Test(pool_queue, of_arm64_has_wider_padding)
{
	put_queue(1);
	put_segment(0, 0, 0, true);
	put_segment(1, 0, 0, false);
	for (unsigned i = 0; i < 2; i++) {
		put(SEGMENT(i) + 96, 0, 4);
		put(SEGMENT(i) + 160, i ? 0 : 7, 4);
		put(SEGMENT(i) + 288, i ? 20 : 32 + 64, 4);
	}
	cr_expect_eq(pool_queue_length_on(&arch_arm64, &fake, NULL, BASE + QUEUE), 25 + 20);
}
