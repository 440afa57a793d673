/* Calls of the C library that fail on purpose. The objects of the product are linked so that each such call goes through failing_<name>()
 * here (objcopy renames the symbols; calls of the tests themselves stay as they are). A call has a site: the chain of return addresses,
 * which is the same in each run of a program. A plan makes one call of one site fail, in one of the ways that fit it: an errno, or a read
 * or write that does less than was asked. Any thread. */
#ifndef DRDOTNET_TESTS_FAILURES_CALLS_H
#define DRDOTNET_TESTS_FAILURES_CALLS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CALLS_MAX 200000

struct call {
	const char *name;
	uint64_t site;
	unsigned ways;
	bool memory; /* it allocates */
};

struct calls_plan {
	uint64_t site;    /* 0: nothing fails */
	unsigned nth;     /* call of the site, from 0 */
	unsigned way;
};

/* In memory that parent and child share. */
struct calls_log {
	_Atomic uint32_t count; /* may exceed CALLS_MAX: the rest was not noted */
	_Atomic bool hit;       /* the plan's call has come */
	_Atomic bool said_memory; /* the product said that it was out of memory */
	char way[32];           /* how it failed */
	size_t kept_descriptors; /* left open by the test without a failure */
	struct call calls[CALLS_MAX];
};

/* From now on calls are counted in `log` (or not noted, when `note` is false) and the plan holds. */
void calls_begin(struct calls_log *log, bool note, const struct calls_plan *plan);
void calls_end(void);

#endif
