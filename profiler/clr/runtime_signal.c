/* Context: own thread, and threads of ours that run code of the runtime. */
#include "profiler/clr/runtime_signal.h"

#include "common/proto/difference.h"

#include <stdint.h>

#define FIRST_REALTIME 32 /* the kernel's; those that a libc keeps for itself it does not show */
#define LAST_REALTIME 64
#define MODULE_BYTES ((uintptr_t)64 << 20) /* more than the runtime's code */

static bool has_handler(const struct sigaction *a)
{
	return (a->sa_flags & SA_SIGINFO) && a->sa_handler != SIG_DFL && a->sa_handler != SIG_IGN;
}

/* A handler elsewhere is another party's, whose rules for its stack nobody knows (Go's, a crash reporter's). */
static bool of_one_module(const struct sigaction *a, const struct sigaction *b)
{
	uintptr_t x = (uintptr_t)a->sa_sigaction, y = (uintptr_t)b->sa_sigaction;

	return difference(x, y) < MODULE_BYTES && difference(y, x) < MODULE_BYTES;
}

bool runtime_signal_is(int signo, const struct sigaction *a, const struct sigaction *fault)
{
	return has_handler(a) && !(a->sa_flags & SA_ONSTACK) && has_handler(fault) && sigismember(&fault->sa_mask, signo) == 1 &&
	       of_one_module(a, fault);
}

int runtime_signal_find(struct sigaction *out)
{
	struct sigaction fault;

	if (sigaction(SIGSEGV, NULL, &fault))
		return 0;
	for (int signo = FIRST_REALTIME; signo <= LAST_REALTIME; signo++)
		if (sigaction(signo, NULL, out) == 0 && runtime_signal_is(signo, out, &fault))
			return signo;
	return 0;
}

void runtime_signal_unblock(void)
{
	struct sigaction runtimes;
	int signo = runtime_signal_find(&runtimes);
	sigset_t set;

	if (!signo || pthread_sigmask(SIG_SETMASK, NULL, &set))
		return;
	sigdelset(&set, signo);
	pthread_sigmask(SIG_SETMASK, &set, NULL);
}
