/* The part of a comparison that profilers of memory and the runtime share: named quantities of two reports, which of them differ beyond noise,
 * and the words for that. A profiler's file reads its report into quantities and says by a rule for each kind what noise is. Pure; one thread. */
#ifndef DRDOTNET_REPORT_DIFF_ITEMS_H
#define DRDOTNET_REPORT_DIFF_ITEMS_H

#include "common/base/hash.h"
#include "common/report/report_diff_private.h"

/* What a kind of quantities is, and when two of them differ. */
struct report_diff_rule {
	const char *kind;    /* of its rows: "total", "type", ... */
	const char *unit;    /* "B", "B/s", "B/min", "µs", "%", "/min" */
	const char *suffix;  /* behind the values in sentences: " retained"; or "" */
	double least;        /* a smaller difference is none; in the unit */
	double least_part;   /* of the larger of both values */
	double least_share;  /* of the larger total */
	bool by_share;       /* it differs only when its share of the total went the same way by a point: else it is only the load */
	bool silent;         /* rows only: no sentence */
};

struct report_diff_item {
	UT_hash_handle hh;
	char *key;
	const char *name; /* within key */
	const struct report_diff_rule *rule;
	double value[2], error[2]; /* error: what may be noise, in the unit */
	double noise;
	const char *change;
};

/* Zeroed at first. The first total that is added is the one that shares are of. */
struct report_diff_items {
	struct report_diff_item *by_key, **list;
	size_t count, cap;
	const struct report_diff_item *total;
};
void report_diff_items_fini(struct report_diff_items *all);

/* Adds to what stands there by this name: entries of one name are one. `total`: a rule of totals. */
void report_diff_items_add(struct report_diff_items *all, const struct report_diff_rule *rule, const char *name, int which, double value, double error);

/* One total at a dotted path of the report. */
int report_diff_items_total(struct report_diff_items *all, const struct report_diff_rule *rule, const char *name, const json_t *report, int which,
			    const char *path, struct err *e);

/* Judges, sorts, and writes the headline, the sentences and the rows. `spoken`: kinds whose changes have sentences, ended by NULL; the headline is
 * of the first of them that changed, or, with `totals_first`, of a total. */
void report_diff_items_tell(struct report_diff_items *all, const struct report_diff_rule *const *spoken, bool totals_first, struct report_diff_out *out);

#endif
