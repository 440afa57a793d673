/* RuntimePauses: which pauses does the runtime make, and why? The attached library tells of them as the runtime does; nothing is
 * sampled, nothing stopped. */
#ifndef DRDOTNET_PAUSE_SESSION_H
#define DRDOTNET_PAUSE_SESSION_H

#include "agent/session/attached_session.h"

extern const struct session_profiler pause_session;

#endif
