#include "agent/attach/channel_accept.h"

#include "agent/diag/peer_socket.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#define BACKLOG 16
#define MAX_GUESTS 8     /* connections that have not said the nonce yet */
#define HELLO_CAP 256    /* a hello is shorter */

struct guest {
	int fd;
	size_t len;
	uint8_t data[HELLO_CAP];
};

struct door {
	struct guest guests[MAX_GUESTS];
	size_t count, oldest;
	const uint8_t *nonce;
	pid_t expected_pid;
	struct channel_peer *peer;
};

/* The mode is set through the inode and not through the name: the folder lies in a place where somebody else might put a
 * link in the socket's stead. */
static int open_to_all(int dirfd, const char *name, struct err *e)
{
	struct stat st;
	char path[64];
	AUTO_FD int fd = openat(dirfd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_set_errno(e, errno, "open the channel's socket %s", name);
	if (!S_ISSOCK(st.st_mode))
		return err_set(e, ERR_PROTOCOL, 0, "%s was replaced: not a socket any more", name);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	if (chmod(path, 0666) < 0)
		return err_set_errno(e, errno, "open the channel's socket %s to the process", name);
	return 0;
}

int channel_accept_listen(int dirfd, const char *name, struct err *e)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int n = snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/%s", dirfd, name);

	if (n < 0 || (size_t)n >= sizeof address.sun_path || strchr(name, '/'))
		return err_set(e, ERR_INVALID, 0, "%s cannot be a socket's name", name);
	AUTO_FD int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return err_set_errno(e, errno, "make the channel's socket");
	peer_socket_refuse_descriptors(fd);
	if (bind(fd, (const struct sockaddr *)&address, sizeof address) < 0)
		return err_set_errno(e, errno, "bind the channel's socket %s", name);
	if (open_to_all(dirfd, name, e) < 0)
		return -1;
	if (listen(fd, BACKLOG) < 0)
		return err_set_errno(e, errno, "listen on the channel's socket %s", name);
	return steal_fd(&fd);
}

static void guest_leave(struct door *d, size_t i)
{
	if (d->guests[i].fd >= 0)
		close(d->guests[i].fd);
	d->guests[i].fd = -1;
}

static bool peer_is(int fd, pid_t expected)
{
	struct ucred cred;
	socklen_t len = sizeof cred;

	if (expected == 0)
		return true;
	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) == 0 && cred.pid == expected;
}

static void guest_enter(struct door *d, int listen_fd)
{
	int fd = accept4(listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	size_t i = 0;

	if (fd < 0)
		return;
	if (!peer_is(fd, d->expected_pid)) {
		close(fd);
		return;
	}
	while (i < MAX_GUESTS && d->guests[i].fd >= 0)
		i++;
	if (i == MAX_GUESTS) { /* full of silent ones: the longest waiting leaves */
		i = d->oldest;
		d->oldest = (d->oldest + 1) % MAX_GUESTS;
		guest_leave(d, i);
	}
	d->guests[i].fd = fd;
	d->guests[i].len = 0;
}

static bool same_nonce(const uint8_t *a, const uint8_t *b)
{
	uint8_t diff = 0;

	for (size_t i = 0; i < CHANNEL_NONCE_BYTES; i++)
		diff |= a[i] ^ b[i];
	return diff == 0;
}

static bool take_hello(struct door *d, const struct channel_frame *f, struct err *version_error)
{
	struct channel_hello h;

	if (!channel_get_hello(f, &h) || !same_nonce(h.nonce, d->nonce))
		return false;
	if (h.version != CHANNEL_VERSION) {
		err_set(version_error, ERR_PROTOCOL, h.version, "the library speaks version %u of the channel, not %u", h.version,
			CHANNEL_VERSION);
		return false;
	}
	size_t n = h.library_version.len < sizeof d->peer->version - 1 ? h.library_version.len : sizeof d->peer->version - 1;
	if (n)
		memcpy(d->peer->version, h.library_version.data, n);
	d->peer->version[n] = '\0';
	h.library_version = (struct channel_text){d->peer->version, n};
	d->peer->hello = h;
	return true;
}

/* Reads no byte past the hello: what follows belongs to the reader of the channel. 1: it is the library; 0: wait; -1: it leaves. */
static int guest_read(struct door *d, struct guest *g, struct err *version_error)
{
	struct channel_frame f;
	size_t used, want = CHANNEL_HEADER_SIZE;

	for (;;) {
		if (g->len >= CHANNEL_HEADER_SIZE) {
			enum channel_next next = channel_next(g->data, g->len, &f, &used);
			if (next == CHANNEL_FRAME)
				return take_hello(d, &f, version_error) ? 1 : -1;
			want = CHANNEL_HEADER_SIZE + (size_t)(g->data[0] | g->data[1] << 8);
			if (next == CHANNEL_BAD || want > HELLO_CAP || g->data[2] || g->data[3])
				return -1;
		}
		ssize_t n = recv(g->fd, g->data + g->len, want - g->len, 0);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return 0;
		if (n <= 0)
			return -1;
		g->len += (size_t)n;
	}
}

static int serve_guests(struct door *d, const struct pollfd *p, struct err *version_error)
{
	for (size_t i = 0; i < MAX_GUESTS; i++) {
		struct guest *g = &d->guests[i];
		if (g->fd < 0 || p[i].fd != g->fd || !p[i].revents)
			continue;
		int r = guest_read(d, g, version_error);
		if (r > 0)
			return steal_fd(&g->fd);
		if (r < 0)
			guest_leave(d, i);
	}
	return -1;
}

static int wait_for_library(struct door *d, int listen_fd, int64_t deadline_ms, struct err *e)
{
	struct err version_error = ERR_INIT;

	for (;;) {
		struct pollfd p[MAX_GUESTS + 1];
		int64_t left = deadline_ms - clock_mono_ms();
		for (size_t i = 0; i < MAX_GUESTS; i++)
			p[i] = (struct pollfd){.fd = d->guests[i].fd, .events = POLLIN};
		p[MAX_GUESTS] = (struct pollfd){.fd = listen_fd, .events = POLLIN};
		int n = poll(p, MAX_GUESTS + 1, left > 0 ? (int)(left < 1000 ? left : 1000) : 0);
		if (n < 0 && errno != EINTR)
			return err_set_errno(e, errno, "wait for the profiler library");
		int fd = n > 0 ? serve_guests(d, p, &version_error) : -1;
		if (fd >= 0)
			return fd;
		if (version_error.kind) {
			if (e)
				*e = version_error;
			return -1;
		}
		if (n > 0 && p[MAX_GUESTS].revents)
			guest_enter(d, listen_fd);
		if (left <= 0 && n <= 0)
			return err_set(e, ERR_TIMEOUT, 0, "the profiler library did not connect");
		if (left <= -1000)
			return err_set(e, ERR_TIMEOUT, 0, "only strangers connected to the channel");
	}
}

int channel_accept_wait(int listen_fd, const uint8_t nonce[CHANNEL_NONCE_BYTES], pid_t expected_pid, int64_t deadline_ms,
			struct channel_peer *peer, struct err *e)
{
	struct door d = {.nonce = nonce, .expected_pid = expected_pid, .peer = peer};

	for (size_t i = 0; i < MAX_GUESTS; i++)
		d.guests[i].fd = -1;
	int fd = wait_for_library(&d, listen_fd, deadline_ms, e);
	for (size_t i = 0; i < MAX_GUESTS; i++)
		guest_leave(&d, i);
	return fd;
}
