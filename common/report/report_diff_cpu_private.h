/* What the files that compare reports of CPUHotpaths share. Private to report_diff_cpu.c and report_diff_cpu_alike.c. */
#ifndef DRDOTNET_REPORT_DIFF_CPU_PRIVATE_H
#define DRDOTNET_REPORT_DIFF_CPU_PRIVATE_H

#include "common/base/hash.h"
#include "common/report/report_diff_private.h"

extern const char report_diff_same[]; /* the change of an item that has none; compared as a pointer */

struct report_diff_side {
	const json_t *report;
	double samples, cpus, seconds;
	double dispersion; /* >= 1 */
	double cpus_error; /* standard error of `cpus` from its changes over time */
	double compiling;  /* samples in JIT compilation and type loading */
	double uptime_seconds; /* of the process when the session began; -1: not known */
};

enum report_diff_cpu_kind { ITEM_CATEGORY, ITEM_METHOD };

struct report_diff_cpu_item {
	UT_hash_handle hh;
	enum report_diff_cpu_kind kind;
	bool application;
	const char *name; /* borrowed from a report */
	double samples[2];
	double points, cpus; /* differences: percentage points, CPUs */
	double noise_points;
	const char *change;
	const struct report_diff_cpu_item *folded; /* its share went to this one or came from it; NULL: no */
};

struct report_diff_comparison {
	struct report_diff_side side[2];
	struct report_diff_cpu_item *by_name; /* methods */
	struct report_diff_cpu_item **items;  /* all, what changed most first */
	size_t count, cap;
};

/* Which session was of a process that still compiled its code, and the other one not: 0 before, 1 after; -1: none, or both. */
int report_diff_cpu_warming(const struct report_diff_comparison *c);
/* The headline, and why methods are not compared then. */
void report_diff_cpu_put_warming(const struct report_diff_comparison *c, int warming, struct buf *lines);
/* Nothing but compilation is said to have changed. */
void report_diff_cpu_forget(struct report_diff_comparison *c);

/* After judging: methods that call each other and whose shares changed by as much in opposite ways, one of them from or to nearly nothing, did not
 * change: in one of the sessions the compiler had made them one. */
void report_diff_cpu_fold(struct report_diff_comparison *c);
void report_diff_cpu_put_folded(const struct report_diff_comparison *c, struct buf *lines);

#endif
