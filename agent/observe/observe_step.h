/* Whether an observed container is above its threshold, from one sample to the next. Pure; any thread.
 *
 * CPU is the average of the last OBSERVE_WINDOW_MS, so that one pause of the garbage collector is no break. It is Above when each value was
 * above the threshold for as long as was asked, and Normal again when each was below nine tenths of the threshold for as long (a minute
 * at most): what swings around the threshold is one episode. */
#ifndef DRDOTNET_OBSERVE_STEP_H
#define DRDOTNET_OBSERVE_STEP_H

#include "common/link/link_observation.h"

#include <stdbool.h>

#define OBSERVE_WINDOW_MS 5000
#define OBSERVE_SAMPLES 8
#define OBSERVE_GAP_MS 10000       /* the node slept: what was before does not count */
#define OBSERVE_NORMAL_MOST_MS 60000

struct observe_sample {
	bool found;               /* the container's control group is there */
	int64_t whole;            /* what 100% is; 0: nothing says it */
	int64_t amount;           /* memory: bytes; CPU: nanoseconds used since the group was made */
	int64_t mono_ms, wall_ms;
};

struct observe_state {
	enum link_observed_state state;
	int64_t since_wall_ms;
	int64_t value, whole;     /* of the last sample; CPU: millicores */
	int64_t above_mono_ms, above_wall_ms, below_mono_ms; /* since when each value was; 0: the last one was not */
	struct { int64_t mono_ms, amount; } past[OBSERVE_SAMPLES]; /* of CPU, oldest first */
	int past_count;
};

/* true: the state has changed; a new one is Normal. */
bool observe_step(const struct link_observation *o, struct observe_state *s, const struct observe_sample *sample);

#endif
