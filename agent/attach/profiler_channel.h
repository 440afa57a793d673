/* The agent's end of the private socket to libdrdotnet.so inside the target (the frames are in common/proto/channel.h).
 * Life: listen (before the attach) -> accept (after it; peer and nonce checked) -> resolve/sample... -> detach -> close.
 * One channel belongs to one thread. Everything read from it is hostile: bounded lengths, bounded waits. */
#ifndef DRDOTNET_PROFILER_CHANNEL_H
#define DRDOTNET_PROFILER_CHANNEL_H

#include "common/base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct profiler_channel;

#define CHANNEL_NONCE_SIZE 16

/* A resolved instruction pointer. Strings are borrowed from the channel and live until it is freed (functions are cached
 * by id; a function that is reported again keeps its strings). */
struct resolved_function {
	uint64_t function_id;
	const char *module, *type, *type_args, *method, *method_args, *params; /* see struct frame in agent/symbols/frame.h */
	bool overloaded, dynamic;
	uint64_t dynamic_start_ns; /* CLOCK_MONOTONIC of its compilation, for dynamic methods: younger than the sample means a wrong name */
	uint32_t token;   /* in the module's metadata; 0: none */
	uint64_t image;   /* where the module's image begins in the process; 0: not known */
	const char *path; /* of the module's file, as the process sees it; NULL: none */
};

struct channel_sample { /* in-process timer sampling */
	int64_t time_ns;     /* CLOCK_MONOTONIC */
	uint32_t tid;        /* inner */
	uint16_t flags;      /* enum channel_sample_flag */
	uint16_t depth;
	const uint64_t *ips; /* leaf first; borrowed, valid in the callback */
};
typedef void channel_sample_fn(void *ctx, const struct channel_sample *s);

struct channel_stats { /* the library's own account */
	uint64_t cpu_ns, dropped_samples, resolved, unresolved, memory_bytes;
	uint64_t pauses, paused_ns; /* how often it held a thread of the application, or all, and how long in sum */
	uint64_t max_pause_ns, max_wait_ns; /* at most: all threads, one thread */
	uint32_t left; /* enum channel_left: what it could not undo */
	uint64_t collections, collections_ns; /* that stopped the application because of the session */
};

/* Creates the listening socket as file `name` in the folder `dirfd` (reached through /proc/self/fd, so that long outer paths
 * do not matter), connectable by any uid of that folder's users. */
struct profiler_channel *profiler_channel_listen(int dirfd, const char *name, struct err *e);

/* As which profiler to be loaded: set before client_data, and give AttachProfiler the class of this channel (the runtime asks the
 * class, not the client data). Notification-only is the default: it serves all that this channel offers, beside another profiler
 * as well as alone; an attach as main profiler that is refused because the slot is taken (0x8013136A) leaves the library mapped for
 * good (measured on 8 and 10: the runtime does not unload it). As main profiler only for what needs it (MONITOR_GC). */
void profiler_channel_set_notification_only(struct profiler_channel *ch, bool notification_only);
/* The longest that the library may hold a thread of the application; it leaves by itself when it took longer. 0 (as it begins): any time.
 * Set before client_data. */
void profiler_channel_set_pause_budget(struct profiler_channel *ch, uint32_t microseconds);
/* What the library must ask of the runtime while it attaches: enum channel_want. Set before client_data. */
void profiler_channel_set_features(struct profiler_channel *ch, uint32_t features);
/* The library leaves by itself when it has heard nothing for so long: see profiler_channel_keep(). 0 (as it begins): it stays. Set before client_data. */
void profiler_channel_set_lease(struct profiler_channel *ch, uint32_t milliseconds);
const uint8_t *profiler_channel_clsid(const struct profiler_channel *ch); /* 16 bytes, as diag_ipc_attach wants them */

/* The client data to give to AttachProfiler: protocol version, nonce, the socket's path as the target sees it, flags.
 * Returns the bytes used or -1 when `cap` is too small or the path longer than a socket address takes. */
ssize_t profiler_channel_client_data(const struct profiler_channel *ch, const char *inner_path, uint8_t *out, size_t cap, struct err *e);

/* Before each wait on the channel once it is accepted: how long it may last. */
typedef void channel_wait_fn(void *ctx, int64_t most_ms);
void profiler_channel_on_wait(struct profiler_channel *ch, channel_wait_fn *fn, void *ctx);

/* Waits for the library's hello with the right nonce (others are turned away), then unlinks nothing: the caller removes
 * the socket's file. expected_pid: the peer's pid as the agent sees it, 0 = do not check. */
int profiler_channel_accept(struct profiler_channel *ch, pid_t expected_pid, int64_t deadline_ms, struct err *e);

/* Waits until the runtime has told the library that its attach is complete: nothing is answered before. */
int profiler_channel_await_ready(struct profiler_channel *ch, int64_t deadline_ms, struct err *e);

bool profiler_channel_notification_only(const struct profiler_channel *ch); /* how it was loaded */

/* Names for `count` instruction pointers (any count; sent in pieces). out[i] is NULL where the runtime knows none. Borrowed. */
int profiler_channel_resolve(struct profiler_channel *ch, const uint64_t *ips, size_t count, const struct resolved_function **out,
			     int64_t deadline_ms, struct err *e);

/* Which IL the instructions were made from: offsets in their method's IL, CHANNEL_NO_IL (common/proto/channel_code.h) where that is not known. Pointers of
 * one method should stand together. */
int profiler_channel_il_offsets(struct profiler_channel *ch, const uint64_t *ips, size_t count, uint32_t *out, int64_t deadline_ms, struct err *e);

/* A function that the library has described, by its id; NULL: none such. Borrowed. */
const struct resolved_function *profiler_channel_function(const struct profiler_channel *ch, uint64_t function_id);

/* In-process timer sampling (fallback). Samples are delivered by profiler_channel_poll. */
int profiler_channel_sample_start(struct profiler_channel *ch, int64_t frequency_hertz, int64_t deadline_ms, struct err *e);
int profiler_channel_sample_stop(struct profiler_channel *ch, int64_t deadline_ms, struct err *e);
/* What the library said of it last, at its start or stop. */
struct channel_sampling profiler_channel_sampling(const struct profiler_channel *ch);
/* Returns the number of samples delivered. Handles what has arrived, waiting at most until the deadline for something. -1: ERR_GONE when the library closed. */
int profiler_channel_poll(struct profiler_channel *ch, channel_sample_fn *on_sample, void *ctx, int64_t deadline_ms, struct err *e);
int profiler_channel_fd(const struct profiler_channel *ch); /* for poll(2) */

/* Garbage collections so far that ran on the thread that needed memory, by their ends (CLOCK_MONOTONIC): asks the library and waits for
 * its answer. *out is borrowed, valid until the next call. Bounded: CHANNEL_COLLECTIONS_MAX. */
struct channel_collection;
int profiler_channel_collections(struct profiler_channel *ch, const struct channel_collection **out, size_t *count, int64_t deadline_ms,
				 struct err *e);

/* Frames of one profiler (channel_is_extension), and the errors that answer its requests, go to its own handler, from within
 * whatever reads the channel. -1: the frame is bad, the channel is over. */
struct channel_frame;
typedef int channel_frame_fn(void *ctx, const struct channel_frame *f, struct err *e);
void profiler_channel_on_frames(struct profiler_channel *ch, channel_frame_fn *fn, void *ctx);
/* A second handler, of who asks where code begins: both get each frame. */
void profiler_channel_on_code(struct profiler_channel *ch, channel_frame_fn *fn, void *ctx);
/* Queues a request; it is sent by the next call that waits. */
int profiler_channel_request(struct profiler_channel *ch, uint16_t type, const void *payload, size_t len, struct err *e);
/* Whether all requests have been sent. */
bool profiler_channel_idle(const struct profiler_channel *ch);
/* What the library complained about last; its kind is 0 where it never did. Borrowed. */
const struct err *profiler_channel_last_error(const struct profiler_channel *ch);
/* One turn of input for a request that waits for its answer; call it until the handler has seen that. -1: ERR_TIMEOUT ("did not `what`
 * in time") at the deadline, whatever else keeps coming, or the channel is over. */
int profiler_channel_await(struct profiler_channel *ch, const char *what, int64_t deadline_ms, struct err *e);

/* Any thread, once the channel is accepted, as often as it likes: tells the library that the agent is there, where nothing else has gone out
 * for a fifth of the lease. Never waits. */
void profiler_channel_keep(struct profiler_channel *ch);
/* Whether the library has said that it leaves because it heard nothing for as long as its lease: what has come so far is read first. */
bool profiler_channel_lapsed(struct profiler_channel *ch);

/* Whether the library has said that it held the application for longer than its budget, and leaves: what it held. */
struct channel_pause;
bool profiler_channel_pause(const struct profiler_channel *ch, struct channel_pause *out);

/* Asks the library to leave and waits until it says that the runtime has agreed and its threads have ended (the unmap itself
 * follows within some ms; the caller checks /proc/PID/maps where it can). *stats may be NULL. */
int profiler_channel_detach(struct profiler_channel *ch, struct channel_stats *stats, int64_t deadline_ms, struct err *e);

/* Closing without a detach is allowed at any time: the library then ends itself. */
void profiler_channel_free(struct profiler_channel *ch);

#endif
