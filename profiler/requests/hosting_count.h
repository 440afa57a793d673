/* How many requests ASP.NET Core has begun with, and how many of them are in flight, by its own count: the fields of Hosting's event source that its counters
 * `total-requests` and `current-requests` show. It counts those that begin while anybody listens to the source, at whatever level, and is one for all who
 * listen: only differences mean something. Read where it stands in memory, so that
 * nobody has to ask for counters, whose thread would stay in the process. Own thread. */
#ifndef DRDOTNET_HOSTING_COUNT_H
#define DRDOTNET_HOSTING_COUNT_H

#include <stdbool.h>
#include <stdint.h>

struct hosting_count {
	uint64_t requests, in_flight;
};

/* By names in the metadata. false: there is none, or not of this shape. */
bool hosting_count_find(void *info);
/* After it was found. false: it could not be read. */
bool hosting_count_now(struct hosting_count *out);

#endif
