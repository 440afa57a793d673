/* What a session tells that began with its container or process: how long until a port listened, what the start waited for and what it computed. Pure; one
 * thread. */
#ifndef DRDOTNET_CPU_START_H
#define DRDOTNET_CPU_START_H

#include "agent/profilers/cpu/cpu_numbers.h"

/* Their part of the rules' numbers. */
void cpu_start_numbers(const struct cpu_analysis *a, struct cpu_numbers *out);

/* Lines of the diagnosis, without their full stops; nothing of other sessions. */
void cpu_start_explain(const struct cpu_analysis *a, struct buf *text);
void cpu_start_explain_path(const struct cpu_analysis *a, struct buf *text);

/* report.json's `start`. */
void cpu_start_json(const struct cpu_analysis *a, struct json_writer *w);

/* The rule StartWaits. */
struct rule_score cpu_start_waits(const void *numbers);
void cpu_says_start_waits(const void *numbers, struct finding *f);

#endif
