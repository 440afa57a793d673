#include "common/proto/channel_allocs.h"

#include <criterion/criterion.h>
#include <string.h>

static uint8_t data[4096];

Test(channel_allocs, records_survive_the_wire_and_no_cut)
{
	struct wire_writer w;
	struct wire_reader r;
	struct channel_alloc_site site = {.site = 1, .type = 2, .tid = 3, .flags = CHANNEL_ALLOC_LARGE, .depth = 3, .ips = {10, 20, 30}}, s;
	struct channel_alloc_round round = {.time_ns = 5, .covered_ns = 400, .sampled_ns = 100}, q;
	struct channel_alloc_count count = {.site = 1, .samples = 7, .size = 700, .amount = 9}, c;
	struct channel_alloc_type type = {.type = 2, .name = {"byte[]", 6}}, t;

	wire_writer_init(&w, data, sizeof data);
	channel_put_alloc_site(&w, &site);
	channel_put_alloc_round(&w, &round);
	channel_put_alloc_count(&w, &count);
	channel_put_alloc_type(&w, &type);
	for (size_t len = w.pos;; len--) {
		wire_reader_init(&r, data, len);
		bool all = channel_get_alloc_site(&r, &s) && channel_get_alloc_round(&r, &q) && channel_get_alloc_count(&r, &c) &&
			   channel_get_alloc_type(&r, &t);
		cr_expect_eq(all, len == w.pos, "%zu", len);
		if (len == 0)
			break;
		if (!all)
			continue;
		cr_expect(s.site == 1 && s.type == 2 && s.tid == 3 && s.flags == CHANNEL_ALLOC_LARGE && s.depth == 3 && s.ips[2] == 30);
		cr_expect(q.time_ns == 5 && q.covered_ns == 400 && q.sampled_ns == 100);
		cr_expect(c.site == 1 && c.samples == 7 && c.size == 700 && c.amount == 9);
		cr_expect(t.type == 2 && t.name.len == 6);
	}
}

Test(channel_allocs, what_cannot_be_is_refused)
{
	static const struct channel_alloc_round rounds[] = {{-1, 2, 1}, {1, 1, 2}, {1, 1, 0}, {1, UINT64_MAX, 1}};
	static const struct channel_alloc_count counts[] = {{1, 0, 0, 0}, {1, 1, UINT64_MAX, 0}, {1, 1, 0, UINT64_MAX}, {1, 1ull << 32, 0, 0}};
	struct channel_alloc_site site = {.depth = CHANNEL_MAX_DEPTH + 1};
	struct channel_alloc_round round;
	struct channel_alloc_count count;
	struct wire_writer w;
	struct wire_reader r;

	for (size_t i = 0; i < sizeof rounds / sizeof *rounds; i++) {
		wire_writer_init(&w, data, sizeof data);
		channel_put_alloc_round(&w, &rounds[i]);
		wire_reader_init(&r, data, w.pos);
		cr_expect(!channel_get_alloc_round(&r, &round), "%zu", i);
	}
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
		wire_writer_init(&w, data, sizeof data);
		channel_put_alloc_count(&w, &counts[i]);
		wire_reader_init(&r, data, w.pos);
		cr_expect(!channel_get_alloc_count(&r, &count), "%zu", i);
	}
	wire_writer_init(&w, data, sizeof data);
	wire_put_u64(&w, 1);
	wire_put_u64(&w, 1);
	wire_put_u32(&w, 1);
	wire_put_u16(&w, 0);
	wire_put_u16(&w, CHANNEL_MAX_DEPTH + 1);
	wire_reader_init(&r, data, sizeof data);
	cr_expect(!channel_get_alloc_site(&r, &site));
}

Test(channel_allocs, the_state_survives_the_wire)
{
	const struct channel_allocs_state in = {303, 1, 2, 3, 4, 5, 6, 8, 7};
	struct channel_allocs_state out;
	struct channel_frame f;
	struct wire_writer w;
	size_t used;

	channel_begin(&w, data, sizeof data, CHANNEL_ALLOCS_STATE);
	channel_put_allocs_state(&w, &in);
	size_t len = channel_end(&w);
	cr_assert_eq(channel_next(data, len, &f, &used), CHANNEL_FRAME);
	cr_assert(channel_get_allocs_state(&f, &out));
	cr_expect_eq(memcmp(&in, &out, sizeof in), 0);
	f.len--;
	cr_expect(!channel_get_allocs_state(&f, &out));
}
