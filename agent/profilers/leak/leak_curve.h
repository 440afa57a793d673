/* How a process's memory went between two moments: samples of its anonymous memory, about one a second, thinned out so that any
 * length of time fits. Tells growth that goes on from growth that has ended. Pure; one thread. */
#ifndef DRDOTNET_LEAK_CURVE_H
#define DRDOTNET_LEAK_CURVE_H

#include <stddef.h>
#include <stdint.h>

#define LEAK_CURVE_MAX 128

struct leak_curve {
	struct {
		int64_t at_ns;
		uint64_t bytes;
	} samples[LEAK_CURVE_MAX];
	size_t count;
	unsigned every, skipped; /* each which one is kept; 0: each one */
};

enum leak_course {
	LEAK_COURSE_UNKNOWN, /* too few samples, or they do not show this growth */
	LEAK_COURSE_RISES,
	LEAK_COURSE_LEVELS,  /* the growth ended in the time's first two thirds */
};

void leak_curve_add(struct leak_curve *c, int64_t at_ns, uint64_t bytes);

/* The course of a growth of so many bytes, as far as the curve shows it: it must have risen by at least half of that. */
enum leak_course leak_curve_course(const struct leak_curve *c, uint64_t growth_bytes);

#endif
