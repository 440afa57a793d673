#include "controller/kube/watch_retry.h"

#include <criterion/criterion.h>

static int64_t fail(struct watch_retry *r, enum err_kind kind, int code)
{
	struct err e = {.kind = kind, .code = code};
	return watch_retry_failed(r, &e, 0);
}

Test(watch_retry, waits_longer_each_time_and_never_long)
{
	static const int64_t pauses[] = {200, 400, 800, 1600, 3200, 5000, 5000};
	struct watch_retry r = {0};
	for (size_t i = 0; i < sizeof pauses / sizeof pauses[0]; i++)
		cr_expect_eq(fail(&r, ERR_RETRY, 503), pauses[i], "%zu", i);
	for (uint32_t random = 0; random < 20000; random += 7) {
		int64_t ms = watch_retry_backoff_ms(1000000, random);
		cr_assert(ms >= 2500 && ms <= 5000, "%lld", (long long)ms);
	}
}

Test(watch_retry, what_is_gone_is_listed_at_once)
{
	struct watch_retry r = {0};
	for (int i = 0; i < 10; i++)
		fail(&r, ERR_RETRY, 7); /* refused, for a minute */
	cr_expect_eq(fail(&r, ERR_GONE, 410), 0);
	watch_retry_listed(&r);
	cr_expect_eq(watch_retry_ended(&r, false), 0);
}

Test(watch_retry, what_is_gone_again_and_again_is_no_tight_loop)
{
	struct watch_retry r = {0};
	int64_t waited = 0;
	for (int i = 0; i < 20; i++) {
		waited += fail(&r, ERR_GONE, 410);
		watch_retry_listed(&r);
	}
	cr_expect_geq(waited, 60000, "%lld", (long long)waited);
	watch_retry_went_on(&r);
	cr_expect_eq(fail(&r, ERR_GONE, 410), 0, "a watch that went on is forgiven");
}

Test(watch_retry, an_outage_is_no_reason_to_wait_when_the_server_answers)
{
	static const struct {
		enum err_kind kind;
		int code;
	} rows[] = {{ERR_RETRY, 503}, {ERR_RETRY, 429}, {ERR_NOT_FOUND, 404}, {ERR_DENIED, 403}, {ERR_PROTOCOL, 0}};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct watch_retry r = {0};
		for (int n = 0; n < 10; n++)
			fail(&r, ERR_RETRY, 7);
		cr_expect_eq(fail(&r, rows[i].kind, rows[i].code), 200, "row %zu", i);
		cr_expect_eq(fail(&r, rows[i].kind, rows[i].code), 400, "row %zu: its own failures count", i);
	}
	struct watch_retry listed = {0};
	for (int n = 0; n < 10; n++)
		fail(&listed, ERR_RETRY, 7);
	watch_retry_listed(&listed);
	cr_expect_eq(fail(&listed, ERR_RETRY, 503), 200);
}

Test(watch_retry, a_list_does_not_forgive_a_watch_that_is_refused)
{
	struct watch_retry r = {0};
	for (int n = 0; n < 10; n++) {
		fail(&r, ERR_PROTOCOL, 0);
		watch_retry_listed(&r);
	}
	cr_expect_eq(fail(&r, ERR_PROTOCOL, 0), 5000);
}

Test(watch_retry, short_watches_are_spaced_out_and_stalled_ones_resume_at_once)
{
	struct watch_retry r = {0};
	cr_expect_eq(watch_retry_ended(&r, true), 200);
	cr_expect_eq(watch_retry_ended(&r, true), 400);
	cr_expect_eq(watch_retry_ended(&r, false), 0);
	cr_expect_eq(fail(&r, ERR_TIMEOUT, 0), 0);
}
