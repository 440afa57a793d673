#include "profiler/clr/runtime_signal.h"

#include <criterion/criterion.h>
#include <stdint.h>

static void handler(int signo, siginfo_t *info, void *context)
{
	(void)signo;
	(void)info;
	(void)context;
}

#define FAR ((void (*)(int, siginfo_t *, void *))((uintptr_t)handler + ((uintptr_t)64 << 20)))

Test(runtime_signal, what_makes_a_signal_safe)
{
	static const struct {
		const char *what;
		int flags, fault_flags;
		bool in_mask, far, ignored, expected;
	} rows[] = {
		{"as the runtime has it", SA_SIGINFO | SA_RESTART, SA_SIGINFO | SA_ONSTACK, true, false, false, true},
		{"a plain handler", 0, SA_SIGINFO | SA_ONSTACK, true, false, false, false},
		{"no handler", SA_SIGINFO, SA_SIGINFO | SA_ONSTACK, true, false, true, false},
		{"itself on the alternate stack", SA_SIGINFO | SA_ONSTACK, SA_SIGINFO | SA_ONSTACK, true, false, false, false},
		{"not kept away from the other handler", SA_SIGINFO, SA_SIGINFO | SA_ONSTACK, false, false, false, false},
		{"another module's handler of faults", SA_SIGINFO, SA_SIGINFO | SA_ONSTACK, true, true, false, false},
		{"no handler of faults", SA_SIGINFO, 0, true, false, false, false},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct sigaction a = {.sa_sigaction = handler, .sa_flags = rows[i].flags};
		struct sigaction fault = {.sa_sigaction = rows[i].far ? FAR : handler, .sa_flags = rows[i].fault_flags};
		if (rows[i].ignored)
			a.sa_handler = SIG_IGN;
		sigaddset(&fault.sa_mask, rows[i].in_mask ? SIGRTMIN + 1 : SIGRTMIN + 2);
		cr_expect_eq(runtime_signal_is(SIGRTMIN + 1, &a, &fault), rows[i].expected, "%s", rows[i].what);
	}
}

Test(runtime_signal, is_found_among_this_process_s)
{
	struct sigaction a = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO}, found;
	struct sigaction fault = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_ONSTACK};

	sigaction(SIGRTMIN + 3, &a, NULL);
	sigaction(SIGRTMIN + 5, &a, NULL);
	cr_assert_eq(runtime_signal_find(&found), 0);
	sigaddset(&fault.sa_mask, SIGRTMIN + 5);
	sigaction(SIGSEGV, &fault, NULL);
	cr_assert_eq(runtime_signal_find(&found), SIGRTMIN + 5);
	cr_assert(found.sa_sigaction == handler);
}

Test(runtime_signal, a_thread_of_ours_lets_the_runtime_interrupt_it)
{
	struct sigaction a = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO}, fault = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_ONSTACK};
	sigset_t blocked;

	sigaction(SIGRTMIN + 5, &a, NULL);
	sigaddset(&fault.sa_mask, SIGRTMIN + 5);
	sigaction(SIGSEGV, &fault, NULL);
	sigfillset(&blocked);
	pthread_sigmask(SIG_SETMASK, &blocked, NULL);
	runtime_signal_unblock();
	pthread_sigmask(SIG_SETMASK, NULL, &blocked);
	cr_expect_not(sigismember(&blocked, SIGRTMIN + 5));
	cr_expect(sigismember(&blocked, SIGRTMIN + 4) && sigismember(&blocked, SIGPROF));
}
