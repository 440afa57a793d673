/* Whose an await was: which chain runs on a thread as it turns to a request. */
#include "agent/profilers/requests/request_awaits.h"

#include "agent/profilers/requests/request_bill.h"
#include "common/proto/wire.h"
#include "tests/unit/agent/stacks/make_capture.h"

#include <criterion/criterion.h>

#define MS 1000000ull
#define REQUEST 7

static struct request_trail trail;
static struct request_awaits awaits;
static struct request_work work;
static struct made names;

static void begin_awaits(void)
{
	make_begin(&names);
	request_awaits_init(&awaits);
	request_trail_window(&trail, &(struct channel_request_window){0, 1000 * MS});
}

static void add_switch(uint32_t tid, uint64_t at_ms, uint32_t number)
{
	request_trail_switch(&trail, &(struct channel_request_switch){.time_ns = at_ms * MS, .tid = tid, .number = number});
}

/* A buffer of one record. */
static void add_record(uint32_t tid, uint64_t at_ms, uint8_t id, uint8_t address)
{
	uint8_t data[64];
	struct wire_writer w;
	wire_writer_init(&w, data, sizeof data);
	wire_put_u8(&w, 1);
	wire_put_u32(&w, 0);
	wire_put_u32(&w, 1);
	wire_put_u64(&w, tid);
	wire_put_u32(&w, 1);
	wire_put_u64(&w, at_ms * MS);
	wire_put_u64(&w, at_ms * MS);
	wire_put_u16(&w, id);
	if (address) {
		wire_put_u16(&w, id == 7 ? 5 : 6);
		wire_put_u16(&w, 0);
		wire_put_u8(&w, 1);
		wire_put_u8(&w, 9);
		wire_put_u8(&w, address);
		if (id != 7)
			wire_put_u8(&w, 0); /* a state */
	}
	size_t len = w.pos;
	data[1] = (uint8_t)len;
	request_awaits_buffer(&awaits, data, len);
	cr_assert_eq(awaits.malformed, 0);
}

/* What the address is named, innermost first as "app:S.A:Load;lib:System.B:Read" has it, root first. */
static void name_address(uint8_t address, const char *root_first)
{
	for (size_t i = 0; i < awaits.stack_count; i++)
		if (awaits.stacks[i].ips[0] == address + 1u)
			awaits.stacks[i].stack = make_stack(&names, root_first, false);
}

static struct endpoint_awaits read_request(uint64_t from_ms, uint64_t to_ms)
{
	struct endpoint_awaits e = {.count = 0};
	const struct channel_request_done d = {.start_ns = from_ms * MS, .end_ns = to_ms * MS, .number = REQUEST};
	request_trail_sort(&trail);
	request_awaits_sort(&awaits);
	request_awaits_add(&awaits, &names.capture, &trail, &work, &d, &e);
	request_awaits_finish(&e);
	return e;
}

static void end_awaits(void)
{
	request_trail_fini(&trail);
	request_awaits_fini(&awaits);
	make_end(&names);
}

static const char *method_of(const struct endpoint_awaits *e, size_t i)
{
	return i < e->count ? names.capture.frames[e->list[i].frame].method : "none";
}

/* 10 to 110 at one await, 120 to 180 at another; a thread resumes it just before it turns to the request. */
Test(request_awaits, each_await_is_of_the_chain_that_runs_then)
{
	begin_awaits();
	add_switch(1, 0, REQUEST);
	add_switch(1, 10, 0);
	add_record(2, 50, 7, 60); /* another's */
	add_record(2, 51, 3, 0);
	add_record(2, 109, 7, 40);
	add_switch(2, 110, REQUEST);
	add_switch(2, 120, 0);
	add_record(2, 121, 3, 0);
	add_record(3, 179, 7, 50);
	add_switch(3, 180, REQUEST);
	add_switch(3, 190, 0);
	name_address(40, "app:S.Cart:Load;lib:System.Net.Http:Send");
	name_address(50, "app:S.Cart:Save");
	name_address(60, "app:S.Other:Poll");
	struct endpoint_awaits e = read_request(0, 190);
	cr_expect(e.ns == 160 * MS && e.told_ns == 160 * MS, "%llu", (unsigned long long)e.told_ns);
	cr_assert_eq(e.count, 2);
	cr_expect_str_eq(method_of(&e, 0), "Load");
	cr_expect_str_eq(method_of(&e, 1), "Save");
	cr_expect(e.list[0].ns == 100 * MS && e.list[0].other_ns == 100 * MS && e.list[0].times == 1);
	cr_expect(e.list[0].awaited != AWAIT_NO_FRAME && e.list[1].awaited == AWAIT_NO_FRAME);
	cr_expect_eq(request_awaits_main(&e, 160 * MS), &e.list[0]);
	cr_expect_null(request_awaits_main(&e, 200 * MS), "half of it is no most");
	end_awaits();
}

/* One that is over, or that belongs to what the thread did for another request, is not its; neither is what goes on from a chain that was not told. */
Test(request_awaits, what_is_not_known_is_not_told)
{
	static const struct {
		struct {
			uint64_t at_ms;
			uint8_t id, address;
		} records[3];
		bool other_before; /* the thread has worked for another request since 100 */
		const char *method; /* NULL: not told */
	} rows[] = {
		{{{109, 7, 40}}, false, "Load"},
		{{{109, 7, 40}, {109, 3, 0}}, false, NULL},                 /* over */
		{{{109, 7, 40}, {109, 20, 0}}, false, NULL},                /* the runtime has begun anew */
		{{{5, 7, 40}}, false, NULL},                                /* too long ago */
		{{{90, 7, 40}}, true, NULL},                                /* the other's */
		{{{105, 7, 40}}, true, "Load"},                             /* which resumed it within */
		{{{115, 16, 40}}, false, "Load"},                           /* the context first */
		{{{115, 19, 40}}, false, NULL},                             /* goes on from what is not told */
		{{{115, 3, 0}, {116, 7, 40}}, false, NULL},                 /* an end of what is not told */
		{{{109, 7, 50}, {115, 19, 40}}, false, "Load"},             /* a library's, then its caller */
		{{{109, 7, 50}, {115, 7, 40}, {116, 3, 0}}, false, "Load"},
		{{{109, 7, 50}}, false, NULL},                              /* a library's only */
		{{{109, 7, 40}, {109, 7, 50}, {109, 3, 0}}, false, "Load"}, /* one within it is over */
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		begin_awaits();
		add_switch(1, 0, REQUEST);
		add_switch(1, 10, 0);
		if (rows[i].other_before)
			add_switch(2, 100, 8);
		add_switch(2, 110, REQUEST);
		add_switch(2, 120, 0);
		for (size_t k = 0; k < 3 && rows[i].records[k].at_ms; k++)
			add_record(2, rows[i].records[k].at_ms, rows[i].records[k].id, rows[i].records[k].address);
		name_address(40, "app:S.Cart:Load");
		name_address(50, "lib:System.Net.Http:Send");
		struct endpoint_awaits e = read_request(0, 120);
		cr_expect_eq(e.ns, 100 * MS, "row %zu", i);
		cr_expect_eq(e.told_ns, rows[i].method ? 100 * MS : 0, "row %zu: %llu", i, (unsigned long long)e.told_ns);
		cr_expect_str_eq(method_of(&e, 0), rows[i].method ? rows[i].method : "none", "row %zu", i);
		end_awaits();
	}
}

/* Resumed in a library twice before the application goes on: all of it was the application's await. What nothing tells of is not. */
Test(request_awaits, libraries_on_the_way_are_part_of_the_await)
{
	begin_awaits();
	add_switch(1, 0, REQUEST);
	add_switch(1, 10, 0);
	for (uint64_t at = 30; at <= 70; at += 20) {
		if (at != 30)
			add_record(2, at, 7, at == 70 ? 40 : 50);
		add_switch(2, at, REQUEST);
		add_switch(2, at + 5, 0);
		if (at != 30)
			add_record(2, at + 6, 3, 0);
	}
	name_address(40, "app:S.Cart:Load");
	name_address(50, "lib:System.Net.Http:Send");
	struct endpoint_awaits e = read_request(0, 100);
	cr_expect(e.ns == 75 * MS && e.told_ns == 30 * MS, "35 to 50 and 55 to 70, not 10 to 30 nor the end: %llu", (unsigned long long)e.told_ns);
	cr_expect(e.count == 1 && e.list[0].times == 2);
	end_awaits();
}
