/* report.html: a shell with the subject, the diagnosis and what the report cost in plain HTML, and report.json within, packed, which scripts show
 * as sections (agent/report/assets/kit.js says which kinds there are). One file that needs nothing else, opens from a file and under a strict
 * Content-Security-Policy. A profiler gives the script that says which sections its report has. Without scripts it shows summary.md. */
#ifndef DRDOTNET_REPORT_VIEW_H
#define DRDOTNET_REPORT_VIEW_H

#include "agent/report/report_file.h"
#include "agent/report/report_head.h"

struct report_asset {
	const char *text; /* not NUL-terminated */
	size_t len;
};
/* The bytes of a file that EMBED_FILE() took in. */
#define REPORT_ASSET(symbol) ((struct report_asset){symbol, (size_t)(symbol##_end - symbol)})

struct report_view {
	const char *eyebrow;        /* HTML: "CPU hot paths" */
	struct report_asset script; /* calls Report.show() */
	const char *footer;         /* HTML: where the same is in other forms */
};

/* Writes the page of the report whose report.json and summary.md are in the folder already (f->dirfd). One thread; failures are kept in the file. */
void report_view_write(const struct report_view *view, const struct report_head *h, struct report_file *f);

#endif
