/* The payloads of the events that tell of requests, read in bounds. Pure; any context. Little-endian, texts UTF-16 with a NUL:
 *
 *   Microsoft.AspNetCore.Hosting RequestStart (3): text method, text path. RequestStop (4): nothing.
 *   System.Threading.Tasks.TplEventSource SetActivityId (25): 16 bytes id.
 *   Microsoft-Diagnostics-DiagnosticSource Event (of other numbers in other versions): text source, text event, u16 count, count x {text key, text value}.
 *
 * Source: the event sources' documented signatures; checked with the events of .NET 8, 9 and 10. */
#ifndef DRDOTNET_REQUEST_EVENT_H
#define DRDOTNET_REQUEST_EVENT_H

#include "common/proto/wire.h"

#define REQUEST_EVENT_START 3
#define REQUEST_EVENT_STOP 4
#define REQUEST_EVENT_ACTIVITY 25

struct event_text { /* UTF-16, little-endian, perhaps unaligned; borrowed */
	const uint8_t *data;
	size_t units; /* without the NUL */
};

enum request_stream { /* what a response tells of itself */
	REQUEST_NO_STREAM,
	REQUEST_WEB_SOCKET,   /* status 101 */
	REQUEST_EVENT_STREAM, /* text/event-stream */
	REQUEST_GRPC,         /* a call that is no stream, or of which that is not known */
	REQUEST_GRPC_CLIENT,  /* streams, of the client, of the server, of both: enum grpc_method_kind above REQUEST_GRPC */
	REQUEST_GRPC_SERVER,
	REQUEST_GRPC_DUPLEX,
	REQUEST_STREAMS,
};

/* It lasts as long as it is meant to. */
static inline bool request_is_stream(uint8_t stream)
{
	return stream != REQUEST_NO_STREAM && stream != REQUEST_GRPC;
}

struct request_end { /* of EndRequest */
	uint16_t status; /* 0: it was not told */
	uint8_t stream;  /* enum request_stream */
	uint16_t port;  /* of the client's end of the connection; 0: it was not told */
	struct event_text path, route, client; /* borrowed; no units: not told; route: as route_values.h reads it; client: its address */
};

/* The next text up to its NUL, which must be there: else the reader is bad. */
void request_event_text(struct wire_reader *r, struct event_text *out);
/* Whether it begins with these ASCII characters; `whole`: and ends with them. */
bool event_text_is(const struct event_text *t, const char *ascii, bool whole);

/* What a diagnostic listener tells, by way of Microsoft-Diagnostics-DiagnosticSource: its source and name, then the texts that were asked for. */
struct listener_event {
	struct wire_reader r;
	struct event_text name;
	uint16_t left; /* arguments */
};

bool listener_event_open(const uint8_t *data, size_t len, struct listener_event *e); /* false: it does not fit its payload */
/* false: there is none any more, or it does not fit (then the reader is bad). */
bool listener_event_next(struct listener_event *e, struct event_text *key, struct event_text *value);

/* false: it does not fit its payload. */
bool request_event_start(const uint8_t *data, size_t len, struct event_text *method, struct event_text *path);
const uint8_t *request_event_activity(const uint8_t *data, size_t len); /* NULL: it does not fit */
bool request_event_end(const uint8_t *data, size_t len, struct request_end *out);

#endif
