/* Context: any. */
#include "profiler/requests/request_event.h"

#include "profiler/requests/activity_path.h"

#include <string.h>

#define MOST_ARGUMENTS 16
#define WEB_SOCKET_STATUS 101

void request_event_text(struct wire_reader *r, struct event_text *out)
{
	size_t left = wire_left(r) / 2, units = 0;
	const uint8_t *text = r->data + r->pos;

	while (units < left && (text[2 * units] | text[2 * units + 1]))
		units++;
	*out = (struct event_text){text, units};
	wire_bytes(r, 2 * units + 2);
}

bool event_text_is(const struct event_text *t, const char *ascii, bool whole)
{
	size_t n = strlen(ascii);

	if (t->units < n || (whole && t->units != n))
		return false;
	for (size_t i = 0; i < n; i++)
		if (t->data[2 * i] != (uint8_t)ascii[i] || t->data[2 * i + 1])
			return false;
	return true;
}

bool request_event_start(const uint8_t *data, size_t len, struct event_text *method, struct event_text *path)
{
	struct wire_reader r;

	wire_reader_init(&r, data, len);
	request_event_text(&r, method);
	if (!r.bad)
		request_event_text(&r, path);
	return !r.bad;
}

const uint8_t *request_event_activity(const uint8_t *data, size_t len)
{
	return len >= ACTIVITY_ID_BYTES ? data : NULL;
}

static uint16_t event_text_number(const struct event_text *t, uint32_t most)
{
	uint32_t n = 0;

	for (size_t i = 0; i < t->units; i++) {
		if (t->data[2 * i] < '0' || t->data[2 * i] > '9' || t->data[2 * i + 1])
			return 0;
		n = n * 10 + (uint32_t)(t->data[2 * i] - '0');
		if (n > most)
			return 0;
	}
	return (uint16_t)n;
}

static void take_argument(const struct event_text *key, const struct event_text *value, struct request_end *out)
{
	if (event_text_is(key, "StatusCode", true)) {
		out->status = event_text_number(value, 999);
		if (out->status == WEB_SOCKET_STATUS)
			out->stream = REQUEST_WEB_SOCKET;
	} else if (event_text_is(key, "Path", true)) {
		out->path = *value;
	} else if (event_text_is(key, "Route", true)) {
		out->route = *value;
	} else if (event_text_is(key, "Client", true)) {
		out->client = *value;
	} else if (event_text_is(key, "Port", true)) {
		out->port = event_text_number(value, UINT16_MAX);
	} else if (event_text_is(key, "ContentType", true)) {
		if (event_text_is(value, "text/event-stream", false))
			out->stream = REQUEST_EVENT_STREAM;
		else if (event_text_is(value, "application/grpc", false))
			out->stream = REQUEST_GRPC;
	}
}

bool listener_event_open(const uint8_t *data, size_t len, struct listener_event *e)
{
	struct event_text source;

	wire_reader_init(&e->r, data, len);
	request_event_text(&e->r, &source);
	if (e->r.bad)
		return false;
	request_event_text(&e->r, &e->name);
	uint16_t count = wire_u16(&e->r);
	e->left = count < MOST_ARGUMENTS ? count : MOST_ARGUMENTS;
	return !e->r.bad;
}

bool listener_event_next(struct listener_event *e, struct event_text *key, struct event_text *value)
{
	if (!e->left)
		return false;
	e->left--;
	request_event_text(&e->r, key);
	if (!e->r.bad)
		request_event_text(&e->r, value);
	return !e->r.bad;
}

bool request_event_end(const uint8_t *data, size_t len, struct request_end *out)
{
	struct listener_event e;
	struct event_text key, value;

	*out = (struct request_end){0};
	if (!listener_event_open(data, len, &e) || !event_text_is(&e.name, "Microsoft.AspNetCore.Hosting.EndRequest", true))
		return false;
	while (listener_event_next(&e, &key, &value))
		take_argument(&key, &value, out);
	return !e.r.bad && out->status != 0;
}
