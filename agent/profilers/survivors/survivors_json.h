/* report.json of GCSurvivors, documented in docs/report-schema-gcsurvivors.json. One thread; failures are kept in the file. */
#ifndef DRDOTNET_SURVIVORS_JSON_H
#define DRDOTNET_SURVIVORS_JSON_H

#include "agent/report/report_file.h"

void survivors_json_write(const void *source, struct report_file *f); /* a struct survivors_source */

#endif
