/* The profile as compact JSON for report.html's script. The tree is a list in preorder (how many levels to go up before each
 * node, and its method); weights are triples (distance to the node of the triple before, thread, weight in units). Subtrees too small to
 * be seen are left out until all fits: their samples stay in their parents' totals ("rest"). One thread. */
#ifndef DRDOTNET_REPORT_HTML_DATA_H
#define DRDOTNET_REPORT_HTML_DATA_H

#include "agent/report/report_file.h"
#include "agent/stacks/stack_profile.h"

struct html_plan {
	uint64_t unit;            /* weight that 1 of the page stands for: 1 of samples; of bytes more, so that numbers stay short */
	uint64_t least_total;     /* nodes with less weight are left out */
	uint64_t hidden;          /* weight that ends in nodes left out */
	uint32_t *node_id;        /* by preorder place: the id in the page of the node or of its nearest kept ancestor */
	uint32_t node_count;
	uint32_t *method_id;      /* by method; CPU_NO_METHOD: left out */
	uint32_t *methods;        /* the kept ones, by falling total */
	uint32_t method_count;
	uint32_t thread_count;    /* the first in thread order; the others are one */
};

/* `unit` >= 1 */
void html_plan_make(const struct stack_profile *a, uint64_t unit, struct html_plan *out);
void html_plan_fini(struct html_plan *p);
/* `words`: further members for the script, each with a comma before it; NULL: none. */
void html_data_write(const struct stack_profile *a, const struct html_plan *p, const char *words, struct report_file *f);

#endif
