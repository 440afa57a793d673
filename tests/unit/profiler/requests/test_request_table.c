#include "profiler/requests/request_table.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>

static struct activity_path path_of(uint32_t number)
{
	const uint8_t id[ACTIVITY_ID_BYTES] = {0x1f, (uint8_t)number, (uint8_t)(number >> 8), (uint8_t)(number >> 16), (uint8_t)(number >> 24)};
	return activity_path_of(id);
}

static void count_one(void *ctx, const struct request *r)
{
	(void)r;
	++*(unsigned *)ctx;
}

static unsigned in_flight(void)
{
	unsigned n = 0;
	request_table_each(&requests_open, count_one, &n);
	return n;
}

Test(request_table, a_request_is_found_by_what_it_began)
{
	struct request r = {.number = 7, .shape = 3, .tid = 42, .start_ns = 1000}, out;
	const uint8_t child[ACTIVITY_ID_BYTES] = {0x1f, 9, 0, 0, 0, 0x12};
	request_table_reset(&requests_open);
	cr_assert(request_table_put(&requests_open, path_of(9), &r));
	cr_expect_not(request_table_put(&requests_open, path_of(9), &r), "it is there");
	cr_expect_eq(request_table_find(&requests_open, path_of(9)), 7);
	cr_expect_eq(request_table_find(&requests_open, activity_path_of(child)), 7);
	cr_expect_eq(request_table_find(&requests_open, path_of(10)), 0);
	cr_expect_eq(request_table_find(&requests_open, activity_path_of(NULL)), 0);
	request_table_end(&requests_open, activity_path_of(child), 503, 0);
	cr_expect_eq(in_flight(), 1);
	cr_assert(request_table_take(&requests_open, path_of(9), &out));
	cr_expect(out.number == 7 && out.shape == 3 && out.tid == 42 && out.start_ns == 1000 && out.status == 503);
	cr_expect_not(request_table_take(&requests_open, path_of(9), &out));
	cr_expect_eq(in_flight(), 0);
}

/* A stream that was known when it began stays one, whatever its response says. */
Test(request_table, what_was_known_of_a_stream_stays)
{
	struct request known = {.number = 7, .shape = 3, .stream = 5}, other = {.number = 8, .shape = 3}, out;
	request_table_reset(&requests_open);
	cr_assert(request_table_put(&requests_open, path_of(9), &known) && request_table_put(&requests_open, path_of(10), &other));
	cr_expect_eq(request_table_end(&requests_open, path_of(9), 200, 3), 3);
	cr_expect_eq(request_table_end(&requests_open, path_of(10), 101, 1), 3);
	cr_expect(request_table_take(&requests_open, path_of(9), &out) && out.stream == 5 && out.status == 200);
	cr_expect(request_table_take(&requests_open, path_of(10), &out) && out.stream == 1 && out.status == 101);
}

Test(request_table, what_is_dropped)
{
	struct request a = {.number = 7, .shape = 3, .stream = 1}, b = {.number = 8, .shape = 4}, out;
	const uint8_t child[ACTIVITY_ID_BYTES] = {0x1f, 10, 0, 0, 0, 0x12};
	request_table_reset(&calls_open);
	cr_assert(request_table_put(&calls_open, path_of(9), &a) && request_table_put(&calls_open, path_of(10), &b));
	cr_assert(request_table_peek(&calls_open, activity_path_of(child), &out));
	cr_expect(out.number == 8 && out.shape == 4);
	request_table_drop(&calls_open, 1);
	cr_expect_not(request_table_peek(&calls_open, path_of(9), &out));
	cr_expect(request_table_take(&calls_open, path_of(10), &out));
}

/* More than there is room for: some are refused, none is lost. */
Test(request_table, it_is_bounded)
{
	unsigned put = 0, taken = 0;
	struct request r = {.number = 1}, out;
	request_table_reset(&requests_open);
	for (uint32_t i = 1; i <= 100000; i++)
		put += request_table_put(&requests_open, path_of(i), &r);
	cr_expect(put >= 50000 && put <= REQUEST_BUCKETS * REQUEST_BUCKET, "%u", put);
	cr_expect_eq(in_flight(), put);
	for (uint32_t i = 1; i <= 100000; i++)
		taken += request_table_take(&requests_open, path_of(i), &out);
	cr_expect_eq(taken, put);
	cr_expect_eq(in_flight(), 0);
}

static void *churn(void *from)
{
	uint32_t base = *(uint32_t *)from;
	struct request out;
	for (uint32_t i = 0; i < 20000; i++) {
		struct request r = {.number = base + i % 100};
		if (!request_table_put(&requests_open, path_of(base + i % 100), &r))
			continue;
		cr_assert_eq(request_table_find(&requests_open, path_of(base + i % 100)), r.number);
		cr_assert(request_table_take(&requests_open, path_of(base + i % 100), &out) && out.number == r.number);
	}
	return NULL;
}

Test(request_table, threads_do_not_mix_requests)
{
	pthread_t threads[4];
	uint32_t from[4] = {100, 1000, 10000, 100000};
	request_table_reset(&requests_open);
	for (int i = 0; i < 4; i++)
		cr_assert_eq(pthread_create(&threads[i], NULL, churn, &from[i]), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	cr_expect_eq(in_flight(), 0);
}

/* Each request has one number in all its fields, so that what two have written shows. */
static _Atomic bool over;

static void *replace_all(void *from)
{
	uint32_t base = *(uint32_t *)from;
	struct request out;
	for (uint32_t i = 0; i < 60000; i++) {
		uint32_t n = base + i % 5000;
		const struct request r = {.number = n, .shape = n, .tid = n, .start_ns = n};
		if (request_table_put(&calls_open, path_of(n), &r) && i % 3)
			request_table_take(&calls_open, path_of(n), &out);
		else
			request_table_take(&calls_open, path_of(base + (i + 1) % 5000), &out);
	}
	return NULL;
}

static void expect_whole(void *torn, const struct request *r)
{
	if (r->number != r->shape || r->number != r->tid || r->number != r->start_ns)
		++*(unsigned *)torn;
}

static void *look_at_all(void *torn)
{
	struct request out;
	for (uint32_t n = 1; !atomic_load(&over); n = n % 20000 + 1) {
		if (n % 100 == 0)
			request_table_each(&calls_open, expect_whole, torn);
		if (request_table_peek(&calls_open, path_of(n), &out)) {
			expect_whole(torn, &out);
			*(unsigned *)torn += out.number != n;
		}
	}
	return NULL;
}

Test(request_table, what_is_read_while_others_write_is_whole)
{
	pthread_t writers[3], readers[2];
	uint32_t from[3] = {1, 5001, 10001};
	unsigned torn[2] = {0, 0};
	request_table_reset(&calls_open);
	for (int i = 0; i < 2; i++)
		cr_assert_eq(pthread_create(&readers[i], NULL, look_at_all, &torn[i]), 0);
	for (int i = 0; i < 3; i++)
		cr_assert_eq(pthread_create(&writers[i], NULL, replace_all, &from[i]), 0);
	for (int i = 0; i < 3; i++)
		pthread_join(writers[i], NULL);
	atomic_store(&over, true);
	for (int i = 0; i < 2; i++)
		pthread_join(readers[i], NULL);
	cr_expect_eq(torn[0] + torn[1], 0, "%u, %u", torn[0], torn[1]);
}
