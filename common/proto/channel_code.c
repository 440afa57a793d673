#include "common/proto/channel_code.h"

#define BODY_BYTES 12

static bool get_code_count(const struct channel_frame *f, struct wire_reader *r, uint32_t *count, size_t size)
{
	wire_reader_init(r, f->payload, f->len);
	*count = wire_u32(r);
	return !r->bad && *count <= CHANNEL_MAX_CODE && wire_left(r) == *count * size;
}

bool channel_get_code_ask(const struct channel_frame *f, struct wire_reader *r, uint32_t *count)
{
	return f->type == CHANNEL_CODE_ASK && get_code_count(f, r, count, sizeof(uint64_t));
}

bool channel_get_code_bodies(const struct channel_frame *f, struct wire_reader *r, uint32_t *count)
{
	return f->type == CHANNEL_CODE_BODIES && get_code_count(f, r, count, BODY_BYTES);
}

bool channel_get_il_ask(const struct channel_frame *f, struct wire_reader *r, uint32_t *count)
{
	return f->type == CHANNEL_IL_ASK && get_code_count(f, r, count, sizeof(uint64_t));
}

bool channel_get_il_offsets(const struct channel_frame *f, struct wire_reader *r, uint32_t *count)
{
	return f->type == CHANNEL_IL_OFFSETS && get_code_count(f, r, count, sizeof(uint32_t));
}

void channel_put_code_body(struct wire_writer *w, const struct channel_code_body *v)
{
	wire_put_u64(w, v->start);
	wire_put_u32(w, v->bytes);
}

struct channel_code_body channel_get_code_body(struct wire_reader *r)
{
	struct channel_code_body v = {.start = wire_u64(r)};
	v.bytes = wire_u32(r);
	return v;
}
