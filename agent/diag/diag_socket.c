#include "agent/diag/diag_socket.h"

#include "agent/diag/peer_socket.h"
#include "agent/host/rights.h"
#include "agent/target/target_fs.h"
#include "common/api/reason.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#define FULL_QUEUE_RETRY_MS 5

static bool take_number(const char **p, char stop, uint64_t most, uint64_t *out)
{
	const char *s = *p;
	uint64_t v = 0;
	if (*s < '0' || *s > '9')
		return false;
	for (; *s >= '0' && *s <= '9'; s++) {
		uint64_t digit = (uint64_t)(*s - '0');
		if (v > (most - digit) / 10)
			return false;
		v = v * 10 + digit;
	}
	if (*s != stop)
		return false;
	*p = s + 1;
	*out = v;
	return true;
}

bool diag_socket_parse_name(const char *name, struct diag_socket_name *out)
{
	static const char prefix[] = "dotnet-diagnostic-";
	if (strncmp(name, prefix, sizeof prefix - 1) != 0)
		return false;
	const char *p = name + sizeof prefix - 1;
	uint64_t pid;
	if (!take_number(&p, '-', INT32_MAX, &pid) || pid == 0 || !take_number(&p, '-', UINT64_MAX, &out->key))
		return false;
	out->inner_pid = (pid_t)pid;
	return strcmp(p, "socket") == 0;
}

/* Opens the inode itself, so that what was checked is what is connected to. */
static int open_socket_file(int dirfd, const char *name, uid_t uid, struct err *e)
{
	AUTO_FD int file = target_fs_open_beneath(dirfd, name, O_PATH, 0);
	struct stat st;
	if (file < 0 || fstat(file, &st) < 0)
		return err_set_errno(e, errno, "cannot open the diagnostics socket %s", name);
	if (!S_ISSOCK(st.st_mode))
		return err_set(e, ERR_PROTOCOL, 0, "%s is not a socket", name);
	if (uid != (uid_t)-1 && st.st_uid != uid && st.st_uid != 0)
		return err_set(e, ERR_PROTOCOL, 0, "%s belongs to uid %u, the process to uid %u", name, (unsigned)st.st_uid,
			       (unsigned)uid);
	return steal_fd(&file);
}

static int connect_until(int fd, const struct sockaddr_un *to, int64_t deadline_ms)
{
	while (connect(fd, (const struct sockaddr *)to, sizeof *to) < 0) {
		if (errno != EAGAIN && errno != EINTR)
			return -1;
		/* EAGAIN: the other end accepts nothing and its queue is full. */
		int64_t now = clock_mono_ms();
		if (now + FULL_QUEUE_RETRY_MS > deadline_ms) {
			errno = ETIMEDOUT;
			return -1;
		}
		clock_sleep_until_ms(now + FULL_QUEUE_RETRY_MS);
	}
	return 0;
}

static int connect_error(const char *name, struct err *e)
{
	if (errno == ECONNREFUSED)
		return err_set(e, ERR_GONE, errno, "nobody listens on %s any more", name);
	char why[RIGHTS_TEXT_SIZE];
	if (errno == EACCES || errno == EPERM)
		return err_set_reason(e, ERR_DENIED, REASON_PermissionDenied, "the agent may not connect to %s: %s", name,
				      rights_explain_own_file_refusal(why));
	return err_set_errno(e, errno, "cannot connect to %s", name);
}

int diag_socket_connect(int dirfd, const char *name, uid_t uid, pid_t pid, int64_t deadline_ms, struct err *e)
{
	AUTO_FD int file = open_socket_file(dirfd, name, uid, e);
	if (file < 0)
		return -1;
	AUTO_FD int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return err_set_errno(e, errno, "cannot make a socket");
	peer_socket_refuse_descriptors(fd);
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	target_fd_path(file, to.sun_path);
	if (connect_until(fd, &to, deadline_ms) < 0)
		return connect_error(name, e);
	struct ucred peer;
	socklen_t len = sizeof peer;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
		return err_set_errno(e, errno, "cannot tell who listens on %s", name);
	if (pid != 0 && peer.pid != pid)
		return err_set(e, ERR_PROTOCOL, 0, "%s is served by process %d, not by %d", name, (int)peer.pid, (int)pid);
	return steal_fd(&fd);
}
