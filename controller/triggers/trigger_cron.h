/* The times of a cron schedule, as Kubernetes' CronJob reads them: minute, hour, day of month, month, day of week, with lists,
 * ranges, steps and names; "@hourly" and its like. Where both days are restricted one of them is enough. A time that the clock
 * leaves out (spring) is not there on that day; one that it shows twice (autumn) comes twice. Pure.
 *
 * After crontab(5) and the documented behaviour of the parser that Kubernetes uses; "@every" is refused: it says nothing that
 * is the same after a restart. */
#ifndef DRDOTNET_TRIGGER_CRON_H
#define DRDOTNET_TRIGGER_CRON_H

#include "common/base/err.h"

#include <stdbool.h>
#include <stdint.h>

#define TRIGGER_CRON_NEVER INT64_MAX
#define TRIGGER_CRON_YEARS 9 /* how far ahead is looked: a 29th of February comes within eight years */

struct trigger_cron {
	uint64_t minutes; /* bit per value */
	uint32_t hours, days, months, weekdays;
	bool any_day, any_weekday; /* written as "*": does not by itself make a day match */
};

/* ERR_INVALID says which field is wrong. A schedule that never comes (30 February) is refused too. */
int trigger_cron_parse(const char *text, struct trigger_cron *out, struct err *e);

/* What a time zone's clock is ahead of UTC at an instant, in seconds. */
typedef int64_t trigger_cron_offset_fn(const void *zone, int64_t utc_seconds);

/* The first time after an instant, or TRIGGER_CRON_NEVER. Milliseconds since 1970; `offset` NULL: UTC. */
int64_t trigger_cron_next(const struct trigger_cron *c, trigger_cron_offset_fn *offset, const void *zone, int64_t after_wall_ms);

#endif
