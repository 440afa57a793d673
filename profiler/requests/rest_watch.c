/* Context: own thread. */
#include "profiler/requests/rest_watch.h"

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
static const _Atomic uint64_t *the_followed;

static bool read_both(uint64_t *all, uint64_t *followed)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < TRIES && least > BETWEEN; i++) {
		uint64_t before = atomic_load(the_followed), now;
		if (!hosting_count_now(&now))
			return false;
		uint64_t between = atomic_load(the_followed) - before;
		if (between >= least)
			continue;
		least = between;
		*all = now;
		*followed = before;
	}
	return true;
}

void rest_watch_reset(const _Atomic uint64_t *followed)
{
	count = (struct rest_count){0};
	the_followed = followed;
}

void rest_watch_stop(void *info)
{
	event_pipe_release(info);
	rest_count_end(&count);
}

void rest_watch_rest(void *info, bool worth_it)
{
	uint64_t all = 0, followed = 0;

	if (!worth_it || count.wrong)
		rest_watch_stop(info);
	else if (!count.runs && hosting_count_find(info) && event_pipe_hold(info, &hosting, 1) >= 0 && read_both(&all, &followed))
		rest_count_begin(&count, all, followed);
}

void rest_watch_round(void)
{
	uint64_t all = 0, followed = 0;

	if (count.runs && read_both(&all, &followed))
		rest_count_round(&count, all, followed);
}

uint64_t rest_watch_count(void *info, bool in_round)
{
	uint64_t all = 0, followed = 0;

	if (count.runs && !read_both(&all, &followed))
		rest_watch_stop(info);
	return count.runs ? rest_count_told(&count, all, followed, in_round) : REST_NOT_COUNTED;
}
