#include "common/proto/channel.h"

#include <criterion/criterion.h>
#include <string.h>

#define FUNCTION_PLACE_BYTES 14 /* token, image and no path */
#define TEXT(s) ((struct channel_text){(s), sizeof(s) - 1})

static uint8_t frame_bytes[CHANNEL_MAX_FRAME + 16];

static void expect_text(struct channel_text got, const char *wanted, const char *what)
{
	if (!wanted)
		cr_expect_null(got.data, "%s", what);
	else
		cr_expect(got.len == strlen(wanted) && memcmp(got.data, wanted, got.len) == 0, "%s: %.*s", what, (int)got.len,
			  got.data ? got.data : "(none)");
}

/* Ends the frame and reads it back as one. */
static struct channel_frame finish(struct wire_writer *w)
{
	struct channel_frame f = {0};
	size_t used = 0, size = channel_end(w);

	cr_assert_gt(size, 0);
	cr_assert_eq(channel_next(frame_bytes, size, &f, &used), CHANNEL_FRAME);
	cr_assert_eq(used, size);
	return f;
}

Test(channel, a_frame_is_whole_or_not_there)
{
	struct channel_frame f;
	struct wire_writer w;
	size_t used;

	channel_begin(&w, frame_bytes, sizeof frame_bytes, CHANNEL_RESOLVE);
	wire_put_u32(&w, 0x11223344);
	size_t size = channel_end(&w);
	cr_assert_eq(size, 12);
	static const uint8_t expected[12] = {4, 0, 0, 0, 1, 1, 0, 0, 0x44, 0x33, 0x22, 0x11};
	cr_expect_arr_eq(frame_bytes, expected, sizeof expected);
	for (size_t len = 0; len < size; len++)
		cr_expect_eq(channel_next(frame_bytes, len, &f, &used), CHANNEL_MORE, "%zu bytes", len);
	cr_expect_eq(channel_next(frame_bytes, size + 3, &f, &used), CHANNEL_FRAME);
	cr_expect(used == size && f.len == 4 && f.type == CHANNEL_RESOLVE && f.payload == frame_bytes + 8);
}

Test(channel, lengths_have_a_bound)
{
	static const struct {
		uint32_t len;
		uint16_t zero;
		enum channel_next expected;
	} rows[] = {
		{CHANNEL_MAX_PAYLOAD - 1, 0, CHANNEL_MORE}, {CHANNEL_MAX_PAYLOAD, 0, CHANNEL_MORE}, {CHANNEL_MAX_PAYLOAD + 1, 0, CHANNEL_BAD},
		{UINT32_MAX, 0, CHANNEL_BAD}, {UINT32_MAX - 7, 0, CHANNEL_BAD}, {0, 1, CHANNEL_BAD}, {0, 0, CHANNEL_FRAME},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		uint8_t header[8];
		struct channel_frame f;
		struct wire_writer w;
		size_t used;
		wire_writer_init(&w, header, sizeof header);
		wire_put_u32(&w, rows[i].len);
		wire_put_u16(&w, CHANNEL_HELLO);
		wire_put_u16(&w, rows[i].zero);
		cr_expect_eq(channel_next(header, sizeof header, &f, &used), rows[i].expected, "row %zu", i);
	}
}

Test(channel, a_frame_over_the_bound_is_not_written)
{
	static const uint8_t bytes[CHANNEL_MAX_PAYLOAD + 1];

	for (int over = -1; over <= 1; over++) {
		struct wire_writer w;
		channel_begin(&w, frame_bytes, sizeof frame_bytes, CHANNEL_SAMPLES);
		wire_put_bytes(&w, bytes, (size_t)((int)CHANNEL_MAX_PAYLOAD + over));
		cr_expect_eq(channel_end(&w) > 0, over <= 0, "%d over", over);
	}
}

Test(channel, client_data_comes_back_and_is_checked)
{
	struct channel_client_data in = {.version = CHANNEL_VERSION, .flags = CHANNEL_NOTIFICATION_ONLY, .path = TEXT("/tmp/x/c"),
					 .pause_budget_us = 200000, .features = CHANNEL_WANT_SUSPENDS, .lease_ms = 15000}, out;
	uint8_t data[CHANNEL_CLIENT_DATA_MAX];
	struct wire_writer w;

	memset(in.nonce, 7, sizeof in.nonce);
	wire_writer_init(&w, data, sizeof data);
	channel_put_client_data(&w, &in);
	cr_assert(!w.bad);
	cr_assert(channel_get_client_data(data, w.pos, &out));
	cr_expect_eq(out.flags, CHANNEL_NOTIFICATION_ONLY);
	cr_expect_arr_eq(out.nonce, in.nonce, sizeof in.nonce);
	expect_text(out.path, "/tmp/x/c", "path");
	cr_expect_eq(out.pause_budget_us, 200000);
	cr_expect_eq(out.features, CHANNEL_WANT_SUSPENDS);
	cr_expect_eq(out.lease_ms, 15000);
	for (size_t len = 0; len < w.pos - 12; len++)
		cr_expect(!channel_get_client_data(data, len, &out), "cut at %zu", len);
	cr_expect(channel_get_client_data(data, w.pos - 4, &out) && out.features == CHANNEL_WANT_SUSPENDS && out.lease_ms == 0,
		  "of an earlier agent");
	cr_expect(channel_get_client_data(data, w.pos - 8, &out) && out.pause_budget_us == 200000 && out.features == 0, "of one before that");
	cr_expect(channel_get_client_data(data, w.pos - 12, &out) && out.pause_budget_us == 0, "of the first");
	data[0]++;
	cr_expect(!channel_get_client_data(data, w.pos, &out), "another version");
}

Test(channel, the_end_of_a_lease_comes_back)
{
	struct wire_writer w;
	struct channel_frame f;
	uint32_t lease_ms;
	size_t used;

	channel_begin(&w, frame_bytes, sizeof frame_bytes, CHANNEL_LAPSED);
	channel_put_lapsed(&w, 15000);
	cr_assert_eq(channel_next(frame_bytes, channel_end(&w), &f, &used), CHANNEL_FRAME);
	cr_expect(channel_get_lapsed(&f, &lease_ms) && lease_ms == 15000);
	f.len--;
	cr_expect(!channel_get_lapsed(&f, &lease_ms), "cut");
}

Test(channel, a_socket_path_has_a_bound)
{
	char path[CHANNEL_MAX_PATH + 2];
	uint8_t data[CHANNEL_CLIENT_DATA_MAX + 2];

	memset(path, 'p', sizeof path);
	for (size_t len = 0; len <= CHANNEL_MAX_PATH + 1; len += len ? CHANNEL_MAX_PATH / 2 : 1) {
		struct channel_client_data in = {.version = CHANNEL_VERSION, .path = {path, len}}, out;
		struct wire_writer w;
		wire_writer_init(&w, data, sizeof data);
		channel_put_client_data(&w, &in);
		cr_expect_eq(!w.bad && channel_get_client_data(data, w.pos, &out), len > 0 && len <= CHANNEL_MAX_PATH, "%zu", len);
	}
}

Test(channel, hello_comes_back)
{
	struct channel_hello in = {.version = 1, .flags = 1, .nonce = {1, 2, 3}, .inner_pid = 42, .runtime_major = 10, .runtime_minor = 0,
				   .runtime_build = 12, .library_version = TEXT("0.1.0")}, out;
	struct wire_writer w;

	channel_begin(&w, frame_bytes, sizeof frame_bytes, CHANNEL_HELLO);
	channel_put_hello(&w, &in);
	struct channel_frame f = finish(&w);
	cr_assert(channel_get_hello(&f, &out));
	cr_expect(out.version == 1 && out.flags == 1 && out.inner_pid == 42);
	cr_expect(out.runtime_major == 10 && out.runtime_minor == 0 && out.runtime_build == 12);
	cr_expect_arr_eq(out.nonce, in.nonce, sizeof in.nonce);
	expect_text(out.library_version, "0.1.0", "version");
	f.len--;
	cr_expect(!channel_get_hello(&f, &out));
	f.len++;
	f.type = CHANNEL_READY;
	cr_expect(!channel_get_hello(&f, &out), "another type");
}

Test(channel, function_comes_back_with_what_it_has_not)
{
	struct channel_function in = {.id = 99, .flags = CHANNEL_OVERLOADED, .dynamic_start_ns = 5, .module = TEXT("a.dll"),
				      .method = TEXT("M"), .params = TEXT("")}, out;
	struct wire_writer w;

	channel_begin(&w, frame_bytes, sizeof frame_bytes, CHANNEL_FUNCTION);
	channel_put_function(&w, &in);
	struct channel_frame f = finish(&w);
	cr_assert(channel_get_function(&f, &out));
	cr_expect(out.id == 99 && out.flags == CHANNEL_OVERLOADED && out.dynamic_start_ns == 5);
	expect_text(out.module, "a.dll", "module");
	expect_text(out.type, NULL, "type");
	expect_text(out.type_args, NULL, "type args");
	expect_text(out.method, "M", "method");
	expect_text(out.params, "", "params");
	cr_expect(out.token == 0 && out.image == 0);
	expect_text(out.path, NULL, "path");
	for (uint32_t len = 0; len < f.len; len++) {
		struct channel_frame cut = {f.type, f.payload, len};
		bool whole = len + FUNCTION_PLACE_BYTES == f.len; /* an earlier library tells no more */
		cr_expect_eq(channel_get_function(&cut, &out), whole, "cut at %u", len);
	}
	in.token = 0x06000012;
	in.image = 0x7f0000000000;
	in.path = TEXT("/app/a.dll");
	channel_begin(&w, frame_bytes, sizeof frame_bytes, CHANNEL_FUNCTION);
	channel_put_function(&w, &in);
	f = finish(&w);
	cr_assert(channel_get_function(&f, &out));
	cr_expect(out.token == in.token && out.image == in.image);
	expect_text(out.path, "/app/a.dll", "path");
	in.id = 0;
	channel_begin(&w, frame_bytes, sizeof frame_bytes, CHANNEL_FUNCTION);
	channel_put_function(&w, &in);
	f = finish(&w);
	cr_expect(!channel_get_function(&f, &out), "no id");
}

Test(channel, samples_come_back_one_after_the_other)
{
	static struct channel_sample_record in, out;
	struct wire_writer w;
	struct wire_reader r;

	channel_begin(&w, frame_bytes, sizeof frame_bytes, CHANNEL_SAMPLES);
	for (uint16_t depth = 0; depth <= CHANNEL_MAX_DEPTH; depth += 127) {
		in = (struct channel_sample_record){.time_ns = -1, .tid = 7, .flags = CHANNEL_TRUNCATED, .depth = depth};
		for (uint16_t i = 0; i < depth; i++)
			in.ips[i] = 0x7f0000000000u + i;
		channel_put_sample(&w, &in);
	}
	struct channel_frame f = finish(&w);
	wire_reader_init(&r, f.payload, f.len);
	cr_assert(channel_get_sample(&r, &out) && out.depth == 0 && out.time_ns == -1 && out.tid == 7);
	cr_assert(channel_get_sample(&r, &out) && out.depth == CHANNEL_MAX_DEPTH && out.ips[126] == 0x7f000000007eu);
	cr_expect(wire_left(&r) == 0 && !r.bad);
	cr_expect(!channel_get_sample(&r, &out), "past the end");
}

Test(channel, a_sample_deeper_than_the_bound_is_refused)
{
	static struct channel_sample_record out;

	for (uint16_t depth = CHANNEL_MAX_DEPTH - 1; depth <= CHANNEL_MAX_DEPTH + 1; depth++) {
		struct wire_writer w;
		struct wire_reader r;
		wire_writer_init(&w, frame_bytes, sizeof frame_bytes);
		wire_put_u64(&w, 1);
		wire_put_u32(&w, 1);
		wire_put_u16(&w, 0);
		wire_put_u16(&w, depth);
		for (uint16_t i = 0; i < depth; i++)
			wire_put_u64(&w, i);
		wire_reader_init(&r, frame_bytes, w.pos);
		cr_expect_eq(channel_get_sample(&r, &out), depth <= CHANNEL_MAX_DEPTH, "depth %u", depth);
	}
}

Test(channel, counts_must_match_what_follows)
{
	static const struct {
		uint32_t count, entries;
		bool resolve;
	} rows[] = {{0, 0, true}, {2, 2, true}, {2, 1, false}, {1, 2, false}, {CHANNEL_MAX_RESOLVE, CHANNEL_MAX_RESOLVE, true},
		    {CHANNEL_MAX_RESOLVE + 1, CHANNEL_MAX_RESOLVE + 1, false}, {UINT32_MAX, 1, false}, {0x20000001, 1, false}};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct wire_writer w;
		struct wire_reader r;
		uint32_t count;
		channel_begin(&w, frame_bytes, sizeof frame_bytes, CHANNEL_RESOLVE);
		wire_put_u32(&w, rows[i].count);
		for (uint32_t k = 0; k < rows[i].entries; k++)
			wire_put_u64(&w, k);
		struct channel_frame f = finish(&w);
		cr_expect_eq(channel_get_resolve(&f, &r, &count), rows[i].resolve, "row %zu", i);
		channel_begin(&w, frame_bytes, sizeof frame_bytes, CHANNEL_RESOLVED);
		wire_put_u32(&w, rows[i].count);
		for (uint32_t k = 0; k < rows[i].entries; k++) {
			wire_put_u64(&w, k);
			wire_put_u32(&w, 0);
		}
		f = finish(&w);
		cr_expect_eq(channel_get_resolved(&f, &r, &count), rows[i].resolve, "row %zu", i);
	}
}

Test(channel, the_rest_comes_back)
{
	struct channel_sampling sampling = {99, 4, 1000, 5, 6, 7, 1, 8}, sampling_out;
	struct channel_account account = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, CHANNEL_LEFT_MAPPED, 12, 13, 14}, account_out;
	struct channel_pause pause = {CHANNEL_PAUSE_SIGNAL, 1, 2, UINT64_MAX}, pause_out;
	struct channel_error error = {CHANNEL_DETACH, 0x80131370, TEXT("no")}, error_out;
	struct wire_writer w;

	channel_begin(&w, frame_bytes, sizeof frame_bytes, CHANNEL_SAMPLING);
	channel_put_sampling(&w, &sampling);
	struct channel_frame f = finish(&w);
	cr_assert(channel_get_sampling(&f, &sampling_out));
	cr_expect(sampling_out.hertz == 99 && sampling_out.threads == 4 && sampling_out.taken == 1000 && sampling_out.dropped == 5);
	cr_expect(sampling_out.untimed == 6 && sampling_out.untimed_cpu_ns == 7 && sampling_out.flags == 1 && sampling_out.cpu_ns == 8);
	f.len -= 24; /* of an earlier library */
	cr_assert(channel_get_sampling(&f, &sampling_out));
	cr_expect(sampling_out.dropped == 5 && sampling_out.untimed == 0 && sampling_out.cpu_ns == 0);
	channel_begin(&w, frame_bytes, sizeof frame_bytes, CHANNEL_DETACHING);
	channel_put_account(&w, &account);
	f = finish(&w);
	cr_assert(channel_get_account(&f, &account_out));
	cr_expect(account_out.max_pause_ns == 7 && account_out.memory_bytes == 8 && account_out.pauses == 9 && account_out.paused_ns == 10);
	cr_expect(account_out.collections == 12 && account_out.collections_ns == 13 && account_out.max_wait_ns == 14);
	f.len -= 8; /* of an earlier library */
	cr_assert(channel_get_account(&f, &account_out));
	cr_expect(account_out.collections_ns == 13 && account_out.max_wait_ns == 0);
	f.len -= 16;
	cr_assert(channel_get_account(&f, &account_out));
	cr_expect(account_out.left == CHANNEL_LEFT_MAPPED && account_out.collections == 0 && account_out.collections_ns == 0);
	f.len -= 20;
	cr_assert(channel_get_account(&f, &account_out));
	cr_expect(account_out.memory_bytes == 8 && account_out.pauses == 0 && account_out.paused_ns == 0 && account_out.left == 0);
	f.len += 44;
	cr_assert(channel_get_account(&f, &account_out));
	channel_begin(&w, frame_bytes, sizeof frame_bytes, CHANNEL_PAUSE);
	channel_put_pause(&w, &pause);
	f = finish(&w);
	cr_assert(channel_get_pause(&f, &pause_out));
	cr_expect(pause_out.kind == CHANNEL_PAUSE_SIGNAL && pause_out.end_ns == 1 && pause_out.duration_ns == 2 &&
		  pause_out.budget_ns == UINT64_MAX);
	f.len--;
	cr_expect(!channel_get_pause(&f, &pause_out), "cut");
	cr_expect_eq(memcmp(&account, &account_out, offsetof(struct channel_account, left)), 0);
	cr_expect(account_out.left == account.left && account_out.collections == 12 && account_out.collections_ns == 13);
	channel_begin(&w, frame_bytes, sizeof frame_bytes, CHANNEL_ERROR);
	channel_put_error(&w, &error);
	f = finish(&w);
	cr_assert(channel_get_error(&f, &error_out));
	cr_expect(error_out.request == CHANNEL_DETACH && error_out.code == 0x80131370);
	expect_text(error_out.message, "no", "message");
}

Test(channel, collections_are_a_list_of_records)
{
	const struct channel_collection in[] = {{10, 20, 7, 0}, {INT64_MAX - 1, INT64_MAX, UINT32_MAX, 2}};
	struct channel_collection out;
	struct wire_writer w;
	struct wire_reader r;

	channel_begin(&w, frame_bytes, sizeof frame_bytes, CHANNEL_COLLECTIONS);
	for (size_t i = 0; i < 2; i++)
		channel_put_collection(&w, &in[i]);
	struct channel_frame f = finish(&w);
	cr_expect_eq(f.len, 2 * 24);
	wire_reader_init(&r, f.payload, f.len);
	for (size_t i = 0; i < 2; i++) {
		cr_assert(channel_get_collection(&r, &out));
		cr_expect(out.start_ns == in[i].start_ns && out.end_ns == in[i].end_ns && out.tid == in[i].tid &&
			  out.generation == in[i].generation);
	}
	cr_expect_eq(wire_left(&r), 0);
	wire_reader_init(&r, f.payload, 23);
	cr_expect(!channel_get_collection(&r, &out), "a cut record");
	channel_begin(&w, frame_bytes, sizeof frame_bytes, CHANNEL_COLLECTIONS);
	channel_put_collection(&w, &(struct channel_collection){20, 10, 7, 0});
	f = finish(&w);
	wire_reader_init(&r, f.payload, f.len);
	cr_expect(!channel_get_collection(&r, &out), "an end before its start");
}
