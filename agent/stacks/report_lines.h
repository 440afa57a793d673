/* Lines of source in report.json, as all profilers of stacks write them (docs/report-schema.md). One thread; failures are kept in the file. */
#ifndef DRDOTNET_REPORT_LINES_H
#define DRDOTNET_REPORT_LINES_H

#include "agent/report/report_file.h"
#include "agent/stacks/cpu_analysis.h"

/* "source":{"file":...,"link":...,"lines":[{"line":118,"self":60,"total":64},...]} of a method, the lines with most samples; nothing where none is known. */
void report_lines_method(struct report_file *f, const struct cpu_analysis *a, const struct cpu_method *m);

/* "place":{"file":...,"link":...,"line":118} of a frame; nothing where it is not known. */
void report_lines_place(struct report_file *f, const struct frame *frame);
/* The same by another name. */
void report_lines_place_as(struct report_file *f, const char *key, const struct frame *frame);

/* "symbols":{...}: of which modules symbols were there, and what it took to read them; nothing where there were none. */
void report_lines_symbols(struct report_file *f, const struct source_account *a);

#endif
