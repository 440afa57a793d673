/* The events that tell what a request asks of others, read in bounds. Pure; any context. Little-endian, texts UTF-16 with a NUL:
 *
 *   System.Net.Http RequestStart (1): text scheme, text host, i32 port, text path, ...; RequestStop (2); RequestFailed (3), before a stop.
 *   System.Net.NameResolution ResolutionStart (1): text host; ResolutionStop (2); ResolutionFailed (3), before a stop.
 *   System.Net.Sockets ConnectStart (1): text address; ConnectStop (2); ConnectFailed (3), before a stop.
 *   System.Net.Security HandshakeStart (1): u32 server, text host; HandshakeStop (2); HandshakeFailed (3), before a stop.
 *   Npgsql CommandStart (3): text SQL; CommandStop (4).
 *
 * Source: the event sources' documented signatures. */
#ifndef DRDOTNET_CALL_EVENT_H
#define DRDOTNET_CALL_EVENT_H

#include "profiler/requests/request_event.h"
#include "profiler/requests/path_shape.h"

enum call_kind { CALL_HTTP, CALL_NAME, CALL_CONNECT, CALL_TLS, CALL_NPGSQL, CALL_KINDS };
enum call_moment { CALL_OTHER, CALL_START, CALL_STOP, CALL_FAILED };

enum call_moment call_event_moment(enum call_kind kind, uint32_t id);
/* What is asked, of a start: "http shop.local:8080", "sql SELECT ? FROM t". false: it does not fit its payload. */
bool call_event_start(enum call_kind kind, const uint8_t *data, size_t len, struct path_shape *out);

#endif
