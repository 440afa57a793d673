/* When memory will be used up, if it goes on like this. Pure. */
#ifndef DRDOTNET_LEAK_LIMIT_H
#define DRDOTNET_LEAK_LIMIT_H

#include "agent/profilers/leak/leak_model.h"
#include "common/base/buf.h"

enum leak_limit_kind {
	LEAK_LIMIT_NONE,      /* neither is known */
	LEAK_LIMIT_CONTAINER,
	LEAK_LIMIT_NODE,      /* the container has none: the node's free memory */
};
const char *leak_limit_kind_name(enum leak_limit_kind k); /* "container"; NULL for none */

/* Takes in what the container's group and the node say now. What cannot be read any more, as the pod is gone, stays as it was. */
struct cgroup_memory;
void leak_limit_note(struct leak_limit *l, const struct cgroup_memory *now, int64_t node_free_bytes);

struct leak_forecast {
	enum leak_limit_kind kind;
	int64_t limit_bytes, used_bytes; /* -1: not known */
	double bytes_per_minute;
	int64_t seconds;                 /* until it is reached; -1: never, or too far to be said */
	int64_t farthest;                /* seconds that can be foreseen */
};

/* At that pace from the last walk on. A pace of 0 or less gives the limit, but no time. What was measured for so many seconds tells at most
 * LEAK_FORESEEN times as far, and no farther than a month. */
#define LEAK_FORESEEN 2000
void leak_forecast_make(const struct leak_limit *limit, double bytes_per_minute, double measured_seconds, struct leak_forecast *out);

/* "3 h", "110 min", "5 days": rounded down, as the pace is no exact figure. */
void leak_put_forecast(struct buf *out, int64_t seconds);
/* "12.6 s", "2 min", "12 min 35 s": as it was measured. */
void leak_put_measured(struct buf *out, double seconds);
void leak_put_limit(struct buf *out, int64_t bytes);    /* as Kubernetes' objects have it, "512Mi", else "412 MB" */

#endif
