#include "profiler/base/channel_io.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static struct channel_io io;
static int agent = -1;
static unsigned stalls;
static char folder[] = "/tmp/test-channel-XXXXXX";

static void connect_to_agent(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	cr_assert(server >= 0 && mkdtemp(folder));
	snprintf(address.sun_path, sizeof address.sun_path, "%s/agent", folder);
	cr_assert_eq(bind(server, (struct sockaddr *)&address, sizeof address), 0);
	cr_assert_eq(listen(server, 1), 0);
	cr_assert_eq(channel_io_connect(&io, (struct channel_text){address.sun_path, (uint32_t)strlen(address.sun_path)}), 0);
	agent = accept(server, NULL, NULL);
	cr_assert_geq(agent, 0);
	close(server);
	unlink(address.sun_path);
	rmdir(folder);
}

/* The socket takes no more, and a frame waits in the buffer. */
static void fill_socket(void)
{
	static const char bytes[4096];

	for (size_t n = sizeof bytes; n; n /= 2)
		while (send(io.fd, bytes, n, MSG_DONTWAIT | MSG_NOSIGNAL) > 0)
			;
	channel_io_begin(&io, CHANNEL_READY);
	cr_assert(channel_io_end(&io));
}

static void take_all(void)
{
	static char bytes[65536];

	stalls++;
	while (recv(agent, bytes, sizeof bytes, MSG_DONTWAIT) > 0)
		;
}

static void go_away(void)
{
	stalls++;
	close(agent);
}

Test(channel_io, a_flush_that_waits_says_so_once_and_goes_on)
{
	connect_to_agent();
	io.stalled = take_all;
	fill_socket();
	cr_expect(channel_io_flush(&io));
	cr_expect_eq(stalls, 1);
	cr_expect_eq(io.out_len, 0);
}

Test(channel_io, a_flush_to_who_reads_says_nothing)
{
	connect_to_agent();
	io.stalled = take_all;
	channel_io_begin(&io, CHANNEL_READY);
	cr_expect(channel_io_end(&io) && channel_io_flush(&io));
	cr_expect_eq(stalls, 0);
}

Test(channel_io, an_agent_that_goes_away_meanwhile_is_lost)
{
	connect_to_agent();
	io.stalled = go_away;
	fill_socket();
	cr_expect_not(channel_io_flush(&io));
	cr_expect_eq(stalls, 1);
	cr_expect_eq(io.fd, -1);
}

Test(channel_io, nothing_waits_when_it_is_time_to_give_up)
{
	int end[2];

	connect_to_agent();
	cr_assert_eq(pipe2(end, O_CLOEXEC), 0);
	cr_assert_eq(write(end[1], "", 1), 1);
	io.give_up_fd = end[0];
	io.stalled = take_all;
	fill_socket();
	cr_expect_not(channel_io_flush(&io));
	cr_expect_eq(stalls, 0);
}

/* The application has closed a number twice, and has opened something else, which has our number now. */
Test(channel_io, what_the_application_has_at_our_number_is_left_alone)
{
	int its[2], ours;
	char byte;

	connect_to_agent();
	if (!io.cookie)
		cr_skip_test("nothing tells sockets apart here (SO_COOKIE): an emulator of a kernel, or one before 4.12");
	ours = io.fd;
	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, its), 0);
	cr_assert_eq(dup2(its[0], ours), ours);
	cr_assert_eq(write(its[1], "abc", 3), 3);
	channel_io_begin(&io, CHANNEL_READY);
	channel_io_end(&io);
	cr_expect_not(channel_io_flush(&io));
	cr_expect_not(channel_io_fill(&io));
	channel_io_close(&io);
	cr_expect_eq(recv(its[1], &byte, 1, MSG_DONTWAIT), -1, "nothing was sent into it");
	cr_expect_eq(read(ours, &byte, 1), 1, "it is open, and what came for it is there");
}
