/* What routing took from a path, as the runtime writes it ("[id, 4711],[name, a]"): names of a route's parameters, and the values that they have in a path.
 * A value may have any characters in it, so what is read may be wrong for strange ones; it is bounded, and used for names only. Pure; any context. */
#ifndef DRDOTNET_ROUTE_VALUES_H
#define DRDOTNET_ROUTE_VALUES_H

#include "profiler/requests/request_event.h"

#include <stdbool.h>

#define ROUTE_VALUES_MOST 12

struct route_values {
	struct route_value {
		struct event_text name, value; /* borrowed */
		bool used;                     /* by an earlier segment of the path */
	} of[ROUTE_VALUES_MOST];
	unsigned count;
};

/* Without what names a controller's action or a page, and names that are no plain words. */
void route_values_parse(const struct event_text *text, struct route_values *out);
/* The parameter whose value is the path's units `from` up to `to`, the first that no earlier segment had; NULL: none. */
struct route_value *route_values_find(struct route_values *v, const struct event_text *path, size_t from, size_t to);

#endif
