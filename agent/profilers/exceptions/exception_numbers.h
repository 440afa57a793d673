/* What the rules of Exceptions judge. Shares are in percent of the exceptions that were new. Pure. */
#ifndef DRDOTNET_EXCEPTION_NUMBERS_H
#define DRDOTNET_EXCEPTION_NUMBERS_H

#include "agent/profilers/exceptions/exception_analysis.h"
#include "agent/report/rules.h"

#define EXCEPTION_NUMBERS(NUMBER, TEXT)                                                                                    \
	NUMBER(seconds) NUMBER(counted) NUMBER(dropped_percent) NUMBER(sampled_percent)                                    \
	NUMBER(thrown_per_second) NUMBER(cpus) NUMBER(thrown_per_cpu_second)                                               \
	NUMBER(cost_us) NUMBER(cost_percent) /* from the throw to the catch block; of the process's CPU time */            \
	NUMBER(site_percent) TEXT(site_type) TEXT(site_method) TEXT(site_catcher)                                          \
	NUMBER(near_percent) TEXT(near_type) TEXT(near_method) TEXT(near_catcher) /* caught where they are thrown */       \
	NUMBER(rethrown_each) NUMBER(awaited_each) NUMBER(cancelled_percent) /* each: times, of those that were new */      \
	NUMBER(retry_per_second) NUMBER(retry_count) NUMBER(retry_span_percent) TEXT(retry_type) TEXT(retry_method) /* of a dependency */ \
	NUMBER(again_per_second) TEXT(again_type) TEXT(again_method) /* by `throw;` and awaits; the largest row */          \
	NUMBER(method_percent) TEXT(method) /* the method that throws most, whatever it throws */                          \
	NUMBER(unwinding_percent) /* of the process's CPU samples: in the runtime's handling of exceptions */
RULE_STRUCT(exception_numbers, EXCEPTION_NUMBERS);

void exception_numbers_of(const struct exception_analysis *a, struct exception_numbers *out);

/* Hardly one of them is new: they were made without a throw, as a time limit's is, or somebody keeps them, and awaits throw them. */
bool exception_numbers_only_again(const struct exception_numbers *n);

/* The largest row of new exceptions; of those that are caught where they are thrown. NULL: there is none. */
const struct exception_sum *exception_numbers_site(const struct exception_analysis *a);
const struct exception_sum *exception_numbers_again(const struct exception_analysis *a); /* of those thrown again */
const struct exception_sum *exception_numbers_near(const struct exception_analysis *a);

#endif
