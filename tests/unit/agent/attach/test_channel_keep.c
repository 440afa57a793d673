/* Whether the library hears that the agent is there, and the agent that the library has left (agent/attach/profiler_channel.h). */
#include "agent/attach/profiler_channel_private.h"
#include "common/base/clock.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define LEASE_MS 50000

static struct profiler_channel *channel;
static int library; /* its end */
static char folder[] = "/tmp/drdotnet-keep-XXXXXX";

static void set_up(void)
{
	int ends[2];
	cr_assert(mkdtemp(folder));
	int dir = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	channel = profiler_channel_listen(dir, "c", NULL);
	cr_assert(channel);
	unlinkat(dir, "c", 0);
	close(dir);
	rmdir(folder);
	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
	channel->fd = ends[0];
	library = ends[1];
	profiler_channel_set_lease(channel, LEASE_MS);
}

static void tear_down(void)
{
	profiler_channel_free(channel);
	close(library);
}

TestSuite(channel_keep, .init = set_up, .fini = tear_down);

/* Whether the library has got that, and nothing else. */
static bool heard(uint16_t type)
{
	uint8_t bytes[256];
	struct channel_frame f;
	size_t used;
	ssize_t n = read(library, bytes, sizeof bytes);
	return n > 0 && channel_next(bytes, (size_t)n, &f, &used) == CHANNEL_FRAME && f.type == type && used == (size_t)n;
}

static void let_time_pass(void)
{
	channel->sent_ms = clock_mono_ms() - LEASE_MS / 5;
}

Test(channel_keep, tells_that_it_is_there_when_nothing_else_was_said)
{
	struct err e = ERR_INIT;
	profiler_channel_keep(channel);
	cr_expect(heard(CHANNEL_RENEW));
	profiler_channel_keep(channel);
	cr_expect_not(heard(CHANNEL_RENEW), "a moment ago");
	let_time_pass();
	cr_expect_eq(profiler_channel_sample_stop(channel, 0, &e), -1);
	profiler_channel_keep(channel);
	cr_expect_not(heard(CHANNEL_RENEW), "a request waits to go out");
	cr_expect_eq(profiler_channel_poll(channel, NULL, NULL, 0, NULL), 0);
	cr_expect(heard(CHANNEL_SAMPLE_STOP));
	profiler_channel_keep(channel);
	cr_expect_not(heard(CHANNEL_RENEW), "the request was said a moment ago");
	let_time_pass();
	profiler_channel_keep(channel);
	cr_expect(heard(CHANNEL_RENEW));
}

Test(channel_keep, tells_nothing_where_there_is_no_lease)
{
	profiler_channel_set_lease(channel, 0);
	profiler_channel_keep(channel);
	cr_expect_not(heard(CHANNEL_RENEW));
}

/* As long as it does not read: a process that is stopped. */
Test(channel_keep, never_waits_for_the_library)
{
	for (int i = 0; i < 100000; i++) {
		let_time_pass();
		profiler_channel_keep(channel);
	}
	cr_expect_eq(channel->out.len, 0);
}

Test(channel_keep, hears_that_the_library_leaves)
{
	uint8_t frame[64];
	struct wire_writer w;
	cr_expect_not(profiler_channel_lapsed(channel));
	channel_begin(&w, frame, sizeof frame, CHANNEL_LAPSED);
	channel_put_lapsed(&w, LEASE_MS);
	size_t len = channel_end(&w);
	cr_assert_eq(write(library, frame, len), (ssize_t)len);
	shutdown(library, SHUT_RDWR);
	cr_expect(profiler_channel_lapsed(channel));
	cr_expect(profiler_channel_lapsed(channel), "it stays so");
	profiler_channel_keep(channel);
}
