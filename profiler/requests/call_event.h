/* The events that tell what a request asks of others, read in bounds. Pure; any context. Little-endian, texts UTF-16 with a NUL:
 *
 *   System.Net.Http RequestStart (1): text scheme, text host, i32 port, text path, ...; RequestStop (2); RequestFailed (3), before a stop;
 *     ConnectionEstablished (4): u8 major, u8 minor, i64 connection, text scheme, text host, i32 port, ...; RequestLeftQueue (6), of a request that had
 *     to wait for a connection: f64 milliseconds, u8 major, u8 minor.
 *   System.Net.NameResolution ResolutionStart (1): text host; ResolutionStop (2); ResolutionFailed (3), before a stop.
 *   System.Net.Sockets ConnectStart (1): text address; ConnectStop (2); ConnectFailed (3), before a stop.
 *   System.Net.Security HandshakeStart (1): u32 server, text host; HandshakeStop (2); HandshakeFailed (3), before a stop.
 *   Npgsql.Sql CommandStart: text SQL; CommandStop. Their numbers are not those of their declarations: 24 and 25 with .NET 10, so their names count.
 *
 * Source: the event sources' documented signatures. */
#ifndef DRDOTNET_CALL_EVENT_H
#define DRDOTNET_CALL_EVENT_H

#include "profiler/requests/request_event.h"
#include "profiler/requests/path_shape.h"

enum call_kind { CALL_HTTP, CALL_NAME, CALL_CONNECT, CALL_TLS, CALL_NPGSQL, CALL_KINDS };
enum call_moment {
	CALL_OTHER,
	CALL_START,
	CALL_STOP,
	CALL_FAILED,
	CALL_OPENED, /* a connection that calls will have */
	CALL_QUEUED, /* it has waited for a connection until now */
};

/* `metadata`: of an event of EventPipe: u32 id, text name, ... */
enum call_moment call_event_moment(enum call_kind kind, uint32_t id, const uint8_t *metadata, size_t len);
/* What is asked, of a start: "http shop.local:8080", "sql SELECT ? FROM t". false: it does not fit its payload. */
bool call_event_start(enum call_kind kind, const uint8_t *data, size_t len, struct path_shape *out);
/* Of CALL_OPENED: "opened shop.local:8080". */
bool call_event_opened(const uint8_t *data, size_t len, struct path_shape *out);
/* Of CALL_QUEUED: for how long; and what it is called, from the call's own shape: "http connection shop.local:8080". */
bool call_event_queued(const uint8_t *data, size_t len, uint64_t *ns);
bool call_event_queue_shape(const char *call, size_t len, struct path_shape *out);

#endif
