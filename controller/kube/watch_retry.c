#include "controller/kube/watch_retry.h"

#include "common/base/clock.h"

#define HTTP_STATUS_LEAST 100 /* below are the codes of what went wrong on the way there */

int64_t watch_retry_backoff_ms(unsigned failures, uint32_t random)
{
	int64_t ms = clock_doubled_ms(WATCH_RETRY_LEAST_MS, WATCH_RETRY_MOST_MS, (int64_t)failures - 1);
	return ms - (int64_t)(random % (uint32_t)(ms / 2 + 1));
}

static void answered(struct watch_retry *r)
{
	if (r->away)
		r->failures = 0;
	r->away = false;
}

int64_t watch_retry_failed(struct watch_retry *r, const struct err *e, uint32_t random)
{
	switch (e->kind) {
	case ERR_GONE:
		r->away = false;
		r->failures = 0;
		return r->gone++ ? watch_retry_backoff_ms(r->gone - 1, random) : 0;
	case ERR_TIMEOUT: /* half-open or idle: it has waited long enough */
		return 0;
	default:
		break;
	}
	if (e->kind == ERR_RETRY && e->code < HTTP_STATUS_LEAST)
		r->away = true;
	else
		answered(r);
	return watch_retry_backoff_ms(++r->failures, random);
}

void watch_retry_listed(struct watch_retry *r)
{
	answered(r);
}

int64_t watch_retry_ended(struct watch_retry *r, bool too_short)
{
	answered(r);
	return too_short ? watch_retry_backoff_ms(++r->failures, 0) : 0;
}

void watch_retry_went_on(struct watch_retry *r)
{
	*r = (struct watch_retry){0};
}
