#include "agent/attach/channel_samples.h"

#include <criterion/criterion.h>
#include <string.h>

static struct channel_samples queue;
static uint8_t payload[CHANNEL_MAX_PAYLOAD];

struct seen {
	int count;
	int64_t last_time_ns;
	uint64_t sum;
	bool truncated;
};

static void see(void *ctx, const struct channel_sample *s)
{
	struct seen *seen = ctx;

	seen->count++;
	cr_expect_gt(s->time_ns, seen->last_time_ns, "in order");
	seen->last_time_ns = s->time_ns;
	seen->truncated = s->flags & CHANNEL_TRUNCATED;
	for (uint16_t i = 0; i < s->depth; i++)
		seen->sum += s->ips[i];
}

/* A payload of `count` samples of this depth, the first at this time. */
static struct channel_frame frame_of(int count, uint16_t depth, int64_t time_ns)
{
	struct channel_sample_record record = {.time_ns = time_ns, .tid = 7, .flags = CHANNEL_TRUNCATED, .depth = depth};
	struct wire_writer w;

	for (uint16_t i = 0; i < depth; i++)
		record.ips[i] = i + 1u;
	wire_writer_init(&w, payload, sizeof payload);
	for (int i = 0; i < count; i++, record.time_ns++)
		channel_put_sample(&w, &record);
	cr_assert(!w.bad);
	return (struct channel_frame){.type = CHANNEL_SAMPLES, .payload = payload, .len = (uint32_t)w.pos};
}

Test(channel_samples, they_are_delivered_once_and_in_their_order)
{
	struct seen seen = {0};

	channel_samples_init(&queue);
	struct channel_frame f = frame_of(3, 4, 100);
	cr_assert_eq(channel_samples_add(&queue, &f, NULL), 0);
	f = frame_of(2, CHANNEL_MAX_DEPTH, 200);
	cr_assert_eq(channel_samples_add(&queue, &f, NULL), 0);
	cr_expect_eq(channel_samples_deliver(&queue, see, &seen), 5);
	cr_expect(seen.count == 5 && seen.truncated && seen.last_time_ns == 201);
	cr_expect_eq(seen.sum, 3 * 10 + 2 * 127 * 128 / 2);
	cr_expect_eq(channel_samples_deliver(&queue, see, &seen), 0);
	channel_samples_fini(&queue);
}

Test(channel_samples, a_malformed_frame_is_refused_as_a_whole)
{
	struct err e = ERR_INIT;

	channel_samples_init(&queue);
	struct channel_frame f = frame_of(2, 3, 1);
	f.len--;
	cr_expect_eq(channel_samples_add(&queue, &f, &e), -1);
	cr_expect_eq(e.kind, ERR_PROTOCOL);
	f = frame_of(1, 3, 1);
	payload[14] = CHANNEL_MAX_DEPTH + 1; /* the depth */
	cr_expect_eq(channel_samples_add(&queue, &f, NULL), -1);
	cr_expect_eq(channel_samples_deliver(&queue, NULL, NULL), 0);
	channel_samples_fini(&queue);
}

Test(channel_samples, past_the_bound_they_are_counted)
{
	struct channel_frame f = frame_of(60, CHANNEL_MAX_DEPTH, 1);
	int added = 0;

	channel_samples_init(&queue);
	while (queue.dropped == 0) {
		cr_assert_eq(channel_samples_add(&queue, &f, NULL), 0);
		added++;
	}
	cr_expect_eq(queue.dropped, 60);
	cr_expect_leq(queue.payloads.len, SAMPLES_MAX_BYTES);
	cr_expect_eq(channel_samples_deliver(&queue, NULL, NULL), 60 * (added - 1));
	cr_expect_eq(channel_samples_add(&queue, &f, NULL), 0);
	cr_expect_eq(channel_samples_deliver(&queue, NULL, NULL), 60, "there is room again");
	channel_samples_fini(&queue);
}
