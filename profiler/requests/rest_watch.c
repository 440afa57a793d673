/* Context: own thread. */
#include "profiler/requests/rest_watch.h"

#include "common/proto/difference.h"
#include "profiler/base/now.h"
#include "profiler/clr/event_pipe.h"
#include "profiler/requests/hosting_count.h"

#include <stdatomic.h>

#define LEVEL_CRITICAL 1 /* hosting has no events of it */
#define ALL_KEYWORDS 0xffffffffffffffffu

static const wchar16 hosting_name[] = u"Microsoft.AspNetCore.Hosting";
static const struct cor_event_provider hosting = {hosting_name, ALL_KEYWORDS, LEVEL_CRITICAL, NULL};

#define TRIES 8
#define BETWEEN 8 /* requests: more may have begun between two readings where the thread lost its CPU */

static struct rest_count count;
static const struct rest_told *the_told;
static bool looked_for, found; /* hosting's count */

static bool is_there(void *info)
{
	if (!looked_for)
		found = hosting_count_find(info);
	looked_for = true;
	return found;
}

static bool look(struct rest_look *out)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < TRIES && least > BETWEEN; i++) {
		uint64_t before = atomic_load(&the_told->started), ended = difference(atomic_load(&the_told->ended), atomic_load(&the_told->older));
		struct hosting_count now;
		if (!hosting_count_now(&now))
			return false;
		uint64_t between = difference(atomic_load(&the_told->started), before);
		if (between >= least)
			continue;
		least = between;
		*out = (struct rest_look){now_ns(), now.requests, now.in_flight, before, ended};
	}
	return true;
}

void rest_watch_reset(const struct rest_told *told)
{
	count = (struct rest_count){0};
	the_told = told;
	looked_for = false;
}

void rest_watch_rest(void *info, bool worth_it, uint64_t since_ns)
{
	struct rest_look l;

	rest_count_end(&count);
	if (worth_it && !count.wrong && is_there(info) && event_pipe_hold(info, &hosting, 1) >= 0 && look(&l))
		rest_count_begin(&count, &l, since_ns);
}

void rest_watch_round(void *info)
{
	struct rest_look l;

	if (count.runs && look(&l))
		rest_count_round(&count, &l);
	else
		rest_count_end(&count);
	event_pipe_release(info);
}

uint64_t rest_watch_count(void)
{
	struct rest_look l;

	return count.runs && look(&l) ? rest_count_told(&count, &l) : REST_NOT_COUNTED;
}

uint64_t rest_watch_in_flight(bool in_round)
{
	struct rest_look l;

	return count.runs && look(&l) ? rest_count_in_flight(&count, &l, in_round) : REST_NOT_COUNTED;
}
