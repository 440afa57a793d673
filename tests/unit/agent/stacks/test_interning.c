/* The tables that keep each address, chain and stack once, against naive models. */
#include "agent/stacks/capture.h"
#include "common/base/index_set.h"
#include "agent/stacks/ip_table.h"
#include "agent/stacks/raw_stacks.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define STEPS 20000

static uint32_t next_random(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

/* Values 0..999 with three hashes only, so that most collide. */
Test(index_set, finds_all_of_equal_hashes)
{
	struct index_set s = {0};
	size_t at = 7;
	cr_expect_eq(index_set_next(&s, 7, &at), INDEX_NONE, "an empty set has nothing");
	for (uint32_t i = 0; i < 1000; i++)
		index_set_add(&s, i % 3, i);
	for (uint32_t hash = 0; hash < 4; hash++) {
		size_t count = 0;
		uint32_t i;
		at = hash;
		while ((i = index_set_next(&s, hash, &at)) != INDEX_NONE) {
			cr_assert_eq(i % 3, hash);
			count++;
		}
		cr_expect_eq(count, hash < 3 ? (hash == 0 ? 334u : 333u) : 0u);
	}
	index_set_clear(&s);
	at = 0;
	cr_expect_eq(index_set_next(&s, 0, &at), INDEX_NONE);
	index_set_add(&s, 0, 5);
	at = 0;
	cr_expect_eq(index_set_next(&s, 0, &at), 5);
	index_set_fini(&s);
}

Test(index_set, tells_nothing_from_an_empty_text)
{
	cr_expect_neq(index_hash_str(INDEX_HASH_START, NULL), index_hash_str(INDEX_HASH_START, ""));
	cr_expect_neq(index_hash_str(index_hash_str(INDEX_HASH_START, "a"), "b"), index_hash_str(index_hash_str(INDEX_HASH_START, "ab"), ""));
}

Test(ip_table, keeps_each_address_once)
{
	struct ip_table t = {0};
	uint32_t number[512], state = 1, known = 0;
	memset(number, 0xff, sizeof number);
	for (uint32_t i = 0; i < STEPS; i++) {
		uint32_t which = next_random(&state) % 512;
		uint32_t got = ip_table_intern(&t, 0x7f0000000000u + (uint64_t)which * 16, i);
		if (number[which] == UINT32_MAX)
			number[which] = known++;
		cr_assert_eq(got, number[which]);
		cr_assert_eq(t.items[got].batch, i);
	}
	cr_expect_eq(t.count, known);
	ip_table_clear(&t);
	cr_expect_eq(ip_table_intern(&t, 1, 0), 0);
	cr_expect_eq(t.items[0].state, IP_NEW, "what was known before is forgotten");
	ip_table_fini(&t);
}

Test(ip_table, is_bounded, .timeout = 30)
{
	struct ip_table t = {0};
	for (uint64_t i = 0; i < IP_TABLE_MAX; i++)
		cr_assert_eq(ip_table_intern(&t, i * 8, 0), i);
	cr_expect_eq(ip_table_intern(&t, UINT64_MAX - 8, 0), INDEX_NONE);
	cr_expect_eq(ip_table_intern(&t, 8, 1), 1, "what is known is found in a full table");
	ip_table_fini(&t);
}

Test(ip_table, tells_the_kernel_by_its_half)
{
	cr_expect(ip_is_kernel(0xffffffff81000000u) && ip_is_kernel(IP_KERNEL));
	cr_expect(!ip_is_kernel(0x7fffffffffffffffu) && !ip_is_kernel(0));
}

Test(raw_stacks, keeps_each_chain_once)
{
	struct raw_stacks r = {0};
	static const uint32_t a[] = {1, 2, 3}, b[] = {1, 2};
	const struct {
		const uint32_t *chain;
		size_t depth;
		bool cut;
		uint32_t stack;
	} rows[] = {{a, 3, false, 0}, {b, 2, false, 1}, {a, 3, true, 2}, {a, 3, false, 0}, {NULL, 0, false, 3}, {a, 2, false, 1}, {b, 0, false, 3}};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		cr_assert_eq(raw_stacks_add(&r, (int64_t)i, 7, rows[i].chain, rows[i].depth, rows[i].cut), 0);
		cr_expect_eq(r.samples[i].stack, rows[i].stack, "row %zu: %u", i, r.samples[i].stack);
		cr_expect_eq(r.samples[i].time_ns, (int64_t)i);
	}
	cr_expect_eq(r.stack_count, 4);
	cr_expect_eq(r.pool_count, 8);
	raw_stacks_clear(&r);
	cr_expect_eq(r.sample_count + r.stack_count + r.pool_count, 0);
	raw_stacks_fini(&r);
}

Test(raw_stacks, are_bounded_in_samples_and_addresses, .timeout = 30)
{
	struct raw_stacks r = {0};
	uint32_t chain[1024] = {0};
	for (uint32_t i = 0; i < RAW_MAX_SAMPLES; i++) {
		cr_assert_eq(raw_stacks_half_full(&r), i > RAW_MAX_SAMPLES / 2);
		cr_assert_eq(raw_stacks_add(&r, i, 0, chain, 1, false), 0);
	}
	cr_expect_eq(raw_stacks_add(&r, 0, 0, chain, 1, false), -1);
	raw_stacks_clear(&r);
	for (uint32_t i = 0; i < RAW_MAX_POOL / 1024; i++) {
		chain[0] = i;
		cr_assert_eq(raw_stacks_add(&r, i, 0, chain, 1024, false), 0);
	}
	chain[0] = UINT32_MAX;
	cr_expect_eq(raw_stacks_add(&r, 0, 0, chain, 1, false), -1, "no room for one more address");
	chain[0] = 0;
	cr_expect_eq(raw_stacks_add(&r, 0, 0, chain, 1024, false), 0, "a known chain needs none");
	raw_stacks_fini(&r);
}

static struct frame frame_of(char *module, char *type, char *method)
{
	return (struct frame){.kind = FRAME_MANAGED, .module = module, .type = type, .method = method};
}

Test(capture, keeps_equal_frames_stacks_and_threads_once)
{
	struct cpu_capture c = {0};
	struct capture_builder *b = capture_builder_new(&c);
	char module[] = "Shop.dll", type[] = "Shop.Cart", method[] = "Total";
	char params[] = "System.Int32";
	struct frame f = frame_of(module, type, method), overload = f;
	overload.params = params;
	uint32_t first = capture_add_frame(b, &f), second = capture_add_frame(b, &overload);
	method[0] = 'X'; /* the words are copied */
	cr_expect_str_eq(c.frames[first].method, "Total");
	method[0] = 'T';
	cr_expect_eq(capture_add_frame(b, &f), first);
	cr_expect_neq(second, first);

	uint32_t up[] = {first, second}, down[] = {second, first};
	uint32_t stack = capture_add_stack(b, up, 2, false);
	cr_expect_eq(capture_add_stack(b, up, 2, false), stack);
	cr_expect_neq(capture_add_stack(b, down, 2, false), stack);
	cr_expect_neq(capture_add_stack(b, up, 2, true), stack);
	cr_expect_eq(c.stack_count, 3);

	uint32_t thread = capture_add_thread(b, 42, "worker");
	cr_expect_eq(capture_add_thread(b, 42, "renamed"), thread);
	cr_expect_str_eq(c.threads[thread].name, "renamed");
	cr_expect_neq(capture_add_thread(b, 43, "worker"), thread);
	cr_expect_eq(capture_add_sample(b, 5, thread, stack), 0);
	cr_expect_eq(c.sample_count, 1);
	cr_expect_eq(c.samples[0].time_ns, 5);
	capture_builder_free(b);
	cpu_capture_fini(&c);
}
