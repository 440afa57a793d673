/* report.json of StuckTasks (docs/report-schema-stuck-tasks.json). One thread. */
#ifndef DRDOTNET_STUCK_JSON_H
#define DRDOTNET_STUCK_JSON_H

#include "agent/report/report_file.h"

void stuck_json_write(const void *source, struct report_file *f); /* struct stuck_source */

#endif
