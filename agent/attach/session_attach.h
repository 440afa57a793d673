/* The library inside the target for the time of a session: staged, attached, its channel accepted; and out again. One thread
 * owns it. */
#ifndef DRDOTNET_SESSION_ATTACH_H
#define DRDOTNET_SESSION_ATTACH_H

#include "agent/attach/profiler_channel.h"
#include "agent/attach/stage.h"
#include "agent/target/gc_settings.h"
#include "agent/target/target.h"
#include "common/base/err.h"
#include "common/proto/channel.h"

#include <stdbool.h>
#include <stdint.h>

/* The channel when it is connected, and NULL before it goes: for whoever keeps it (profiler_channel_keep()). */
typedef void session_channel_fn(void *ctx, struct profiler_channel *ch);

struct session_attach {
	struct stage stage;
	struct profiler_channel *channel; /* NULL: not attached */
	uint64_t library_bytes;           /* of the library's file that are mapped in a process */
	bool asked;                       /* AttachProfiler was sent: the library may be in the process */
	struct channel_pause pause;       /* after the end: what it held for longer than the budget; kind 0: nothing */
	bool lapsed;                      /* after the end: it had left because the agent did not run */
	struct err stays;                 /* after the end: why the library is still in the process; no kind: it is not */
	struct gc_settings gc;            /* what the environment says of the collector, as the runtime told it */
	session_channel_fn *on_channel;
	void *ctx;
};

/* How long the library stays in the process without hearing of the agent. */
#define SESSION_LEASE_MS 15000

/* Sets *a in every case; session_attach_end() must follow, also after a failure. Where a profiler starts with the process, as
 * its environment says, the library is attached beside it for notifications only. It leaves by itself when it held the application for
 * longer than the budget, or when the agent cannot run. */
struct session_attach_options {
	const char *library_path;
	int64_t pause_budget_ms;
	uint32_t features;    /* enum channel_want: of the library in the main slot only */
	int64_t deadline_ms;
	session_channel_fn *on_channel; /* NULL: nobody keeps it, and the library stays for SESSION_LEASE_MS at most */
	void *ctx;
};
int session_attach_begin(struct session_attach *a, const struct target *t, const struct session_attach_options *o, struct err *e);

/* Detaches, waits until the library is unmapped (where that can be seen) and removes our files. Idempotent. *stats may be NULL and
 * is filled only when the library gave its account. A process that is stopped or frozen is not waited for.
 * -1: something stays behind. The library may still be in the process (ERR_TIMEOUT): our end of the channel is closed, so that it
 * ends itself; or our folder could not be removed (ERR_DENIED): a later stage_sweep() does it. */
int session_attach_end(struct session_attach *a, const struct target *t, struct channel_stats *stats, struct err *e);

#endif
