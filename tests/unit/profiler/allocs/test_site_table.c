#include "profiler/allocs/site_table.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static struct site_table table;

static bool add(uint64_t site, uint64_t size)
{
	struct site_slot *s = site_table_find(&table, site);

	if (!s)
		s = site_table_enter(&table, site);
	if (s)
		site_slot_add(s, size, size * 2);
	return s != NULL;
}

/* A number whose upper bits, which the table takes, are spread. */
static uint64_t site_of(uint64_t i)
{
	uint64_t h = (i + 1) * 0x9e3779b97f4a7c15u;
	return h ? h : 1;
}

static uint64_t take_all(struct site_sums *sum)
{
	struct site_sums out[100];
	uint64_t sites = 0;
	uint32_t at = 0;
	size_t n;

	*sum = (struct site_sums){0};
	while ((n = site_table_take(&table, &at, out, 100)))
		for (size_t i = 0; i < n; i++, sites++) {
			sum->samples += out[i].samples;
			sum->size += out[i].size;
			sum->amount += out[i].amount;
		}
	return sites;
}

Test(site_table, sums_come_out_once)
{
	struct site_sums sum;

	cr_expect_null(site_table_find(&table, 5));
	for (int i = 0; i < 10; i++)
		cr_assert(add(site_of(1), 100) && add(site_of(2), 7));
	cr_expect_eq(take_all(&sum), 2);
	cr_expect(sum.samples == 20 && sum.size == 1070 && sum.amount == 2140);
	cr_expect_eq(take_all(&sum), 0);
	add(site_of(2), 1);
	cr_expect_eq(take_all(&sum), 1);
	cr_expect(sum.samples == 1 && sum.size == 1);
	site_table_reset(&table);
	cr_expect_null(site_table_find(&table, site_of(1)));
}

Test(site_table, a_full_table_refuses_and_gives_way)
{
	struct site_sums sum;
	uint64_t entered = 0;

	for (uint64_t i = 0; i < SITE_TABLE_SIZE; i++)
		entered += add(site_of(i), 1);
	cr_expect_eq(entered, SITE_TABLE_MAX, "%lu", entered);
	cr_expect(add(site_of(0), 1), "what is known is counted");
	cr_expect_eq(take_all(&sum), SITE_TABLE_MAX);
	cr_expect_eq(sum.samples, SITE_TABLE_MAX + 1);
	/* The other table takes over; the first is still read once more. */
	cr_expect(add(site_of(SITE_TABLE_SIZE), 1));
	cr_expect_eq(take_all(&sum), 1);
	for (uint64_t i = 0; i < SITE_TABLE_SIZE; i++)
		add(site_of(2 * SITE_TABLE_SIZE + i), 1);
	cr_expect_eq(take_all(&sum), SITE_TABLE_MAX - 1);
	cr_expect(add(site_of(7), 1), "and back again");
	cr_expect_eq(take_all(&sum), 1);
}

enum { THREADS = 4, EACH = 50000, SITES = 500 };

static _Atomic int counting;

static void *count(void *arg)
{
	uint64_t seed = (uint64_t)(uintptr_t)arg;

	for (int i = 0; i < EACH; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		if (!add(site_of((seed >> 33) % SITES), 3))
			abort();
	}
	atomic_fetch_sub(&counting, 1);
	return NULL;
}

/* Nothing is lost or counted twice by threads that count while another takes. */
Test(site_table, many_threads_count_into_it)
{
	pthread_t threads[THREADS];
	struct site_sums sum, all = {0};

	atomic_store(&counting, THREADS);
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, count, (void *)(i + 1));
	while (atomic_load(&counting)) {
		take_all(&sum);
		all.samples += sum.samples;
		all.size += sum.size;
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < 2; i++) {
		take_all(&sum);
		all.samples += sum.samples;
		all.size += sum.size;
	}
	cr_expect_eq(all.samples, (uint64_t)THREADS * EACH);
	cr_expect_eq(all.size, (uint64_t)THREADS * EACH * 3);
}
