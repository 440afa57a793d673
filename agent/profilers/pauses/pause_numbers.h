/* What the rules of RuntimePauses judge: shares of the paused time, who is behind it, and how the process and its container are set up. Pure. */
#ifndef DRDOTNET_PAUSE_NUMBERS_H
#define DRDOTNET_PAUSE_NUMBERS_H

#include "agent/profilers/pauses/pause_analysis.h"
#include "agent/report/rules.h"

/* The shares, in percent of the paused time, make 100 together: until all threads had stopped, and what the runtime did then: collections that were asked
 * for, of the young generations, of generation 2 (blocking), phases of those in the background, and the
 * rest. */
#define PAUSE_NUMBERS(NUMBER, TEXT)                                                                                                            \
	NUMBER(seconds) NUMBER(pauses) NUMBER(dropped) NUMBER(paused_percent) NUMBER(longest_ms)                                                   \
	NUMBER(longest_percent)            /* of the paused time */                                                                                \
	NUMBER(longest_suspending_percent) /* of the longest pause */                                                                              \
	NUMBER(suspending_percent) NUMBER(induced_percent) NUMBER(young_percent) NUMBER(gen2_percent) NUMBER(background_percent) \
	NUMBER(other_percent)                                                                                                                      \
	NUMBER(late_pauses) NUMBER(longest_suspending_ms) TEXT(late_thread) TEXT(late_method)                                                      \
	NUMBER(induced_pauses) TEXT(inducer) TEXT(other_reason)                                                                                    \
	NUMBER(young_collections) NUMBER(gen2_collections) NUMBER(background_collections)                                                          \
	NUMBER(causes_looked_at) /* pauses whose cause was told; 0: none */                                                                        \
	NUMBER(large_percent)    /* of the paused time: for large objects */                                                                       \
	NUMBER(throttled_percent) NUMBER(throttled_ms) NUMBER(run_delay_ms) NUMBER(delay_percent) NUMBER(cpus_used) NUMBER(cpus) NUMBER(node_cpus) \
	NUMBER(node_pressure_percent) /* of the session: some task of the node waited for a CPU */                                                \
	NUMBER(server_heaps) NUMBER(concurrent) NUMBER(in_container) NUMBER(memory_mb) NUMBER(memory_limit_mb) NUMBER(hard_limit_mb) \
	NUMBER(process_mb)
RULE_STRUCT(pause_numbers, PAUSE_NUMBERS);

void pause_numbers_of(const struct pause_analysis *a, struct pause_numbers *out);

/* The method that the first group of who asked, or of who stopped late, is known by; "" when there is none. */
void pause_numbers_method(const struct pause_analysis *a, uint32_t stack, struct rule_text *out);

#endif
