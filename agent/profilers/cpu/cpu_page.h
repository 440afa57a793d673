/* report.html: one file that needs nothing else; opens from a file and under a strict Content-Security-Policy. Small parts of
 * the tree are left out until it fits its size, and it says how much. One thread; failures are kept in the file. */
#ifndef DRDOTNET_CPU_PAGE_H
#define DRDOTNET_CPU_PAGE_H

#include "agent/report/report_file.h"
#include "agent/profilers/cpu/report_source.h"

void cpu_page_write(const void *source, struct report_file *f); /* struct report_source */

#endif
