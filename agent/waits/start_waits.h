/* What a process waits for while it starts: looks at its threads from the attach on until its port listens. For sessions that begin with the process; the
 * session's thread. */
#ifndef DRDOTNET_START_WAITS_H
#define DRDOTNET_START_WAITS_H

#include "agent/waits/start_path.h"
#include "agent/waits/wait_follow.h"

#define START_WAITS_THREADS 64 /* whose connections are looked for */

struct start_waits { /* zeroed */
	struct wait_follow follow;
	struct start_peer *peers;
	size_t peer_count, peer_cap;
	struct {
		uint32_t tid;
		int64_t stack_ns;
	} asked[START_WAITS_THREADS]; /* of these waits the other end was asked for */
	size_t asked_count;
	int64_t delay_begin_ns, ready_ns; /* the main thread waited for a CPU: before, and since; -1: not known */
	bool begun, over;
};

/* The library is attached. False: the threads cannot be followed; only start_waits_fini() may follow. */
bool start_waits_begin(struct start_waits *w, struct attached_session *s);

/* Looks if it is time for it; call it each 10 ms or so. */
void start_waits_look(struct start_waits *w);

/* The port listens, or the session ends: no more looks. */
void start_waits_end(struct start_waits *w);

/* The steps of struct session_profiler; nothing is done where it was not begun. */
void start_waits_tick(struct start_waits *w, bool last);
void start_waits_take(struct start_waits *w);

/* After start_waits_take(): to the capture's start, whose first moment was `started_ns`. */
void start_waits_put(const struct start_waits *w, int64_t started_ns, struct capture_start *out);

void start_waits_fini(struct start_waits *w); /* takes zeroed structs */

#endif
