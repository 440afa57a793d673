/* DuplicatedStrings: one walk over the heap with digests, then away. */
#ifndef DRDOTNET_STRINGS_SESSION_H
#define DRDOTNET_STRINGS_SESSION_H

#include "agent/session/attached_session.h"

extern const struct session_profiler strings_session;

#endif
