/* The signal with which the runtime interrupts its own threads. Samples are taken by it because the runtime keeps it, and no other,
 * away from its handlers on small alternate stacks: any other signal that arrives while such a handler begins (an application's
 * NullReferenceException is one) overflows that stack where the processor's registers are large (AVX-512), and the kernel ends the
 * process. The runtime's dispositions themselves say which signal that is. Own thread. */
#ifndef DRDOTNET_RUNTIME_SIGNAL_H
#define DRDOTNET_RUNTIME_SIGNAL_H

#include <signal.h>
#include <stdbool.h>

/* The signal and the runtime's disposition of it; 0 when there is none that is safe to use, for instance because something else
 * handles memory faults in front of the runtime. */
int runtime_signal_find(struct sigaction *out);
/* On a thread of ours that runs code of the runtime, before it does: lets it be interrupted like the runtime's own, or a collection may wait for it. */
void runtime_signal_unblock(void);
/* Pure: whether `a`, the disposition of `signo`, is the runtime's, given that of SIGSEGV. */
bool runtime_signal_is(int signo, const struct sigaction *a, const struct sigaction *fault);

#endif
