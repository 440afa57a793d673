#include "agent/profilers/allocs/alloc_estimate.h"

#include <math.h>

#define Z 1.959964 /* standard deviations of a two-sided 95% */

void alloc_estimate_add(struct alloc_estimate *e, uint32_t event, uint64_t samples, uint64_t size, uint64_t amount)
{
	double n = (double)samples, each = size ? (double)size / n : 1;

	e->samples += samples;
	e->seen += (double)size;
	if (event == ALLOC_EVENT_TICK) {
		double stands_for = (double)amount / n;
		e->bytes += (double)amount;
		e->objects += (double)amount / each;
		/* What the object itself has is seen; the rest is chance. */
		double chance = stands_for > each ? stands_for - each : 0;
		e->variance += n * chance * chance;
		return;
	}
	double missed = exp(each * log1p(-1.0 / ALLOC_MEAN_BYTES)), drawn = 1 - missed;
	e->objects += n / drawn;
	e->bytes += n * each / drawn;
	e->variance += n * each * each * missed / (drawn * drawn);
}

void alloc_estimate_merge(struct alloc_estimate *e, const struct alloc_estimate *from)
{
	e->samples += from->samples;
	e->bytes += from->bytes;
	e->objects += from->objects;
	e->variance += from->variance;
	e->seen += from->seen;
}

void alloc_estimate_scale(struct alloc_estimate *e, double factor)
{
	e->bytes *= factor;
	e->objects *= factor;
	e->variance *= factor * factor;
}

/* Each sample is there with a chance of 1 / factor, whatever was known for sure about those that are there (Horvitz and Thompson again). */
void alloc_estimate_spread(struct alloc_estimate *e, double factor)
{
	double sure = e->samples ? e->bytes * e->bytes / (double)e->samples - e->variance : 0;

	if (sure > 0)
		e->variance += sure * (1 - 1 / factor);
	alloc_estimate_scale(e, factor);
}

/* A quantile of the Gamma distribution of shape n (Wilson and Hilferty), by its mean. */
static double quantile(double n, double z)
{
	double root = 1 - 1 / (9 * n) + z / (3 * sqrt(n));

	return root > 0 ? n * root * root * root : 0;
}

static double effective(const struct alloc_estimate *e)
{
	return e->bytes * e->bytes / e->variance;
}

double alloc_estimate_low(const struct alloc_estimate *e)
{
	if (e->variance <= 0)
		return e->bytes;
	double n = effective(e), low = e->bytes * quantile(n, -Z) / n;
	return low > e->seen ? low : e->seen < e->bytes ? e->seen : e->bytes;
}

double alloc_estimate_high(const struct alloc_estimate *e)
{
	if (e->samples == 0)
		return quantile(1, Z) * ALLOC_MEAN_BYTES;
	if (e->variance <= 0)
		return e->bytes;
	double n = effective(e);
	return e->bytes * quantile(n + 1, Z) / n;
}
