#include "agent/profilers/allocs/allocs_channel.h"

#include "common/base/index_set.h"
#include "common/base/mem.h"
#include "common/base/text.h"

#include <stdlib.h>
#include <string.h>

#define HASH_FUNCTION(key, len, hash) ((hash) = index_hash(INDEX_HASH_START, (key), (len))) /* the pod chooses the keys */
#include "common/base/hash.h"

#define NAME_MAX_BYTES 2048

struct alloc_type {
	UT_hash_handle hh;
	uint64_t type;
	char name[];
};

void allocs_channel_init(struct allocs_channel *a, struct profiler_channel *ch)
{
	*a = (struct allocs_channel){0};
	site_feed_init(&a->feed, ch);
	if (ch)
		profiler_channel_on_frames(ch, allocs_channel_frame, a);
}

void allocs_channel_fini(struct allocs_channel *a)
{
	struct alloc_type *t, *next;

	site_feed_fini(&a->feed);
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

static int on_state(struct allocs_channel *a, const struct channel_frame *f, struct err *e)
{
	if (!channel_get_allocs_state(f, &a->state))
		return err_set(e, ERR_PROTOCOL, 0, "the library sent a malformed answer about allocations");
	site_feed_answered(&a->feed);
	return 0;
}

int allocs_channel_frame(void *allocs, const struct channel_frame *f, struct err *e)
{
	struct allocs_channel *a = allocs;

	switch (f->type) {
	case CHANNEL_ALLOCS_TYPES:
		return add_alloc_types(a, f, e);
	case CHANNEL_ALLOCS_SITES:
	case CHANNEL_ALLOCS_COUNTS:
		return site_feed_keep(&a->feed, f, f->type == CHANNEL_ALLOCS_SITES, "allocations", e);
	case CHANNEL_ALLOCS_STATE:
		return on_state(a, f, e);
	case CHANNEL_ERROR:
		site_feed_refused(&a->feed, f);
		return 0;
	default:
		return 0; /* of a later version */
	}
}

int allocs_channel_start(struct allocs_channel *a, uint32_t event, int64_t deadline_ms, struct err *e)
{
	uint8_t payload[4];
	struct wire_writer w;

	wire_writer_init(&w, payload, sizeof payload);
	wire_put_u32(&w, event);
	return site_feed_request(&a->feed, CHANNEL_ALLOCS_START, payload, sizeof payload, "start sampling allocations", deadline_ms, e);
}

int allocs_channel_stop(struct allocs_channel *a, int64_t deadline_ms, struct err *e)
{
	return site_feed_request(&a->feed, CHANNEL_ALLOCS_STOP, NULL, 0, "stop sampling allocations", deadline_ms, e);
}

struct channel_allocs_state allocs_channel_state(const struct allocs_channel *a)
{
	struct channel_allocs_state s = a->state;

	s.dropped += a->feed.dropped.samples;
	s.dropped_size += a->feed.dropped.size;
	s.dropped_amount += a->feed.dropped.amount;
	return s;
}

const char *allocs_channel_type(const struct allocs_channel *a, uint64_t type)
{
	const struct alloc_type *t = find_alloc_type(a, type);

	return t ? t->name : NULL;
}
