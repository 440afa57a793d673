#include "agent/profilers/allocs/alloc_estimate.h"

#include <criterion/criterion.h>
#include <math.h>

static struct alloc_estimate of(uint32_t event, uint64_t samples, uint64_t each, uint64_t amount)
{
	struct alloc_estimate e = {0};
	alloc_estimate_add(&e, event, samples, samples * each, samples * amount);
	return e;
}

static void near(double value, double expected, double part, const char *what)
{
	cr_expect_leq(fabs(value - expected), part * expected, "%s: %g, expected %g", what, value, expected);
}

Test(alloc_estimate, a_sample_stands_for_what_its_chance_says)
{
	static const struct {
		uint64_t size;
		double objects, bytes; /* of one sample: 1 / (1 - (1 - p)^size) */
	} rows[] = {{1, 102400, 102400}, {24, 4267.17, 102412}, {1024, 100.5, 102912.9}, {102400, 1.58198, 161994}, {10000000, 1, 10000000}};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct alloc_estimate e = of(ALLOC_EVENT_SAMPLED, 10, rows[i].size, 0);
		near(e.objects, 10 * rows[i].objects, 1e-4, "objects");
		near(e.bytes, 10 * rows[i].bytes, 1e-4, "bytes");
	}
	struct alloc_estimate tick = of(ALLOC_EVENT_TICK, 10, 100, 106600);
	near(tick.bytes, 1066000, 1e-9, "bytes");
	near(tick.objects, 10660, 1e-9, "objects");
}

/* The quantiles of the negative binomial distribution that the runtime's page lists; the upper end is taken for one more. */
Test(alloc_estimate, the_interval_of_small_objects_is_the_known_one)
{
	static const struct {
		uint64_t samples;
		double low, high;
	} rows[] = {{4, 111599, 897761}, {10, 491039, 1749469}, {20, 1250954, 3038270}, {100, 8331581, 12342053}, {1000, 96149867, 108842093},
		    {10000, 1004017229, 1044156743}};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct alloc_estimate e = of(ALLOC_EVENT_SAMPLED, rows[i].samples, 1, 0);
		near(alloc_estimate_low(&e), rows[i].low, 0.02, "low");
		e = of(ALLOC_EVENT_SAMPLED, rows[i].samples - 1, 1, 0);
		near(alloc_estimate_high(&e), rows[i].high, 0.01, "high");
	}
}

Test(alloc_estimate, what_was_seen_was_there_and_nothing_is_not_much)
{
	struct alloc_estimate large = of(ALLOC_EVENT_SAMPLED, 3, 100000000, 0), none = {0}, one = of(ALLOC_EVENT_SAMPLED, 1, 50000, 0);

	near(alloc_estimate_low(&large), 300000000, 1e-6, "low");
	near(alloc_estimate_high(&large), 300000000, 1e-2, "high");
	cr_expect_eq(alloc_estimate_low(&none), 0);
	near(alloc_estimate_high(&none), 3.7 * 102400, 0.02, "of none");
	cr_expect_geq(alloc_estimate_low(&one), 50000);
	struct alloc_estimate half = of(ALLOC_EVENT_SAMPLED, 50, 100, 0), all = half;
	alloc_estimate_scale(&half, 2);
	near(half.bytes, 2 * all.bytes, 1e-9, "scaled");
	near(alloc_estimate_high(&half), 2 * alloc_estimate_high(&all), 1e-9, "scaled");
}

/* Sessions in which so many objects are allocated that some 20 samples come: the truth lies in the interval as often as it says. */
Test(alloc_estimate, the_truth_lies_in_the_interval)
{
	enum { SESSIONS = 4000, OBJECTS = 20000, SIZE = 104 };
	unsigned inside = 0;
	double sum = 0;
	uint64_t seed = 4711;

	for (int s = 0; s < SESSIONS; s++) {
		uint64_t samples = 0;
		double at = 0;
		for (;;) { /* the distance to the next drawn byte is geometric */
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			double u = ((double)(seed >> 11) + 1) / 9007199254740993.0;
			at += -log(u) * ALLOC_MEAN_BYTES;
			if (at >= (double)OBJECTS * SIZE)
				break;
			samples++;
			at = (floor(at / SIZE) + 1) * SIZE; /* an object is drawn once */
		}
		struct alloc_estimate e = {0};
		if (samples)
			e = of(ALLOC_EVENT_SAMPLED, samples, SIZE, 0);
		sum += e.bytes;
		inside += alloc_estimate_low(&e) <= OBJECTS * SIZE && OBJECTS * SIZE <= alloc_estimate_high(&e);
	}
	near(sum / SESSIONS, OBJECTS * SIZE, 0.02, "the mean of the estimates");
	cr_expect_geq(inside, SESSIONS * 94 / 100, "%u of %d", inside, SESSIONS);
}

/* Large objects, each of which is a tick: in rounds that stand for more time than they sampled, each is seen with some chance. */
Test(alloc_estimate, the_truth_lies_in_the_interval_of_what_a_part_of_the_time_saw)
{
	enum { SESSIONS = 4000, OBJECTS = 200, SIZE = 150024 };
	unsigned inside = 0;
	double sum = 0;
	uint64_t seed = 4711;

	for (int s = 0; s < SESSIONS; s++) {
		struct alloc_estimate all = {0};
		for (int round = 0; round < 4; round++) {
			uint64_t samples = 0, factor = 1 + (uint64_t)round;
			for (int i = 0; i < OBJECTS / 4; i++) {
				seed = seed * 6364136223846793005u + 1442695040888963407u;
				samples += (seed >> 33) % factor == 0;
			}
			if (!samples)
				continue;
			struct alloc_estimate e = of(ALLOC_EVENT_TICK, samples, SIZE, SIZE);
			cr_expect_eq(e.variance, 0);
			alloc_estimate_spread(&e, (double)factor);
			cr_expect(factor > 1 || e.variance == 0);
			alloc_estimate_merge(&all, &e);
		}
		sum += all.bytes;
		inside += alloc_estimate_low(&all) <= OBJECTS * SIZE && OBJECTS * SIZE <= alloc_estimate_high(&all);
	}
	near(sum / SESSIONS, OBJECTS * SIZE, 0.01, "the mean of the estimates");
	cr_expect_geq(inside, SESSIONS * 94 / 100, "%u of %d", inside, SESSIONS);
	struct alloc_estimate small = of(ALLOC_EVENT_SAMPLED, 100, 1, 0), spread = small;
	alloc_estimate_spread(&spread, 3);
	near(alloc_estimate_high(&spread), 3 * alloc_estimate_high(&small), 1e-4, "nothing is sure of small objects");
}
