/* The profile as compact JSON for report.html's script. The tree is a list in preorder (how many levels to go up before each
 * node, and its method); samples are triples (distance to the node of the triple before, thread, count). Subtrees too small to
 * be seen are left out until all fits: their samples stay in their parents' totals ("rest"). One thread. */
#ifndef DRDOTNET_REPORT_HTML_DATA_H
#define DRDOTNET_REPORT_HTML_DATA_H

#include "agent/report_file.h"
#include "agent/report_source.h"

struct html_plan {
	uint32_t least_total;     /* nodes with fewer samples are left out */
	uint32_t hidden_samples;  /* samples that end in nodes left out */
	uint32_t *node_id;        /* by preorder place: the id in the page of the node or of its nearest kept ancestor */
	uint32_t node_count;
	uint32_t *method_id;      /* by method; CPU_NO_METHOD: left out */
	uint32_t *methods;        /* the kept ones, by falling total */
	uint32_t method_count;
	uint32_t thread_count;    /* the first in thread order; the others are one */
};

void html_plan_make(const struct cpu_analysis *a, struct html_plan *out);
void html_plan_fini(struct html_plan *p);
void html_data_write(const struct cpu_analysis *a, const struct html_plan *p, struct report_file *f);

#endif
