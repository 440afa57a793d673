#include "agent/perf/perf_ring.h"

#include <criterion/criterion.h>
#include <string.h>

#define DATA 256
#define K ((uint64_t)PERF_CONTEXT_KERNEL)
#define U ((uint64_t)PERF_CONTEXT_USER)

/* What the kernel would have written. */
struct fake {
	struct perf_event_mmap_page page;
	uint64_t data[DATA / 8];
	struct perf_ring ring;
	struct perf_bounce bounce;
};

struct seen {
	int samples, tallies, lost, comms, forks, others;
	uint64_t lost_sum, kernel_sum, user_sum;
	struct perf_sample last;
	char comm[16];
};

static void setup(struct fake *f, uint64_t at)
{
	memset(f, 0, sizeof *f);
	f->page.data_head = f->page.data_tail = at;
	f->ring = (struct perf_ring){.page = &f->page, .data = (uint8_t *)f->data, .data_bytes = DATA};
}

static void put(struct fake *f, const uint64_t *words, size_t count)
{
	for (size_t i = 0; i < count; i++, f->page.data_head += 8)
		f->data[(f->page.data_head % DATA) / 8] = words[i];
}

static uint64_t header(uint32_t type, uint16_t misc, uint16_t size)
{
	struct perf_event_header h = {type, misc, size};
	uint64_t w;
	memcpy(&w, &h, sizeof w);
	return w;
}

static void see(void *ctx, const struct perf_record *r)
{
	struct seen *s = ctx;
	switch (r->kind) {
	case PERF_KIND_SAMPLE:
		s->samples++;
		s->last = r->u.sample;
		for (size_t i = 0; i < r->u.sample.kernel_depth; i++)
			s->kernel_sum += r->u.sample.kernel[i];
		for (size_t i = 0; i < r->u.sample.user_depth; i++)
			s->user_sum += r->u.sample.user[i];
		break;
	case PERF_KIND_TALLY:
		s->tallies++;
		break;
	case PERF_KIND_LOST:
		s->lost++;
		s->lost_sum += r->u.lost;
		break;
	case PERF_KIND_COMM:
		s->comms++;
		memcpy(s->comm, r->u.comm.comm, sizeof s->comm);
		break;
	case PERF_KIND_FORK:
		s->forks++;
		break;
	case PERF_KIND_THROTTLE:
	case PERF_KIND_SWITCH:
	case PERF_KIND_OTHER:
		s->others++;
		break;
	}
}

#define SAMPLE_WORDS 9
static void put_sample(struct fake *f, uint64_t time)
{
	uint64_t w[SAMPLE_WORDS] = {header(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_KERNEL, SAMPLE_WORDS * 8), 7 | (uint64_t)8 << 32, time, 5, K, 1000, U, 1, 2};
	put(f, w, SAMPLE_WORDS);
}

Test(perf_ring, reads_samples_at_every_place_of_the_ring)
{
	for (uint64_t at = 0; at < DATA; at += 8) {
		struct fake f;
		struct seen s = {0};
		setup(&f, UINT64_C(1) << 40 | at);
		put_sample(&f, 41);
		put_sample(&f, 42);
		cr_expect_eq(perf_ring_read(&f.ring, &f.bounce, see, &s), 0);
		cr_expect_eq(s.samples, 2, "at %lu", at);
		cr_expect_eq(s.last.time_ns, 42);
		cr_expect_eq(s.last.pid, 7);
		cr_expect_eq(s.last.tid, 8);
		cr_expect(s.last.in_kernel);
		cr_expect_eq(s.kernel_sum, 2000);
		cr_expect_eq(s.user_sum, 6);
		cr_expect_eq(f.page.data_tail, f.page.data_head, "the room is given back");
		cr_expect_eq(perf_ring_read(&f.ring, &f.bounce, see, &s), 0);
		cr_expect_eq(s.samples, 2, "nothing is read twice");
	}
}

Test(perf_ring, passes_a_full_ring)
{
	struct fake f;
	struct seen s = {0};
	setup(&f, 0);
	for (int i = 0; i < DATA / 16; i++)
		put(&f, (uint64_t[]){header(PERF_RECORD_LOST_SAMPLES, 0, 16), 3}, 2);
	cr_expect_eq(perf_ring_read(&f.ring, &f.bounce, see, &s), 0);
	cr_expect_eq(s.lost, DATA / 16);
	cr_expect_eq(s.lost_sum, 3 * DATA / 16);
}

static const struct {
	const char *what;
	uint64_t words[8];
	size_t count;
	size_t malformed;
	int samples, lost, comms, forks, others;
} rows[] = {
	{"an empty chain", {0, 1, 2, 0}, 4, 0, 1, 0, 0, 0, 0},
	{"a chain as long as the record", {0, 1, 2, 2, U, 9}, 6, 0, 1, 0, 0, 0, 0},
	{"a chain longer than the record by one", {0, 1, 2, 3, U, 9}, 6, 1, 0, 0, 0, 0, 0},
	{"a chain length that overflows", {0, 1, 2, UINT64_MAX, U, 9}, 6, 1, 0, 0, 0, 0, 0},
	{"a record too short for what every sample has", {0, 1}, 2, 1, 0, 0, 0, 0, 0},
	{"a tally, which has no chain", {0, 1, 2}, 3, 0, 0, 0, 0, 0, 0},
	{"user addresses in two runs", {0, 1, 2, 4, U, 9, U, 9}, 8, 1, 0, 0, 0, 0, 0},
	{"addresses before any context", {0, 1, 2, 2, 5, 6}, 6, 0, 1, 0, 0, 0, 0},
};

Test(perf_ring, checks_samples)
{
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct fake f;
		struct seen s = {0};
		uint64_t words[8];
		memcpy(words, rows[i].words, sizeof words);
		words[0] = header(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, (uint16_t)(rows[i].count * 8));
		setup(&f, 64);
		put(&f, words, rows[i].count);
		cr_expect_eq(perf_ring_read(&f.ring, &f.bounce, see, &s), rows[i].malformed, "%s", rows[i].what);
		cr_expect_eq(s.samples, rows[i].samples, "%s", rows[i].what);
		cr_expect_eq(s.tallies, rows[i].count == 3, "%s", rows[i].what);
		cr_expect_not(s.last.in_kernel);
	}
}

Test(perf_ring, reads_the_other_records)
{
	struct fake f;
	struct seen s = {0};
	uint64_t name[2];
	memcpy(name, "fifteen_letters", 16);
	setup(&f, 8);
	put(&f, (uint64_t[]){header(PERF_RECORD_LOST, 0, 24), 77, 5}, 3);
	put(&f, (uint64_t[]){header(PERF_RECORD_LOST, 0, 16), 77}, 2);
	put(&f, (uint64_t[]){header(PERF_RECORD_COMM, 0, 32), 1, name[0], name[1]}, 4);
	put(&f, (uint64_t[]){header(PERF_RECORD_FORK, 0, 32), 1, 2, 3}, 4);
	put(&f, (uint64_t[]){header(PERF_RECORD_THROTTLE, 0, 16), 3}, 2);
	put(&f, (uint64_t[]){header(999, 0, 8)}, 1);
	cr_expect_eq(perf_ring_read(&f.ring, &f.bounce, see, &s), 1, "the short LOST record");
	cr_expect_eq(s.lost, 1);
	cr_expect_eq(s.lost_sum, 5);
	cr_expect_eq(s.comms, 1);
	cr_expect_str_eq(s.comm, "fifteen_letters");
	cr_expect_eq(s.forks, 1);
	cr_expect_eq(s.others, 2);
}

Test(perf_ring, gives_up_where_no_next_record_can_be_found)
{
	static const uint16_t sizes[] = {0, 4, 7, 12, 80}; /* 72 bytes are there */
	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		struct fake f;
		struct seen s = {0};
		setup(&f, 0);
		put_sample(&f, 1);
		f.data[0] = header(PERF_RECORD_SAMPLE, 0, sizes[i]);
		cr_expect_eq(perf_ring_read(&f.ring, &f.bounce, see, &s), 1, "size %u", sizes[i]);
		cr_expect_eq(s.samples, 0);
		cr_expect_eq(f.page.data_tail, f.page.data_head);
	}
	struct fake f;
	struct seen s = {0};
	setup(&f, 0);
	f.page.data_head = DATA + 8;
	cr_expect_eq(perf_ring_read(&f.ring, &f.bounce, see, &s), 1, "more than the ring can hold");
}

#if defined(__x86_64__)
Test(perf_ring, reads_registers_and_the_stack)
{
	enum { ABI64 = PERF_SAMPLE_REGS_ABI_64, ABI32 = PERF_SAMPLE_REGS_ABI_32 };
	static const struct {
		const char *what;
		uint64_t tail[8]; /* behind a chain of none */
		size_t count;
		int parsed;
		bool registers;
		size_t stack_bytes;
	} tails[] = {
		{"nothing", {0}, 0, 0, false, 0},
		{"a kernel thread", {0, 0}, 2, 0, false, 0},
		{"registers, no stack", {ABI64, 1, 2, 3, 0}, 5, 0, true, 0},
		{"registers and a stack", {ABI64, 1, 2, 3, 16, 11, 12, 16}, 8, 0, true, 16},
		{"a part of it is the stack's", {ABI64, 1, 2, 3, 16, 11, 12, 8}, 8, 0, true, 8},
		{"more is the stack's than is there", {ABI64, 1, 2, 3, 16, 11, 12, 17}, 8, -1, false, 0},
		{"no word says how much is", {ABI64, 1, 2, 3, 16, 11, 12}, 7, -1, false, 0},
		{"a size that is no multiple of 8", {ABI64, 1, 2, 3, 15, 11, 12, 8}, 8, -1, false, 0},
		{"a size that overflows", {ABI64, 1, 2, 3, UINT64_MAX - 7, 11, 12, 8}, 8, -1, false, 0},
		{"cut in the registers", {ABI64, 1, 2}, 3, -1, false, 0},
		{"a process of 32 bits", {ABI32, 1, 2, 3, 0}, 5, 0, false, 0},
	};
	for (size_t i = 0; i < sizeof tails / sizeof *tails; i++) {
		uint64_t words[4 + 8] = {header(PERF_RECORD_SAMPLE, 0, (uint16_t)(32 + 8 * tails[i].count)), 1, 2, 0};
		struct perf_record r;
		memcpy(words + 4, tails[i].tail, tails[i].count * 8);
		int parsed = perf_record_parse(words, 32 + 8 * tails[i].count, &r);
		cr_expect_eq(parsed, tails[i].parsed, "%s", tails[i].what);
		if (parsed < 0)
			continue;
		cr_expect_eq(r.u.sample.has_registers, tails[i].registers, "%s", tails[i].what);
		cr_expect_eq(r.u.sample.stack_bytes, tails[i].stack_bytes, "%s", tails[i].what);
		if (r.u.sample.has_registers)
			cr_expect(r.u.sample.registers.fp == 1 && r.u.sample.registers.sp == 2 && r.u.sample.registers.ip == 3);
		if (r.u.sample.stack_bytes)
			cr_expect_eq(r.u.sample.stack, (const uint8_t *)(words + 9));
	}
}
#endif

Test(perf_ring, reads_switches_of_a_thread_and_of_a_cpu)
{
	struct perf_record r;
	const uint64_t out[] = {header(PERF_RECORD_SWITCH, PERF_RECORD_MISC_SWITCH_OUT | PERF_RECORD_MISC_SWITCH_OUT_PREEMPT, 24), 7ull << 32 | 5, 1000};
	cr_assert_eq(perf_record_parse(out, 24, &r), 0);
	cr_assert_eq(r.kind, PERF_KIND_SWITCH);
	cr_assert(r.u.change.pid == 5 && r.u.change.tid == 7 && r.u.change.time_ns == 1000);
	cr_assert(r.u.change.out && r.u.change.runnable);
	const uint64_t in[] = {header(PERF_RECORD_SWITCH_CPU_WIDE, 0, 32), 2ull << 32 | 1, 9ull << 32 | 5, 2000};
	cr_assert_eq(perf_record_parse(in, 32, &r), 0);
	cr_assert(r.u.change.pid == 5 && r.u.change.tid == 9 && r.u.change.time_ns == 2000, "the other thread's ids are not its own");
	cr_assert(!r.u.change.out && !r.u.change.runnable);
	cr_assert_eq(perf_record_parse(in, 24, &r), -1);
	cr_assert_eq(perf_record_parse(out, 16, &r), -1);
}
