#include "agent/cli/hold.h"

#include "common/base/thread.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/eventfd.h>
#include <sys/ptrace.h>
#include <unistd.h>

/* No wait for the stop, and no PTRACE_DETACH, which needs one: the kernel detaches from all that an ended thread has traced, in whatever state it is, and
 * delivers the signal that it has come to meanwhile. */
static void *trace(void *hold)
{
	struct hold *h = hold;
	struct pollfd release = {.fd = h->release_fd, .events = POLLIN};

	if (ptrace(PTRACE_SEIZE, h->pid, NULL, NULL) < 0 || ptrace(PTRACE_INTERRUPT, h->pid, NULL, NULL) < 0)
		h->refused = errno;
	bool held = !h->refused;
	sem_post(&h->tried);
	if (held)
		poll(&release, 1, (int)h->longest_ms);
	return NULL;
}

static void fini(struct hold *h)
{
	close(h->release_fd);
	sem_destroy(&h->tried);
}

int hold_start(struct hold *h, pid_t pid, int64_t longest_ms, struct err *e)
{
	*h = (struct hold){.pid = pid, .longest_ms = longest_ms, .release_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
	if (h->release_fd < 0)
		return err_set_errno(e, errno, "eventfd");
	sem_init(&h->tried, 0, 0);
	if (thread_start(&h->thread, "hold", THREAD_STACK_USUAL, trace, h, e) < 0) {
		fini(h);
		return -1;
	}
	while (sem_wait(&h->tried) < 0)
		;
	if (!h->refused)
		return 0;
	err_set_errno(e, h->refused, "ptrace");
	hold_release(h);
	return -1;
}

void hold_release(struct hold *h)
{
	uint64_t one = 1;

	(void)!write(h->release_fd, &one, sizeof one);
	pthread_join(h->thread, NULL);
	fini(h);
}
