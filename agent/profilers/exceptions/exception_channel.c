#include "agent/profilers/exceptions/exception_channel.h"

#include "common/base/index_set.h"
#include "common/base/mem.h"
#include "common/base/text.h"

#include <stdlib.h>
#include <string.h>

#define HASH_FUNCTION(key, len, hash) ((hash) = index_hash(INDEX_HASH_START, (key), (len))) /* the pod chooses the keys */
#include "common/base/hash.h"

#define WORDS_MAX_BYTES 1024 /* of a type's name, a shape, a message */
#define COMPLAINT_BYTES 128

struct known_kind {
	UT_hash_handle hh;
	uint64_t kind;
	struct exception_words words;
	char texts[];
};

void exception_channel_init(struct exception_channel *c, struct profiler_channel *ch)
{
	*c = (struct exception_channel){.channel = ch};
	buf_init(&c->payloads, EXCEPTION_CHANNEL_MAX_BYTES);
	if (ch)
		profiler_channel_on_frames(ch, exception_channel_frame, c);
}

void exception_channel_fini(struct exception_channel *c)
{
	struct known_kind *k, *next;

	buf_fini(&c->payloads);
	HASH_ITER(hh, c->kinds, k, next) {
		HASH_DEL(c->kinds, k);
		free(k);
	}
}

static const struct known_kind *find_known_kind(const struct exception_channel *c, uint64_t kind)
{
	struct known_kind *k;

	HASH_FIND(hh, c->kinds, &kind, sizeof kind, k);
	return k;
}

/* With its NUL; returns where it begins. */
static size_t put_words(struct buf *out, struct channel_text text)
{
	size_t at = out->len;

	if (text.len)
		text_append_printable(out, text.data, text.len < WORDS_MAX_BYTES ? text.len : WORDS_MAX_BYTES);
	buf_append(out, "", 1);
	return at;
}

static void keep_kind(struct exception_channel *c, const struct channel_exception_kind *v)
{
	struct buf shown;

	if (find_known_kind(c, v->kind) || c->kind_count >= EXCEPTION_CHANNEL_MAX_KINDS)
		return;
	buf_init(&shown, 3 * 8 * WORDS_MAX_BYTES);
	size_t type = put_words(&shown, v->type), shape = put_words(&shown, v->shape), message = put_words(&shown, v->message);
	struct known_kind *k = mem_alloc(sizeof *k + shown.len);
	memcpy(k->texts, shown.data, shown.len);
	k->kind = v->kind;
	k->words = (struct exception_words){v->hresult, k->texts + type, k->texts + shape, v->message.data ? k->texts + message : NULL};
	buf_fini(&shown);
	HASH_ADD(hh, c->kinds, kind, sizeof k->kind, k);
	c->kind_count++;
}

static int add_exception_kinds(struct exception_channel *c, const struct channel_frame *f, struct err *e)
{
	struct channel_exception_kind v;
	struct wire_reader r;

	wire_reader_init(&r, f->payload, f->len);
	while (wire_left(&r)) {
		if (!channel_get_exception_kind(&r, &v))
			return err_set(e, ERR_PROTOCOL, 0, "the library sent a malformed kind of exceptions");
		keep_kind(c, &v);
	}
	return 0;
}

struct queued_throws {
	uint32_t len;
	uint16_t type;
};

/* Tells the sink (NULL: nobody) of each. -1: a malformed one. */
static int each_throw_site(const uint8_t *payload, size_t len, const struct exception_sink *sink)
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

static int each_throw_count(const uint8_t *payload, size_t len, const struct exception_sink *sink)
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

static int each_throw(uint16_t type, const uint8_t *payload, size_t len, const struct exception_sink *sink)
{
	return type == CHANNEL_EXCEPTIONS_SITES ? each_throw_site(payload, len, sink) : each_throw_count(payload, len, sink);
}

static void drop_throw_site(void *ctx, const struct channel_alloc_site *s)
{
	(void)ctx;
	(void)s;
}

static void drop_throw_count(void *ctx, const struct channel_alloc_round *r, const struct channel_alloc_count *c)
{
	(void)r;
	*(uint64_t *)ctx += c->samples;
}

static int queue_throws(struct exception_channel *c, const struct channel_frame *f, struct err *e)
{
	struct queued_throws head = {f->len, f->type};

	if (each_throw(f->type, f->payload, f->len, NULL) < 0)
		return err_set(e, ERR_PROTOCOL, 0, "the library sent malformed exceptions");
	if (c->payloads.len + sizeof head + f->len > EXCEPTION_CHANNEL_MAX_BYTES) {
		each_throw(f->type, f->payload, f->len, &(struct exception_sink){drop_throw_site, drop_throw_count, &c->dropped});
		return 0;
	}
	buf_append(&c->payloads, &head, sizeof head);
	buf_append(&c->payloads, f->payload, f->len);
	return 0;
}

static int on_exceptions_state(struct exception_channel *c, const struct channel_frame *f, struct err *e)
{
	if (!channel_get_exceptions_state(f, &c->state))
		return err_set(e, ERR_PROTOCOL, 0, "the library sent a malformed answer about exceptions");
	c->answers++;
	c->error = (struct err)ERR_INIT;
	return 0;
}

static void on_exceptions_error(struct exception_channel *c, const struct channel_frame *f)
{
	struct channel_error error;
	struct buf text;

	if (!channel_get_error(f, &error)) /* looked at before */
		return;
	buf_init(&text, 8 * COMPLAINT_BYTES);
	if (error.message.len)
		text_append_printable(&text, error.message.data, error.message.len < COMPLAINT_BYTES ? error.message.len : COMPLAINT_BYTES);
	err_set(&c->error, ERR_INTERNAL, (int)error.code, "the profiler library: %s (0x%x)", buf_str(&text), error.code);
	buf_fini(&text);
	c->answers++;
}

int exception_channel_frame(void *exceptions, const struct channel_frame *f, struct err *e)
{
	struct exception_channel *c = exceptions;

	switch (f->type) {
	case CHANNEL_EXCEPTIONS_KINDS:
		return add_exception_kinds(c, f, e);
	case CHANNEL_EXCEPTIONS_SITES:
	case CHANNEL_EXCEPTIONS_COUNTS:
		return queue_throws(c, f, e);
	case CHANNEL_EXCEPTIONS_STATE:
		return on_exceptions_state(c, f, e);
	case CHANNEL_ERROR:
		on_exceptions_error(c, f);
		return 0;
	default:
		return 0; /* of a later version */
	}
}

static int request_exceptions(struct exception_channel *c, uint16_t type, const void *payload, size_t len, const char *what, int64_t deadline_ms,
			      struct err *e)
{
	unsigned before = c->answers;

	if (profiler_channel_request(c->channel, type, payload, len, e) < 0)
		return -1;
	while (c->answers == before)
		if (profiler_channel_await(c->channel, what, deadline_ms, e) < 0)
			return -1;
	if (!c->error.kind)
		return 0;
	if (e)
		*e = c->error;
	return -1;
}

int exception_channel_start(struct exception_channel *c, uint32_t wanted, int64_t deadline_ms, struct err *e)
{
	uint8_t payload[4];
	struct wire_writer w;

	wire_writer_init(&w, payload, sizeof payload);
	wire_put_u32(&w, wanted);
	return request_exceptions(c, CHANNEL_EXCEPTIONS_START, payload, sizeof payload, "start watching exceptions", deadline_ms, e);
}

int exception_channel_stop(struct exception_channel *c, int64_t deadline_ms, struct err *e)
{
	return request_exceptions(c, CHANNEL_EXCEPTIONS_STOP, NULL, 0, "stop watching exceptions", deadline_ms, e);
}

struct channel_exceptions_state exception_channel_state(const struct exception_channel *c)
{
	struct channel_exceptions_state s = c->state;

	s.dropped += c->dropped;
	return s;
}

void exception_channel_deliver(struct exception_channel *c, const struct exception_sink *sink)
{
	struct queued_throws head;

	for (size_t at = 0; at < c->payloads.len; at += sizeof head + head.len) {
		memcpy(&head, c->payloads.data + at, sizeof head);
		each_throw(head.type, (const uint8_t *)c->payloads.data + at + sizeof head, head.len, sink);
	}
	buf_reset(&c->payloads);
}

bool exception_channel_kind(const struct exception_channel *c, uint64_t kind, struct exception_words *out)
{
	const struct known_kind *k = find_known_kind(c, kind);

	if (k)
		*out = k->words;
	return k != NULL;
}
