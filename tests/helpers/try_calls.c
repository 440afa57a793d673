/* try-calls: what neither agent nor controller does, tried with arguments that lead nowhere: prints "name:errno" of each, 0 where
 * it was possible. A kernel that lets the call through answers with the fault of its arguments (EFAULT, EBADF, ENOENT, ...), a
 * seccomp profile before that with its own.
 *   try-calls              all of them
 *   try-calls other-abi    one call of the 32-bit interface, whose numbers a filter of this one could mistake */
#include <errno.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NOBODY 0x3fffffff                  /* no process */
#define NOWHERE ((long)"/nonexistent/file")
#define BAD 8L                             /* no address */

static const struct {
	const char *name;
	long number, args[6];
} calls[] = {
	{"ptrace", SYS_ptrace, {PTRACE_ATTACH, NOBODY}},
	{"process_vm_readv", SYS_process_vm_readv, {NOBODY}},
	{"process_vm_writev", SYS_process_vm_writev, {NOBODY}},
	{"pidfd_getfd", SYS_pidfd_getfd, {-1, 0, 0}},
	{"kcmp", SYS_kcmp, {NOBODY, NOBODY}},
	{"kill", SYS_kill, {NOBODY, SIGKILL}},
	{"mount", SYS_mount, {BAD, BAD, BAD}},
	{"umount2", SYS_umount2, {NOWHERE}},
	{"pivot_root", SYS_pivot_root, {NOWHERE, NOWHERE}},
	{"chroot", SYS_chroot, {NOWHERE}},
	{"unshare", SYS_unshare, {0}},
	{"setns", SYS_setns, {-1, 0}},
	{"open_tree", 428, {-1, BAD, 0}},
	{"open_by_handle_at", SYS_open_by_handle_at, {-1, BAD, 0}},
	{"mknodat", SYS_mknodat, {-1, NOWHERE, 0600}},
	{"linkat", SYS_linkat, {-1, NOWHERE, -1, NOWHERE, 0}},
	{"symlinkat", SYS_symlinkat, {NOWHERE, -1, NOWHERE}},
	{"fchownat", SYS_fchownat, {-1, NOWHERE, 0, 0, 0}},
	{"setxattr", SYS_setxattr, {NOWHERE, BAD, BAD, 0, 0}},
	{"bpf", SYS_bpf, {-1, 0, 0}},
	{"keyctl", SYS_keyctl, {-1}},
	{"add_key", SYS_add_key, {BAD, BAD, BAD, 0, 0}},
	{"userfaultfd", SYS_userfaultfd, {-1}},
	{"io_uring_setup", SYS_io_uring_setup, {0, BAD}},
	{"init_module", SYS_init_module, {BAD, 0, BAD}},
	{"finit_module", SYS_finit_module, {-1, BAD, 0}},
	{"delete_module", SYS_delete_module, {BAD, 0}},
	{"kexec_load", SYS_kexec_load, {0, 0, 0, -1}},
	{"reboot", SYS_reboot, {0, 0, 0, 0}},
	{"swapon", SYS_swapon, {NOWHERE, 0}},
	{"acct", SYS_acct, {NOWHERE}},
	{"clock_settime", SYS_clock_settime, {0, BAD}},
	{"settimeofday", SYS_settimeofday, {BAD, 0}},
	{"adjtimex", SYS_adjtimex, {BAD}},
	{"sethostname", SYS_sethostname, {BAD, 4}},
	{"personality", SYS_personality, {0xffffffff}},
	{"execveat", SYS_execveat, {-1, NOWHERE, 0, 0, 0}},
	{"fork", SYS_clone, {SIGCHLD}},
	{"clone3", SYS_clone3, {BAD, 0}},
	{"socket of AF_PACKET", SYS_socket, {AF_PACKET, -1, 0}},
	{"socket of AF_VSOCK", SYS_socket, {AF_VSOCK, -1, 0}},
	{"socketpair of AF_INET", SYS_socketpair, {AF_INET, SOCK_STREAM, 0, BAD}},
	{"perf_event_open", SYS_perf_event_open, {BAD, 0, -1, -1, 0}},
	{"pidfd_open", SYS_pidfd_open, {NOBODY, 0}},
	{"inotify_init1", SYS_inotify_init1, {-1}},
	{"memfd_create", SYS_memfd_create, {BAD, 0}},
	{"timerfd_create", SYS_timerfd_create, {-1, 0}},
};

static int other_abi(void)
{
#ifdef __x86_64__
	long result;
	__asm__ volatile("int $0x80" : "=a"(result) : "a"(20L) : "memory", "r8", "r9", "r10", "r11"); /* getpid */
	printf("getpid %ld\n", result);
#endif
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "other-abi") == 0)
		return other_abi();
	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
		const long *a = calls[i].args;
		long result = syscall(calls[i].number, a[0], a[1], a[2], a[3], a[4], a[5]);
		if (calls[i].number == SYS_clone && result == 0)
			_exit(0); /* the child */
		printf("%s:%d\n", calls[i].name, result < 0 ? errno : 0);
	}
	return 0;
}
