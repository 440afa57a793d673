#include "agent/host/sandbox_kind.h"

#include "agent/host/proc.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#define GVISOR "gVisor"
#define MACHINE "a virtual machine (Kata Containers)"

/* gVisor's sentry is started from /proc/self/exe: its command line tells it even where its file cannot be seen. */
static const struct {
	const char *prefix, *kind;
} programs[] = {
	{"runsc", GVISOR},
	{"qemu-system-", MACHINE},
	{"qemu-kvm", MACHINE},
	{"cloud-hypervisor", MACHINE},
	{"firecracker", MACHINE},
	{"stratovirt", MACHINE},
	{"kata-", MACHINE},
	{"containerd-shim-kata", MACHINE},
};

static const char *kind_of_path(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++) {
		if (strncmp(name, programs[i].prefix, strlen(programs[i].prefix)) == 0)
			return programs[i].kind;
	}
	return NULL;
}

const char *sandbox_kind_by_name(const char *file_name, const char *argument0)
{
	const char *kind = kind_of_path(file_name);
	return kind ? kind : kind_of_path(argument0);
}

const char *sandbox_kind_of(int proc_fd)
{
	char exe[PATH_MAX], command[PATH_MAX];
	ssize_t n = readlinkat(proc_fd, "exe", exe, sizeof exe - 1);
	exe[n > 0 ? n : 0] = '\0';
	if (proc_read_cmdline(proc_fd, command, sizeof command) < 0)
		command[0] = '\0';
	command[strcspn(command, " ")] = '\0';
	return sandbox_kind_by_name(exe, command);
}
