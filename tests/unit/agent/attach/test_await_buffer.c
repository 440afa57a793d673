/* The runtime's packed buffers: what fits is told, each length at -1, 0 and +1, and nothing of what lies behind. */
#include "agent/attach/await_buffer.h"

#include "common/proto/wire.h"

#include <criterion/criterion.h>
#include <string.h>

#define HEAD 37

static uint8_t buffer[4096];
static struct wire_writer out;
static struct await_resume told[64];
static size_t told_count;

static void on_told(void *ctx, const struct await_resume *r)
{
	(void)ctx;
	told[told_count++ % 64] = *r;
}

static void begin_buffer(void)
{
	told_count = 0;
	wire_writer_init(&out, buffer, sizeof buffer);
	wire_put_u8(&out, 1);
	wire_put_u32(&out, 0);
	wire_put_u32(&out, 5);
	wire_put_u64(&out, 77);
	wire_put_u32(&out, 1);
	wire_put_u64(&out, 1000);
	wire_put_u64(&out, 2000);
}

static size_t end_buffer(void)
{
	uint32_t len = (uint32_t)out.pos;
	memcpy(buffer + 1, &len, sizeof len);
	return len;
}

/* A record whose payload's length has `size` bytes. */
static void put_record(uint8_t id, uint8_t ticks, unsigned size, const char *payload, size_t len)
{
	wire_put_u8(&out, id);
	wire_put_u8(&out, ticks);
	if (size == 1)
		wire_put_u8(&out, (uint8_t)len);
	else if (size == 2)
		wire_put_u16(&out, (uint16_t)len);
	wire_put_bytes(&out, payload, len);
}

static bool read_buffer(size_t len)
{
	struct await_widths w;
	await_widths_init(&w);
	told_count = 0;
	return await_buffer_read(buffer, len, &w, on_told, NULL);
}

/* Three bytes, the task, then 0x1234 and 0x1230 (four less). */
#define RUNTIME_STACK "\0\0\2\11\xb4\x24\7"
#define MACHINE_STACK "\0\0\2\11\xb4\x24\1\7\4" /* with the states -1 and 2 */

Test(await_buffer, stacks_are_told_with_their_times)
{
	begin_buffer();
	put_record(20, 1, 0, "", 0);
	put_record(7, 10, 2, RUNTIME_STACK, sizeof RUNTIME_STACK - 1);
	put_record(3, 5, 0, "", 0);
	put_record(16, 100, 2, MACHINE_STACK, sizeof MACHINE_STACK - 1);
	put_record(19, 0, 2, MACHINE_STACK, sizeof MACHINE_STACK - 1);
	put_record(23, 1, 1, "\1\1", 2);
	put_record(14, 1, 0, "", 0);
	cr_assert(read_buffer(end_buffer()));
	cr_assert_eq(told_count, 6, "%zu", told_count);
	cr_expect(told[0].kind == AWAIT_RESET && told[0].time_ns == 1001 && told[0].tid == 77);
	cr_expect(told[1].kind == AWAIT_RESUMED && !told[1].machine && told[1].time_ns == 1011 && told[1].depth == 2);
	cr_expect(told[1].ips[0] == 0x1234 && told[1].ips[1] == 0x1230, "%llx", (unsigned long long)told[1].ips[1]);
	cr_expect(told[2].kind == AWAIT_ENDED && told[2].time_ns == 1016 && told[2].depth == 0);
	cr_expect(told[3].kind == AWAIT_RESUMED && told[3].machine && told[3].states[0] == -1 && told[3].states[1] == 2 && told[3].ips[1] == 0x1230);
	cr_expect(told[4].kind == AWAIT_GOES_ON && told[4].time_ns == 1116);
	cr_expect(told[5].kind == AWAIT_ENDED && told[5].time_ns == 1118);
}

Test(await_buffer, what_does_not_fit_is_refused)
{
	begin_buffer();
	put_record(3, 1, 0, "", 0);
	put_record(7, 10, 2, RUNTIME_STACK, sizeof RUNTIME_STACK - 1);
	size_t len = end_buffer();
	cr_expect(read_buffer(len + 1), "what lies behind is not read");
	cr_expect_eq(told_count, 2);
	cr_expect_not(read_buffer(len - 1), "less than it says");
	for (uint32_t cut = 0; cut < len; cut++) { /* it says less */
		memcpy(buffer + 1, &cut, sizeof cut);
		bool whole = cut == HEAD || cut == HEAD + 2;
		cr_expect_eq(read_buffer(len), whole, "cut at %u", cut);
		cr_expect(told_count <= 1);
	}
	end_buffer();
	buffer[0] = 2;
	cr_expect_not(read_buffer(len), "another version");
}

Test(await_buffer, a_stack_that_its_payload_does_not_hold)
{
	for (size_t less = 1; less < sizeof RUNTIME_STACK - 1; less++) {
		begin_buffer();
		put_record(7, 10, 2, RUNTIME_STACK, sizeof RUNTIME_STACK - 1 - less);
		cr_expect_not(read_buffer(end_buffer()), "%zu less", less);
		cr_expect_eq(told_count, 0);
	}
	begin_buffer();
	put_record(7, 10, 2, "\0\0\1\11\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\1", 15); /* a number that does not end */
	cr_expect_not(read_buffer(end_buffer()));
}

Test(await_buffer, deep_stacks_keep_their_innermost_frames)
{
	char payload[4 + 255 * 2] = {0, 0, (char)255, 9, 100, 0};
	size_t len = 5;
	for (unsigned i = 1; i < 255; i++)
		payload[len++] = 2; /* one more */
	begin_buffer();
	put_record(7, 1, 2, payload, len);
	cr_assert(read_buffer(end_buffer()));
	cr_assert(told_count == 1 && told[0].depth == AWAIT_BUFFER_DEPTH);
	cr_expect_eq(told[0].ips[AWAIT_BUFFER_DEPTH - 1], 100 + AWAIT_BUFFER_DEPTH - 1);
}

/* A later runtime's records are passed over by the lengths that it says they have. */
Test(await_buffer, the_runtime_says_how_long_its_lengths_are)
{
	begin_buffer();
	put_record(22, 1, 2, "\1\1\1\1\40\2\x50\1\2\3\1\1", 12);
	put_record(0x50, 1, 2, "abc", 3);
	put_record(3, 1, 1, "z", 1);
	cr_assert(read_buffer(end_buffer()));
	cr_expect(told_count == 1 && told[0].kind == AWAIT_ENDED && told[0].time_ns == 1003);
}
