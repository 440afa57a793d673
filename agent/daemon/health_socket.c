#include "agent/daemon/health_socket.h"

#include "common/base/cleanup.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>

static int make_address(const char *path, struct sockaddr_un *out, struct err *e)
{
	*out = (struct sockaddr_un){.sun_family = AF_UNIX};
	if (strlen(path) >= sizeof out->sun_path)
		return err_set(e, ERR_INVALID, ENAMETOOLONG, "the health socket's path is too long: %s", path);
	strcpy(out->sun_path, path);
	return 0;
}

int health_socket_listen(const char *path, struct err *e)
{
	struct sockaddr_un address;
	if (make_address(path, &address, e) < 0)
		return -1;
	AUTO_FD int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return err_set_errno(e, errno, "cannot make the health socket");
	unlink(path);
	if (bind(fd, (struct sockaddr *)&address, sizeof address) < 0 || chmod(path, 0600) < 0 || listen(fd, 8) < 0)
		return err_set_errno(e, errno, "cannot listen at %s", path);
	return steal_fd(&fd);
}

void health_socket_answer(int fd, const char *line)
{
	int got;
	while ((got = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
		if (send(got, line, strlen(line), MSG_NOSIGNAL) < 0) {
			/* the probe is gone; it will say so itself */
		}
		close(got);
	}
}

int health_socket_probe(const char *path, char *line, size_t size, struct err *e)
{
	struct sockaddr_un address;
	if (make_address(path, &address, e) < 0)
		return -1;
	AUTO_FD int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct timeval limit = {.tv_sec = 2};
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) < 0 ||
	    connect(fd, (struct sockaddr *)&address, sizeof address) < 0)
		return err_set_errno(e, errno, "no agent answers at %s", path);
	ssize_t n = read(fd, line, size - 1);
	if (n <= 0)
		return err_set(e, ERR_TIMEOUT, 0, "the agent at %s does not answer", path);
	line[n] = '\0';
	return strncmp(line, "ok", 2) == 0 ? 0 : err_set(e, ERR_RETRY, 0, "the agent is not well: %s", line);
}
