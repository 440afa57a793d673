/* Context: own thread. */
#include "profiler/base/channel_io.h"

#include "common/proto/difference.h"
#include "profiler/base/now.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* A number that the kernel gives to no other socket (Linux 4.12); 0: it is none, or the kernel gives none. */
static uint64_t socket_cookie(int fd)
{
	uint64_t cookie = 0;
	socklen_t len = sizeof cookie;

	return getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &len) ? 0 : cookie;
}

int channel_io_connect(struct channel_io *io, struct channel_text path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	io->fd = io->give_up_fd = io->passed_fd = -1;
	io->stalled = NULL;
	io->in_len = io->in_used = io->out_len = 0;
	if (!path.data || path.len == 0 || path.len >= sizeof address.sun_path)
		return ENAMETOOLONG;
	memcpy(address.sun_path, path.data, path.len);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return errno;
	if (connect(fd, (const struct sockaddr *)&address, sizeof address)) {
		int error = errno;
		close(fd);
		return error ? error : EIO;
	}
	io->fd = fd;
	io->cookie = socket_cookie(fd);
	return 0;
}

/* An application that closes a number twice closes one of ours, and the next that it opens may have that number: it is the application's then, and is
 * neither read nor written nor closed. Between this question and what follows it a moment is left. */
static bool has_socket(struct channel_io *io)
{
	if (io->fd >= 0 && io->cookie && socket_cookie(io->fd) != io->cookie)
		io->fd = -1;
	return io->fd >= 0;
}

/* Closed for a child of the application, too, that was forked meanwhile and has the descriptor: the agent shall not wait for its end. */
void channel_io_close(struct channel_io *io)
{
	if (has_socket(io)) {
		shutdown(io->fd, SHUT_RDWR);
		close(io->fd);
	}
	io->fd = -1;
	if (io->passed_fd >= 0)
		close(io->passed_fd);
	io->passed_fd = -1;
}

struct wire_writer *channel_io_begin(struct channel_io *io, uint16_t type)
{
	if (difference(sizeof io->out, io->out_len) < CHANNEL_MAX_FRAME)
		channel_io_flush(io);
	channel_begin(&io->writer, io->out + io->out_len, difference(sizeof io->out, io->out_len), type);
	if (io->fd < 0)
		io->writer.bad = true;
	return &io->writer;
}

bool channel_io_end(struct channel_io *io)
{
	size_t n = channel_end(&io->writer);
	io->out_len += n;
	return n > 0;
}

bool channel_io_refuse(struct channel_io *io, uint16_t request, uint32_t code, const char *message)
{
	struct channel_error e = {.request = request, .code = code, .message = {message, strlen(message)}};

	channel_put_error(channel_io_begin(io, CHANNEL_ERROR), &e);
	return channel_io_end(io);
}

/* Until there is room for more. false: there is nobody to wait for any more. `began_ns`: of all that the flush has waited; 0: it has not, or has told of it. */
static bool wait_for_socket(struct channel_io *io, uint64_t *began_ns)
{
	struct pollfd p[] = {{.fd = io->fd, .events = POLLOUT}, {.fd = io->give_up_fd, .events = POLLIN}};
	int ready = poll(p, 2, *began_ns ? CHANNEL_IO_HOLD_MS : CHANNEL_IO_STALL_MS - CHANNEL_IO_HOLD_MS);

	if (*began_ns && ready >= 0 && !p[1].revents && difference(now_ns(), *began_ns) >= CHANNEL_IO_HOLD_MS * UINT64_C(1000000)) {
		*began_ns = 0;
		if (io->stalled)
			io->stalled();
		return true;
	}
	return (ready < 0 && errno == EINTR) || (ready > 0 && p[0].revents);
}

bool channel_io_flush(struct channel_io *io)
{
	uint64_t began_ns = io->out_len ? now_ns() : 0;
	size_t sent = 0;

	while (sent < io->out_len && has_socket(io)) {
		ssize_t n = send(io->fd, io->out + sent, difference(io->out_len, sent), MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n > 0) {
			sent += (size_t)n;
			continue;
		}
		if (n < 0 && errno == EINTR)
			continue;
		if (n == 0 || errno != EAGAIN || !wait_for_socket(io, &began_ns))
			channel_io_close(io);
	}
	io->out_len = 0;
	return io->fd >= 0;
}

int channel_io_take_fd(struct channel_io *io)
{
	int fd = io->passed_fd;

	io->passed_fd = -1;
	return fd;
}

static void keep_passed(struct channel_io *io, struct msghdr *m)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(m);

	if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS || c->cmsg_len != CMSG_LEN(sizeof(int)))
		return;
	if (io->passed_fd >= 0)
		close(io->passed_fd);
	memcpy(&io->passed_fd, CMSG_DATA(c), sizeof io->passed_fd);
}

static ssize_t receive_with_fd(struct channel_io *io, void *data, size_t len)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec v = {data, len};
	struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};

	ssize_t n = recvmsg(io->fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (n > 0)
		keep_passed(io, &m);
	return n;
}

bool channel_io_fill(struct channel_io *io)
{
	if (io->in_used) {
		memmove(io->in, io->in + io->in_used, difference(io->in_len, io->in_used));
		io->in_len = difference(io->in_len, io->in_used);
		io->in_used = 0;
	}
	if (!has_socket(io))
		return false;
	ssize_t n = receive_with_fd(io, io->in + io->in_len, difference(sizeof io->in, io->in_len));
	if (n > 0)
		io->in_len += (size_t)n;
	return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

enum channel_next channel_io_next(struct channel_io *io, struct channel_frame *f)
{
	size_t used = 0;
	enum channel_next next = channel_next(io->in + io->in_used, difference(io->in_len, io->in_used), f, &used);
	if (next == CHANNEL_FRAME)
		io->in_used += used;
	return next;
}
