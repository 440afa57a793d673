#include "agent/attach/profiler_channel_private.h"

#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/mem.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>

#define MAX_EXTENSION_REQUEST 4352 /* CODE_ASK of CHANNEL_MAX_CODE is the longest */
#define OUT_MAX (4 * CHANNEL_MAX_FRAME)
#define KEEP_PARTS 5           /* of a lease: so often it is renewed */
#define LAST_READS 64          /* for what a library has said before it left */
#define IN_FLIGHT 3            /* RESOLVE requests that were sent and not answered: the library never waits for us */

_Static_assert(CHANNEL_NONCE_SIZE == CHANNEL_NONCE_BYTES, "one nonce");

struct profiler_channel *profiler_channel_listen(int dirfd, const char *name, struct err *e)
{
	struct profiler_channel *ch = mem_alloc(sizeof *ch);

	ch->fd = -1;
	ch->notification_only = true;
	pthread_mutex_init(&ch->lock, NULL);
	ch->listen_fd = channel_accept_listen(dirfd, name, e);
	ch->functions = function_cache_new();
	ch->in = mem_alloc(CHANNEL_IN_CAP);
	buf_init(&ch->out, OUT_MAX);
	channel_samples_init(&ch->samples);
	if (ch->listen_fd >= 0 && getrandom(ch->nonce, sizeof ch->nonce, 0) != sizeof ch->nonce) {
		err_set_errno(e, errno, "make the channel's nonce");
		close(ch->listen_fd);
		ch->listen_fd = -1;
	}
	if (ch->listen_fd >= 0)
		return ch;
	profiler_channel_free(ch);
	return NULL;
}

void profiler_channel_free(struct profiler_channel *ch)
{
	if (!ch)
		return;
	cleanup_fd(&ch->fd);
	cleanup_fd(&ch->listen_fd);
	function_cache_free(ch->functions);
	buf_fini(&ch->out);
	channel_samples_fini(&ch->samples);
	channel_collections_fini(&ch->collections);
	pthread_mutex_destroy(&ch->lock);
	free(ch->in);
	free(ch);
}

void profiler_channel_set_notification_only(struct profiler_channel *ch, bool notification_only)
{
	ch->notification_only = notification_only;
}

const uint8_t *profiler_channel_clsid(const struct profiler_channel *ch)
{
	return ch->notification_only ? channel_clsid_notification : channel_clsid;
}

bool profiler_channel_notification_only(const struct profiler_channel *ch)
{
	return ch->fd >= 0 ? ch->peer.hello.flags & CHANNEL_NOTIFICATION_ONLY : ch->notification_only;
}

void profiler_channel_set_pause_budget(struct profiler_channel *ch, uint32_t microseconds)
{
	ch->pause_budget_us = microseconds;
}

void profiler_channel_set_features(struct profiler_channel *ch, uint32_t features)
{
	ch->features = features;
}

void profiler_channel_set_lease(struct profiler_channel *ch, uint32_t milliseconds)
{
	ch->lease_ms = milliseconds;
}

ssize_t profiler_channel_client_data(const struct profiler_channel *ch, const char *inner_path, uint8_t *out, size_t cap, struct err *e)
{
	struct wire_writer w;
	struct channel_client_data d = {
		.version = CHANNEL_VERSION,
		.flags = ch->notification_only ? CHANNEL_NOTIFICATION_ONLY : 0,
		.path = {inner_path, strlen(inner_path)},
		.pause_budget_us = ch->pause_budget_us,
		.features = ch->features,
		.lease_ms = ch->lease_ms,
	};

	if (d.path.len == 0 || d.path.len > CHANNEL_MAX_PATH)
		return err_set(e, ERR_INVALID, 0, "the channel's path has %zu bytes; a socket address takes 1 to %d", d.path.len,
			       CHANNEL_MAX_PATH);
	memcpy(d.nonce, ch->nonce, sizeof d.nonce);
	wire_writer_init(&w, out, cap);
	channel_put_client_data(&w, &d);
	if (w.bad)
		return err_set(e, ERR_INTERNAL, 0, "the client data does not fit %zu bytes", cap);
	return (ssize_t)w.pos;
}

int profiler_channel_accept(struct profiler_channel *ch, pid_t expected_pid, int64_t deadline_ms, struct err *e)
{
	if (ch->fd >= 0)
		return err_set(e, ERR_INTERNAL, 0, "the channel is connected already");
	ch->fd = channel_accept_wait(ch->listen_fd, ch->nonce, expected_pid, deadline_ms, &ch->peer, e);
	if (ch->fd < 0)
		return -1;
	close(steal_fd(&ch->listen_fd));
	return 0;
}

int profiler_channel_fd(const struct profiler_channel *ch)
{
	return ch->fd;
}

/* The socket ------------------------------------------------------------------------------------------------------------------ */
static int transmit_locked(struct profiler_channel *ch, struct err *e)
{
	while (ch->out.len) {
		ssize_t n = send(ch->fd, ch->out.data, ch->out.len, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return 0;
		if (n < 0 && (errno == EPIPE || errno == ECONNRESET)) {
			buf_reset(&ch->out); /* what it still said may be there to read: channel_input_receive() tells of the end */
			return 0;
		}
		if (n < 0)
			return err_set_errno(e, errno, "write to the profiler library");
		buf_consume(&ch->out, (size_t)n);
		ch->sent_ms = clock_mono_ms();
	}
	return 0;
}

static int transmit(struct profiler_channel *ch, struct err *e)
{
	pthread_mutex_lock(&ch->lock);
	int r = transmit_locked(ch, e);
	pthread_mutex_unlock(&ch->lock);
	return r;
}

/* Where something waits to go out, the library has more to read than it does: nothing need be added. */
void profiler_channel_keep(struct profiler_channel *ch)
{
	uint8_t frame[CHANNEL_HEADER_SIZE];
	struct wire_writer w;

	channel_begin(&w, frame, sizeof frame, CHANNEL_RENEW);
	size_t len = channel_end(&w);
	pthread_mutex_lock(&ch->lock);
	if (ch->lease_ms && ch->fd >= 0 && !ch->out.len && clock_mono_ms() - ch->sent_ms >= ch->lease_ms / KEEP_PARTS &&
	    send(ch->fd, frame, len, MSG_DONTWAIT | MSG_NOSIGNAL) > 0)
		ch->sent_ms = clock_mono_ms();
	pthread_mutex_unlock(&ch->lock);
}

bool profiler_channel_lapsed(struct profiler_channel *ch)
{
	for (int i = 0; i < LAST_READS && ch->fd >= 0 && !ch->eof && channel_input_receive(ch, NULL) > 0; i++)
		;
	return ch->lapsed;
}

/* Waits at most until the deadline for one turn of input. Returns 1 when something came, 0 at the deadline. */
static int pump(struct profiler_channel *ch, int64_t deadline_ms, struct err *e)
{
	if (ch->fd < 0 || ch->eof)
		return err_set(e, ERR_GONE, 0, "the profiler channel is not connected");
	for (;;) {
		if (transmit(ch, e) < 0)
			return -1;
		int r = channel_input_receive(ch, e);
		int64_t left = deadline_ms - clock_mono_ms();
		if (r != 0 || left <= 0)
			return r;
		if (ch->on_wait)
			ch->on_wait(ch->on_wait_ctx, left);
		struct pollfd p = {.fd = ch->fd, .events = (short)(POLLIN | (ch->out.len ? POLLOUT : 0))};
		if (poll(&p, 1, left < INT32_MAX ? (int)left : INT32_MAX) < 0 && errno != EINTR)
			return err_set_errno(e, errno, "wait for the profiler library");
	}
}

static int queue_frame(struct profiler_channel *ch, const uint8_t *frame, size_t len, struct err *e)
{
	pthread_mutex_lock(&ch->lock);
	bool fits = len > 0 && buf_append(&ch->out, frame, len) == 0;
	pthread_mutex_unlock(&ch->lock);
	if (!fits)
		return err_set(e, ERR_INTERNAL, 0, "the request does not fit the channel");
	return 0;
}

static int queue_request(struct profiler_channel *ch, uint16_t type, bool with_value, uint32_t value, struct err *e)
{
	uint8_t frame[CHANNEL_HEADER_SIZE + 4];
	struct wire_writer w;

	channel_begin(&w, frame, sizeof frame, type);
	if (with_value)
		wire_put_u32(&w, value);
	return queue_frame(ch, frame, channel_end(&w), e);
}

static int timed_out(const struct profiler_channel *ch, const char *what, struct err *e)
{
	return err_set(e, ERR_TIMEOUT, 0, "the profiler library did not %s in time%s%s", what, ch->last_error.kind ? "; it said: " : "",
		       ch->last_error.kind ? ch->last_error.message : "");
}

/* Requests -------------------------------------------------------------------------------------------------------------------- */

int profiler_channel_await_ready(struct profiler_channel *ch, int64_t deadline_ms, struct err *e)
{
	while (!ch->ready)
		if (profiler_channel_await(ch, "become ready", deadline_ms, e) < 0)
			return -1;
	return 0;
}

void profiler_channel_on_wait(struct profiler_channel *ch, channel_wait_fn *fn, void *ctx)
{
	ch->on_wait = fn;
	ch->on_wait_ctx = ctx;
}

void profiler_channel_on_code(struct profiler_channel *ch, channel_frame_fn *fn, void *ctx)
{
	ch->on_code = fn;
	ch->on_code_ctx = ctx;
}

void profiler_channel_on_frames(struct profiler_channel *ch, channel_frame_fn *fn, void *ctx)
{
	ch->on_frame = fn;
	ch->on_frame_ctx = ctx;
}

int profiler_channel_request(struct profiler_channel *ch, uint16_t type, const void *payload, size_t len, struct err *e)
{
	uint8_t frame[CHANNEL_HEADER_SIZE + MAX_EXTENSION_REQUEST];
	struct wire_writer w;

	channel_begin(&w, frame, sizeof frame, type);
	wire_put_bytes(&w, payload, len);
	return queue_frame(ch, frame, channel_end(&w), e);
}

int profiler_channel_await(struct profiler_channel *ch, const char *what, int64_t deadline_ms, struct err *e)
{
	int r = clock_mono_ms() < deadline_ms ? pump(ch, deadline_ms, e) : 0;

	return r < 0 ? -1 : r == 0 ? timed_out(ch, what, e) : 0;
}

static int queue_resolve(struct profiler_channel *ch, struct resolve_job *job, struct err *e)
{
	static const size_t cap = CHANNEL_HEADER_SIZE + 4 + CHANNEL_MAX_RESOLVE * sizeof(uint64_t);
	size_t n = job->count - job->sent < CHANNEL_MAX_RESOLVE ? job->count - job->sent : CHANNEL_MAX_RESOLVE;
	AUTO_FREE uint8_t *frame = mem_alloc(cap);
	struct wire_writer w;

	channel_begin(&w, frame, cap, CHANNEL_RESOLVE);
	wire_put_u32(&w, (uint32_t)n);
	for (size_t i = 0; i < n; i++)
		wire_put_u64(&w, job->ips[job->sent + i]);
	job->sent += n;
	return queue_frame(ch, frame, channel_end(&w), e);
}

static int run_job(struct profiler_channel *ch, struct resolve_job *job, int64_t deadline_ms, struct err *e)
{
	while (job->done < job->count) {
		while (job->sent < job->count && job->sent - job->done < IN_FLIGHT * CHANNEL_MAX_RESOLVE)
			if (queue_resolve(ch, job, e) < 0)
				return -1;
		if (profiler_channel_await(ch, "name the functions", deadline_ms, e) < 0)
			return -1;
	}
	return 0;
}

int profiler_channel_resolve(struct profiler_channel *ch, const uint64_t *ips, size_t count, const struct resolved_function **out,
			     int64_t deadline_ms, struct err *e)
{
	struct resolve_job job = {.ips = ips, .count = count, .out = out};

	for (size_t i = 0; i < count; i++)
		out[i] = NULL;
	ch->job = &job;
	int r = run_job(ch, &job, deadline_ms, e);
	ch->job = NULL;
	ch->stale += (job.sent - job.done + CHANNEL_MAX_RESOLVE - 1) / CHANNEL_MAX_RESOLVE;
	return r;
}

const struct resolved_function *profiler_channel_function(const struct profiler_channel *ch, uint64_t function_id)
{
	return function_cache_find(ch->functions, function_id);
}

bool profiler_channel_idle(const struct profiler_channel *ch)
{
	return ch->out.len == 0;
}

const struct err *profiler_channel_last_error(const struct profiler_channel *ch)
{
	return &ch->last_error;
}

static int sampling_request(struct profiler_channel *ch, uint16_t type, uint32_t hertz, int64_t deadline_ms, struct err *e)
{
	unsigned before = ch->sampling_answers;

	if (queue_request(ch, type, type == CHANNEL_SAMPLE_START, hertz, e) < 0)
		return -1;
	while (ch->sampling_answers == before)
		if (profiler_channel_await(ch, type == CHANNEL_SAMPLE_START ? "start sampling" : "stop sampling", deadline_ms, e) < 0)
			return -1;
	if (ch->sampling_error < 0 && e)
		*e = ch->last_error;
	return ch->sampling_error;
}

int profiler_channel_sample_start(struct profiler_channel *ch, int64_t frequency_hertz, int64_t deadline_ms, struct err *e)
{
	if (frequency_hertz < 1 || frequency_hertz > 1000)
		return err_set(e, ERR_INVALID, 0, "in-process sampling goes from 1 to 1000 Hz, not %lld", (long long)frequency_hertz);
	return sampling_request(ch, CHANNEL_SAMPLE_START, (uint32_t)frequency_hertz, deadline_ms, e);
}

int profiler_channel_sample_stop(struct profiler_channel *ch, int64_t deadline_ms, struct err *e)
{
	return sampling_request(ch, CHANNEL_SAMPLE_STOP, 0, deadline_ms, e);
}

int profiler_channel_poll(struct profiler_channel *ch, channel_sample_fn *on_sample, void *ctx, int64_t deadline_ms, struct err *e)
{
	int delivered = channel_samples_deliver(&ch->samples, on_sample, ctx);

	if (delivered > 0)
		return delivered;
	if (pump(ch, deadline_ms, e) < 0)
		return -1;
	return channel_samples_deliver(&ch->samples, on_sample, ctx);
}

int profiler_channel_collections(struct profiler_channel *ch, const struct channel_collection **out, size_t *count, int64_t deadline_ms,
				 struct err *e)
{
	unsigned before = ch->stats_answers;

	if (queue_request(ch, CHANNEL_STATS_REQUEST, false, 0, e) < 0)
		return -1;
	while (ch->stats_answers == before)
		if (profiler_channel_await(ch, "tell of collections", deadline_ms, e) < 0)
			return -1;
	*out = ch->collections.items;
	*count = ch->collections.count;
	return 0;
}

static void copy_stats(const struct profiler_channel *ch, struct channel_stats *stats)
{
	const struct channel_account *a = &ch->account;

	*stats = (struct channel_stats){
		.cpu_ns = a->cpu_ns,
		.dropped_samples = a->dropped + ch->samples.dropped,
		.resolved = a->resolved,
		.unresolved = a->unresolved,
		.pauses = a->pauses,
		.paused_ns = a->paused_ns,
		.max_pause_ns = a->max_pause_ns,
		.max_wait_ns = a->max_wait_ns,
		.memory_bytes = a->memory_bytes,
		.left = a->left,
		.collections = a->collections,
		.collections_ns = a->collections_ns,
	};
}

struct channel_sampling profiler_channel_sampling(const struct profiler_channel *ch)
{
	return ch->sampling;
}

bool profiler_channel_pause(const struct profiler_channel *ch, struct channel_pause *out)
{
	*out = ch->pause;
	return ch->pause.kind != 0;
}

int profiler_channel_detach(struct profiler_channel *ch, struct channel_stats *stats, int64_t deadline_ms, struct err *e)
{
	int rc = ch->detaching ? 0 : queue_request(ch, CHANNEL_DETACH, false, 0, e);
	while (rc >= 0 && !ch->detached)
		rc = profiler_channel_await(ch, ch->detaching ? "leave" : "agree to leave", deadline_ms, e);
	if (stats) /* also of one that left by itself, as far as it has told */
		copy_stats(ch, stats);
	return rc < 0 ? -1 : 0;
}
