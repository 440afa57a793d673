/* Context: own thread. */
#include "profiler/requests/rest_watch.h"

#include "profiler/clr/event_pipe.h"
#include "profiler/requests/hosting_count.h"

#define LEVEL_CRITICAL 1 /* hosting has no events of it */
#define ALL_KEYWORDS 0xffffffffffffffffu

static const wchar16 hosting_name[] = u"Microsoft.AspNetCore.Hosting";
static const struct cor_event_provider hosting = {hosting_name, ALL_KEYWORDS, LEVEL_CRITICAL, NULL};

static struct rest_count count;

void rest_watch_reset(void)
{
	count = (struct rest_count){0};
}

void rest_watch_stop(void *info)
{
	event_pipe_release(info);
	rest_count_end(&count);
}

void rest_watch_rest(void *info, bool worth_it, uint64_t followed)
{
	uint64_t all;

	if (!worth_it || count.wrong)
		rest_watch_stop(info);
	else if (!count.runs && hosting_count_find(info) && event_pipe_hold(info, &hosting, 1) >= 0 && hosting_count_now(&all))
		rest_count_begin(&count, all, followed);
}

void rest_watch_round(uint64_t followed)
{
	uint64_t all;

	if (count.runs && hosting_count_now(&all))
		rest_count_round(&count, all, followed);
}

uint64_t rest_watch_count(void *info, uint64_t followed, bool in_round)
{
	uint64_t all;

	if (count.runs && !hosting_count_now(&all))
		rest_watch_stop(info);
	return count.runs ? rest_count_told(&count, all, followed, in_round) : REST_NOT_COUNTED;
}
