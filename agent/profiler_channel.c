#include "agent/profiler_channel.h"

#include "agent/channel_accept.h"
#include "agent/channel_collections.h"
#include "agent/channel_samples.h"
#include "agent/function_cache.h"
#include "common/base/buf.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/mem.h"
#include "common/base/text.h"
#include "common/proto/channel.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>

#define OUT_MAX (4 * CHANNEL_MAX_FRAME)
#define IN_CAP (2 * CHANNEL_MAX_FRAME)
#define MAX_COMPLAINT 128
#define IN_FLIGHT 3            /* RESOLVE requests that were sent and not answered: the library never waits for us */
/* More than a library can have to say in a second, also with a thousand samples a second from each of many CPUs. */
#define FLOW_MAX_BYTES (256u << 20)
#define FLOW_MAX_FRAMES 400000

_Static_assert(CHANNEL_NONCE_SIZE == CHANNEL_NONCE_BYTES, "one nonce");

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

	uint8_t *in;
	size_t in_len;
	struct flow flow;
	struct buf out;
	struct channel_samples samples;
	struct channel_collections collections;
	unsigned stats_answers;

	uint32_t pause_budget_us;
	struct channel_pause pause; /* kind 0: none */

	bool ready, detaching, detached, eof;
	unsigned sampling_answers; /* SAMPLING or ERROR that have come for a start or stop */
	int sampling_error;
	struct err last_error;     /* what the library complained about last */
	struct channel_account account;
};

struct profiler_channel *profiler_channel_listen(int dirfd, const char *name, struct err *e)
{
	struct profiler_channel *ch = mem_alloc(sizeof *ch);

	ch->fd = -1;
	ch->notification_only = true;
	ch->listen_fd = channel_accept_listen(dirfd, name, e);
	ch->functions = function_cache_new();
	ch->in = mem_alloc(IN_CAP);
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

ssize_t profiler_channel_client_data(const struct profiler_channel *ch, const char *inner_path, uint8_t *out, size_t cap, struct err *e)
{
	struct wire_writer w;
	struct channel_client_data d = {
		.version = CHANNEL_VERSION,
		.flags = ch->notification_only ? CHANNEL_NOTIFICATION_ONLY : 0,
		.path = {inner_path, strlen(inner_path)},
		.pause_budget_us = ch->pause_budget_us,
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

/* What arrives -------------------------------------------------------------------------------------------------------------- */
static int on_resolved(struct profiler_channel *ch, const struct channel_frame *f, struct err *e)
{
	struct resolve_job *job = ch->job;
	struct wire_reader r;
	uint32_t count;

	if (!channel_get_resolved(f, &r, &count))
		return err_set(e, ERR_PROTOCOL, 0, "the library sent a malformed answer to a resolve request");
	if (ch->stale) {
		ch->stale--;
		return 0;
	}
	size_t expected = job ? job->count - job->done : 0;
	if (expected > CHANNEL_MAX_RESOLVE)
		expected = CHANNEL_MAX_RESOLVE;
	if (!job || count != expected || job->done + count > job->sent)
		return err_set(e, ERR_PROTOCOL, 0, "the library answered %u instruction pointers where %zu were asked", count, expected);
	for (uint32_t i = 0; i < count; i++) {
		uint64_t id = wire_u64(&r);
		wire_u32(&r);
		job->out[job->done++] = id ? function_cache_find(ch->functions, id) : NULL;
	}
	return 0;
}

static int on_function(struct profiler_channel *ch, const struct channel_frame *f, struct err *e)
{
	struct channel_function function;

	if (!channel_get_function(f, &function))
		return err_set(e, ERR_PROTOCOL, 0, "the library sent a malformed function");
	function_cache_add(ch->functions, &function);
	return 0;
}

/* The first counts: the library leaves after it. */
static int on_pause(struct profiler_channel *ch, const struct channel_frame *f, struct err *e)
{
	struct channel_pause p;

	if (!channel_get_pause(f, &p) || p.kind == 0)
		return err_set(e, ERR_PROTOCOL, 0, "the library sent a malformed pause");
	if (ch->pause.kind == 0)
		ch->pause = p;
	return 0;
}

static int on_account(struct profiler_channel *ch, const struct channel_frame *f, struct err *e)
{
	if (!channel_get_account(f, &ch->account))
		return err_set(e, ERR_PROTOCOL, 0, "the library sent malformed statistics");
	if (f->type == CHANNEL_DETACHING)
		ch->detaching = true;
	else
		ch->stats_answers++;
	return 0;
}

/* What the library complains about goes into a status and a log: cut, and shown as text. */
static void keep_complaint(struct profiler_channel *ch, enum err_kind kind, const struct channel_error *error)
{
	size_t len = error->message.len < MAX_COMPLAINT ? error->message.len : MAX_COMPLAINT;
	struct buf text;

	buf_init(&text, 8 * MAX_COMPLAINT);
	if (len)
		text_append_printable(&text, error->message.data, len);
	err_set(&ch->last_error, kind, (int)error->code, "the profiler library: %s (0x%x)", text.len ? text.data : "no reason given",
		error->code);
	buf_fini(&text);
}

static int on_error(struct profiler_channel *ch, const struct channel_frame *f, struct err *e)
{
	struct channel_error error;

	if (!channel_get_error(f, &error))
		return err_set(e, ERR_PROTOCOL, 0, "the library sent a malformed error");
	bool sampling = error.request == CHANNEL_SAMPLE_START || error.request == CHANNEL_SAMPLE_STOP;
	enum err_kind kind = error.request == CHANNEL_SAMPLE_START && error.code == EBUSY ? ERR_CONFLICT : ERR_INTERNAL;
	keep_complaint(ch, kind, &error);
	if (sampling) {
		ch->sampling_answers++;
		ch->sampling_error = -1;
	}
	return 0;
}

static int on_sampling(struct profiler_channel *ch, const struct channel_frame *f, struct err *e)
{
	struct channel_sampling s;

	if (!channel_get_sampling(f, &s))
		return err_set(e, ERR_PROTOCOL, 0, "the library sent a malformed answer about sampling");
	ch->account.taken = s.taken;
	ch->account.dropped = s.dropped;
	ch->sampling_answers++;
	ch->sampling_error = 0;
	return 0;
}

static int on_frame(struct profiler_channel *ch, const struct channel_frame *f, struct err *e)
{
	switch (f->type) {
	case CHANNEL_READY:
		ch->ready = true;
		return 0;
	case CHANNEL_FUNCTION:
		return on_function(ch, f, e);
	case CHANNEL_RESOLVED:
		return on_resolved(ch, f, e);
	case CHANNEL_SAMPLING:
		return on_sampling(ch, f, e);
	case CHANNEL_SAMPLES:
		return channel_samples_add(&ch->samples, f, e);
	case CHANNEL_STATS:
	case CHANNEL_DETACHING:
		return on_account(ch, f, e);
	case CHANNEL_COLLECTIONS:
		return channel_collections_add(&ch->collections, f, e);
	case CHANNEL_PAUSE:
		return on_pause(ch, f, e);
	case CHANNEL_DETACHED:
		ch->detached = true;
		return 0;
	case CHANNEL_ERROR:
		return on_error(ch, f, e);
	default:
		return 0; /* of a later version */
	}
}

static int handle_input(struct profiler_channel *ch, struct err *e)
{
	size_t at = 0, used;
	struct channel_frame f;
	enum channel_next next;

	while ((next = channel_next(ch->in + at, ch->in_len - at, &f, &used)) == CHANNEL_FRAME) {
		if (on_frame(ch, &f, e) < 0)
			return -1;
		ch->flow.frames++;
		at += used;
	}
	if (next == CHANNEL_BAD)
		return err_set(e, ERR_PROTOCOL, 0, "the library sent what is no frame of the channel");
	memmove(ch->in, ch->in + at, ch->in_len - at);
	ch->in_len -= at;
	return 0;
}

/* The socket ------------------------------------------------------------------------------------------------------------------ */
static int gone(struct profiler_channel *ch, struct err *e)
{
	ch->eof = true;
	return err_set(e, ERR_GONE, 0, "the profiler library closed its channel");
}

/* Frames that mean nothing cost us time too: who sends without end is not our library. */
static int check_flow(struct profiler_channel *ch, size_t bytes, struct err *e)
{
	int64_t now_ms = clock_mono_ms();

	if (now_ms - ch->flow.since_ms >= 1000)
		ch->flow = (struct flow){.since_ms = now_ms};
	ch->flow.bytes += bytes;
	if (ch->flow.bytes <= FLOW_MAX_BYTES && ch->flow.frames <= FLOW_MAX_FRAMES)
		return 0;
	return err_set(e, ERR_PROTOCOL, 0, "the library floods its channel");
}

/* 1: something came; 0: nothing there; -1: over. */
static int receive(struct profiler_channel *ch, struct err *e)
{
	ssize_t n = recv(ch->fd, ch->in + ch->in_len, IN_CAP - ch->in_len, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n < 0 && errno != ECONNRESET)
		return err_set_errno(e, errno, "read from the profiler library");
	if (n <= 0)
		return gone(ch, e);
	ch->in_len += (size_t)n;
	return handle_input(ch, e) < 0 || check_flow(ch, (size_t)n, e) < 0 ? -1 : 1;
}

static int transmit(struct profiler_channel *ch, struct err *e)
{
	while (ch->out.len) {
		ssize_t n = send(ch->fd, ch->out.data, ch->out.len, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return 0;
		if (n < 0 && (errno == EPIPE || errno == ECONNRESET)) {
			buf_reset(&ch->out); /* what it still said may be there to read: receive() tells of the end */
			return 0;
		}
		if (n < 0)
			return err_set_errno(e, errno, "write to the profiler library");
		buf_consume(&ch->out, (size_t)n);
	}
	return 0;
}

/* Waits at most until the deadline for one turn of input. Returns 1 when something came, 0 at the deadline. */
static int pump(struct profiler_channel *ch, int64_t deadline_ms, struct err *e)
{
	if (ch->fd < 0 || ch->eof)
		return err_set(e, ERR_GONE, 0, "the profiler channel is not connected");
	for (;;) {
		if (transmit(ch, e) < 0)
			return -1;
		int r = receive(ch, e);
		int64_t left = deadline_ms - clock_mono_ms();
		if (r != 0 || left <= 0)
			return r;
		struct pollfd p = {.fd = ch->fd, .events = (short)(POLLIN | (ch->out.len ? POLLOUT : 0))};
		if (poll(&p, 1, left < INT32_MAX ? (int)left : INT32_MAX) < 0 && errno != EINTR)
			return err_set_errno(e, errno, "wait for the profiler library");
	}
}

static int queue_frame(struct profiler_channel *ch, const uint8_t *frame, size_t len, struct err *e)
{
	if (len == 0 || buf_append(&ch->out, frame, len) < 0)
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

/* One turn of input for a request that waits for its answer. At the deadline it ends, whatever else keeps coming. */
static int await(struct profiler_channel *ch, const char *what, int64_t deadline_ms, struct err *e)
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
		if (await(ch, "name the functions", deadline_ms, e) < 0)
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

static int sampling_request(struct profiler_channel *ch, uint16_t type, uint32_t hertz, int64_t deadline_ms, struct err *e)
{
	unsigned before = ch->sampling_answers;

	if (queue_request(ch, type, type == CHANNEL_SAMPLE_START, hertz, e) < 0)
		return -1;
	while (ch->sampling_answers == before)
		if (await(ch, type == CHANNEL_SAMPLE_START ? "start sampling" : "stop sampling", deadline_ms, e) < 0)
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
		if (await(ch, "tell of collections", deadline_ms, e) < 0)
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
		.memory_bytes = a->memory_bytes,
	};
}

bool profiler_channel_pause(const struct profiler_channel *ch, struct channel_pause *out)
{
	*out = ch->pause;
	return ch->pause.kind != 0;
}

int profiler_channel_detach(struct profiler_channel *ch, struct channel_stats *stats, int64_t deadline_ms, struct err *e)
{
	if (!ch->detaching && queue_request(ch, CHANNEL_DETACH, false, 0, e) < 0)
		return -1;
	while (!ch->detached)
		if (await(ch, ch->detaching ? "leave" : "agree to leave", deadline_ms, e) < 0)
			return -1;
	if (stats)
		copy_stats(ch, stats);
	return 0;
}
