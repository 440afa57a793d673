/* summary.md: the diagnosis and what stands behind it, at most a screen; names cannot leave their table cell. One thread; failures are kept in the file. */
#ifndef DRDOTNET_REPORT_SUMMARY_H
#define DRDOTNET_REPORT_SUMMARY_H

#include "agent/report_file.h"
#include "agent/report_source.h"

void report_summary_write(const struct report_source *s, struct report_file *f);

#endif
