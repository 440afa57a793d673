#include "profiler/stacks/code_rules.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

static struct code_rule rule(uint64_t start, uint64_t end)
{
	return (struct code_rule){.start = start, .end = end, .body = start, .kind = CODE_MANAGED};
}

static bool put(uint64_t start, uint64_t end)
{
	struct code_rule r = rule(start, end);
	return code_rules_put(&r);
}

/* Where the rule for it begins; 0: none. */
static uint64_t start_of(uint64_t ip)
{
	const struct code_index *index = code_rules_enter();
	const struct code_rule *r = code_rules_find(index, ip);
	uint64_t start = r ? r->start : 0;

	code_rules_leave(index);
	cr_expect_eq(code_rules_own(ip), r);
	return start;
}

static void expect(uint64_t ip, uint64_t start)
{
	uint64_t found = start_of(ip);
	cr_expect_eq(found, start, "%lx: %lx", (unsigned long)ip, (unsigned long)found);
}

Test(code_rules, an_address_is_known_from_the_start_to_before_the_end)
{
	code_rules_reset();
	expect(0x1000, 0);
	cr_assert(put(0x2000, 0x2010) && put(0x1000, 0x1010) && put(0x1010, 0x1011));
	cr_expect_eq(code_rules_count(), 3);
	expect(0xfff, 0);
	expect(0x1000, 0x1000);
	expect(0x100f, 0x1000);
	expect(0x1010, 0x1010);
	expect(0x1011, 0);
	expect(0x1fff, 0);
	expect(0x2000, 0x2000);
	expect(0x2010, 0);
	expect(UINT64_MAX, 0);
	cr_expect(!put(0x3000, 0x3000), "nothing lies in it");
	code_rules_reset();
	expect(0x1000, 0);
}

Test(code_rules, what_is_new_takes_the_place_of_what_was_there)
{
	code_rules_reset();
	cr_assert(put(0x1000, 0x1100) && put(0x1100, 0x1200) && put(0x1200, 0x1300) && put(0x1400, 0x1500));
	cr_assert(put(0x10ff, 0x1201));
	cr_expect_eq(code_rules_count(), 2);
	expect(0x1000, 0);
	expect(0x10ff, 0x10ff);
	expect(0x1200, 0x10ff);
	expect(0x1201, 0);
	expect(0x1400, 0x1400);
}

Test(code_rules, what_may_be_gone_is_forgotten)
{
	struct code_rule fleeting = rule(0x1000, 0x1010), library = rule(0x3000, 0x3010);

	code_rules_reset();
	fleeting.fleeting = true;
	library.kind = CODE_NATIVE;
	cr_assert(code_rules_put(&fleeting) && put(0x2000, 0x2010) && code_rules_put(&library));
	cr_assert(code_rules_forget(false));
	expect(0x1000, 0);
	expect(0x2000, 0x2000);
	cr_assert(code_rules_forget(true));
	expect(0x2000, 0);
	expect(0x3000, 0x3000);
}

Test(code_rules, a_full_table_says_so)
{
	code_rules_reset();
	for (uint64_t i = 0; i < CODE_RULES_MAX; i++)
		cr_assert(put(i * 16 + 16, i * 16 + 32), "%lu", (unsigned long)i);
	cr_expect(!put(0x10000000, 0x10000010));
	expect(CODE_RULES_MAX * 16 + 15, CODE_RULES_MAX * 16);
	cr_expect_eq(code_rules_count(), CODE_RULES_MAX);
}

Test(code_rules, what_a_reader_may_still_look_at_is_not_written)
{
	code_rules_reset();
	cr_assert(put(0x1000, 0x1010));
	const struct code_index *index = code_rules_enter();
	const struct code_rule *seen = code_rules_find(index, 0x1000);
	cr_assert(put(0x2000, 0x2010), "into the other index");
	cr_expect(!put(0x3000, 0x3010));
	cr_expect(!code_rules_forget(true));
	cr_expect_eq(seen->start, 0x1000);
	cr_expect_null(code_rules_find(index, 0x2000));
	code_rules_leave(index);
	cr_expect(put(0x3000, 0x3010));
	expect(0x2000, 0x2000);
}

enum { READERS = 3, METHODS = 40, ROUNDS = 4000 };
static _Atomic bool over;
static _Atomic long found;

/* All of a rule is about the same function, whatever the own thread does meanwhile. */
static void *read_rules(void *unused)
{
	while (!atomic_load(&over)) {
		const struct code_index *index = code_rules_enter();
		for (uint64_t i = 0; i < METHODS; i++) {
			uint64_t ip = 0x1000 + i * 0x100 + i;
			const struct code_rule *r = code_rules_find(index, ip);
			if (!r)
				continue;
			atomic_fetch_add_explicit(&found, 1, memory_order_relaxed);
			cr_assert(r->start <= ip && ip < r->end && r->body == r->start && r->call.size == (uint32_t)r->end);
			for (size_t k = 0; k < sizeof r->prolog; k++)
				cr_assert_eq(r->prolog[k], (uint8_t)r->end);
		}
		code_rules_leave(index);
	}
	return unused;
}

Test(code_rules, readers_see_whole_rules_while_they_change)
{
	pthread_t threads[READERS];
	int refused = 0;

	code_rules_reset();
	for (int i = 0; i < READERS; i++)
		cr_assert_eq(pthread_create(&threads[i], NULL, read_rules, NULL), 0);
	for (uint64_t i = 0; i < ROUNDS || (!atomic_load(&found) && i < 1000 * ROUNDS); i++) {
		uint64_t start = 0x1000 + i * 7 % METHODS * 0x100;
		struct code_rule r = rule(start, start + 0x80 + i % 0x80);
		r.fleeting = i % 3 == 0;
		r.call.size = (uint32_t)r.end;
		memset(r.prolog, (int)(uint8_t)r.end, sizeof r.prolog);
		refused += !code_rules_put(&r);
		if (i % 64 == 0)
			code_rules_forget(i % 128 == 0);
	}
	atomic_store(&over, true);
	for (int i = 0; i < READERS; i++)
		pthread_join(threads[i], NULL);
	cr_expect_gt(atomic_load(&found), 0, "%d refused", refused);
}
