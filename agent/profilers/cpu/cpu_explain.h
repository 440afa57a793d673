/* The lines below a CPU diagnosis's headline. Each appends one sentence without its full stop (the last: several), or nothing when
 * there is nothing worth saying. Pure; any thread. */
#ifndef DRDOTNET_CPU_EXPLAIN_H
#define DRDOTNET_CPU_EXPLAIN_H

#include "agent/stacks/cpu_analysis.h"
#include "common/base/buf.h"

/* The method's line with most samples, where its module's symbols tell. */
void cpu_explain_line(const struct cpu_analysis *a, uint32_t method, struct buf *text);
void cpu_explain_callers(const struct cpu_analysis *a, uint32_t method, struct buf *text);
/* When the method's time passes in what it calls outside the application: in what. */
void cpu_explain_inside(const struct cpu_analysis *a, uint32_t method, struct buf *text);
void cpu_explain_next(const struct cpu_analysis *a, uint32_t first, struct buf *text);
void cpu_explain_busyness(const struct cpu_analysis *a, struct buf *text);
void cpu_explain_threads(const struct cpu_analysis *a, struct buf *text);
void cpu_explain_categories(const struct cpu_analysis *a, struct buf *text);
/* Why a process that has run for long still compiles or loads types. */
void cpu_explain_compilation(const struct cpu_analysis *a, struct buf *text);
/* The collections that stopped the application, when they are worth a line. */
void cpu_explain_collections(const struct cpu_analysis *a, struct buf *text);
/* What limits the trust in the numbers, only when it does. */
void cpu_explain_honesty(const struct cpu_analysis *a, struct buf *text);

#endif
