#include "agent/profilers/leak/leak_limit.h"

#include "agent/host/cgroup.h"
#include "common/base/size_text.h"

#include <inttypes.h>
#include <math.h>

#define MEBI (INT64_C(1) << 20)
#define MONTH_SECONDS (30.0 * 86400) /* farther than that is no forecast */

const char *leak_limit_kind_name(enum leak_limit_kind k)
{
	return k == LEAK_LIMIT_CONTAINER ? "container" : k == LEAK_LIMIT_NODE ? "node" : NULL;
}

void leak_limit_note(struct leak_limit *l, const struct cgroup_memory *now, int64_t node_free_bytes)
{
	if (now->usage_bytes >= 0) {
		l->used_bytes = now->usage_bytes;
		l->bytes = now->limit_bytes;
	}
	if (node_free_bytes >= 0)
		l->node_free_bytes = node_free_bytes;
}

void leak_forecast_make(const struct leak_limit *limit, double bytes_per_minute, double measured_seconds, struct leak_forecast *out)
{
	double farthest = measured_seconds * LEAK_FORESEEN < MONTH_SECONDS ? measured_seconds * LEAK_FORESEEN : MONTH_SECONDS;
	int64_t room = -1;
	*out = (struct leak_forecast){
		.kind = LEAK_LIMIT_NONE,
		.limit_bytes = -1,
		.used_bytes = limit->used_bytes,
		.bytes_per_minute = bytes_per_minute,
		.seconds = -1,
		.farthest = (int64_t)farthest,
	};
	if (limit->bytes > 0 && limit->used_bytes >= 0) {
		out->kind = LEAK_LIMIT_CONTAINER;
		out->limit_bytes = limit->bytes;
		room = limit->bytes > limit->used_bytes ? limit->bytes - limit->used_bytes : 0;
	} else if (limit->bytes == 0 && limit->node_free_bytes >= 0) {
		out->kind = LEAK_LIMIT_NODE;
		out->limit_bytes = limit->node_free_bytes;
		room = limit->node_free_bytes;
	}
	if (room < 0 || !(bytes_per_minute > 0))
		return;
	double seconds = (double)room / bytes_per_minute * 60;
	if (seconds < farthest)
		out->seconds = (int64_t)seconds;
}

/* Two digits are more than a forecast can promise, and who is told to have two hours must not have one and a half. */
static int64_t rounded_down(int64_t v)
{
	return v < 10 ? v : v < 100 ? v / 5 * 5 : v / 10 * 10;
}

void leak_put_forecast(struct buf *out, int64_t seconds)
{
	if (seconds < 2 * 60)
		buf_printf(out, "%" PRId64 " s", rounded_down(seconds));
	else if (seconds < 3 * 3600)
		buf_printf(out, "%" PRId64 " min", rounded_down(seconds / 60));
	else if (seconds < 2 * 86400)
		buf_printf(out, "%" PRId64 " h", rounded_down(seconds / 3600));
	else
		buf_printf(out, "%" PRId64 " days", rounded_down(seconds / 86400));
}

/* "12 min 35 s", "12 min" */
static void put_two_units(struct buf *out, int64_t large, const char *large_unit, int64_t small, const char *small_unit)
{
	buf_printf(out, "%" PRId64 " %s", large, large_unit);
	if (small)
		buf_printf(out, " %" PRId64 " %s", small, small_unit);
}

void leak_put_measured(struct buf *out, double seconds)
{
	int64_t tenths = lround(seconds * 10), s = lround(seconds);
	if (tenths < 600 && tenths % 10)
		buf_printf(out, "%" PRId64 ".%" PRId64 " s", tenths / 10, tenths % 10);
	else if (s < 60)
		buf_printf(out, "%" PRId64 " s", s);
	else if (s < 3600)
		put_two_units(out, s / 60, "min", s % 60, "s");
	else
		put_two_units(out, s / 3600, "h", s / 60 % 60, "min");
}

void leak_put_limit(struct buf *out, int64_t bytes)
{
	if (bytes >= MEBI && bytes % MEBI == 0)
		buf_printf(out, "%" PRId64 "Mi", bytes / MEBI);
	else
		size_text_bytes(out, bytes > 0 ? (uint64_t)bytes : 0);
}
