#include "agent/target/target_fs.h"

#include "agent/host/proc.h"
#include "agent/host/rights.h"
#include "common/api/reason.h"
#include "common/base/cleanup.h"
#include "common/base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

int target_fs_openat2(int dirfd, const char *path, uint64_t flags, uint64_t mode, uint64_t resolve)
{
	struct open_how how = {.flags = flags | O_CLOEXEC, .mode = mode, .resolve = resolve};
	long fd = -1;
	/* EAGAIN: a rename elsewhere made the kernel unsure whether ".." stayed inside; somebody may rename for ever. */
	for (int tries = 0; tries < 32; tries++) {
		fd = syscall(SYS_openat2, dirfd, path, &how, sizeof how);
		if (fd >= 0 || (errno != EINTR && errno != EAGAIN))
			break;
	}
	return (int)fd;
}

int target_fs_open_in_root(int root_fd, const char *inner_path, uint64_t flags)
{
	return target_fs_openat2(root_fd, inner_path, flags, 0, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
}

int target_fs_open_regular(int root_fd, const char *inner_path)
{
	AUTO_FD int found = target_fs_open_in_root(root_fd, inner_path, O_PATH);
	struct stat st;
	char path[TARGET_FD_PATH_SIZE];
	if (found < 0 || fstat(found, &st) < 0)
		return -1;
	if (!S_ISREG(st.st_mode)) {
		errno = EINVAL;
		return -1;
	}
	return open(target_fd_path(found, path), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

int target_fs_open_beneath(int dirfd, const char *name, uint64_t flags, uint64_t mode)
{
	if (strchr(name, '/') || strcmp(name, "..") == 0) {
		errno = EINVAL;
		return -1;
	}
	return target_fs_openat2(dirfd, name, flags | O_NOFOLLOW, mode, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);
}

const char *target_fd_path(int fd, char out[TARGET_FD_PATH_SIZE])
{
	snprintf(out, TARGET_FD_PATH_SIZE, "/proc/self/fd/%d", fd);
	return out;
}

static int open_proc_dir(const struct target *t)
{
	return t->proc_dir ? open(t->proc_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : proc_open(PROC_ROOT, t->pid);
}

int target_open_proc(const struct target *t, struct err *e)
{
	if (t->mode != AGENT_MODE_HOST_PID)
		return err_set(e, ERR_INVALID, 0, "no process is visible in the shared tmp mode");
	struct proc_stat stat;
	AUTO_FD int fd = open_proc_dir(t);
	if (fd < 0 || proc_read_stat(fd, &stat) < 0) {
		if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || (fd < 0 && errno != ENOENT && errno != ESRCH))
			return err_set_errno(e, errno, "cannot open /proc/%d", (int)t->pid);
		return err_set_reason(e, ERR_GONE, REASON_ProcessExited, "process %d has ended", (int)t->pid);
	}
	if (stat.start_time != t->start_time || stat.state == 'Z' || stat.state == 'X')
		return err_set_reason(e, ERR_GONE, REASON_ProcessExited, "process %d has ended", (int)t->pid);
	return steal_fd(&fd);
}

static int refuse_tmp(const struct target *t, int errnum, struct err *e)
{
	char why[RIGHTS_TEXT_SIZE];
	if (errnum == EACCES || errnum == EPERM)
		return err_set_reason(e, ERR_DENIED, REASON_PermissionDenied, "the agent cannot enter %s of process %d: %s", t->tmp_inner,
				      (int)t->pid, rights_explain_own_refusal(why));
	err_set_errno(e, errnum, "cannot open the temporary folder %s", t->tmp_inner);
	if (e)
		e->reason = REASON_NoStagingPlace;
	return -1;
}

static int open_tmp_host(const struct target *t, struct err *e)
{
	AUTO_FD int proc_fd = target_open_proc(t, e);
	if (proc_fd < 0)
		return -1;
	AUTO_FD int root = openat(proc_fd, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0 && (errno == ENOENT || errno == ESRCH)) /* one that is ending has no root any more */
		return err_set_reason(e, ERR_GONE, REASON_ProcessExited, "process %d has ended", (int)t->pid);
	int fd = root < 0 ? -1 : target_fs_open_in_root(root, t->tmp_inner, O_RDONLY | O_DIRECTORY);
	if (fd >= 0)
		return fd;
	int errnum = errno;
	AUTO_FD int again = target_open_proc(t, e); /* a process that has ended takes its folders along */
	return again < 0 ? -1 : refuse_tmp(t, errnum, e);
}

/* PARENT is the agent's own path, FOLDER and the container's folder in it are named by others. */
static int open_tmp_shared(const struct target *t, struct err *e)
{
	size_t inner = strlen(t->shared_folder) + 1 + (t->container_name ? strlen(t->container_name) + 1 : 0);
	size_t whole = strlen(t->tmp_outer);
	if (whole <= inner)
		return err_set(e, ERR_INTERNAL, 0, "%s does not lie in a shared folder", t->tmp_outer);
	AUTO_FREE char *parent = mem_strndup(t->tmp_outer, whole - inner);
	AUTO_FD int parent_fd = open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
	AUTO_FD int folder = parent_fd < 0 ? -1 : target_fs_open_beneath(parent_fd, t->shared_folder, O_RDONLY | O_DIRECTORY, 0);
	if (folder < 0)
		return refuse_tmp(t, errno, e);
	if (!t->container_name)
		return steal_fd(&folder);
	int fd = target_fs_open_beneath(folder, t->container_name, O_RDONLY | O_DIRECTORY, 0);
	return fd >= 0 ? fd : refuse_tmp(t, errno, e);
}

int target_open_tmp(const struct target *t, struct err *e)
{
	if (!t->tmp_inner || !t->tmp_outer)
		return err_set_reason(e, ERR_INVALID, REASON_NoStagingPlace, "the process has no temporary folder");
	return t->mode == AGENT_MODE_HOST_PID ? open_tmp_host(t, e) : open_tmp_shared(t, e);
}
