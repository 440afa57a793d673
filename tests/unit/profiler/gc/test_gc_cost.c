#include "profiler/gc/gc_cost.h"

#include <criterion/criterion.h>

static void collect(uint32_t generation, bool induced, uint64_t start_ns, uint64_t end_ns)
{
	gc_cost_started(generation, induced, start_ns);
	gc_cost_finished(end_ns);
}

static void expect(uint64_t count, uint64_t total_ns, const char *what)
{
	struct gc_cost c = gc_cost_counts();

	cr_expect(c.count == count && c.total_ns == total_ns, "%s: %llu of %llu ns", what, (unsigned long long)c.count, (unsigned long long)c.total_ns);
}

Test(gc_cost, without_background_collections_each_full_one_counts)
{
	gc_cost_reset(true);
	collect(0, false, 10, 20);
	collect(1, true, 20, 30);
	expect(0, 0, "young ones stop the application without a session too");
	collect(2, false, 100, 150);
	collect(2, true, 200, 230);
	expect(2, 80, "the application's and the session's");
	gc_cost_finished(300);
	expect(2, 80, "an end of one that began before");
}

Test(gc_cost, with_background_collections_only_those_forced_count)
{
	gc_cost_reset(false);
	collect(2, false, 100, 101);
	collect(2, true, 110, 120);
	expect(0, 0, "the application's own: they may be in the background");
	gc_cost_forcing(true);
	collect(0, false, 130, 140);
	collect(2, false, 150, 151);
	collect(2, true, 200, 260);
	gc_cost_forcing(false);
	collect(2, true, 300, 310);
	expect(1, 60, "the one that was asked for");
}

Test(gc_cost, a_session_begins_anew)
{
	gc_cost_reset(true);
	collect(2, false, 100, 150);
	gc_cost_started(2, false, 200);
	gc_cost_reset(true);
	gc_cost_finished(300);
	expect(0, 0, "nothing of the one before");
}

/* With the server's collector the two are told on threads of their own. */
Test(gc_cost, an_end_before_its_beginning_takes_nothing)
{
	gc_cost_reset(true);
	collect(2, false, 100, 99);
	expect(1, 0, "and not 2^64 ns");
}
