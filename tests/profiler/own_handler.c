/* Preloaded into a target: an application with a SIGPROF handler of its own. gcc -shared -fPIC own_handler.c */
#include <signal.h>

static void on_sigprof(int signo)
{
	(void)signo;
}

__attribute__((constructor)) static void install(void)
{
	signal(SIGPROF, on_sigprof);
}
