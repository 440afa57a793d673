/* Of a growth over the walks: is it a line, which goes on, or does it fill up? By least squares both courses are laid through the points: the line
 * a + b t, and the filling a + c (1 - exp(-k t)), of which the pace decays. Pure. */
#ifndef DRDOTNET_LEAK_FIT_H
#define DRDOTNET_LEAK_FIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct leak_fit {
	bool fills;            /* its pace decays so clearly that it may come to an end */
	bool steady;           /* the line is near all of its points */
	double pace_left;      /* of a filling: the pace at the last walk as a part of that at the first; else 1 */
	double full_bytes;     /* of a filling: what it would stop at; else 0 */
	double settle_seconds; /* of a filling: from the last walk until it has hardly anything to go; else 0 */
	double look_seconds;   /* of a filling: a session that begins now would see the end of it in so much time; else 0 */
	double stood_seconds;  /* at the end it grew at less than a fifth of the pace before for so long; 0: not at all */
	double grew_seconds;   /* and for so long it had grown before */
};

/* Fewer than three points are neither. Times rise. */
void leak_fit_make(const int64_t *at_ns, const uint64_t *bytes, size_t count, struct leak_fit *out);

/* Whether it has stood still for about as long as it had grown, and for a third of the whole time. */
bool leak_fit_stands(const struct leak_fit *f, double seconds);

#endif
