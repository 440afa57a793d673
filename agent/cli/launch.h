/* A command that is started to be profiled from its beginning: it keeps the terminal, its input and its output; signals pass through to it; and
 * its first .NET process is held at its start until launch_release(), for 2 s at most (hold.h). No other process waits for us, and this one not longer than
 * we live. One caller; a thread of its own serves the port and the signals. */
#ifndef DRDOTNET_LAUNCH_H
#define DRDOTNET_LAUNCH_H

#include "common/base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct launch;

/* What shells exit with where a command could not be started. */
enum { LAUNCH_NOT_EXECUTABLE = 126, LAUNCH_NOT_FOUND = 127 };

/* `argv` ends with NULL. Blocks the signals that it passes on in the calling thread. NULL: e->code is what to exit with, one of those above, or 0. */
struct launch *launch_start(char *const argv[], struct err *e);

/* The first .NET process of the command. -1: it has ended without one (ERR_GONE), or there was none by the deadline (ERR_TIMEOUT), or it runs and does
 * not come to us (ERR_NOT_FOUND), or an end was asked for (ERR_GONE). */
pid_t launch_await_runtime(struct launch *l, int64_t deadline_ms, struct err *e);

/* Its runtime goes on. Any thread. */
void launch_release(void *launch);

/* Readable when a signal has asked for the end of the session: SIGTSTP (Ctrl-Z) too, which stops us until SIGCONT. Borrowed. */
int launch_cancel_fd(const struct launch *l);
bool launch_stopped(struct launch *l); /* it was SIGTSTP */

/* Waits for the end of the command, and frees *l. What to exit with: its status, or 128 and the signal that ended it. */
int launch_finish(struct launch *l);

#endif
