#include "common/proto/heap_frames.h"

#include <string.h>

void heap_put_walk_request(struct wire_writer *w, const struct heap_walk_request *v)
{
	wire_put_u32(w, v->flags);
	wire_put_u64(w, v->budget_us);
	wire_put_bytes(w, v->seed, sizeof v->seed);
}

bool heap_get_walk_request(const struct channel_frame *f, struct heap_walk_request *v)
{
	struct wire_reader r;

	wire_reader_init(&r, f->payload, f->len);
	*v = (struct heap_walk_request){.flags = wire_u32(&r), .budget_us = wire_u64(&r)};
	const uint8_t *seed = wire_bytes(&r, sizeof v->seed);
	if (seed)
		memcpy(v->seed, seed, sizeof v->seed);
	return !r.bad;
}

void heap_put_predict_request(struct wire_writer *w, const struct heap_predict_request *v)
{
	wire_put_u64(w, v->budget_us);
	wire_put_u64(w, v->look_us);
}

bool heap_get_predict_request(const struct channel_frame *f, struct heap_predict_request *v)
{
	struct wire_reader r;

	wire_reader_init(&r, f->payload, f->len);
	*v = (struct heap_predict_request){.budget_us = wire_u64(&r), .look_us = wire_u64(&r)};
	return !r.bad;
}

void heap_put_prediction(struct wire_writer *w, const struct heap_prediction *v)
{
	wire_put_u32(w, v->flags);
	wire_put_u64(w, v->probe_us);
	wire_put_u64(w, v->walk_us);
	wire_put_u64(w, v->collection_us);
	wire_put_u64(w, v->heap_bytes);
	wire_put_u64(w, v->types_us);
	wire_put_u64(w, v->objects);
	wire_put_u64(w, v->look_us);
	wire_put_u64(w, v->look_cpu_us);
	wire_put_u64(w, v->stacks_us);
}

bool heap_get_prediction(const struct channel_frame *f, struct heap_prediction *v)
{
	struct wire_reader r;

	wire_reader_init(&r, f->payload, f->len);
	v->flags = wire_u32(&r);
	v->probe_us = wire_u64(&r);
	v->walk_us = wire_u64(&r);
	v->collection_us = wire_u64(&r);
	v->heap_bytes = wire_u64(&r);
	v->types_us = wire_u64(&r);
	v->objects = wire_u64(&r);
	v->look_us = wire_u64(&r);
	v->look_cpu_us = wire_u64(&r);
	v->stacks_us = wire_u64(&r);
	return !r.bad;
}

void heap_put_walked(struct wire_writer *w, const struct heap_walked *v)
{
	wire_put_u32(w, v->status);
	wire_put_u32(w, v->code);
	wire_put_u64(w, v->collection_us);
	wire_put_u64(w, v->walk_us);
	wire_put_u64(w, v->walk_cpu_us);
	wire_put_u64(w, v->stacks_us);
	wire_put_u64(w, v->felt_us);
	wire_put_u8(w, (uint8_t)v->gap_count);
	for (uint32_t i = 0; i < v->gap_count; i++) {
		wire_put_u8(w, v->gaps[i].kind);
		wire_put_u64(w, v->gaps[i].due);
		wire_put_u64(w, v->gaps[i].seen);
	}
}

bool heap_get_walked(const struct channel_frame *f, struct heap_walked *v)
{
	struct wire_reader r;

	wire_reader_init(&r, f->payload, f->len);
	v->status = wire_u32(&r);
	v->code = wire_u32(&r);
	v->collection_us = wire_u64(&r);
	v->walk_us = wire_u64(&r);
	v->walk_cpu_us = wire_u64(&r);
	v->stacks_us = wire_u64(&r);
	v->felt_us = wire_u64(&r);
	v->gap_count = wire_u8(&r);
	if (r.bad || v->gap_count > HEAP_GAPS_MAX)
		return false;
	for (uint32_t i = 0; i < v->gap_count; i++) {
		struct heap_gap *g = &v->gaps[i];
		g->kind = wire_u8(&r);
		g->due = wire_u64(&r);
		g->seen = wire_u64(&r);
		if (g->kind < HEAP_GAP_THREADS || g->kind > HEAP_GAP_BARE_TYPES || g->due > UINT32_MAX || g->seen > UINT32_MAX)
			return false;
	}
	return !r.bad;
}

void heap_put_type_frame(struct wire_writer *w, const struct heap_type_frame *v)
{
	wire_put_u64(w, v->class_id);
	channel_put_text(w, v->module);
	channel_put_text(w, v->name);
	wire_put_u32(w, v->elements_at);
	wire_put_u32(w, v->element_size);
	wire_put_u16(w, v->field_count);
}

bool heap_get_type_frame(const struct channel_frame *f, struct wire_reader *r, struct heap_type_frame *v)
{
	wire_reader_init(r, f->payload, f->len);
	v->class_id = wire_u64(r);
	v->module = channel_get_text(r);
	v->name = channel_get_text(r);
	v->elements_at = wire_u32(r);
	v->element_size = wire_u32(r);
	v->field_count = wire_u16(r);
	return !r->bad && v->field_count <= HEAP_FRAME_MAX_FIELDS;
}

void heap_put_field(struct wire_writer *w, uint32_t offset, struct channel_text name)
{
	wire_put_u32(w, offset);
	channel_put_text(w, name);
}

bool heap_get_field(struct wire_reader *r, uint32_t *offset, struct channel_text *name)
{
	*offset = wire_u32(r);
	*name = channel_get_text(r);
	return !r->bad;
}

void heap_put_static_frame(struct wire_writer *w, const struct heap_static_frame *v)
{
	wire_put_u64(w, v->class_id);
	wire_put_u32(w, v->token);
	channel_put_text(w, v->type);
	channel_put_text(w, v->field);
}

bool heap_get_static_frame(const struct channel_frame *f, struct heap_static_frame *v)
{
	struct wire_reader r;

	wire_reader_init(&r, f->payload, f->len);
	v->class_id = wire_u64(&r);
	v->token = wire_u32(&r);
	v->type = channel_get_text(&r);
	v->field = channel_get_text(&r);
	return !r.bad;
}
