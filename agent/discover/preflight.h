/* What speaks against profiling a process. */
#ifndef DRDOTNET_PREFLIGHT_H
#define DRDOTNET_PREFLIGHT_H

#include "agent/target/target.h"

/* Preflight of everything that can be known without touching the process: alive and not stopped/traced, runtime version and
 * architecture, NativeAOT, diagnostics switched off, staging place writable and not noexec, path lengths, threads and descriptors that it may
 * still have, memory head-room under the cgroup's limit. -1 with the reason in e->reason. Reads only. */
int preflight_check(const struct target *t, struct err *e);

#endif
