/* Lines of methods: how many samples each has, and the frames of each stack for those who write profiles. A part of the analysis
 * (agent/stacks/cpu_analysis.h), which calls these in this order; without symbols they do nothing. One thread. */
#ifndef DRDOTNET_CPU_LINES_H
#define DRDOTNET_CPU_LINES_H

#include "agent/stacks/cpu_method_table.h"

void cpu_lines_begin(struct cpu_analysis *a, const struct cpu_method_table *t);

/* The path of one of stack_nodes, then its steps. */
void cpu_lines_path_begin(struct cpu_analysis *a, size_t stack_node);
void cpu_lines_path_step(struct cpu_analysis *a, uint32_t frame);
const uint32_t *cpu_lines_path(const struct cpu_analysis *a, size_t stack_node); /* NULL: none */

/* Fills a->lines, and the methods' part of them. */
void cpu_lines_count(struct cpu_analysis *a);
void cpu_lines_end(struct cpu_analysis *a);

/* The frame of the method's line with most samples; NULL: none of its lines is known. */
const struct frame *cpu_lines_hottest(const struct cpu_analysis *a, uint32_t method);

#endif
