#include "profiler/exceptions/throw_sites.h"

#include "profiler/exceptions/throw_slots.h"
#include "profiler/stacks/frame_walk.h"

#include <criterion/criterion.h>

/* The slot's CPU time is that of a thread which has ended, and whose place another one has now, that has used less. */
Test(throw_sites, a_throw_of_an_older_thread_takes_no_time)
{
	struct channel_exceptions_state state = {0};

	throw_sites_reset(CHANNEL_EXCEPTIONS_CATCHERS);
	throw_slots_begin();
	throw_slots_push(frame_walk_thread_pointer(), (struct throw_slot){1, UINT64_MAX / 2});
	throw_sites_caught(0x1000, 1000000);
	throw_sites_state(&state);
	cr_expect_eq(state.timed, 1);
	cr_expect_eq(state.timed_ns, 0);
}
