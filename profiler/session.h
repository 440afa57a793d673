/* One session: from InitializeForAttach to ProfilerDetachSucceeded. There is at most one per process; its memory is static and
 * used again by the next one (the same file loaded twice shares it: a second session at the same time is refused).
 *
 *   IDLE --attach--> ACTIVE --RequestProfilerDetach agreed--> LEAVING --detached--> IDLE
 *
 * The session's own thread serves the channel and asks for the detach, on request or when the channel is lost. It never runs
 * application code and no application thread waits for it (but module_guard, for microseconds). */
#ifndef DRDOTNET_PROFILER_SESSION_H
#define DRDOTNET_PROFILER_SESSION_H

#include "profiler/clr/cor_abi.h"

/* CLR callbacks. Whatever attach cannot do it takes back and returns as HRESULT: the runtime then drops the library. */
hresult session_attach(void *unknown, const void *client_data, uint32_t len, bool notification_only);
void session_attach_complete(void);
void session_detached(void);
bool session_idle(void);

#endif
