/* Whether threads of one kind multiply: how many began since the first look, and when those that are there began before it, by the kernel's own clock.
 * Pure; any thread. */
#ifndef DRDOTNET_THREADS_GROWTH_H
#define DRDOTNET_THREADS_GROWTH_H

#include "agent/profilers/threads/threads_analysis.h"

#define GROWTH_SPREAD 20 /* parts of the life of threads that began alike */

/* Of an analysis that has natures and names. THREAD_KIND_LIBRARY: of native libraries, too, and of unknown kind. */
void threads_growth_find(const struct threads_analysis *a, enum thread_kind kind, struct threads_growth *out);

#endif
