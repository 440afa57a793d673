/* Preloaded into a target: a crash reporter of the application. It handles SIGPROF from the beginning, and once the runtime handles memory
 * faults it puts a handler of its own before that, as such libraries do. On SIGUSR2 it does so with the realtime signals that are handled.
 * gcc -shared -fPIC -pthread own_handler.c */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

static struct sigaction runtimes;

static void on_sigprof(int signo)
{
	(void)signo;
}

static void on_fault(int signo, siginfo_t *info, void *context)
{
	runtimes.sa_sigaction(signo, info, context);
}

static struct sigaction chained[65];

static void on_chained(int signo, siginfo_t *info, void *context)
{
	chained[signo].sa_sigaction(signo, info, context);
}

static void chain(int unused)
{
	(void)unused;
	for (int signo = 34; signo <= 64; signo++) {
		if (sigaction(signo, NULL, &chained[signo]) || !(chained[signo].sa_flags & SA_SIGINFO))
			continue;
		struct sigaction ours = chained[signo];
		ours.sa_sigaction = on_chained;
		sigaction(signo, &ours, NULL);
	}
}

static void *put_before(void *unused)
{
	struct sigaction ours = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};

	do {
		poll(NULL, 0, 10);
		sigaction(SIGSEGV, NULL, &runtimes);
	} while (!(runtimes.sa_flags & SA_SIGINFO));
	sigaction(SIGSEGV, &ours, NULL);
	return unused;
}

__attribute__((constructor)) static void install(void)
{
	pthread_t thread;

	signal(SIGPROF, on_sigprof);
	signal(SIGUSR2, chain);
	if (getenv("OWN_FAULT_HANDLER"))
		pthread_create(&thread, NULL, put_before, NULL);
}
