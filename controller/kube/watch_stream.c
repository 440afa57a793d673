#include "controller/kube/watch_stream.h"

#include <stdio.h>
#include <string.h>

void watch_stream_init(struct watch_stream *w, const char *resource_version, watch_event_fn *on_event, void *ctx)
{
	*w = (struct watch_stream){.on_event = on_event, .ctx = ctx};
	buf_init(&w->line, WATCH_LINE_MAX);
	snprintf(w->resource_version, sizeof w->resource_version, "%s", resource_version);
}

void watch_stream_fini(struct watch_stream *w)
{
	if (w)
		buf_fini(&w->line);
}

static int error_event(const json_t *status, struct err *e)
{
	int64_t code = jsonx_int_at(status, "code", 0);
	return err_set(e, code == 410 ? ERR_GONE : ERR_RETRY, (int)code, "the watch ended: %s", jsonx_str_at(status, "message", "no message"));
}

static int take_line(struct watch_stream *w, const char *line, size_t len, struct err *e)
{
	static const char *const names[] = {"ADDED", "MODIFIED", "DELETED", "BOOKMARK"};
	AUTO_JSON json_t *doc = jsonx_parse(line, len, "watch event", e);
	if (!doc)
		return -1;
	const char *type = jsonx_str_at(doc, "type", NULL);
	const json_t *object = jsonx_at(doc, "object");
	if (!type || !json_is_object(object))
		return err_set(e, ERR_PROTOCOL, 0, "watch event: lacks type or object");
	if (strcmp(type, "ERROR") == 0)
		return error_event(object, e);
	for (int i = 0; i < 4; i++) {
		if (strcmp(type, names[i]) != 0)
			continue;
		if (w->on_event(w->ctx, (enum watch_type)i, object, e) < 0)
			return -1;
		const char *rv = jsonx_str_at(object, "metadata.resourceVersion", "");
		if (rv[0] && strlen(rv) < sizeof w->resource_version)
			snprintf(w->resource_version, sizeof w->resource_version, "%s", rv);
	}
	return 0;
}

int watch_stream_feed(struct watch_stream *w, const char *data, size_t len, struct err *e)
{
	while (len) {
		const char *end = memchr(data, '\n', len);
		size_t piece = end ? (size_t)(end - data) : len;
		if (buf_append(&w->line, data, piece) < 0)
			return err_set(e, ERR_PROTOCOL, 0, "watch event: longer than %d bytes", WATCH_LINE_MAX);
		data += piece + (end != NULL);
		len -= piece + (end != NULL);
		if (!end)
			break;
		if (w->line.len && take_line(w, buf_str(&w->line), w->line.len, e) < 0)
			return -1;
		if (w->line.cap > 65536) /* one large object must not keep its memory for ever */
			buf_fini(&w->line);
		buf_reset(&w->line);
	}
	return 0;
}
