/* report.html, as all profilers have it: one file that needs nothing else, opens from a file and under a strict
 * Content-Security-Policy; title, subject, diagnosis and footer, light and dark, tabs, tables that can be sorted and searched
 * (agent/report/assets/page.js says how they are marked). A profiler fills in what stands below the diagnosis. One thread;
 * failures are kept in the file. */
#ifndef DRDOTNET_REPORT_PAGE_H
#define DRDOTNET_REPORT_PAGE_H

#include "agent/report/report_assets.h"
#include "agent/report/report_file.h"
#include "agent/report/report_head.h"

/* A {{name}} in the content, or "data": the JSON for the script (must not contain "</"). */
struct report_hole {
	const char *name;
	void (*put)(const void *source, struct report_file *f);
};

struct report_page {
	const struct report_head *head;
	const char *eyebrow;         /* HTML: "CPU hot paths" */
	struct report_asset content; /* of <main> below the diagnosis, with {{holes}} */
	struct report_asset css, js; /* beside the common ones; empty: none */
	const struct report_hole *holes;
	size_t hole_count;
	const char *footer;          /* HTML: where the same is in other forms */
};

void report_page_write(const struct report_page *page, const void *source, struct report_file *f);

/* For what is put into it */
void report_page_text(struct buf *out, const char *text);    /* shown already; escaped */
void report_page_outside(struct buf *out, const char *text); /* text of others: visible, cut, escaped */
/* A row of a <dl>: its value is outside text. */
void report_page_row(struct buf *out, const char *key, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Rows of the <dl> about the session: what it cost, what it was. */
void report_page_cost_rows(const struct report_head *h, struct buf *out);
/* What no stack can tell, of reports whose callers are else complete. */
void report_page_tail_call_row(struct buf *out);

#endif
