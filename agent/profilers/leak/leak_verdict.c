#include "agent/profilers/leak/leak_verdict.h"

#include <string.h>

#define MATERIAL_BYTES (UINT64_C(256) << 10)
#define MATERIAL_PART 200    /* 0.5% */
#define FALL_PART 5          /* a fifth */
#define FILLED 0.95          /* of the way to where a filling would end */
#define FILLED_WALKS 4       /* three points lie on a filling whatever they are */
#define MANY_WALKS 5
#define LEAP 1.5             /* from walk to walk: collections make their arrays twice as large */
#define TWO_LEAPS 3          /* so many times as large: it leapt more than once */
#define PATIENCE 2           /* the next leap takes twice as long as the one before */

const char *leak_verdict_name(enum leak_verdict v)
{
	static const char *const names[LEAK_VERDICTS] = {"steady",      "notHeld",   "inUse",     "fluctuates",
							 "levelledOff", "uncertain", "warmingUp", "slowsDown", "grows"};
	return names[v];
}

const char *leak_confidence_name(enum leak_confidence c)
{
	return c == LEAK_LOW ? "low" : c == LEAK_MEDIUM ? "medium" : "high";
}

uint64_t leak_material_bytes(uint64_t heap_bytes)
{
	return heap_bytes / MATERIAL_PART > MATERIAL_BYTES ? heap_bytes / MATERIAL_PART : MATERIAL_BYTES;
}

static bool at_each_walk(const struct leak_series *s)
{
	for (size_t i = 0; i < s->walks; i++) {
		if (s->bytes[i] == 0)
			return false;
	}
	return true;
}

static bool fell_back(const struct leak_series *s, uint64_t grown)
{
	uint64_t most = 0, fall = 0;
	for (size_t i = 0; i < s->walks; i++) {
		if (s->bytes[i] > most)
			most = s->bytes[i];
		else if (most - s->bytes[i] > fall)
			fall = most - s->bytes[i];
	}
	return fall > grown / FALL_PART;
}

static double series_seconds(const struct leak_series *s)
{
	return (double)(s->at_ns[s->walks - 1] - s->at_ns[0]) / 1e9;
}

/* By its course over three walks or more. LEAK_GROWS: there is no end in sight. */
static enum leak_verdict by_course(const struct leak_series *s, const struct leak_fit *f)
{
	double way = f->full_bytes - (double)s->bytes[0], gone = (double)s->bytes[s->walks - 1] - (double)s->bytes[0];
	bool filled = f->fills && s->walks >= FILLED_WALKS && gone >= way * FILLED;
	if (filled || leak_fit_stands(f, series_seconds(s)))
		return LEAK_LEVELLED_OFF;
	return f->fills || f->stood_seconds > 0 ? LEAK_SLOWS_DOWN : LEAK_GROWS;
}

/* A full array is replaced by one of twice its size, and nothing is to be seen until that is full: with as much coming in as ever, twice as
 * long as it took before. So standing still tells nothing until that time is over, and one leap tells nothing of the pace. LEAK_VERDICTS: there
 * is no leap. */
static enum leak_verdict by_leaps(const struct leak_series *s)
{
	size_t last = 0, before = 0, end = s->walks - 1; /* walks after which a leap was seen */
	for (size_t i = 1; i < s->walks; i++) {
		if ((double)s->bytes[i] < (double)s->bytes[i - 1] * LEAP)
			continue;
		before = last;
		last = i;
	}
	if (!s->leaps || last == 0)
		return LEAK_VERDICTS;
	bool twice = s->bytes[last] / TWO_LEAPS >= s->bytes[last - 1]; /* within one stretch */
	if (!twice && before == 0)
		return LEAK_UNCERTAIN;
	int64_t took = s->at_ns[last] - s->at_ns[twice ? last - 1 : before - 1], stood = s->at_ns[end] - s->at_ns[last];
	return stood > PATIENCE * took ? LEAK_LEVELLED_OFF : last == end ? LEAK_GROWS : LEAK_UNCERTAIN;
}

static enum leak_verdict verdict_of_series(const struct leak_series *s)
{
	struct leak_fit fit;
	uint64_t first = s->bytes[0], last = s->bytes[s->walks - 1];
	bool many = s->walks > 2, young = s->uptime_ms >= 0 && s->uptime_ms < LEAK_JUST_STARTED_MS;
	if (last < first || last - first < s->material_bytes)
		return LEAK_STEADY;
	uint64_t grown = last - first;
	if (s->root == LEAK_ROOT_UNKNOWN)
		return s->roots_unread ? LEAK_UNCERTAIN : LEAK_NOT_HELD;
	if (s->root == LEAK_ROOT_STACK && (!s->old || !at_each_walk(s)))
		return LEAK_IN_USE;
	if (fell_back(s, grown))
		return LEAK_FLUCTUATES;
	enum leak_verdict leaps = by_leaps(s);
	if (leaps == LEAK_LEVELLED_OFF)
		return leaps;
	leak_fit_make(s->at_ns, s->bytes, s->walks, &fit);
	enum leak_verdict course = leaps == LEAK_VERDICTS ? by_course(s, &fit) : LEAK_GROWS;
	if (course == LEAK_LEVELLED_OFF)
		return course;
	if (young && (!many || course == LEAK_SLOWS_DOWN))
		return LEAK_WARMING_UP;
	/* Between two walks the process's memory is all that is known of the pace, and that curve begins right after a collection: it shows how
	 * the young generation fills again. So it may take certainty away, and never says that growth has ended. */
	if (leaps == LEAK_UNCERTAIN || (leaps == LEAK_VERDICTS && !many && s->course == LEAK_COURSE_LEVELS))
		return LEAK_UNCERTAIN;
	return course;
}

/* What got less CPU grows less: that is no end of growth. Only what ends by both clocks does. */
enum leak_verdict leak_verdict_of(const struct leak_series *s)
{
	enum leak_verdict v = verdict_of_series(s);
	if (!s->lacked_cpu || (v != LEAK_LEVELLED_OFF && v != LEAK_SLOWS_DOWN))
		return v;
	struct leak_series given = *s;
	memcpy(given.at_ns, s->given_ns, sizeof given.at_ns);
	return verdict_of_series(&given) == v ? v : LEAK_UNCERTAIN;
}

enum leak_confidence leak_confidence_of(size_t walks, int64_t uptime_ms, bool steady)
{
	bool young = uptime_ms >= 0 && uptime_ms < LEAK_JUST_STARTED_MS;
	if (walks <= 2)
		return LEAK_LOW;
	return walks >= MANY_WALKS && !young && steady ? LEAK_HIGH : LEAK_MEDIUM;
}
