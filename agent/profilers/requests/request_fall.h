/* One request as bars over its time: what threads did for it, what it called, when it awaited something else. Pure; any thread. */
#ifndef DRDOTNET_REQUEST_FALL_H
#define DRDOTNET_REQUEST_FALL_H

#include "agent/profilers/requests/request_bill.h"

#define FALL_BARS 200 /* of one request; shorter ones are joined to those before them */

struct fall_bar {
	uint64_t from_ns, to_ns;
	uint32_t call, place; /* as in struct bill_moment */
	uint8_t doing;        /* DOING_COUNT: no thread worked for it */
	bool seen;
};

struct request_fall {
	struct fall_bar bars[FALL_BARS];
	size_t count;
	uint64_t least_ns; /* bars that are shorter are part of the one before */
};

void request_fall_make(const struct request_trail *t, const struct request_work *w, const struct channel_request_done *d, struct request_fall *out);

#endif
