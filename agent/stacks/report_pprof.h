/* pprof's gzipped protocol buffer (agent/stacks/profile.proto). Sample types samples/count and cpu/nanoseconds, or alloc_objects/count and
 * alloc_space/bytes; labels thread and
 * thread_id; one mapping per module. One thread; failures are kept in the file. */
#ifndef DRDOTNET_REPORT_PPROF_H
#define DRDOTNET_REPORT_PPROF_H

#include "agent/report/report_file.h"
#include "agent/stacks/stack_profile.h"

void report_pprof_write(const struct stack_profile *p, struct report_file *f);

#endif
