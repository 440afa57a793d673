#include "common/base/daemon.h"

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <sys/signalfd.h>

#define SMALL_BYTES (128 * 1024)

void daemon_keep_memory_small(void)
{
	mallopt(M_ARENA_MAX, 1);
	mallopt(M_TRIM_THRESHOLD, SMALL_BYTES);
	mallopt(M_MMAP_THRESHOLD, SMALL_BYTES);
}

static sigset_t ending_signals(void)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	return set;
}

void daemon_block_signals(void)
{
	sigset_t set = ending_signals();
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
}

int daemon_signal_fd(struct err *e)
{
	sigset_t set = ending_signals();
	int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? err_set_errno(e, errno, "cannot wait for signals") : fd;
}
