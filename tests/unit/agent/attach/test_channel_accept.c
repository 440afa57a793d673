/* Who gets in at the channel's socket: only the one that knows the secret, whatever others do. */
#include "agent/attach/channel_accept.h"
#include "common/base/clock.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static const uint8_t nonce[CHANNEL_NONCE_BYTES] = "0123456789abcdef";
static char folder[] = "/tmp/drdotnet-test-XXXXXX";
static int dir_fd, listen_fd;

static void open_door(void)
{
	cr_assert_not_null(mkdtemp(folder));
	dir_fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	listen_fd = channel_accept_listen(dir_fd, "c", NULL);
	cr_assert_geq(listen_fd, 0);
}

static void close_door(void)
{
	unlinkat(dir_fd, "c", 0);
	rmdir(folder);
	close(listen_fd);
	close(dir_fd);
}

TestSuite(channel_accept, .init = open_door, .fini = close_door);

static int knock(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof address.sun_path, "%s/c", folder);
	cr_assert_eq(connect(fd, (const struct sockaddr *)&address, sizeof address), 0);
	return fd;
}

static size_t hello(uint8_t *frame, uint16_t version, const uint8_t *secret, size_t version_text)
{
	static char text[1024];
	struct channel_hello h = {.version = version, .inner_pid = 1, .runtime_major = 10, .library_version = {text, version_text}};
	struct wire_writer w;

	memset(text, 'v', sizeof text);
	memcpy(h.nonce, secret, sizeof h.nonce);
	channel_begin(&w, frame, 2048, CHANNEL_HELLO);
	channel_put_hello(&w, &h);
	return channel_end(&w);
}

static int greet(const uint8_t *secret, size_t version_text)
{
	uint8_t frame[2048];
	size_t n = hello(frame, CHANNEL_VERSION, secret, version_text);
	int fd = knock();

	cr_assert_eq(write(fd, frame, n), (ssize_t)n);
	return fd;
}

static int wait_for(pid_t pid, struct channel_peer *peer, struct err *e)
{
	return channel_accept_wait(listen_fd, nonce, pid, clock_mono_ms() + 200, peer, e);
}

static bool was_closed(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	char c;
	return poll(&p, 1, 1000) == 1 && read(fd, &c, 1) <= 0;
}

Test(channel_accept, the_library_gets_in_and_what_it_says_next_stays)
{
	struct channel_peer peer;
	int fd = greet(nonce, 5);
	char after[4] = "";

	cr_assert_eq(write(fd, "next", 4), 4);
	int got = wait_for(getpid(), &peer, NULL);
	cr_assert_geq(got, 0);
	cr_expect(peer.hello.inner_pid == 1 && peer.hello.runtime_major == 10);
	cr_expect_str_eq(peer.version, "vvvvv");
	cr_expect_eq(read(got, after, 4), 4);
	cr_expect_eq(memcmp(after, "next", 4), 0);
	cr_expect(fcntl(got, F_GETFL) & O_NONBLOCK);
	close(got);
	close(fd);
}

Test(channel_accept, anybody_may_connect_and_none_may_list)
{
	struct stat st;

	cr_assert_eq(fstatat(dir_fd, "c", &st, AT_SYMLINK_NOFOLLOW), 0);
	cr_expect_eq(st.st_mode & 0777, 0666);
	cr_expect(S_ISSOCK(st.st_mode));
	cr_expect_eq(channel_accept_listen(dir_fd, "a/b", NULL), -1, "a name, not a path");
	cr_expect_eq(channel_accept_listen(dir_fd, "c", NULL), -1, "what is there is not replaced");
}

Test(channel_accept, strangers_are_turned_away)
{
	uint8_t wrong[CHANNEL_NONCE_BYTES], bytes[64] = {0xff, 0xff, 0xff, 0xff};
	struct channel_peer peer;
	struct err e = ERR_INIT;

	memcpy(wrong, nonce, sizeof wrong);
	wrong[15] ^= 1;
	int fds[] = {greet(wrong, 5), greet(nonce, 1000), knock(), knock()};
	cr_assert_eq(write(fds[2], bytes, sizeof bytes), sizeof bytes);
	cr_assert_eq(write(fds[3], "\1\0\0\0\2\2\0\0x", 9), 9); /* READY comes after the hello only */
	cr_expect_eq(wait_for(0, &peer, &e), -1);
	cr_expect_eq(e.kind, ERR_TIMEOUT);
	for (size_t i = 0; i < sizeof fds / sizeof *fds; i++) {
		cr_expect(was_closed(fds[i]), "stranger %zu", i);
		close(fds[i]);
	}
}

Test(channel_accept, another_process_is_turned_away)
{
	struct channel_peer peer;
	struct err e = ERR_INIT;
	int fd = greet(nonce, 5);

	cr_expect_eq(wait_for(getpid() + 1, &peer, &e), -1);
	cr_expect_eq(e.kind, ERR_TIMEOUT);
	cr_expect(was_closed(fd));
	close(fd);
}

Test(channel_accept, silent_strangers_do_not_keep_the_library_out)
{
	struct channel_peer peer;
	int silent[12];

	for (size_t i = 0; i < 12; i++)
		silent[i] = knock();
	int fd = greet(nonce, 5), got = wait_for(0, &peer, NULL);
	cr_expect_geq(got, 0);
	for (size_t i = 0; i < 12; i++)
		close(silent[i]);
	close(got);
	close(fd);
}

Test(channel_accept, a_hello_may_come_byte_by_byte)
{
	uint8_t frame[2048];
	struct channel_peer peer;
	size_t n = hello(frame, CHANNEL_VERSION, nonce, 3);
	int fd = knock();

	for (size_t i = 0; i + 1 < n; i++) {
		cr_assert_eq(write(fd, frame + i, 1), 1);
		if (i % 10 == 0)
			cr_assert_eq(channel_accept_wait(listen_fd, nonce, 0, clock_mono_ms(), &peer, NULL), -1, "not yet");
		if (i % 10 == 0) { /* who was not done when the wait ended is sent away: begins again */
			close(fd);
			fd = knock();
			cr_assert_eq(write(fd, frame, i + 1), (ssize_t)i + 1);
		}
	}
	cr_assert_eq(write(fd, frame + n - 1, 1), 1);
	int got = wait_for(0, &peer, NULL);
	cr_expect_geq(got, 0);
	close(got);
	close(fd);
}

Test(channel_accept, another_version_is_named)
{
	uint8_t frame[2048];
	struct channel_peer peer;
	struct err e = ERR_INIT;
	size_t n = hello(frame, CHANNEL_VERSION + 1, nonce, 3);
	int fd = knock();

	cr_assert_eq(write(fd, frame, n), (ssize_t)n);
	cr_expect_eq(wait_for(0, &peer, &e), -1);
	cr_expect_eq(e.kind, ERR_PROTOCOL);
	cr_expect(strstr(e.message, "version 2") != NULL, "%s", e.message);
	close(fd);
}
