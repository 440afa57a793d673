#include "agent/profilers/exceptions/exception_channel.h"

#include "common/base/index_set.h"
#include "common/base/mem.h"
#include "common/base/text.h"

#include <stdlib.h>
#include <string.h>

#define HASH_FUNCTION(key, len, hash) ((hash) = index_hash(INDEX_HASH_START, (key), (len))) /* the pod chooses the keys */
#include "common/base/hash.h"

#define WORDS_MAX_BYTES 1024 /* of a type's name, a shape, a message */

struct known_kind {
	UT_hash_handle hh;
	uint64_t kind;
	struct exception_words words;
	char texts[];
};

void exception_channel_init(struct exception_channel *c, struct profiler_channel *ch)
{
	*c = (struct exception_channel){0};
	site_feed_init(&c->feed, ch);
	if (ch)
		profiler_channel_on_frames(ch, exception_channel_frame, c);
}

void exception_channel_fini(struct exception_channel *c)
{
	struct known_kind *k, *next;

	site_feed_fini(&c->feed);
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

static int on_exceptions_state(struct exception_channel *c, const struct channel_frame *f, struct err *e)
{
	if (!channel_get_exceptions_state(f, &c->state))
		return err_set(e, ERR_PROTOCOL, 0, "the library sent a malformed answer about exceptions");
	site_feed_answered(&c->feed);
	return 0;
}

int exception_channel_frame(void *exceptions, const struct channel_frame *f, struct err *e)
{
	struct exception_channel *c = exceptions;

	switch (f->type) {
	case CHANNEL_EXCEPTIONS_KINDS:
		return add_exception_kinds(c, f, e);
	case CHANNEL_EXCEPTIONS_SITES:
	case CHANNEL_EXCEPTIONS_COUNTS:
		return site_feed_keep(&c->feed, f, f->type == CHANNEL_EXCEPTIONS_SITES, "exceptions", e);
	case CHANNEL_EXCEPTIONS_STATE:
		return on_exceptions_state(c, f, e);
	case CHANNEL_ERROR:
		site_feed_refused(&c->feed, f);
		return 0;
	default:
		return 0; /* of a later version */
	}
}

int exception_channel_start(struct exception_channel *c, uint32_t wanted, int64_t deadline_ms, struct err *e)
{
	uint8_t payload[4];
	struct wire_writer w;

	wire_writer_init(&w, payload, sizeof payload);
	wire_put_u32(&w, wanted);
	return site_feed_request(&c->feed, CHANNEL_EXCEPTIONS_START, payload, sizeof payload, "start watching exceptions", deadline_ms, e);
}

int exception_channel_stop(struct exception_channel *c, int64_t deadline_ms, struct err *e)
{
	return site_feed_request(&c->feed, CHANNEL_EXCEPTIONS_STOP, NULL, 0, "stop watching exceptions", deadline_ms, e);
}

struct channel_exceptions_state exception_channel_state(const struct exception_channel *c)
{
	struct channel_exceptions_state s = c->state;

	s.dropped += c->feed.dropped.samples;
	return s;
}

bool exception_channel_kind(const struct exception_channel *c, uint64_t kind, struct exception_words *out)
{
	const struct known_kind *k = find_known_kind(c, kind);

	if (k)
		*out = k->words;
	return k != NULL;
}
