#include "agent/link/resolver.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#define PATIENCE_S 30

struct seen {
	pthread_mutex_t lock;
	pthread_cond_t more;
	int results, failures;
	struct resolver_result last;
};

static void on_result(void *ctx, const struct resolver_result *r)
{
	struct seen *s = ctx;
	pthread_mutex_lock(&s->lock);
	s->results++;
	s->last = *r;
	pthread_cond_signal(&s->more);
	pthread_mutex_unlock(&s->lock);
}

static void on_failure(void *ctx, const char *why)
{
	struct seen *s = ctx;
	pthread_mutex_lock(&s->lock);
	s->failures += why[0] != '\0';
	pthread_cond_signal(&s->more);
	pthread_mutex_unlock(&s->lock);
}

static struct resolver *make(const char *host, struct seen *s)
{
	struct resolver_callbacks callbacks = {s, on_result, on_failure};
	return resolver_new(host, 3600000, &callbacks, NULL);
}

static bool wait_for(struct seen *s, int results)
{
	struct timespec end;
	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += PATIENCE_S;
	pthread_mutex_lock(&s->lock);
	int failed = 0;
	while (s->results + s->failures < results && !failed)
		failed = pthread_cond_timedwait(&s->more, &s->lock, &end);
	bool done = s->results + s->failures >= results;
	pthread_mutex_unlock(&s->lock);
	return done;
}

/* The interval is an hour: what comes after the first result was hurried. */
Test(resolver, looks_again_when_hurried, .timeout = 90)
{
	struct seen s = {.lock = PTHREAD_MUTEX_INITIALIZER, .more = PTHREAD_COND_INITIALIZER};
	struct resolver *r = make("127.0.0.1", &s);
	cr_assert_not_null(r);
	cr_assert(wait_for(&s, 1));
	resolver_hurry(r);
	resolver_hurry(r);
	cr_assert(wait_for(&s, 2));
	resolver_free(r);
	cr_expect_eq(s.last.count, 1);
	cr_expect_str_eq(s.last.addresses[0], "127.0.0.1");
}

Test(resolver, ends_at_once_while_it_waits, .timeout = 60)
{
	struct seen s = {.lock = PTHREAD_MUTEX_INITIALIZER, .more = PTHREAD_COND_INITIALIZER};
	struct resolver *r = make("no-such-name.invalid", &s);
	cr_assert_not_null(r);
	resolver_free(r);
	cr_expect_eq(s.results, 0);
}

Test(resolver, says_what_a_name_that_cannot_be_resolved_meets, .timeout = 60)
{
	struct seen s = {.lock = PTHREAD_MUTEX_INITIALIZER, .more = PTHREAD_COND_INITIALIZER};
	struct resolver *r = make("no-such-name.invalid", &s);
	cr_assert_not_null(r);
	cr_assert(wait_for(&s, 1));
	resolver_free(r);
	cr_expect_eq(s.results, 0);
	cr_expect_geq(s.failures, 1);
}
