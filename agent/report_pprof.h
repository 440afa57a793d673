/* pprof's gzipped protocol buffer (agent/profile.proto). Sample types samples/count and cpu/nanoseconds; labels thread and
 * thread_id; one mapping per module. One thread; failures are kept in the file. */
#ifndef DRDOTNET_REPORT_PPROF_H
#define DRDOTNET_REPORT_PPROF_H

#include "agent/report_file.h"
#include "agent/report_source.h"

void report_pprof_write(const void *source, struct report_file *f); /* struct report_source */

#endif
