/* Private to profiler_channel.c (requests and their answers) and channel_input.c (what arrives). */
#ifndef DRDOTNET_PROFILER_CHANNEL_PRIVATE_H
#define DRDOTNET_PROFILER_CHANNEL_PRIVATE_H

#include "agent/attach/channel_accept.h"
#include "agent/attach/channel_collections.h"
#include "agent/attach/channel_il.h"
#include "agent/attach/channel_samples.h"
#include "agent/attach/function_cache.h"
#include "agent/attach/profiler_channel.h"
#include "common/base/buf.h"
#include "common/proto/channel.h"

#include <pthread.h>

#define CHANNEL_IN_CAP (2 * CHANNEL_MAX_FRAME)

struct resolve_job {
	const uint64_t *ips;
	size_t count, sent, done;
	const struct resolved_function **out;
};

struct flow { /* what came within one second */
	int64_t since_ms;
	size_t bytes, frames;
};

struct profiler_channel {
	int listen_fd, fd;
	uint8_t nonce[CHANNEL_NONCE_SIZE];
	bool notification_only;
	struct channel_peer peer;
	struct function_cache *functions;
	struct resolve_job *job;
	size_t stale; /* answers to come for a job that was given up */
	struct channel_il il;

	uint8_t *in;
	size_t in_len;
	struct flow flow;
	pthread_mutex_t lock; /* of what goes out: out, and sending */
	struct buf out;
	int64_t sent_ms;      /* CLOCK_MONOTONIC: when something went out last */
	struct channel_samples samples;
	struct channel_collections collections;
	unsigned stats_answers;

	uint32_t pause_budget_us, features, lease_ms;
	channel_frame_fn *on_frame; /* of extensions; NULL: they are passed over */
	void *on_frame_ctx;
	channel_frame_fn *on_code; /* the same for who asks where code begins */
	void *on_code_ctx;
	channel_wait_fn *on_wait; /* NULL: nobody is told */
	void *on_wait_ctx;
	struct channel_pause pause; /* kind 0: none */

	bool ready, detaching, detached, eof, lapsed;
	unsigned sampling_answers; /* SAMPLING or ERROR that have come for a start or stop */
	int sampling_error;
	struct channel_sampling sampling; /* the last that was told */
	struct err last_error;     /* what the library complained about last */
	struct channel_account account;
};

/* Reads once, without waiting, and handles the whole frames. 1: something came; 0: nothing there; -1: over (ERR_GONE: the library
 * closed; ERR_PROTOCOL). */
int channel_input_receive(struct profiler_channel *ch, struct err *e);

#endif
