/* What the rules of CPUHotpaths judge (agent/report/rules.h): shares are percent of the samples, methods are shown names. Pure; one thread. */
#ifndef DRDOTNET_CPU_NUMBERS_H
#define DRDOTNET_CPU_NUMBERS_H

#include "agent/report/rules.h"
#include "agent/stacks/cpu_analysis.h"

#define CPU_WARM_UP_MINUTES 10 /* what is compiled later was not there before, or is compiled again */

/* clang-format off */
#define CPU_NUMBERS(NUMBER, TEXT)                                                                                                   \
	/* how much there is to judge */                                                                                            \
	NUMBER(samples) NUMBER(samples_due) NUMBER(seconds) NUMBER(uptime_minutes) NUMBER(since_start)                               \
	/* a session that began with its process: the time until a port listened (start_port 0: none has), or the main thread was looked at. The percents   \
	 * are of it: what it waited (start_wait: the longest of these waits) and computed, and what the looks saw of it */ \
	NUMBER(start_seconds) NUMBER(start_port) NUMBER(start_looked_percent) NUMBER(start_waiting_percent) NUMBER(start_idle_percent) \
	TEXT(start_wait) TEXT(start_wait_kind) TEXT(start_wait_place) NUMBER(start_wait_percent) NUMBER(start_cpu_percent)          \
	NUMBER(start_jit_percent) NUMBER(start_type_loading_percent) NUMBER(start_services_percent) NUMBER(start_configuration_percent) \
	/* the process and what it may use */                                                                                       \
	NUMBER(cpus_used) NUMBER(cpus_allowed) NUMBER(cpu_limited) NUMBER(node_cpus) NUMBER(busy_threads) NUMBER(threads)           \
	NUMBER(throttled_percent) NUMBER(throttled_seconds) NUMBER(waited_seconds) NUMBER(node_pressure_percent)                    \
	/* the method that makes most happen: its stacks, what it makes happen itself, the part of that which is work */            \
	TEXT(method) NUMBER(method_percent) NUMBER(method_caused_percent) NUMBER(method_worked_percent) NUMBER(method_of_application) \
	TEXT(callee) NUMBER(callee_percent) NUMBER(method_compiled_percent)                                                         \
	TEXT(handler) /* of requests, through which most of the method is called; the method itself is none */                      \
	TEXT(funnel) NUMBER(funnel_percent) TEXT(library) NUMBER(library_percent) NUMBER(library_self_percent)                      \
	/* kinds of work that the application did not write itself, and the method below which most of each is */                   \
	NUMBER(gc_percent) TEXT(gc_below) NUMBER(jit_percent) TEXT(jit_below) NUMBER(type_loading_percent) TEXT(type_loading_below) \
	NUMBER(scheduling_percent) TEXT(scheduling_below) NUMBER(exceptions_percent) TEXT(exceptions_below)                         \
	NUMBER(runtime_percent) TEXT(runtime_below) NUMBER(kernel_percent) TEXT(kernel_below)                                       \
	/* signs in stacks: their share, threads that do hardly anything else, the longest time without any other sample */         \
	NUMBER(spin_percent) NUMBER(spin_threads) TEXT(spin_method) NUMBER(tight_percent) TEXT(tight_method)                        \
	NUMBER(regex_percent) NUMBER(regex_longest_seconds) NUMBER(regex_chance_seconds) TEXT(regex_method)                         \
	NUMBER(regex_call_percent) NUMBER(regex_call_longest_seconds) NUMBER(regex_call_chance_seconds) TEXT(regex_call_method)     \
	NUMBER(generated_percent) NUMBER(generated_late_percent)                                                                    \
	NUMBER(dictionary_percent) NUMBER(dictionary_threads) NUMBER(dictionary_longest_seconds) TEXT(dictionary_method)            \
	NUMBER(running_percent) NUMBER(running_seconds) NUMBER(running_threads) TEXT(running_method)                                \
	NUMBER(observer_percent) TEXT(observer) NUMBER(server_gc_threads)
/* clang-format on */
RULE_STRUCT(cpu_numbers, CPU_NUMBERS);

/* Code is compiled that start-up does not explain: the process is old, or its code is made by what it calls (expressions, regular expressions) and goes on
 * being made in the last part of the session. */
bool cpu_numbers_compiles_on(const struct cpu_numbers *n);

/* The application method that makes most happen; without application code the method with most self time; CPU_NO_METHOD: none. `compiles_on`: what is
 * compiled below a method is its doing, too. */
uint32_t cpu_numbers_hottest(const struct cpu_analysis *a, bool compiles_on);
/* The narrowest application method through which most of the time passes; CPU_NO_METHOD: none. */
uint32_t cpu_numbers_funnel(const struct cpu_analysis *a);

void cpu_numbers_of(const struct cpu_analysis *a, struct cpu_numbers *out);

#endif
