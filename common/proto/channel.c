#include "common/proto/channel.h"

#include "common/proto/difference.h"

#include <string.h>

#define NO_TEXT 0xffff
#define RESOLVED_SIZE 12

const uint8_t channel_clsid[16] = {0x5e, 0x3c, 0x2f, 0x6d, 0x41, 0x8a, 0x0b, 0x4f,
				   0x9c, 0x37, 0xd2, 0xd0, 0x7e, 0x70, 0xa5, 0xe1};
const uint8_t channel_clsid_notification[16] = {0x5e, 0x3c, 0x2f, 0x6d, 0x41, 0x8a, 0x0b, 0x4f,
						0x9c, 0x37, 0xd2, 0xd0, 0x7e, 0x70, 0xa5, 0xe2};

enum channel_next channel_next(const uint8_t *data, size_t len, struct channel_frame *out, size_t *used)
{
	struct wire_reader r;

	if (len < CHANNEL_HEADER_SIZE)
		return CHANNEL_MORE;
	wire_reader_init(&r, data, CHANNEL_HEADER_SIZE);
	uint32_t payload = wire_u32(&r);
	uint16_t type = wire_u16(&r);
	uint16_t zero = wire_u16(&r);
	if (payload > CHANNEL_MAX_PAYLOAD || zero != 0)
		return CHANNEL_BAD;
	if (len - CHANNEL_HEADER_SIZE < payload)
		return CHANNEL_MORE;
	*out = (struct channel_frame){.type = type, .payload = data + CHANNEL_HEADER_SIZE, .len = payload};
	*used = CHANNEL_HEADER_SIZE + (size_t)payload;
	return CHANNEL_FRAME;
}

void channel_begin(struct wire_writer *w, void *buf, size_t cap, uint16_t type)
{
	wire_writer_init(w, buf, cap < CHANNEL_MAX_FRAME ? cap : CHANNEL_MAX_FRAME);
	wire_put_u32(w, 0);
	wire_put_u16(w, type);
	wire_put_u16(w, 0);
}

size_t channel_end(struct wire_writer *w)
{
	struct wire_writer length;

	if (w->bad)
		return 0;
	wire_writer_init(&length, w->data, 4);
	wire_put_u32(&length, (uint32_t)difference(w->pos, CHANNEL_HEADER_SIZE));
	return w->pos;
}

void channel_put_text(struct wire_writer *w, struct channel_text t)
{
	if (!t.data) {
		wire_put_u16(w, NO_TEXT);
		return;
	}
	if (t.len >= NO_TEXT) {
		w->bad = true;
		return;
	}
	wire_put_u16(w, (uint16_t)t.len);
	wire_put_bytes(w, t.data, t.len);
}

struct channel_text channel_get_text(struct wire_reader *r)
{
	uint16_t len = wire_u16(r);
	if (r->bad || len == NO_TEXT)
		return (struct channel_text){NULL, 0};
	const char *p = (const char *)wire_bytes(r, len);
	return (struct channel_text){p, p ? len : 0};
}

static void get_nonce(struct wire_reader *r, uint8_t nonce[CHANNEL_NONCE_BYTES])
{
	const uint8_t *p = wire_bytes(r, CHANNEL_NONCE_BYTES);
	if (p)
		memcpy(nonce, p, CHANNEL_NONCE_BYTES);
}

void channel_put_client_data(struct wire_writer *w, const struct channel_client_data *v)
{
	wire_put_u16(w, v->version);
	wire_put_u16(w, v->flags);
	wire_put_bytes(w, v->nonce, CHANNEL_NONCE_BYTES);
	channel_put_text(w, v->path);
	wire_put_u32(w, v->pause_budget_us);
	wire_put_u32(w, v->features);
	wire_put_u32(w, v->lease_ms);
}

bool channel_get_client_data(const void *data, size_t len, struct channel_client_data *v)
{
	struct wire_reader r;

	wire_reader_init(&r, data, len);
	v->version = wire_u16(&r);
	v->flags = wire_u16(&r);
	get_nonce(&r, v->nonce);
	v->path = channel_get_text(&r);
	v->pause_budget_us = wire_left(&r) >= 4 ? wire_u32(&r) : 0;
	v->features = wire_left(&r) >= 4 ? wire_u32(&r) : 0;
	v->lease_ms = wire_left(&r) >= 4 ? wire_u32(&r) : 0;
	return !r.bad && v->version == CHANNEL_VERSION && v->path.len > 0 && v->path.len <= CHANNEL_MAX_PATH;
}

void channel_put_hello(struct wire_writer *w, const struct channel_hello *v)
{
	wire_put_u16(w, v->version);
	wire_put_u16(w, v->flags);
	wire_put_bytes(w, v->nonce, CHANNEL_NONCE_BYTES);
	wire_put_u32(w, v->inner_pid);
	wire_put_u16(w, v->runtime_major);
	wire_put_u16(w, v->runtime_minor);
	wire_put_u16(w, v->runtime_build);
	channel_put_text(w, v->library_version);
}

bool channel_get_hello(const struct channel_frame *f, struct channel_hello *v)
{
	struct wire_reader r;

	wire_reader_init(&r, f->payload, f->len);
	v->version = wire_u16(&r);
	v->flags = wire_u16(&r);
	get_nonce(&r, v->nonce);
	v->inner_pid = wire_u32(&r);
	v->runtime_major = wire_u16(&r);
	v->runtime_minor = wire_u16(&r);
	v->runtime_build = wire_u16(&r);
	v->library_version = channel_get_text(&r);
	return !r.bad && f->type == CHANNEL_HELLO;
}

void channel_put_function(struct wire_writer *w, const struct channel_function *v)
{
	wire_put_u64(w, v->id);
	wire_put_u16(w, v->flags);
	wire_put_u64(w, v->dynamic_start_ns);
	channel_put_text(w, v->module);
	channel_put_text(w, v->type);
	channel_put_text(w, v->type_args);
	channel_put_text(w, v->method);
	channel_put_text(w, v->method_args);
	channel_put_text(w, v->params);
	wire_put_u32(w, v->token);
	wire_put_u64(w, v->image);
	channel_put_text(w, v->path);
}

bool channel_get_function(const struct channel_frame *f, struct channel_function *v)
{
	struct wire_reader r;

	wire_reader_init(&r, f->payload, f->len);
	v->id = wire_u64(&r);
	v->flags = wire_u16(&r);
	v->dynamic_start_ns = wire_u64(&r);
	v->module = channel_get_text(&r);
	v->type = channel_get_text(&r);
	v->type_args = channel_get_text(&r);
	v->method = channel_get_text(&r);
	v->method_args = channel_get_text(&r);
	v->params = channel_get_text(&r);
	bool more = wire_left(&r) > 0;
	v->token = more ? wire_u32(&r) : 0;
	v->image = more ? wire_u64(&r) : 0;
	v->path = more ? channel_get_text(&r) : (struct channel_text){0};
	return !r.bad && f->type == CHANNEL_FUNCTION && v->id != 0;
}

void channel_put_sampling(struct wire_writer *w, const struct channel_sampling *v)
{
	wire_put_u32(w, v->hertz);
	wire_put_u32(w, v->threads);
	wire_put_u64(w, v->taken);
	wire_put_u64(w, v->dropped);
	wire_put_u32(w, v->untimed);
	wire_put_u64(w, v->untimed_cpu_ns);
	wire_put_u32(w, v->flags);
	wire_put_u64(w, v->cpu_ns);
}

bool channel_get_sampling(const struct channel_frame *f, struct channel_sampling *v)
{
	struct wire_reader r;

	wire_reader_init(&r, f->payload, f->len);
	v->hertz = wire_u32(&r);
	v->threads = wire_u32(&r);
	v->taken = wire_u64(&r);
	v->dropped = wire_u64(&r);
	bool more = wire_left(&r) >= 24;
	v->untimed = more ? wire_u32(&r) : 0;
	v->untimed_cpu_ns = more ? wire_u64(&r) : 0;
	v->flags = more ? wire_u32(&r) : 0;
	v->cpu_ns = more ? wire_u64(&r) : 0;
	return !r.bad && f->type == CHANNEL_SAMPLING;
}

void channel_put_account(struct wire_writer *w, const struct channel_account *v)
{
	wire_put_u64(w, v->cpu_ns);
	wire_put_u64(w, v->taken);
	wire_put_u64(w, v->dropped);
	wire_put_u64(w, v->resolved);
	wire_put_u64(w, v->unresolved);
	wire_put_u64(w, v->functions);
	wire_put_u64(w, v->max_pause_ns);
	wire_put_u64(w, v->memory_bytes);
	wire_put_u64(w, v->pauses);
	wire_put_u64(w, v->paused_ns);
	wire_put_u32(w, v->left);
	wire_put_u64(w, v->collections);
	wire_put_u64(w, v->collections_ns);
	wire_put_u64(w, v->max_wait_ns);
}

bool channel_get_account(const struct channel_frame *f, struct channel_account *v)
{
	struct wire_reader r;

	wire_reader_init(&r, f->payload, f->len);
	v->cpu_ns = wire_u64(&r);
	v->taken = wire_u64(&r);
	v->dropped = wire_u64(&r);
	v->resolved = wire_u64(&r);
	v->unresolved = wire_u64(&r);
	v->functions = wire_u64(&r);
	v->max_pause_ns = wire_u64(&r);
	v->memory_bytes = wire_u64(&r);
	bool more = wire_left(&r) >= 16;
	v->pauses = more ? wire_u64(&r) : 0;
	v->paused_ns = more ? wire_u64(&r) : 0;
	v->left = wire_left(&r) >= 4 ? wire_u32(&r) : 0;
	more = wire_left(&r) >= 16;
	v->collections = more ? wire_u64(&r) : 0;
	v->collections_ns = more ? wire_u64(&r) : 0;
	v->max_wait_ns = wire_left(&r) >= 8 ? wire_u64(&r) : 0;
	return !r.bad && (f->type == CHANNEL_STATS || f->type == CHANNEL_DETACHING);
}

void channel_put_pause(struct wire_writer *w, const struct channel_pause *v)
{
	wire_put_u32(w, v->kind);
	wire_put_u64(w, v->end_ns);
	wire_put_u64(w, v->duration_ns);
	wire_put_u64(w, v->budget_ns);
}

bool channel_get_pause(const struct channel_frame *f, struct channel_pause *v)
{
	struct wire_reader r;

	wire_reader_init(&r, f->payload, f->len);
	v->kind = wire_u32(&r);
	v->end_ns = wire_u64(&r);
	v->duration_ns = wire_u64(&r);
	v->budget_ns = wire_u64(&r);
	return !r.bad && f->type == CHANNEL_PAUSE;
}

void channel_put_lapsed(struct wire_writer *w, uint32_t lease_ms)
{
	wire_put_u32(w, lease_ms);
}

bool channel_get_lapsed(const struct channel_frame *f, uint32_t *lease_ms)
{
	struct wire_reader r;

	wire_reader_init(&r, f->payload, f->len);
	*lease_ms = wire_u32(&r);
	return !r.bad;
}

void channel_put_error(struct wire_writer *w, const struct channel_error *v)
{
	wire_put_u16(w, v->request);
	wire_put_u32(w, v->code);
	channel_put_text(w, v->message);
}

bool channel_get_error(const struct channel_frame *f, struct channel_error *v)
{
	struct wire_reader r;

	wire_reader_init(&r, f->payload, f->len);
	v->request = wire_u16(&r);
	v->code = wire_u32(&r);
	v->message = channel_get_text(&r);
	return !r.bad && f->type == CHANNEL_ERROR;
}

void channel_put_collection(struct wire_writer *w, const struct channel_collection *v)
{
	wire_put_u64(w, v->start_ns);
	wire_put_u64(w, v->end_ns);
	wire_put_u32(w, v->tid);
	wire_put_u32(w, v->generation);
}

bool channel_get_collection(struct wire_reader *r, struct channel_collection *v)
{
	v->start_ns = wire_u64(r);
	v->end_ns = wire_u64(r);
	v->tid = wire_u32(r);
	v->generation = wire_u32(r);
	return !r->bad && v->start_ns <= v->end_ns && v->end_ns <= INT64_MAX;
}

void channel_put_ips(struct wire_writer *w, const uint64_t *ips, uint16_t depth)
{
	wire_put_u16(w, depth);
	for (uint16_t i = 0; i < depth; i++)
		wire_put_u64(w, ips[i]);
}

uint16_t channel_get_ips(struct wire_reader *r, uint64_t *ips)
{
	uint16_t depth = wire_u16(r);
	if (depth > CHANNEL_MAX_DEPTH)
		r->bad = true;
	for (uint16_t i = 0; !r->bad && i < depth; i++)
		ips[i] = wire_u64(r);
	return depth;
}

void channel_put_sample(struct wire_writer *w, const struct channel_sample_record *v)
{
	wire_put_u64(w, (uint64_t)v->time_ns);
	wire_put_u32(w, v->tid);
	wire_put_u16(w, v->flags);
	channel_put_ips(w, v->ips, v->depth);
}

bool channel_get_sample(struct wire_reader *r, struct channel_sample_record *v)
{
	v->time_ns = (int64_t)wire_u64(r);
	v->tid = wire_u32(r);
	v->flags = wire_u16(r);
	v->depth = channel_get_ips(r, v->ips);
	return !r->bad;
}

static bool get_resolve_count(const struct channel_frame *f, struct wire_reader *r, uint32_t *count, size_t size)
{
	wire_reader_init(r, f->payload, f->len);
	*count = wire_u32(r);
	return !r->bad && *count <= CHANNEL_MAX_RESOLVE && wire_left(r) == *count * size;
}

bool channel_get_resolve(const struct channel_frame *f, struct wire_reader *r, uint32_t *count)
{
	return f->type == CHANNEL_RESOLVE && get_resolve_count(f, r, count, sizeof(uint64_t));
}

bool channel_get_resolved(const struct channel_frame *f, struct wire_reader *r, uint32_t *count)
{
	return f->type == CHANNEL_RESOLVED && get_resolve_count(f, r, count, RESOLVED_SIZE);
}
