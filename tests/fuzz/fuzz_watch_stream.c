/* The bytes of a watch, in pieces whose sizes the first byte chooses. What was read must not depend on how it was cut. */
#include "controller/kube/watch_stream.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int on_event(void *ctx, enum watch_type type, const json_t *object, struct err *e)
{
	(void)e;
	if (type > WATCH_BOOKMARK || !json_is_object(object))
		abort();
	++*(size_t *)ctx;
	return 0;
}

static int feed(const char *data, size_t len, size_t piece, char rv[64], size_t *events)
{
	struct watch_stream w;
	struct err e = ERR_INIT;
	int rc = 0;
	*events = 0;
	watch_stream_init(&w, "1", on_event, events);
	for (size_t at = 0; rc == 0 && at < len; at += piece) {
		size_t n = len - at < piece ? len - at : piece;
		char *exact = malloc(n); /* nothing behind it */
		memcpy(exact, data + at, n);
		rc = watch_stream_feed(&w, exact, n, &e);
		free(exact);
	}
	if (rc < 0 && e.kind == ERR_NONE)
		abort();
	memcpy(rv, w.resource_version, 64);
	watch_stream_fini(&w);
	return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 1)
		return 0;
	char whole[64], cut[64];
	size_t whole_events, cut_events;
	int rc = feed((const char *)data + 1, size - 1, size, whole, &whole_events);
	if (feed((const char *)data + 1, size - 1, (size_t)data[0] % 64 + 1, cut, &cut_events) != rc)
		abort();
	if (strcmp(whole, cut) != 0 || whole_events != cut_events)
		abort();
	return 0;
}
