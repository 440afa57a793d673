#include "profiler/exceptions/throw_slots.h"

#include <criterion/criterion.h>
#include <pthread.h>

Test(throw_slots, the_newest_arrives_first)
{
	struct throw_slot out;

	throw_slots_begin();
	cr_expect_not(throw_slots_pop(0x1000, &out));
	throw_slots_push(0x1000, (struct throw_slot){1, 10});
	throw_slots_push(0x1000, (struct throw_slot){2, 20});
	throw_slots_push(0x2000, (struct throw_slot){3, 30});
	cr_expect(throw_slots_pop(0x1000, &out) && out.site == 2 && out.cpu_ns == 20);
	cr_expect(throw_slots_pop(0x1000, &out) && out.site == 1);
	cr_expect_not(throw_slots_pop(0x1000, &out));
	cr_expect(throw_slots_pop(0x2000, &out) && out.site == 3);
}

Test(throw_slots, of_those_that_never_arrive_the_oldest_is_forgotten)
{
	struct throw_slot out;

	throw_slots_begin();
	for (uint64_t i = 1; i <= 100; i++)
		throw_slots_push(0x1000, (struct throw_slot){i, 0});
	for (uint64_t i = 100; i > 96; i--)
		cr_expect(throw_slots_pop(0x1000, &out) && out.site == i);
	cr_expect_not(throw_slots_pop(0x1000, &out));
}

Test(throw_slots, what_set_out_before_a_pause_is_not_waited_for)
{
	struct throw_slot out;

	throw_slots_begin();
	throw_slots_push(0x1000, (struct throw_slot){1, 0});
	throw_slots_begin();
	cr_expect_not(throw_slots_pop(0x1000, &out));
	throw_slots_push(0x1000, (struct throw_slot){2, 0});
	cr_expect(throw_slots_pop(0x1000, &out) && out.site == 2);
}

Test(throw_slots, more_threads_than_places_lose_only_their_own)
{
	struct throw_slot out;
	unsigned right = 0;

	throw_slots_begin();
	for (uintptr_t t = 1; t <= 5000; t++) {
		throw_slots_push(t * 0x1000, (struct throw_slot){t, 0});
		right += throw_slots_pop(t * 0x1000, &out) && out.site == t;
	}
	cr_expect_eq(right, 5000);
}

Test(throw_slots, who_has_thrown_may_throw_it_again)
{
	struct throw_slot out;

	throw_slots_begin();
	cr_expect_not(throw_slots_threw(0x7000), "what it catches set out before");
	throw_slots_push(0x7000, (struct throw_slot){1, 0});
	cr_expect(throw_slots_threw(0x7000));
	cr_expect(throw_slots_pop(0x7000, &out) && !throw_slots_pop(0x7000, &out) && throw_slots_threw(0x7000));
	cr_expect_not(throw_slots_threw(0x8000));
	throw_slots_begin();
	cr_expect_not(throw_slots_threw(0x7000));
}

static void *throw_and_catch(void *thread)
{
	struct throw_slot out;

	for (uint64_t i = 1; i <= 20000; i++) {
		throw_slots_push((uintptr_t)thread, (struct throw_slot){i, 0});
		cr_expect(throw_slots_pop((uintptr_t)thread, &out) && out.site == i);
	}
	return NULL;
}

Test(throw_slots, threads_do_not_disturb_each_other)
{
	pthread_t threads[4];

	throw_slots_begin();
	for (uintptr_t i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, throw_and_catch, (void *)((i + 1) << 20));
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
}
