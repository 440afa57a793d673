#include "agent/host/process_exit.h"

#include "agent/host/proc.h"
#include "common/base/fsio.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#define EXIT_CODE_FIELD 52 /* the last one of proc(5) */

/* PIDFD_GET_INFO of <linux/pidfd.h>, in its first version. */
#define INFO_EXIT 8
struct pidfd_exit_info {
	uint64_t mask, cgroup_id;
	uint32_t pids[3], ids[8];
	int32_t exit_code;
};
#define GET_INFO _IOWR(0xff, 11, struct pidfd_exit_info)

int process_exit_parse_stat(const char *text)
{
	struct proc_stat stat;
	int status;
	if (proc_parse_stat(text, &stat) < 0 || (stat.state != 'Z' && stat.state != 'X') || stat.thread_count > 1)
		return -1;
	const char *field = strrchr(text, ')'); /* the second */
	for (int i = 2; field && i < EXIT_CODE_FIELD; i++)
		field = strchr(field + 1, ' ');
	return field && sscanf(field, "%d", &status) == 1 && status >= 0 && status <= 0xffff ? status : -1;
}

static int ask_proc(int proc_fd)
{
	char text[2048];
	return proc_fd >= 0 && fsio_read_small(proc_fd, "stat", text, sizeof text) >= 0 ? process_exit_parse_stat(text) : -1;
}

static int ask_pidfd(int pid_fd)
{
	struct pidfd_exit_info info = {.mask = INFO_EXIT};
	return pid_fd >= 0 && ioctl(pid_fd, GET_INFO, &info) == 0 && info.mask & INFO_EXIT ? info.exit_code : -1;
}

/* The descriptor tells from the moment on at which the other does not. */
struct exit_status process_exit_read(int proc_fd, int pid_fd)
{
	int status = ask_proc(proc_fd);
	if (status < 0)
		status = ask_pidfd(pid_fd);
	return status < 0 ? (struct exit_status){0} : exit_status_of_wait(status);
}
