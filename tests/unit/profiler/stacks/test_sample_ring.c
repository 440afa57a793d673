#include "profiler/stacks/sample_ring.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static struct sample_ring ring;

Test(sample_ring, records_come_out_as_they_went_in)
{
	const uint64_t head[2] = {11, 12}, body[3] = {21, 22, 23};
	uint64_t out[8];

	cr_expect_eq(sample_ring_take(&ring, out, 8), 0);
	cr_expect(sample_ring_put(&ring, head, 2, body, 3));
	cr_expect(sample_ring_put(&ring, head, 2, NULL, 0));
	cr_assert_eq(sample_ring_take(&ring, out, 8), 5);
	static const uint64_t expected[] = {11, 12, 21, 22, 23};
	cr_expect_arr_eq(out, expected, sizeof expected);
	cr_expect_eq(sample_ring_take(&ring, out, 8), 2);
	cr_expect_eq(sample_ring_take(&ring, out, 8), 0);
}

Test(sample_ring, what_does_not_fit_is_counted)
{
	uint64_t record[100] = {0}, out[100];
	size_t put = 0, taken = 0;

	while (sample_ring_put(&ring, record, 100, NULL, 0))
		put++;
	cr_expect_eq(put, SAMPLE_RING_WORDS / 101, "%zu", put);
	cr_expect_eq(ring.dropped, 1);
	cr_expect(!sample_ring_put(&ring, record, 100, NULL, 0));
	cr_expect_eq(ring.dropped, 2);
	while (sample_ring_take(&ring, out, 100))
		taken++;
	cr_expect_eq(taken, put);
	cr_expect(sample_ring_put(&ring, record, 100, NULL, 0), "it is empty again");
}

Test(sample_ring, a_record_too_long_for_the_taker_is_skipped_and_counted)
{
	uint64_t record[5] = {1, 2, 3, 4, 5}, out[4];

	sample_ring_put(&ring, record, 5, NULL, 0);
	sample_ring_put(&ring, record, 4, NULL, 0);
	cr_expect_eq(sample_ring_take(&ring, out, 4), 4);
	cr_expect_eq(ring.dropped, 1);
}

enum { PRODUCERS = 4, EACH = 20000, ROUNDS = 400, FEW = SAMPLE_RING_WORDS / PRODUCERS / 8 };

/* Record: producer, number, then number % 7 words that repeat the number. */
static void *produce(void *arg)
{
	uint64_t body[7];

	for (uint64_t i = 0; i < EACH; i++) {
		uint64_t head[2] = {(uint64_t)(uintptr_t)arg, i};
		for (size_t k = 0; k < 7; k++)
			body[k] = i;
		sample_ring_put(&ring, head, 2, body, i % 7);
	}
	return NULL;
}

Test(sample_ring, many_producers_and_one_consumer)
{
	pthread_t threads[PRODUCERS];
	uint64_t next[PRODUCERS] = {0}, taken = 0, out[16];

	for (uintptr_t i = 0; i < PRODUCERS; i++)
		cr_assert_eq(pthread_create(&threads[i], NULL, produce, (void *)i), 0);
	while (taken + atomic_load(&ring.dropped) < PRODUCERS * EACH) {
		size_t n = sample_ring_take(&ring, out, 16);
		if (n == 0)
			continue;
		taken++;
		cr_assert(out[0] < PRODUCERS && n == 2 + out[1] % 7, "a record of %zu words from %llu", n, (unsigned long long)out[0]);
		cr_assert(out[1] >= next[out[0]], "out of order");
		next[out[0]] = out[1] + 1;
		for (size_t k = 2; k < n; k++)
			cr_assert_eq(out[k], out[1]);
	}
	for (int i = 0; i < PRODUCERS; i++)
		pthread_join(threads[i], NULL);
	cr_expect_gt(taken, 0);
}

static void *produce_few(void *arg)
{
	uint64_t body[2] = {0};

	(void)arg;
	for (uint64_t i = 0; i < FEW; i++)
		sample_ring_put(&ring, body, 2, NULL, 0);
	return NULL;
}

/* Producers lose their CPU anywhere, and the consumer passes the head that they have read. */
Test(sample_ring, nothing_is_dropped_of_what_fits)
{
	pthread_t threads[PRODUCERS];
	uint64_t out[2];

	for (int round = 0; round < ROUNDS && !atomic_load(&ring.dropped); round++) {
		unsigned taken = 0;
		for (int i = 0; i < PRODUCERS; i++)
			cr_assert_eq(pthread_create(&threads[i], NULL, produce_few, NULL), 0);
		while (taken + atomic_load(&ring.dropped) < PRODUCERS * FEW)
			taken += sample_ring_take(&ring, out, 2) > 0;
		for (int i = 0; i < PRODUCERS; i++)
			pthread_join(threads[i], NULL);
	}
	cr_expect_eq(atomic_load(&ring.dropped), 0);
}
