/* summary.md of GCSurvivors: the diagnosis, the holders and the types. One thread; failures are kept in the file. */
#ifndef DRDOTNET_SURVIVORS_SUMMARY_H
#define DRDOTNET_SURVIVORS_SUMMARY_H

#include "agent/report/report_file.h"

void survivors_summary_write(const void *source, struct report_file *f); /* a struct survivors_source */

#endif
