/* speedscope's JSON (github.com/jlfwong/speedscope, "Importing from custom sources"): one sampled profile per thread in the
 * order of time, weights in nanoseconds of CPU time, frames shared. One thread; failures are kept in the file. */
#ifndef DRDOTNET_REPORT_SPEEDSCOPE_H
#define DRDOTNET_REPORT_SPEEDSCOPE_H

#include "agent/report_file.h"
#include "agent/report_source.h"

void report_speedscope_write(const void *source, struct report_file *f); /* struct report_source */

#endif
