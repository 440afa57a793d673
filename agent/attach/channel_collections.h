/* The garbage collections that a profiler library has told of. Part of its channel (agent/attach/profiler_channel.h); one thread. */
#ifndef DRDOTNET_CHANNEL_COLLECTIONS_H
#define DRDOTNET_CHANNEL_COLLECTIONS_H

#include "common/base/err.h"
#include "common/proto/channel.h"

#define CHANNEL_COLLECTIONS_MAX 65536 /* the first ones are kept */

struct channel_collections {
	struct channel_collection *items;
	size_t count, cap;
};

int channel_collections_add(struct channel_collections *list, const struct channel_frame *f, struct err *e);
void channel_collections_fini(struct channel_collections *list);

#endif
