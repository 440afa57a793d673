#include "agent/diag/diag_port.h"

#include "agent/diag/diag_codec.h"
#include "agent/host/proc.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define LOOKS 5
#define LOOK_MS 100
#define FINALIZER ".NET Finalizer" /* this thread is there before any managed code runs (seen with .NET 8, 9 and 10) */

/* Who is not root could not profile processes of other users anyway. */
static bool let_others_in(const struct diag_port *p)
{
	return geteuid() != 0 || (chmod(p->dir, 0711) == 0 && chmod(p->path, 0666) == 0);
}

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
	if (p->fd >= 0 && bind(p->fd, (struct sockaddr *)&at, sizeof at) == 0 && let_others_in(p) && listen(p->fd, SOMAXCONN) == 0)
		return 0;
	err_set_errno(e, errno, "cannot open the diagnostics port %s", p->path);
	diag_port_close(p);
	return -1;
}

/* Processes that are just ending are waited for. */
static bool has_users(const struct diag_port *p)
{
	for (int i = 0; i < LOOKS; i++) {
		if (diag_port_find_user(p, false) == 0)
			return false;
		clock_sleep_until_ms(clock_mono_ms() + LOOK_MS);
	}
	return true;
}

void diag_port_close(struct diag_port *p)
{
	if (p->fd >= 0)
		close(p->fd);
	if (p->path)
		unlink(p->path);
	if (p->dir && !has_users(p))
		rmdir(p->dir);
	free(p->path);
	free(p->dir);
	*p = (struct diag_port){.fd = -1};
}

/* "nosuspend": a process that cannot reach us, or that starts when we are gone, is not to wait for us. */
char *diag_port_variable(const struct diag_port *p, const char *before)
{
	bool any = before && before[0];

	return mem_printf("%s%s%s,nosuspend", any ? before : "", any ? ";" : "", p->path);
}

int diag_port_accept(const struct diag_port *p, struct diag_visitor *out)
{
	AUTO_FD int fd = accept4(p->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct ucred peer;
	socklen_t size = sizeof peer;

	if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0 || peer.pid <= 0)
		return -1;
	*out = (struct diag_visitor){.fd = steal_fd(&fd), .pid = peer.pid, .uid = peer.uid};
	return 0;
}

int diag_port_await_advert(const struct diag_visitor *v, int64_t deadline_ms)
{
	uint8_t advert[DIAG_ADVERT_SIZE];

	for (size_t have = 0; have < sizeof advert;) {
		struct pollfd ready = {.fd = v->fd, .events = POLLIN};
		int64_t left_ms = deadline_ms - clock_mono_ms();
		if (left_ms <= 0 || poll(&ready, 1, (int)left_ms) <= 0)
			return -1;
		ssize_t n = recv(v->fd, advert + have, sizeof advert - have, 0);
		if (n <= 0)
			return -1;
		have += (size_t)n;
	}
	return diag_decode_advert(advert) ? 0 : -1;
}

static bool uses(const struct diag_port *p, pid_t pid, bool dotnet)
{
	AUTO_BUF struct buf variables = {0};
	AUTO_FD int fd = proc_open(PROC_ROOT, pid);

	return fd >= 0 && proc_read_environ(fd, &variables) == 0 && variables.len && memmem(variables.data, variables.len, p->path, strlen(p->path)) &&
	       (!dotnet || proc_count_threads(fd, FINALIZER) > 0);
}

pid_t diag_port_find_user(const struct diag_port *p, bool dotnet)
{
	AUTO_DIR DIR *dir = p->path ? opendir(PROC_ROOT) : NULL;
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
		if (pid > 0 && uses(p, pid, dotnet))
			return pid;
	}
	return 0;
}
