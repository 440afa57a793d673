#include "agent/attach/channel_samples.h"

#include <string.h>

void channel_samples_init(struct channel_samples *q)
{
	*q = (struct channel_samples){.dropped = 0};
	buf_init(&q->payloads, SAMPLES_MAX_BYTES);
}

void channel_samples_fini(struct channel_samples *q)
{
	buf_fini(&q->payloads);
}

/* Calls on_sample for each record; returns how many, or -1 at a malformed one. */
static int each_sample(const uint8_t *payload, size_t len, channel_sample_fn *on_sample, void *ctx)
{
	struct channel_sample_record record;
	struct wire_reader r;
	int count = 0;

	wire_reader_init(&r, payload, len);
	while (wire_left(&r)) {
		if (!channel_get_sample(&r, &record))
			return -1;
		struct channel_sample s = {
			.time_ns = record.time_ns,
			.tid = record.tid,
			.flags = record.flags,
			.depth = record.depth,
			.ips = record.ips,
		};
		if (on_sample)
			on_sample(ctx, &s);
		count++;
	}
	return count;
}

int channel_samples_add(struct channel_samples *q, const struct channel_frame *f, struct err *e)
{
	int count = each_sample(f->payload, f->len, NULL, NULL);

	if (count < 0)
		return err_set(e, ERR_PROTOCOL, 0, "the library sent a malformed sample");
	if (q->payloads.len + sizeof f->len + f->len > SAMPLES_MAX_BYTES) {
		q->dropped += (uint64_t)count;
		return 0;
	}
	buf_append(&q->payloads, &f->len, sizeof f->len);
	buf_append(&q->payloads, f->payload, f->len);
	return 0;
}

int channel_samples_deliver(struct channel_samples *q, channel_sample_fn *on_sample, void *ctx)
{
	size_t at = 0;
	int delivered = 0;
	uint32_t len;

	while (at < q->payloads.len) {
		memcpy(&len, q->payloads.data + at, sizeof len);
		delivered += each_sample((const uint8_t *)q->payloads.data + at + sizeof len, len, on_sample, ctx);
		at += sizeof len + len;
	}
	buf_reset(&q->payloads);
	return delivered;
}
