#include "agent/attach/site_feed.h"

#include "common/base/text.h"

#include <string.h>

#define COMPLAINT_BYTES 128

struct kept_frame {
	uint32_t len;
	bool sites;
};

void site_feed_init(struct site_feed *f, struct profiler_channel *ch)
{
	*f = (struct site_feed){.channel = ch};
	buf_init(&f->payloads, SITE_FEED_MAX_BYTES);
}

void site_feed_fini(struct site_feed *f)
{
	buf_fini(&f->payloads);
}

/* Tells the sink (NULL: nobody) of each site. -1: a malformed one. */
static int each_site(const uint8_t *payload, size_t len, const struct site_sink *sink)
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

static int each_count(const uint8_t *payload, size_t len, const struct site_sink *sink)
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

static int each_record(bool sites, const uint8_t *payload, size_t len, const struct site_sink *sink)
{
	return sites ? each_site(payload, len, sink) : each_count(payload, len, sink);
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

int site_feed_keep(struct site_feed *f, const struct channel_frame *frame, bool sites, const char *what, struct err *e)
{
	struct kept_frame head = {frame->len, sites};

	if (each_record(sites, frame->payload, frame->len, NULL) < 0)
		return err_set(e, ERR_PROTOCOL, 0, "the library sent malformed %s", what);
	if (f->payloads.len + sizeof head + frame->len > SITE_FEED_MAX_BYTES) {
		each_record(sites, frame->payload, frame->len, &(struct site_sink){drop_site, drop_count, &f->dropped});
		return 0;
	}
	buf_append(&f->payloads, &head, sizeof head);
	buf_append(&f->payloads, frame->payload, frame->len);
	return 0;
}

void site_feed_deliver(struct site_feed *f, const struct site_sink *sink)
{
	struct kept_frame head;

	for (size_t at = 0; at < f->payloads.len; at += sizeof head + head.len) {
		memcpy(&head, f->payloads.data + at, sizeof head);
		each_record(head.sites, (const uint8_t *)f->payloads.data + at + sizeof head, head.len, sink);
	}
	buf_reset(&f->payloads);
}

void site_feed_answered(struct site_feed *f)
{
	f->answers++;
	f->error = (struct err)ERR_INIT;
}

void site_feed_refused(struct site_feed *f, const struct channel_frame *frame)
{
	struct channel_error error;
	struct buf text;

	if (!channel_get_error(frame, &error)) /* looked at before */
		return;
	buf_init(&text, 8 * COMPLAINT_BYTES);
	if (error.message.len)
		text_append_printable(&text, error.message.data, error.message.len < COMPLAINT_BYTES ? error.message.len : COMPLAINT_BYTES);
	err_set(&f->error, ERR_INTERNAL, (int)error.code, "the profiler library: %s (0x%x)", buf_str(&text), error.code);
	buf_fini(&text);
	f->answers++;
}

int site_feed_request(struct site_feed *f, uint16_t type, const void *payload, size_t len, const char *what, int64_t deadline_ms, struct err *e)
{
	unsigned before = f->answers;

	if (profiler_channel_request(f->channel, type, payload, len, e) < 0)
		return -1;
	while (f->answers == before)
		if (profiler_channel_await(f->channel, what, deadline_ms, e) < 0)
			return -1;
	if (!f->error.kind)
		return 0;
	if (e)
		*e = f->error;
	return -1;
}
