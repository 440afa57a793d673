#include "agent/profilers/requests/request_trail.h"

#include "common/base/mem.h"
#include "common/base/search.h"

#include <stdlib.h>
#include <string.h>

void request_trail_switch(struct request_trail *t, const struct channel_request_switch *s)
{
	if (t->switch_count == TRAIL_SWITCHES) {
		t->left_out++;
		return;
	}
	GROW(t->switches, t->switch_count, t->switch_cap);
	t->switches[t->switch_count++] = *s;
}

void request_trail_call(struct request_trail *t, const struct channel_request_call *c)
{
	if (t->call_count == TRAIL_CALLS) {
		t->left_out++;
		return;
	}
	GROW(t->calls, t->call_count, t->call_cap);
	t->calls[t->call_count++] = *c;
}

void request_trail_window(struct request_trail *t, const struct channel_request_window *w)
{
	if (t->window_count == TRAIL_WINDOWS || (t->window_count && w->start_ns < t->windows[t->window_count - 1].end_ns))
		return; /* they follow each other */
	GROW(t->windows, t->window_count, t->window_cap);
	t->windows[t->window_count++] = *w;
}

void request_trail_fini(struct request_trail *t)
{
	free(t->switches);
	free(t->calls);
	free(t->windows);
	free(t->stays);
	free(t->by_thread);
	*t = (struct request_trail){0};
}

static int compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int by_thread(const void *x, const void *y)
{
	const struct channel_request_switch *a = x, *b = y;
	return a->tid != b->tid ? compare(a->tid, b->tid) : compare(a->time_ns, b->time_ns);
}

static int stay_by_request(const void *x, const void *y)
{
	const struct trail_stay *a = x, *b = y;
	return a->number != b->number ? compare(a->number, b->number) : compare(a->from_ns, b->from_ns);
}

static int call_by_request(const void *x, const void *y)
{
	const struct channel_request_call *a = x, *b = y;
	return a->number != b->number ? compare(a->number, b->number) : compare(a->start_ns, b->start_ns);
}

/* Windows that follow without a gap are one: what a thread did goes on. */
static uint64_t window_end(const struct request_trail *t, uint64_t at_ns)
{
	size_t low = SEARCH_PAST(i, t->window_count, t->windows[i].end_ns <= at_ns);
	if (low == t->window_count || t->windows[low].start_ns > at_ns)
		return at_ns;
	while (low + 1 < t->window_count && t->windows[low + 1].start_ns == t->windows[low].end_ns)
		low++;
	return t->windows[low].end_ns;
}

static void make_stays(struct request_trail *t)
{
	t->stays = mem_calloc(t->switch_count + 1, sizeof *t->stays);
	for (size_t i = 0; i < t->switch_count; i++) {
		const struct channel_request_switch *s = &t->switches[i], *next = s + 1;
		uint64_t end_ns = window_end(t, s->time_ns);
		if (!s->number)
			continue;
		if (i + 1 < t->switch_count && next->tid == s->tid && next->time_ns < end_ns)
			end_ns = next->time_ns;
		if (end_ns > s->time_ns)
			t->stays[t->stay_count++] = (struct trail_stay){s->time_ns, end_ns, s->number, s->tid};
	}
}

void request_trail_sort(struct request_trail *t)
{
	if (t->switch_count)
		qsort(t->switches, t->switch_count, sizeof *t->switches, by_thread);
	make_stays(t);
	t->by_thread = mem_calloc(t->stay_count + 1, sizeof *t->by_thread);
	memcpy(t->by_thread, t->stays, t->stay_count * sizeof *t->stays);
	qsort(t->stays, t->stay_count, sizeof *t->stays, stay_by_request);
	if (t->call_count)
		qsort(t->calls, t->call_count, sizeof *t->calls, call_by_request);
}

size_t request_trail_stays(const struct request_trail *t, uint32_t number, size_t *count)
{
	size_t low = SEARCH_PAST(i, t->stay_count, t->stays[i].number < number);
	for (*count = 0; low + *count < t->stay_count && t->stays[low + *count].number == number; ++*count)
		;
	return low;
}

size_t request_trail_calls(const struct request_trail *t, uint32_t number, size_t *count)
{
	size_t low = SEARCH_PAST(i, t->call_count, t->calls[i].number < number);
	for (*count = 0; low + *count < t->call_count && t->calls[low + *count].number == number; ++*count)
		;
	return low;
}

uint32_t request_trail_at(const struct request_trail *t, uint32_t tid, uint64_t at_ns)
{
	size_t low = SEARCH_PAST(i, t->stay_count, t->by_thread[i].tid < tid || (t->by_thread[i].tid == tid && t->by_thread[i].to_ns <= at_ns));
	return low < t->stay_count && t->by_thread[low].tid == tid && t->by_thread[low].from_ns <= at_ns ? t->by_thread[low].number : 0;
}
