#include "common/proto/channel_requests.h"

#include <string.h>

#define STREAMS_MOST 6
#define STALL_BYTES_MOST (UINT64_C(1) << 56) /* more have gone through no connection */

void channel_put_requests_state(struct wire_writer *w, const struct channel_requests_state *v)
{
	wire_put_u32(w, v->running);
	wire_put_u64(w, v->started);
	wire_put_u64(w, v->ended);
	wire_put_u64(w, v->untracked);
	wire_put_u64(w, v->older);
	wire_put_u64(w, v->dropped);
	wire_put_u64(w, v->malformed);
	wire_put_u64(w, v->open_unfollowed);
}

bool channel_get_requests_state(const struct channel_frame *f, struct channel_requests_state *v)
{
	struct wire_reader r;

	wire_reader_init(&r, f->payload, f->len);
	v->running = wire_u32(&r);
	v->started = wire_u64(&r);
	v->ended = wire_u64(&r);
	v->untracked = wire_u64(&r);
	v->older = wire_u64(&r);
	v->dropped = wire_u64(&r);
	v->malformed = wire_u64(&r);
	v->open_unfollowed = wire_u64(&r);
	return !r.bad && f->type == CHANNEL_REQUESTS_STATE;
}

static bool is_time(uint64_t from_ns, uint64_t to_ns)
{
	return from_ns <= to_ns && to_ns <= INT64_MAX;
}

void channel_put_request_shape(struct wire_writer *w, const struct channel_request_shape *v)
{
	wire_put_u32(w, v->number);
	channel_put_text(w, v->text);
}

bool channel_get_request_shape(struct wire_reader *r, struct channel_request_shape *v)
{
	v->number = wire_u32(r);
	v->text = channel_get_text(r);
	return !r->bad && v->number < CHANNEL_REQUESTS_SHAPES_MOST && v->text.data;
}

void channel_put_request_done(struct wire_writer *w, const struct channel_request_done *v)
{
	wire_put_u64(w, v->start_ns);
	wire_put_u64(w, v->end_ns);
	wire_put_u32(w, v->number);
	wire_put_u32(w, v->shape);
	wire_put_u32(w, v->start_tid);
	wire_put_u32(w, v->end_tid);
	wire_put_u16(w, v->status);
	wire_put_u8(w, v->stream);
	wire_put_u8(w, v->told);
}

bool channel_get_request_done(struct wire_reader *r, struct channel_request_done *v)
{
	v->start_ns = wire_u64(r);
	v->end_ns = wire_u64(r);
	v->number = wire_u32(r);
	v->shape = wire_u32(r);
	v->start_tid = wire_u32(r);
	v->end_tid = wire_u32(r);
	v->status = wire_u16(r);
	v->stream = wire_u8(r);
	v->told = wire_u8(r) & 1;
	return !r->bad && is_time(v->start_ns, v->end_ns) && v->shape < CHANNEL_REQUESTS_SHAPES_MOST && v->stream <= STREAMS_MOST;
}

void channel_put_request_open(struct wire_writer *w, const struct channel_request_open *v)
{
	wire_put_u32(w, v->shape);
	wire_put_u32(w, v->count);
	wire_put_u32(w, v->oldest);
	wire_put_u64(w, v->start_ns);
	wire_put_u32(w, v->streams);
	wire_put_u32(w, v->stream);
}

bool channel_get_request_open(struct wire_reader *r, struct channel_request_open *v)
{
	v->shape = wire_u32(r);
	v->count = wire_u32(r);
	v->oldest = wire_u32(r);
	v->start_ns = wire_u64(r);
	v->streams = wire_u32(r);
	v->stream = wire_u32(r);
	return !r->bad && v->shape < CHANNEL_REQUESTS_SHAPES_MOST && v->start_ns <= INT64_MAX && v->stream <= STREAMS_MOST;
}

void channel_put_request_switch(struct wire_writer *w, const struct channel_request_switch *v)
{
	wire_put_u64(w, v->time_ns);
	wire_put_u32(w, v->tid);
	wire_put_u32(w, v->number);
}

bool channel_get_request_switch(struct wire_reader *r, struct channel_request_switch *v)
{
	v->time_ns = wire_u64(r);
	v->tid = wire_u32(r);
	v->number = wire_u32(r);
	return !r->bad && v->time_ns <= INT64_MAX;
}

void channel_put_request_call(struct wire_writer *w, const struct channel_request_call *v)
{
	wire_put_u64(w, v->start_ns);
	wire_put_u64(w, v->end_ns);
	wire_put_u32(w, v->number);
	wire_put_u32(w, v->shape);
	wire_put_u16(w, v->failed);
	wire_put_u16(w, 0);
}

bool channel_get_request_call(struct wire_reader *r, struct channel_request_call *v)
{
	v->start_ns = wire_u64(r);
	v->end_ns = wire_u64(r);
	v->number = wire_u32(r);
	v->shape = wire_u32(r);
	v->failed = wire_u16(r);
	wire_u16(r);
	return !r->bad && is_time(v->start_ns, v->end_ns) && v->shape < CHANNEL_REQUESTS_SHAPES_MOST;
}

void channel_put_request_window(struct wire_writer *w, const struct channel_request_window *v)
{
	wire_put_u64(w, v->start_ns);
	wire_put_u64(w, v->end_ns);
}

bool channel_get_request_window(struct wire_reader *r, struct channel_request_window *v)
{
	v->start_ns = wire_u64(r);
	v->end_ns = wire_u64(r);
	return !r->bad && is_time(v->start_ns, v->end_ns);
}

void channel_put_request_round(struct wire_writer *w, const struct channel_request_round *v)
{
	wire_put_u64(w, v->rest_ns);
	wire_put_u64(w, v->rest_cpu_ns);
	wire_put_u64(w, v->start_ns);
	wire_put_u64(w, v->end_ns);
	wire_put_u64(w, v->own_cpu_ns);
	wire_put_u64(w, v->rest_requests);
}

bool channel_get_request_round(struct wire_reader *r, struct channel_request_round *v)
{
	v->rest_ns = wire_u64(r);
	v->rest_cpu_ns = wire_u64(r);
	v->start_ns = wire_u64(r);
	v->end_ns = wire_u64(r);
	v->own_cpu_ns = wire_u64(r);
	v->rest_requests = wire_u64(r);
	return !r->bad && is_time(v->start_ns, v->end_ns) && v->rest_ns <= INT64_MAX && v->rest_cpu_ns <= INT64_MAX && v->own_cpu_ns <= INT64_MAX;
}

void channel_put_request_template(struct wire_writer *w, const struct channel_request_template *v)
{
	wire_put_u32(w, v->shape);
	wire_put_u32(w, v->template);
}

bool channel_get_request_template(struct wire_reader *r, struct channel_request_template *v)
{
	v->shape = wire_u32(r);
	v->template = wire_u32(r);
	return !r->bad && v->shape && v->shape < CHANNEL_REQUESTS_SHAPES_MOST && v->template < CHANNEL_REQUESTS_SHAPES_MOST;
}

void channel_put_requests_unanswered(struct wire_writer *w, const struct channel_requests_unanswered *v)
{
	wire_put_u32(w, v->connections);
	wire_put_u64(w, v->oldest_ns);
}

bool channel_get_requests_unanswered(const struct channel_frame *f, struct channel_requests_unanswered *v)
{
	struct wire_reader r;

	wire_reader_init(&r, f->payload, f->len);
	v->connections = wire_u32(&r);
	v->oldest_ns = wire_u64(&r);
	return !r.bad && v->oldest_ns <= INT64_MAX;
}

void channel_put_request_answer(struct wire_writer *w, const struct channel_request_answer *v)
{
	wire_put_u64(w, v->start_ns);
	wire_put_u64(w, v->end_ns);
	wire_put_u32(w, v->number);
	wire_put_u32(w, v->client);
	wire_put_u16(w, v->port);
	wire_put_u16(w, 0);
}

bool channel_get_request_answer(struct wire_reader *r, struct channel_request_answer *v)
{
	v->start_ns = wire_u64(r);
	v->end_ns = wire_u64(r);
	v->number = wire_u32(r);
	v->client = wire_u32(r);
	v->port = wire_u16(r);
	wire_u16(r);
	return !r->bad && is_time(v->start_ns, v->end_ns);
}

void channel_put_request_stall(struct wire_writer *w, const struct channel_request_stall *v)
{
	wire_put_u16(w, v->port);
	wire_put_u16(w, 0);
	wire_put_u64(w, v->acked_bytes);
	wire_put_u64(w, v->window_us);
}

bool channel_get_request_stall(struct wire_reader *r, struct channel_request_stall *v)
{
	v->port = wire_u16(r);
	wire_u16(r);
	v->acked_bytes = wire_u64(r);
	v->window_us = wire_u64(r);
	return !r->bad && v->acked_bytes <= STALL_BYTES_MOST;
}

void channel_put_request_peer(struct wire_writer *w, const struct channel_request_peer *v)
{
	wire_put_bytes(w, v->address, sizeof v->address);
	wire_put_u16(w, v->port);
	wire_put_u16(w, v->flags);
	wire_put_u32(w, v->sent_ms);
	wire_put_u32(w, v->received_ms);
	wire_put_u64(w, v->asked);
}

bool channel_get_request_peer(struct wire_reader *r, struct channel_request_peer *v)
{
	const uint8_t *address = wire_bytes(r, sizeof v->address);

	if (address)
		memcpy(v->address, address, sizeof v->address);
	v->port = wire_u16(r);
	v->flags = wire_u16(r);
	v->sent_ms = wire_u32(r);
	v->received_ms = wire_u32(r);
	v->asked = wire_u64(r);
	return !r->bad && v->asked <= INT64_MAX;
}
