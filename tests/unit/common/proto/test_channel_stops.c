#include "common/proto/channel_stops.h"

#include <criterion/criterion.h>
#include <string.h>

static uint8_t bytes[CHANNEL_MAX_FRAME];

static const struct channel_stop whole = {
	.number = 7, .start_ns = 100, .stopped_ns = 150, .resume_ns = 300, .end_ns = 310, .tid = 42, .reason = 1, .flags = 0, .threads = 3,
	.last_tid = 43, .next_tid = 44, .last_ns = 149, .next_ns = 151, .collection_count = 2,
	.collections = {{160, 250, 1, CHANNEL_GC_FINISHED, 0, 0}, {260, 0, 2, CHANNEL_GC_INDUCED | CHANNEL_GC_DETAILED, 1, 1}},
};

static size_t put(const struct channel_stop *s)
{
	struct wire_writer w;

	wire_writer_init(&w, bytes, sizeof bytes);
	channel_put_stop(&w, s);
	cr_assert(!w.bad);
	return w.pos;
}

static bool get(size_t len, struct channel_stop *out)
{
	struct wire_reader r;

	memset(out, 0, sizeof *out);
	wire_reader_init(&r, bytes, len);
	return channel_get_stop(&r, out) && wire_left(&r) == 0;
}

Test(channel_stops, a_stop_comes_back_as_it_went)
{
	struct channel_stop out;
	size_t len = put(&whole);

	cr_expect_eq(len, 78 + 2 * 20, "as docs/channel-protocol.md says: %zu", len);
	cr_assert(get(len, &out));
	cr_expect(out.number == 7 && out.start_ns == 100 && out.stopped_ns == 150 && out.resume_ns == 300 && out.end_ns == 310);
	cr_expect(out.tid == 42 && out.reason == 1 && out.flags == 0 && out.threads == 3);
	cr_expect(out.last_tid == 43 && out.last_ns == 149 && out.next_tid == 44 && out.next_ns == 151);
	cr_assert_eq(out.collection_count, 2);
	cr_expect(out.collections[0].start_ns == 160 && out.collections[0].end_ns == 250 && out.collections[0].generation == 1);
	cr_expect(out.collections[1].end_ns == 0 && out.collections[1].flags == 5 && out.collections[1].reason == 1 && out.collections[1].type == 1);
	for (size_t cut = 0; cut < len; cut++)
		cr_expect(!get(cut, &out), "cut at %zu", cut);
}

Test(channel_stops, more_collections_than_fit_are_counted)
{
	struct channel_stop many = whole, out;

	many.collection_count = CHANNEL_STOP_COLLECTIONS + 3;
	size_t len = put(&many);
	cr_expect_eq(len, 78 + CHANNEL_STOP_COLLECTIONS * 20);
	cr_assert(get(len, &out));
	cr_expect_eq(out.collection_count, CHANNEL_STOP_COLLECTIONS + 3);
}

Test(channel_stops, impossible_ones_are_refused)
{
	static const struct {
		const char *what;
		uint64_t start, stopped, resume, end;
		bool good;
	} rows[] = {
		{"in order", 1, 1, 1, 1, true},
		{"given up", 10, 0, 0, 20, true},
		{"stopped before the start", 10, 9, 20, 30, false},
		{"resumed before it stopped", 10, 15, 14, 30, false},
		{"ended before it resumed", 10, 15, 20, 19, false},
		{"ended before it began", 10, 0, 0, 9, false},
		{"beyond signed time", 10, 0, 0, UINT64_MAX, false},
	};
	struct channel_stop s = whole, out;

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		s.start_ns = rows[i].start;
		s.stopped_ns = rows[i].stopped;
		s.resume_ns = rows[i].resume;
		s.end_ns = rows[i].end;
		cr_expect_eq(get(put(&s), &out), rows[i].good, "%s", rows[i].what);
	}
	s = whole;
	s.collections[0].generation = 3;
	cr_expect(!get(put(&s), &out), "no such generation");
	s = whole;
	s.collections[0].end_ns = s.collections[0].start_ns - 1;
	cr_expect(!get(put(&s), &out), "a collection that ends before it begins");
}

Test(channel_stops, a_stack_and_the_account)
{
	static struct channel_stop_stack in = {.number = 3, .time_ns = 99, .tid = 5, .kind = CHANNEL_STACK_LATE, .depth = CHANNEL_MAX_DEPTH}, out;
	struct channel_stops_state state = {10, 2, 77, CHANNEL_STOPS_EVENTS}, back = {0};
	struct wire_writer w;
	struct wire_reader r;

	for (size_t i = 0; i < CHANNEL_MAX_DEPTH; i++)
		in.ips[i] = i * 3;
	wire_writer_init(&w, bytes, sizeof bytes);
	channel_put_stop_stack(&w, &in);
	cr_expect_eq(w.pos, 24 + CHANNEL_MAX_DEPTH * 8);
	wire_reader_init(&r, bytes, w.pos);
	cr_assert(channel_get_stop_stack(&r, &out) && wire_left(&r) == 0);
	cr_expect(out.number == 3 && out.time_ns == 99 && out.tid == 5 && out.kind == CHANNEL_STACK_LATE && out.depth == CHANNEL_MAX_DEPTH);
	cr_expect_eq(memcmp(in.ips, out.ips, sizeof in.ips), 0);
	wire_reader_init(&r, bytes, w.pos - 1);
	cr_expect(!channel_get_stop_stack(&r, &out), "cut");
	in.incomplete = true;
	cr_expect(!out.incomplete);
	wire_writer_init(&w, bytes, sizeof bytes);
	channel_put_stop_stack(&w, &in);
	wire_reader_init(&r, bytes, w.pos);
	cr_expect(channel_get_stop_stack(&r, &out) && out.incomplete && out.kind == CHANNEL_STACK_LATE);
	bytes[22] = CHANNEL_MAX_DEPTH + 1;
	wire_reader_init(&r, bytes, w.pos);
	cr_expect(!channel_get_stop_stack(&r, &out), "too deep");

	channel_begin(&w, bytes, sizeof bytes, CHANNEL_STOPS_STATE);
	channel_put_stops_state(&w, &state);
	size_t used, len = channel_end(&w);
	struct channel_frame f;
	cr_assert_eq(channel_next(bytes, len, &f, &used), CHANNEL_FRAME);
	cr_assert(channel_get_stops_state(&f, &back));
	cr_expect(back.seen == 10 && back.dropped == 2 && back.time_ns == 77 && back.flags == CHANNEL_STOPS_EVENTS);
	f.len--;
	cr_expect(!channel_get_stops_state(&f, &back), "cut");
}
