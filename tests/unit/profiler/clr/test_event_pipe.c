#include "profiler/clr/event_pipe.h"
#include "profiler/base/own_thread.h"

#include <criterion/criterion.h>
#include <errno.h>

static unsigned threads_left, sessions, stop_calls, refused_stops;
static bool refuse_start;

/* Instead of the library's: a process that has reached its limit of threads. */
int own_thread_start(pthread_t *out, size_t stack_bytes, void *(*run)(void *), void *argument)
{
	(void)stack_bytes;
	if (!threads_left)
		return EAGAIN;
	threads_left--;
	return pthread_create(out, NULL, run, argument);
}

void own_thread_name(void)
{
}

static hresult set_mask(void *self, uint32_t low, uint32_t high)
{
	(void)self, (void)low, (void)high;
	return COR_S_OK;
}

static hresult start_session(void *self, uint32_t count, const struct cor_event_provider *providers, int32_t rundown, uint64_t *session)
{
	(void)self, (void)count, (void)providers, (void)rundown;
	if (refuse_start)
		return COR_E_FAIL;
	sessions++;
	*session = 9;
	return COR_S_OK;
}

static hresult stop_session(void *self, uint64_t session)
{
	(void)self;
	cr_expect_eq(session, 9);
	stop_calls++;
	if (refused_stops) {
		refused_stops--;
		return COR_E_FAIL;
	}
	sessions--;
	return COR_S_OK;
}

static void *slots[128] = {
	[INFO_SET_EVENT_MASK2] = set_mask,
	[INFO_EVENT_PIPE_START_SESSION] = start_session,
	[INFO_EVENT_PIPE_STOP_SESSION] = stop_session,
};
static void **info = slots;
static const struct cor_event_provider provider;

static void no_event(const struct event_pipe_event *e)
{
	(void)e;
}

static hresult start(const char **message)
{
	return event_pipe_start(&info, &provider, 1, no_event, message);
}

static void begin(unsigned threads)
{
	threads_left = threads;
	sessions = stop_calls = refused_stops = 0;
	refuse_start = false;
}

/* At the limit of threads what has been started can still be ended, and be started again. */
Test(event_pipe, a_session_ends_without_a_new_thread)
{
	const char *message;

	begin(1);
	for (unsigned i = 0; i < 3; i++) {
		cr_assert_eq(start(&message), COR_S_OK, "%s", message);
		cr_expect_eq(sessions, 1);
		cr_expect(event_pipe_stop(&info));
		cr_expect_eq(sessions, 0);
	}
	cr_assert_eq(start(&message), COR_S_OK);
	cr_expect(event_pipe_end(&info));
	cr_expect_eq(sessions, 0);
	cr_expect(event_pipe_end(&info), "nothing is left to end");
	cr_expect_eq(stop_calls, 4);
}

Test(event_pipe, nothing_begins_that_could_not_be_ended)
{
	const char *message = NULL;

	begin(0);
	cr_expect_eq((uint32_t)start(&message), 0x80070000u | EAGAIN);
	cr_expect(strstr(message, "limit of threads"), "%s", message);
	cr_expect_eq(sessions, 0);
	cr_expect(event_pipe_end(&info));
	threads_left = 1;
	refuse_start = true;
	cr_expect_eq(start(&message), COR_E_FAIL);
	cr_expect(event_pipe_end(&info) && stop_calls == 0, "the thread ends, too");
}

Test(event_pipe, a_refused_stop_is_tried_again_and_a_failed_one_is_said)
{
	const char *message;

	begin(1);
	cr_assert_eq(start(&message), COR_S_OK);
	refused_stops = 2;
	cr_expect(event_pipe_stop(&info));
	cr_expect(stop_calls == 3 && sessions == 0);
	cr_assert_eq(start(&message), COR_S_OK);
	refused_stops = 1000;
	cr_expect_not(event_pipe_stop(&info));
	cr_expect_eq(sessions, 1);
	cr_expect_not(event_pipe_end(&info), "said at the end");
}

Test(event_pipe, what_is_held_stays_while_others_come_and_go)
{
	const char *message;

	begin(1);
	cr_expect_lt(event_pipe_hold(&info, &provider, 1), 0, "there is no thread to end it with");
	cr_assert_eq(start(&message), COR_S_OK);
	cr_expect_eq(event_pipe_hold(&info, &provider, 1), COR_S_OK);
	cr_expect_eq(event_pipe_hold(&info, &provider, 1), COR_S_OK, "once is enough");
	cr_expect_eq(sessions, 2);
	cr_expect(event_pipe_stop(&info));
	cr_expect_eq(sessions, 1);
	cr_assert_eq(start(&message), COR_S_OK);
	cr_expect(event_pipe_release(&info) && event_pipe_release(&info));
	cr_expect_eq(sessions, 1);
	cr_expect_eq(event_pipe_hold(&info, &provider, 1), COR_S_OK);
	cr_expect(event_pipe_end(&info));
	cr_expect_eq(sessions, 0);
}
