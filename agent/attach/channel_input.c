#include "agent/attach/profiler_channel_private.h"

#include "common/base/clock.h"
#include "common/base/text.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#define MAX_COMPLAINT 128
/* More than a library can have to say in a second, also with a thousand samples a second from each of many CPUs. */
#define FLOW_MAX_BYTES (256u << 20)
#define FLOW_MAX_FRAMES 400000

static int handle_resolved(struct profiler_channel *ch, const struct channel_frame *f, struct err *e)
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

static int on_lapsed(struct profiler_channel *ch, const struct channel_frame *f, struct err *e)
{
	uint32_t lease_ms;

	if (!channel_get_lapsed(f, &lease_ms))
		return err_set(e, ERR_PROTOCOL, 0, "the library sent a malformed end of its lease");
	ch->lapsed = true;
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

static int on_detached(struct profiler_channel *ch, const struct channel_frame *f)
{
	struct wire_reader r;

	wire_reader_init(&r, f->payload, f->len);
	uint32_t left = wire_u32(&r);
	if (!r.bad)
		ch->account.left = left;
	ch->detached = true;
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

static int on_extension(struct profiler_channel *ch, const struct channel_frame *f, struct err *e)
{
	if (ch->on_code && ch->on_code(ch->on_code_ctx, f, e) < 0)
		return -1;
	return ch->on_frame ? ch->on_frame(ch->on_frame_ctx, f, e) : 0;
}

static int handle_error(struct profiler_channel *ch, const struct channel_frame *f, struct err *e)
{
	struct channel_error error;

	if (!channel_get_error(f, &error))
		return err_set(e, ERR_PROTOCOL, 0, "the library sent a malformed error");
	bool sampling = error.request == CHANNEL_SAMPLE_START || error.request == CHANNEL_SAMPLE_STOP;
	enum err_kind kind = error.request == CHANNEL_SAMPLE_START && error.code == EBUSY ? ERR_CONFLICT : ERR_INTERNAL;
	keep_complaint(ch, kind, &error);
	if (error.request == CHANNEL_IL_ASK)
		channel_il_refused(&ch->il);
	if (channel_is_extension(error.request))
		return on_extension(ch, f, e);
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
	ch->sampling = s;
	ch->sampling_answers++;
	ch->sampling_error = 0;
	return 0;
}

static int handle_frame(struct profiler_channel *ch, const struct channel_frame *f, struct err *e)
{
	if (channel_is_extension(f->type))
		return on_extension(ch, f, e);
	switch (f->type) {
	case CHANNEL_READY:
		ch->ready = true;
		return 0;
	case CHANNEL_FUNCTION:
		return on_function(ch, f, e);
	case CHANNEL_RESOLVED:
		return handle_resolved(ch, f, e);
	case CHANNEL_IL_OFFSETS:
		return channel_il_take(&ch->il, f, e);
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
	case CHANNEL_LAPSED:
		return on_lapsed(ch, f, e);
	case CHANNEL_DETACHED:
		return on_detached(ch, f);
	case CHANNEL_ERROR:
		return handle_error(ch, f, e);
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
		if (handle_frame(ch, &f, e) < 0)
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

static int channel_closed(struct profiler_channel *ch, struct err *e)
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

int channel_input_receive(struct profiler_channel *ch, struct err *e)
{
	ssize_t n = recv(ch->fd, ch->in + ch->in_len, CHANNEL_IN_CAP - ch->in_len, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n < 0 && errno != ECONNRESET)
		return err_set_errno(e, errno, "read from the profiler library");
	if (n <= 0)
		return channel_closed(ch, e);
	ch->in_len += (size_t)n;
	return handle_input(ch, e) < 0 || check_flow(ch, (size_t)n, e) < 0 ? -1 : 1;
}
