#include "common/proto/channel_exceptions.h"

void channel_put_exceptions_state(struct wire_writer *w, const struct channel_exceptions_state *v)
{
	wire_put_u32(w, v->wanted);
	wire_put_u32(w, v->running);
	wire_put_u64(w, v->taken);
	wire_put_u64(w, v->dropped);
	wire_put_u64(w, v->malformed);
	wire_put_u64(w, v->shapeless);
	wire_put_u64(w, v->covered_ns);
	wire_put_u64(w, v->sampled_ns);
	wire_put_u64(w, v->cpu_ns);
	wire_put_u64(w, v->timed);
	wire_put_u64(w, v->timed_ns);
	wire_put_u64(w, v->again);
}

bool channel_get_exceptions_state(const struct channel_frame *f, struct channel_exceptions_state *v)
{
	struct wire_reader r;

	wire_reader_init(&r, f->payload, f->len);
	v->wanted = wire_u32(&r);
	v->running = wire_u32(&r);
	v->taken = wire_u64(&r);
	v->dropped = wire_u64(&r);
	v->malformed = wire_u64(&r);
	v->shapeless = wire_u64(&r);
	v->covered_ns = wire_u64(&r);
	v->sampled_ns = wire_u64(&r);
	v->cpu_ns = wire_u64(&r);
	v->timed = wire_u64(&r);
	v->timed_ns = wire_u64(&r);
	v->again = wire_u64(&r);
	return !r.bad && f->type == CHANNEL_EXCEPTIONS_STATE && v->covered_ns <= INT64_MAX && v->sampled_ns <= v->covered_ns && v->cpu_ns <= INT64_MAX &&
	       v->timed_ns <= INT64_MAX;
}

void channel_put_exception_kind(struct wire_writer *w, const struct channel_exception_kind *v)
{
	wire_put_u64(w, v->kind);
	wire_put_u32(w, v->hresult);
	channel_put_text(w, v->type);
	channel_put_text(w, v->shape);
	channel_put_text(w, v->message);
}

bool channel_get_exception_kind(struct wire_reader *r, struct channel_exception_kind *v)
{
	v->kind = wire_u64(r);
	v->hresult = wire_u32(r);
	v->type = channel_get_text(r);
	v->shape = channel_get_text(r);
	v->message = channel_get_text(r);
	return !r->bad;
}
