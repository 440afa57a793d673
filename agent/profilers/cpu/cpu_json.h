/* report.json, documented in docs/report-schema.md and docs/report-schema.json. One thread; failures are kept in the file. */
#ifndef DRDOTNET_CPU_JSON_H
#define DRDOTNET_CPU_JSON_H

#include "agent/report/report_file.h"
#include "agent/profilers/cpu/report_source.h"

void cpu_json_write(const void *source, struct report_file *f); /* struct report_source */

#endif
