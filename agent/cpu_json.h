/* report.json, documented in docs/report-schema.md and docs/report-v1.schema.json. One thread; failures are kept in the file. */
#ifndef DRDOTNET_REPORT_JSON_H
#define DRDOTNET_REPORT_JSON_H

#include "agent/report_file.h"
#include "agent/report_source.h"

void report_json_write(const struct report_source *s, struct report_file *f);

#endif
