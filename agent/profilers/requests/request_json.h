/* report.json of SlowRequests (docs/report-schema-slow-requests.json). One thread; failures are kept in the file. */
#ifndef DRDOTNET_REQUEST_JSON_H
#define DRDOTNET_REQUEST_JSON_H

#include "agent/report/report_file.h"

void request_json_write(const void *source, struct report_file *f);

#endif
