#include "common/proto/channel_allocs.h"

void channel_put_allocs_state(struct wire_writer *w, const struct channel_allocs_state *v)
{
	wire_put_u32(w, v->event);
	wire_put_u32(w, v->running);
	wire_put_u64(w, v->taken);
	wire_put_u64(w, v->dropped);
	wire_put_u64(w, v->dropped_size);
	wire_put_u64(w, v->dropped_amount);
	wire_put_u64(w, v->malformed);
	wire_put_u64(w, v->covered_ns);
	wire_put_u64(w, v->sampled_ns);
}

bool channel_get_allocs_state(const struct channel_frame *f, struct channel_allocs_state *v)
{
	struct wire_reader r;

	wire_reader_init(&r, f->payload, f->len);
	v->event = wire_u32(&r);
	v->running = wire_u32(&r);
	v->taken = wire_u64(&r);
	v->dropped = wire_u64(&r);
	v->dropped_size = wire_u64(&r);
	v->dropped_amount = wire_u64(&r);
	v->malformed = wire_u64(&r);
	v->covered_ns = wire_u64(&r);
	v->sampled_ns = wire_u64(&r);
	return !r.bad && f->type == CHANNEL_ALLOCS_STATE;
}

void channel_put_alloc_type(struct wire_writer *w, const struct channel_alloc_type *v)
{
	wire_put_u64(w, v->type);
	channel_put_text(w, v->name);
}

bool channel_get_alloc_type(struct wire_reader *r, struct channel_alloc_type *v)
{
	v->type = wire_u64(r);
	v->name = channel_get_text(r);
	return !r->bad;
}

void channel_put_alloc_site(struct wire_writer *w, const struct channel_alloc_site *v)
{
	wire_put_u64(w, v->site);
	wire_put_u64(w, v->type);
	wire_put_u32(w, v->tid);
	wire_put_u16(w, v->flags);
	channel_put_ips(w, v->ips, v->depth);
}

bool channel_get_alloc_site(struct wire_reader *r, struct channel_alloc_site *v)
{
	v->site = wire_u64(r);
	v->type = wire_u64(r);
	v->tid = wire_u32(r);
	v->flags = wire_u16(r);
	v->depth = channel_get_ips(r, v->ips);
	return !r->bad;
}

void channel_put_alloc_round(struct wire_writer *w, const struct channel_alloc_round *v)
{
	wire_put_u64(w, (uint64_t)v->time_ns);
	wire_put_u64(w, v->covered_ns);
	wire_put_u64(w, v->sampled_ns);
}

bool channel_get_alloc_round(struct wire_reader *r, struct channel_alloc_round *v)
{
	v->time_ns = (int64_t)wire_u64(r);
	v->covered_ns = wire_u64(r);
	v->sampled_ns = wire_u64(r);
	return !r->bad && v->time_ns >= 0 && v->sampled_ns && v->sampled_ns <= v->covered_ns && v->covered_ns <= INT64_MAX;
}

void channel_put_alloc_count(struct wire_writer *w, const struct channel_alloc_count *v)
{
	wire_put_u64(w, v->site);
	wire_put_u64(w, v->samples);
	wire_put_u64(w, v->size);
	wire_put_u64(w, v->amount);
}

bool channel_get_alloc_count(struct wire_reader *r, struct channel_alloc_count *v)
{
	v->site = wire_u64(r);
	v->samples = wire_u64(r);
	v->size = wire_u64(r);
	v->amount = wire_u64(r);
	return !r->bad && v->samples && v->samples <= UINT32_MAX && v->size <= INT64_MAX && v->amount <= INT64_MAX;
}
