#include "common/proto/channel_stops.h"

void channel_put_stops_state(struct wire_writer *w, const struct channel_stops_state *v)
{
	wire_put_u64(w, v->seen);
	wire_put_u64(w, v->dropped);
	wire_put_u64(w, v->time_ns);
	wire_put_u32(w, v->flags);
}

bool channel_get_stops_state(const struct channel_frame *f, struct channel_stops_state *v)
{
	struct wire_reader r;

	wire_reader_init(&r, f->payload, f->len);
	v->seen = wire_u64(&r);
	v->dropped = wire_u64(&r);
	v->time_ns = wire_u64(&r);
	v->flags = wire_u32(&r);
	return !r.bad && f->type == CHANNEL_STOPS_STATE;
}

static void put_collection(struct wire_writer *w, const struct channel_stop_collection *c)
{
	wire_put_u64(w, c->start_ns);
	wire_put_u64(w, c->end_ns);
	wire_put_u8(w, c->generation);
	wire_put_u8(w, c->flags);
	wire_put_u8(w, c->reason);
	wire_put_u8(w, c->type);
}

static size_t kept(const struct channel_stop *v)
{
	return v->collection_count < CHANNEL_STOP_COLLECTIONS ? v->collection_count : CHANNEL_STOP_COLLECTIONS;
}

void channel_put_stop(struct wire_writer *w, const struct channel_stop *v)
{
	wire_put_u64(w, v->number);
	wire_put_u64(w, v->start_ns);
	wire_put_u64(w, v->stopped_ns);
	wire_put_u64(w, v->resume_ns);
	wire_put_u64(w, v->end_ns);
	wire_put_u32(w, v->tid);
	wire_put_u16(w, v->reason);
	wire_put_u16(w, v->flags);
	wire_put_u32(w, v->threads);
	wire_put_u32(w, v->last_tid);
	wire_put_u64(w, v->last_ns);
	wire_put_u32(w, v->next_tid);
	wire_put_u64(w, v->next_ns);
	wire_put_u16(w, v->collection_count);
	for (size_t i = 0; i < kept(v); i++)
		put_collection(w, &v->collections[i]);
}

static bool get_collection(struct wire_reader *r, struct channel_stop_collection *c)
{
	c->start_ns = wire_u64(r);
	c->end_ns = wire_u64(r);
	c->generation = wire_u8(r);
	c->flags = wire_u8(r);
	c->reason = wire_u8(r);
	c->type = wire_u8(r);
	return c->start_ns <= INT64_MAX && (c->end_ns == 0 || (c->start_ns <= c->end_ns && c->end_ns <= INT64_MAX)) && c->generation <= 2;
}

static bool times_rise(const struct channel_stop *v)
{
	uint64_t before = v->start_ns;

	if (v->stopped_ns && v->stopped_ns < before)
		return false;
	before = v->stopped_ns ? v->stopped_ns : before;
	if (v->resume_ns && v->resume_ns < before)
		return false;
	before = v->resume_ns ? v->resume_ns : before;
	return before <= v->end_ns && v->end_ns <= INT64_MAX;
}

bool channel_get_stop(struct wire_reader *r, struct channel_stop *v)
{
	v->number = wire_u64(r);
	v->start_ns = wire_u64(r);
	v->stopped_ns = wire_u64(r);
	v->resume_ns = wire_u64(r);
	v->end_ns = wire_u64(r);
	v->tid = wire_u32(r);
	v->reason = wire_u16(r);
	v->flags = wire_u16(r);
	v->threads = wire_u32(r);
	v->last_tid = wire_u32(r);
	v->last_ns = wire_u64(r);
	v->next_tid = wire_u32(r);
	v->next_ns = wire_u64(r);
	v->collection_count = wire_u16(r);
	if (!times_rise(v) || v->last_ns > INT64_MAX || v->next_ns > INT64_MAX)
		r->bad = true;
	for (size_t i = 0; !r->bad && i < kept(v); i++)
		if (!get_collection(r, &v->collections[i]))
			r->bad = true;
	return !r->bad;
}

void channel_put_stop_stack(struct wire_writer *w, const struct channel_stop_stack *v)
{
	wire_put_u64(w, v->number);
	wire_put_u64(w, v->time_ns);
	wire_put_u32(w, v->tid);
	wire_put_u16(w, v->kind | (v->incomplete ? CHANNEL_STACK_INCOMPLETE : 0));
	channel_put_ips(w, v->ips, v->depth);
}

bool channel_get_stop_stack(struct wire_reader *r, struct channel_stop_stack *v)
{
	v->number = wire_u64(r);
	v->time_ns = wire_u64(r);
	v->tid = wire_u32(r);
	v->kind = wire_u16(r);
	v->incomplete = v->kind & CHANNEL_STACK_INCOMPLETE;
	v->kind &= (uint16_t)~CHANNEL_STACK_INCOMPLETE;
	v->depth = channel_get_ips(r, v->ips);
	return !r->bad && v->time_ns <= INT64_MAX;
}
