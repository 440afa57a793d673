#include "agent/profilers/leak/leak_fit.h"

#include <math.h>

#define LEAST_POINTS 3
#define DECAYED 0.4    /* of the pace at the first walk is left at the last one */
#define BETTER 0.5     /* the filling's squares against the line's, where there are points to spare */
#define CURVED 0.03    /* of the growth: a line that is nearer to its points is one */
#define STEADY 0.1     /* of the growth */
#define STOOD_PART 5   /* at the end it grew at less than a fifth of the pace before */
#define BEGUN_PART 20  /* a growth has begun where a twentieth of it is there */
#define STEEPEST 20.0  /* k T: the decay over the whole time */
#define FLATTEST 0.25
#define STEPS 64
#define SETTLED 3.0    /* time constants: 95% of the way is gone */
#define SEEN 3.5       /* time constants that a session of three walks takes to see the pace fall to a fifth */
#define WALKED_PART 3  /* a third of the time */
#define ABOUT 1.5      /* walks that are meant to be at even distances are so by about that */

struct points {
	const int64_t *at_ns;
	const uint64_t *bytes;
	size_t count;
	double seconds;
};

static double point_seconds(const struct points *p, size_t i)
{
	return (double)(p->at_ns[i] - p->at_ns[0]) / 1e9;
}

static double point_bytes(const struct points *p, size_t i)
{
	return (double)p->bytes[i] - (double)p->bytes[0];
}

/* What of the course is done by then; `k`: 0 for the line. */
static double point_done(const struct points *p, size_t i, double k)
{
	return k > 0 ? 1 - exp(-k * point_seconds(p, i)) : point_seconds(p, i);
}

/* Bytes = a + c done. Returns the sum of squares. */
static double regress(const struct points *p, double k, double *a, double *c)
{
	double n = (double)p->count, sx = 0, sy = 0, sxx = 0, sxy = 0, squares = 0;
	for (size_t i = 0; i < p->count; i++) {
		double x = point_done(p, i, k), y = point_bytes(p, i);
		sx += x;
		sy += y;
		sxx += x * x;
		sxy += x * y;
	}
	double spread = sxx - sx * sx / n;
	*c = spread > 0 ? (sxy - sx * sy / n) / spread : 0;
	*a = (sy - *c * sx) / n;
	for (size_t i = 0; i < p->count; i++) {
		double off = point_bytes(p, i) - *a - *c * point_done(p, i, k);
		squares += off * off;
	}
	return squares;
}

/* The decay that comes nearest, by steps that are alike as factors. */
static double nearest_decay(const struct points *p, double from, double to, double *squares)
{
	double best = from, a, c;
	*squares = INFINITY;
	for (int i = 0; i <= STEPS; i++) {
		double k = from * pow(to / from, (double)i / STEPS), off = regress(p, k, &a, &c);
		if (c > 0 && off < *squares) {
			*squares = off;
			best = k;
		}
	}
	return best;
}

/* The longest time between `from` and `to` in which it stood as still as at the end, and then went on. */
static double longest_rest(const struct points *p, size_t from, size_t to, double least_pace)
{
	double longest = 0, rest = 0;
	for (size_t i = from; i < to; i++) {
		double seconds = point_seconds(p, i + 1) - point_seconds(p, i);
		rest = (point_bytes(p, i + 1) - point_bytes(p, i)) / seconds < least_pace ? rest + seconds : 0;
		longest = fmax(longest, rest);
	}
	return longest;
}

/* The longest stand at the end. None, where it has rested for as long before. */
static void find_stand(const struct points *p, struct leak_fit *out)
{
	size_t last = p->count - 1, begun = 0;
	double grown = point_bytes(p, last);
	while (begun + 1 < last && point_bytes(p, begun + 1) * BEGUN_PART < grown)
		begun++;
	for (size_t j = begun + 1; j < last; j++) {
		double grew_seconds = point_seconds(p, j) - point_seconds(p, begun), stood_seconds = point_seconds(p, last) - point_seconds(p, j);
		double before = (point_bytes(p, j) - point_bytes(p, begun)) / grew_seconds, after = (grown - point_bytes(p, j)) / stood_seconds;
		if (before <= 0 || after * STOOD_PART >= before)
			continue;
		if (longest_rest(p, begun, j, before / STOOD_PART) < stood_seconds) {
			out->stood_seconds = stood_seconds;
			out->grew_seconds = grew_seconds;
		}
		return;
	}
}

static void find_filling(const struct points *p, double grown, double line, struct leak_fit *out)
{
	double flattest = FLATTEST / p->seconds, step = pow(STEEPEST / FLATTEST, 1.0 / STEPS), squares, a, c;
	double k = nearest_decay(p, flattest, STEEPEST / p->seconds, &squares);
	k = nearest_decay(p, k / step, k * step, &squares); /* between the neighbours of the best one */
	double left = exp(-k * p->seconds);
	if (sqrt(line / (double)p->count) <= CURVED * grown || left > DECAYED || squares > line * BETTER)
		return;
	regress(p, k, &a, &c);
	out->fills = true;
	out->pace_left = left;
	out->full_bytes = (double)p->bytes[0] + a + c;
	out->look_seconds = SEEN / k;
	out->settle_seconds = fmax(0, SETTLED / k - p->seconds);
}

void leak_fit_make(const int64_t *at_ns, const uint64_t *bytes, size_t count, struct leak_fit *out)
{
	struct points p = {at_ns, bytes, count, count ? (double)(at_ns[count - 1] - at_ns[0]) / 1e9 : 0};
	*out = (struct leak_fit){.pace_left = 1};
	if (count < LEAST_POINTS || p.seconds <= 0 || bytes[count - 1] <= bytes[0])
		return;
	double a, c, grown = point_bytes(&p, count - 1), line = regress(&p, 0, &a, &c);
	out->steady = sqrt(line / (double)count) <= STEADY * grown;
	find_stand(&p, out);
	find_filling(&p, grown, line, out);
}

bool leak_fit_stands(const struct leak_fit *f, double seconds)
{
	return f->stood_seconds > 0 && f->stood_seconds * ABOUT >= f->grew_seconds && f->stood_seconds * WALKED_PART >= seconds;
}
