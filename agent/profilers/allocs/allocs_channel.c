#include "agent/profilers/allocs/allocs_channel.h"

#include "common/base/index_set.h"
#include "common/base/mem.h"
#include "common/base/text.h"

#include <stdlib.h>
#include <string.h>

#define HASH_FUNCTION(key, len, hash) ((hash) = index_hash(INDEX_HASH_START, (key), (len))) /* the pod chooses the keys */
#include "common/base/hash.h"

#define NAME_MAX_BYTES 2048
#define COMPLAINT_BYTES 128

struct alloc_type {
	UT_hash_handle hh;
	uint64_t type;
	char name[];
};

void allocs_channel_init(struct allocs_channel *a, struct profiler_channel *ch)
{
	*a = (struct allocs_channel){.channel = ch};
	buf_init(&a->payloads, ALLOCS_CHANNEL_MAX_BYTES);
	if (ch)
		profiler_channel_on_frames(ch, allocs_channel_frame, a);
}

void allocs_channel_fini(struct allocs_channel *a)
{
	struct alloc_type *t, *next;

	buf_fini(&a->payloads);
	HASH_ITER(hh, a->types, t, next) {
		HASH_DEL(a->types, t);
		free(t);
	}
}

static const struct alloc_type *find_alloc_type(const struct allocs_channel *a, uint64_t type)
{
	struct alloc_type *t;

	HASH_FIND(hh, a->types, &type, sizeof type, t);
	return t;
}

static void keep_type(struct allocs_channel *a, const struct channel_alloc_type *v)
{
	size_t len = v->name.len < NAME_MAX_BYTES ? v->name.len : NAME_MAX_BYTES;
	struct buf shown;

	if (find_alloc_type(a, v->type) || a->type_count >= ALLOCS_CHANNEL_MAX_TYPES)
		return;
	buf_init(&shown, 8 * NAME_MAX_BYTES);
	if (len)
		text_append_printable(&shown, v->name.data, len);
	struct alloc_type *t = mem_alloc(sizeof *t + shown.len + 1);
	t->type = v->type;
	memcpy(t->name, buf_str(&shown), shown.len + 1);
	buf_fini(&shown);
	HASH_ADD(hh, a->types, type, sizeof t->type, t);
	a->type_count++;
}

static int add_alloc_types(struct allocs_channel *a, const struct channel_frame *f, struct err *e)
{
	struct channel_alloc_type v;
	struct wire_reader r;

	wire_reader_init(&r, f->payload, f->len);
	while (wire_left(&r)) {
		if (!channel_get_alloc_type(&r, &v))
			return err_set(e, ERR_PROTOCOL, 0, "the library sent a malformed type");
		keep_type(a, &v);
	}
	return 0;
}

struct queued {
	uint32_t len;
	uint16_t type;
};

/* Tells the sink (NULL: nobody) of each site. -1: a malformed one. */
static int each_site(const uint8_t *payload, size_t len, const struct channel_alloc_sink *sink)
{
	struct channel_alloc_site s;
	struct wire_reader r;

	wire_reader_init(&r, payload, len);
	while (wire_left(&r)) {
		if (!channel_get_alloc_site(&r, &s))
			return -1;
		if (sink)
			sink->on_site(sink->ctx, &s);
	}
	return 0;
}

static int each_count(const uint8_t *payload, size_t len, const struct channel_alloc_sink *sink)
{
	struct channel_alloc_round round;
	struct channel_alloc_count c;
	struct wire_reader r;

	wire_reader_init(&r, payload, len);
	if (!channel_get_alloc_round(&r, &round))
		return -1;
	while (wire_left(&r)) {
		if (!channel_get_alloc_count(&r, &c))
			return -1;
		if (sink)
			sink->on_count(sink->ctx, &round, &c);
	}
	return 0;
}

static int each_alloc(uint16_t type, const uint8_t *payload, size_t len, const struct channel_alloc_sink *sink)
{
	return type == CHANNEL_ALLOCS_SITES ? each_site(payload, len, sink) : each_count(payload, len, sink);
}

static void drop_site(void *ctx, const struct channel_alloc_site *s)
{
	(void)ctx;
	(void)s;
}

static void drop_count(void *ctx, const struct channel_alloc_round *r, const struct channel_alloc_count *c)
{
	struct channel_alloc_count *sum = ctx;

	(void)r;
	sum->samples += c->samples;
	sum->size += c->size;
	sum->amount += c->amount;
}

static int queue_allocs(struct allocs_channel *a, const struct channel_frame *f, struct err *e)
{
	struct queued head = {f->len, f->type};

	if (each_alloc(f->type, f->payload, f->len, NULL) < 0)
		return err_set(e, ERR_PROTOCOL, 0, "the library sent malformed allocations");
	if (a->payloads.len + sizeof head + f->len > ALLOCS_CHANNEL_MAX_BYTES) {
		each_alloc(f->type, f->payload, f->len, &(struct channel_alloc_sink){drop_site, drop_count, &a->dropped});
		return 0;
	}
	buf_append(&a->payloads, &head, sizeof head);
	buf_append(&a->payloads, f->payload, f->len);
	return 0;
}

static int on_state(struct allocs_channel *a, const struct channel_frame *f, struct err *e)
{
	if (!channel_get_allocs_state(f, &a->state))
		return err_set(e, ERR_PROTOCOL, 0, "the library sent a malformed answer about allocations");
	a->answers++;
	a->error = (struct err)ERR_INIT;
	return 0;
}

static void handle_allocs_error(struct allocs_channel *a, const struct channel_frame *f)
{
	struct channel_error error;
	struct buf text;

	if (!channel_get_error(f, &error)) /* looked at before */
		return;
	buf_init(&text, 8 * COMPLAINT_BYTES);
	if (error.message.len)
		text_append_printable(&text, error.message.data, error.message.len < COMPLAINT_BYTES ? error.message.len : COMPLAINT_BYTES);
	err_set(&a->error, ERR_INTERNAL, (int)error.code, "the profiler library: %s (0x%x)", buf_str(&text), error.code);
	buf_fini(&text);
	a->answers++;
}

int allocs_channel_frame(void *allocs, const struct channel_frame *f, struct err *e)
{
	struct allocs_channel *a = allocs;

	switch (f->type) {
	case CHANNEL_ALLOCS_TYPES:
		return add_alloc_types(a, f, e);
	case CHANNEL_ALLOCS_SITES:
	case CHANNEL_ALLOCS_COUNTS:
		return queue_allocs(a, f, e);
	case CHANNEL_ALLOCS_STATE:
		return on_state(a, f, e);
	case CHANNEL_ERROR:
		handle_allocs_error(a, f);
		return 0;
	default:
		return 0; /* of a later version */
	}
}

static int request_allocs(struct allocs_channel *a, uint16_t type, const void *payload, size_t len, const char *what, int64_t deadline_ms,
			  struct err *e)
{
	unsigned before = a->answers;

	if (profiler_channel_request(a->channel, type, payload, len, e) < 0)
		return -1;
	while (a->answers == before)
		if (profiler_channel_await(a->channel, what, deadline_ms, e) < 0)
			return -1;
	if (!a->error.kind)
		return 0;
	if (e)
		*e = a->error;
	return -1;
}

int allocs_channel_start(struct allocs_channel *a, uint32_t event, int64_t deadline_ms, struct err *e)
{
	uint8_t payload[4];
	struct wire_writer w;

	wire_writer_init(&w, payload, sizeof payload);
	wire_put_u32(&w, event);
	return request_allocs(a, CHANNEL_ALLOCS_START, payload, sizeof payload, "start sampling allocations", deadline_ms, e);
}

int allocs_channel_stop(struct allocs_channel *a, int64_t deadline_ms, struct err *e)
{
	return request_allocs(a, CHANNEL_ALLOCS_STOP, NULL, 0, "stop sampling allocations", deadline_ms, e);
}

struct channel_allocs_state allocs_channel_state(const struct allocs_channel *a)
{
	struct channel_allocs_state s = a->state;

	s.dropped += a->dropped.samples;
	s.dropped_size += a->dropped.size;
	s.dropped_amount += a->dropped.amount;
	return s;
}

void allocs_channel_deliver(struct allocs_channel *a, const struct channel_alloc_sink *sink)
{
	struct queued head;

	for (size_t at = 0; at < a->payloads.len; at += sizeof head + head.len) {
		memcpy(&head, a->payloads.data + at, sizeof head);
		each_alloc(head.type, (const uint8_t *)a->payloads.data + at + sizeof head, head.len, sink);
	}
	buf_reset(&a->payloads);
}

const char *allocs_channel_type(const struct allocs_channel *a, uint64_t type)
{
	const struct alloc_type *t = find_alloc_type(a, type);

	return t ? t->name : NULL;
}
