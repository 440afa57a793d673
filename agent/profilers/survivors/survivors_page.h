/* report.html of GCSurvivors: the dominator tree to unfold, paths, types, namespaces, assemblies, generations. One thread; failures are
 * kept in the file. */
#ifndef DRDOTNET_SURVIVORS_PAGE_H
#define DRDOTNET_SURVIVORS_PAGE_H

#include "agent/report/report_file.h"

void survivors_page_write(const void *source, struct report_file *f); /* a struct survivors_source */

#endif
