/* Private to attached_session.c (a session's steps, its ways in and out) and attached_collect.c (its time between). */
#ifndef DRDOTNET_ATTACHED_SESSION_PRIVATE_H
#define DRDOTNET_ATTACHED_SESSION_PRIVATE_H

#include "agent/session/attached_session.h"

#define EXIT_GRACE_MS 3000 /* a process that ends closes its descriptors some moments before it is gone: on a loaded node, seconds */

/* When the session was over, now at the latest (CLOCK_MONOTONIC): a report does not cover what its container's process did not live to see. */
int64_t attached_session_over_ns(const struct attached_session *s);

/* Waits up to `grace_ms` for it. */
bool attached_session_process_exited(const struct attached_session *s, int64_t grace_ms);

/* Whether the library left because a stop was too long: s->pause says which. */
bool attached_session_paused(struct attached_session *s);
/* Whether it left because it heard nothing of the agent for the length of its lease. */
bool attached_session_lapsed(const struct attached_session *s);

/* What can be relied on in this process, before anything is read. */
void attached_collect_note_engines(struct attached_session *s);

void attached_collect_look_whether_stopped(struct attached_session *s);

/* From the beginning to the session's end, whatever ends it. */
void attached_collect_run(struct attached_session *s);

/* Stops the profiler and takes what came last. */
int attached_collect_stop(struct attached_session *s, struct err *e);

#endif
