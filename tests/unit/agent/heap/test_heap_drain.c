#include "agent/heap/heap_drain.h"
#include "common/proto/heap_ring.h"

#include <criterion/criterion.h>
#include <linux/futex.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define BLOCKS 500u

/* The library's side, as profiler/heap/heap_sink.c does it. */
static void *write_blocks(void *arg)
{
	struct heap_ring *r = arg;

	for (uint32_t own = 0; own < BLOCKS; own++) {
		uint8_t *block;
		while (!(block = heap_ring_free_block(r, own))) {
			const struct timespec patience = {.tv_nsec = 1000000};
			if (atomic_load(&r->refused))
				return NULL;
			atomic_store(&r->writing, 1);
			if (!heap_ring_free_block(r, own))
				syscall(SYS_futex, &r->taken, FUTEX_WAIT, own - HEAP_RING_BLOCKS, &patience, NULL, 0);
		}
		uint32_t len = 1 + own * 131 % HEAP_RING_BLOCK_BYTES;
		memset(block, (int)(own % 251), len);
		if (heap_ring_put(r, own, len))
			syscall(SYS_futex, &r->written, FUTEX_WAKE, 1, NULL, NULL, 0);
	}
	return NULL;
}

static struct heap_ring *map_of(const struct heap_drain *d)
{
	cr_assert_not_null(d);
	void *p = mmap(NULL, HEAP_RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, heap_drain_fd(d), 0);

	cr_assert_neq(p, MAP_FAILED);
	return p;
}

Test(heap_drain, all_blocks_arrive_in_order)
{
	struct err e = ERR_INIT;
	struct heap_drain *d = heap_drain_new(&e);
	struct heap_store s;
	pthread_t writer;
	size_t at = 0;

	cr_assert_not_null(d);
	struct heap_ring *r = map_of(d);
	heap_store_init(&s, -1, 1 << 20, (size_t)1 << 30);
	cr_assert_eq(heap_drain_start(d, &s, &e), 0);
	cr_assert_eq(pthread_create(&writer, NULL, write_blocks, r), 0);
	pthread_join(writer, NULL);
	cr_assert_eq(heap_drain_finish(d, &e), 0, "%s", e.message);
	cr_assert_eq(heap_store_seal(&s, &e), 0);
	for (uint32_t own = 0; own < BLOCKS; own++)
		for (uint32_t i = 0; i < 1 + own * 131 % HEAP_RING_BLOCK_BYTES; i++)
			cr_assert_eq(s.data[at++], own % 251);
	cr_expect_eq(at, s.len);
	heap_store_fini(&s);
	munmap(r, HEAP_RING_BYTES);
	heap_drain_free(d);
}

Test(heap_drain, words_that_cannot_be_end_it)
{
	static const struct {
		uint32_t written, len;
		bool good;
	} rows[] = {{1, HEAP_RING_BLOCK_BYTES, true}, {1, HEAP_RING_BLOCK_BYTES + 1, false}, {HEAP_RING_BLOCKS + 1, 1, false}, {UINT32_MAX, 1, false}};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct err e = ERR_INIT;
		struct heap_drain *d = heap_drain_new(&e);
		struct heap_store s;
		struct heap_ring *r = map_of(d);
		heap_store_init(&s, -1, 1 << 20, 1 << 20);
		r->lengths[0] = rows[i].len;
		atomic_store(&r->written, rows[i].written);
		cr_assert_eq(heap_drain_start(d, &s, &e), 0);
		cr_expect_eq(heap_drain_finish(d, &e), rows[i].good ? 0 : -1, "row %zu", i);
		cr_expect_eq(e.kind, rows[i].good ? ERR_NONE : ERR_PROTOCOL);
		cr_expect_eq(atomic_load(&r->refused), !rows[i].good);
		heap_store_fini(&s);
		munmap(r, HEAP_RING_BYTES);
		heap_drain_free(d);
	}
}

Test(heap_drain, the_other_side_cannot_shrink_the_memory)
{
	struct err e = ERR_INIT;
	struct heap_drain *d = heap_drain_new(&e);

	cr_assert_not_null(d);
	cr_expect_eq(ftruncate(heap_drain_fd(d), 0), -1);
	heap_drain_free(d);
}

Test(heap_drain, more_than_the_store_takes_is_an_error)
{
	struct err e = ERR_INIT;
	struct heap_drain *d = heap_drain_new(&e);
	struct heap_store s;
	struct heap_ring *r = map_of(d);

	heap_store_init(&s, -1, 10, 10);
	cr_assert_eq(heap_drain_start(d, &s, &e), 0);
	heap_ring_put(r, 0, 11);
	cr_expect_eq(heap_drain_finish(d, &e), -1);
	cr_expect_eq(e.kind, ERR_INVALID);
	heap_store_fini(&s);
	munmap(r, HEAP_RING_BYTES);
	heap_drain_free(d);
}
