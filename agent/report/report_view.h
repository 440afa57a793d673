/* report.html: a shell with the subject, the diagnosis and what the report cost in plain HTML, and report.json within, packed, which scripts show
 * as sections (agent/report/assets/kit.js says which kinds there are). One file that needs nothing else, opens from a file and under a strict
 * Content-Security-Policy. A profiler gives the script that says which sections its report has. Without scripts it shows summary.md. */
#ifndef DRDOTNET_REPORT_VIEW_H
#define DRDOTNET_REPORT_VIEW_H

#include "agent/report/report_file.h"
#include "agent/report/report_head.h"

/* Writes the page of the report whose report.json and summary.md are in the folder already (f->dirfd). One thread; failures are kept in the file. */
void report_view_write(const struct report_page *page, const struct report_head *h, struct report_file *f);

#endif
