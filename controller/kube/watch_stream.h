/* The body of a Kubernetes watch: JSON objects, one a line, cut from the bytes as they arrive. Pure; owned by one thread. */
#ifndef DRDOTNET_WATCH_STREAM_H
#define DRDOTNET_WATCH_STREAM_H

#include "common/base/jsonx.h"

#define WATCH_LINE_MAX (2 * 1024 * 1024)

enum watch_type { WATCH_ADDED, WATCH_MODIFIED, WATCH_DELETED, WATCH_BOOKMARK };

typedef int watch_event_fn(void *ctx, enum watch_type type, const json_t *object, struct err *e);

struct watch_stream {
	struct buf line;
	watch_event_fn *on_event;
	void *ctx;
	char resource_version[64]; /* of the newest event: where to resume */
};

void watch_stream_init(struct watch_stream *w, const char *resource_version, watch_event_fn *on_event, void *ctx);
void watch_stream_fini(struct watch_stream *w);

/* Feeds bytes; calls on_event for each whole line. An ERROR event of code 410 is ERR_GONE, another ERR_RETRY; a line past
 * WATCH_LINE_MAX, or one that is no event, is ERR_PROTOCOL. Unknown types are skipped. After -1 the stream is finished. */
int watch_stream_feed(struct watch_stream *w, const char *data, size_t len, struct err *e);

#endif
