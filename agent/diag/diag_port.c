#include "agent/diag/diag_port.h"

#include "agent/diag/diag_codec.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/mem.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define WAITING_MOST 64

int diag_port_open(struct diag_port *p, struct err *e)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	const char *tmp = getenv("TMPDIR");

	*p = (struct diag_port){.fd = -1};
	p->dir = mem_printf("%s/drdotnet-port-XXXXXX", tmp && tmp[0] ? tmp : "/tmp");
	if (!mkdtemp(p->dir)) {
		err_set_errno(e, errno, "cannot make the folder %s for a diagnostics port", p->dir);
		free(p->dir);
		p->dir = NULL;
		return -1;
	}
	p->path = mem_printf("%s/port", p->dir);
	if (strlen(p->path) >= sizeof at.sun_path) {
		err_set(e, ERR_INVALID, 0, "the path of TMPDIR is too long for a diagnostics port: %s", p->path);
		diag_port_close(p);
		return -1;
	}
	strcpy(at.sun_path, p->path);
	p->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (p->fd >= 0 && bind(p->fd, (struct sockaddr *)&at, sizeof at) == 0 && listen(p->fd, WAITING_MOST) == 0)
		return 0;
	err_set_errno(e, errno, "cannot open the diagnostics port %s", p->path);
	diag_port_close(p);
	return -1;
}

void diag_port_close(struct diag_port *p)
{
	if (p->fd >= 0)
		close(p->fd);
	if (p->path)
		unlink(p->path);
	if (p->dir)
		rmdir(p->dir);
	free(p->path);
	free(p->dir);
	*p = (struct diag_port){.fd = -1};
}

char *diag_port_variable(const struct diag_port *p, const char *before)
{
	bool any = before && before[0];

	return mem_printf("%s%s%s,suspend", any ? before : "", any ? ";" : "", p->path);
}

static int read_advert(int fd, uint8_t advert[DIAG_ADVERT_SIZE], int64_t deadline_ms)
{
	for (size_t have = 0; have < DIAG_ADVERT_SIZE;) {
		struct pollfd ready = {.fd = fd, .events = POLLIN};
		int64_t left_ms = deadline_ms - clock_mono_ms();
		if (left_ms <= 0 || poll(&ready, 1, (int)left_ms) <= 0)
			return -1;
		ssize_t n = recv(fd, advert + have, DIAG_ADVERT_SIZE - have, 0);
		if (n <= 0)
			return -1;
		have += (size_t)n;
	}
	return diag_decode_advert(advert) ? 0 : -1;
}

int diag_port_accept(struct diag_port *p, int64_t deadline_ms, struct diag_visitor *out)
{
	AUTO_FD int fd = accept4(p->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	uint8_t advert[DIAG_ADVERT_SIZE];
	struct ucred peer;
	socklen_t size = sizeof peer;

	if (fd < 0 || read_advert(fd, advert, deadline_ms) < 0 || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
		return -1;
	memcpy(out->cookie, advert + 8, sizeof out->cookie);
	out->pid = peer.pid;
	out->fd = steal_fd(&fd);
	return 0;
}
