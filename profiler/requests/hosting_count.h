/* How many requests ASP.NET Core has begun with, by its own count: the field of Hosting's event source that its counter `total-requests` shows. It counts while
 * anybody listens to the source, at whatever level, and it is one for all who listen: only differences mean something. Read where it stands in memory, so that
 * nobody has to ask for counters, whose thread would stay in the process. Own thread. */
#ifndef DRDOTNET_HOSTING_COUNT_H
#define DRDOTNET_HOSTING_COUNT_H

#include <stdbool.h>
#include <stdint.h>

/* By names in the metadata. false: there is none, or not of this shape. */
bool hosting_count_find(void *info);
/* After it was found. false: it could not be read. */
bool hosting_count_now(uint64_t *requests);

#endif
