/* Words and figures that the texts about a CPU profile share. All append. Pure; any thread. */
#ifndef DRDOTNET_CPU_PHRASE_H
#define DRDOTNET_CPU_PHRASE_H

#include "agent/cpu_analysis.h"
#include "common/base/buf.h"

#define CPU_PHRASE_NAME_CHARS 110 /* of a name in a line of its own text */

size_t cpu_phrase_chars(const char *s); /* code points of UTF-8 */

void cpu_phrase_percent(struct buf *out, double percent); /* "84 %", "3.4 %", "0.05 %" */
void cpu_phrase_share(struct buf *out, const struct cpu_analysis *a, uint32_t samples); /* the same of all samples */
void cpu_phrase_cpus(struct buf *out, double cpus);       /* "0.8", "0.04" */
void cpu_phrase_method(struct buf *out, const struct cpu_analysis *a, uint32_t method, size_t max_chars);

#endif
