/* Context: CLR callback and own thread. */
#include "profiler/base/own_thread.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

int own_thread_start(pthread_t *out, size_t stack_bytes, void *(*run)(void *), void *argument)
{
	static const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS};
	pthread_attr_t attributes;
	sigset_t all, before;
	int error;

	if ((error = pthread_attr_init(&attributes)))
		return error;
	/* The guard page is taken out of it, and may have 64 KiB. */
	pthread_attr_setstacksize(&attributes, stack_bytes + (size_t)sysconf(_SC_PAGESIZE));
	sigfillset(&all);
	for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
		sigdelset(&all, faults[i]);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(out, &attributes, run, argument);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	return error;
}

void own_thread_name(void)
{
	prctl(PR_SET_NAME, "drdotnet", 0, 0, 0);
}
