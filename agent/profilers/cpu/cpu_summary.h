/* summary.md: the diagnosis and what stands behind it, at most a screen; names cannot leave their table cell. One thread; failures are kept in the file. */
#ifndef DRDOTNET_CPU_SUMMARY_H
#define DRDOTNET_CPU_SUMMARY_H

#include "agent/report/report_file.h"
#include "agent/profilers/cpu/report_source.h"

void cpu_summary_write(const void *source, struct report_file *f); /* struct report_source */

#endif
