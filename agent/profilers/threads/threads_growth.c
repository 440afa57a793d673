#include "agent/profilers/threads/threads_growth.h"

#include "common/base/mem.h"

#include <stdlib.h>

#define NS_PER_S INT64_C(1000000000)
#define WINDOW_MOST_NS (10 * NS_PER_S)
#define WINDOW_LEAST_NS NS_PER_S
#define STARTING_NS (3 * NS_PER_S) /* in which a process makes its threads */

static bool of_kind(const struct threads_analysis *a, enum thread_kind kind, size_t i)
{
	enum thread_kind of = a->natures[i].kind;
	return of == kind || (kind == THREAD_KIND_LIBRARY && (of == THREAD_KIND_NATIVE || of == THREAD_KIND_UNKNOWN));
}

typedef uint32_t method_of_thread(const struct threads_analysis *a, size_t i);

static uint32_t entry_method(const struct threads_analysis *a, size_t i)
{
	uint32_t frame = a->natures[i].entry;
	return frame == THREADS_NONE ? THREADS_NONE : a->method_of[frame];
}

static uint32_t place_method(const struct threads_analysis *a, size_t i)
{
	uint32_t frame = a->natures[i].place;
	return frame == THREADS_NONE ? THREADS_NONE : a->method_of[frame];
}

/* The method that most of the chosen threads have in common. */
static uint32_t most_common(const struct threads_analysis *a, const bool *chosen, method_of_thread *key, uint32_t *count)
{
	uint32_t *counts = mem_calloc(a->method_count + 1, sizeof *counts), best = THREADS_NONE;
	*count = 0;
	for (size_t i = 0; i < a->capture->count; i++) {
		uint32_t method = chosen[i] ? key(a, i) : THREADS_NONE;
		if (method != THREADS_NONE && ++counts[method] > *count) {
			*count = counts[method];
			best = method;
		}
	}
	free(counts);
	return best;
}

/* Since the process was up, and before the first look. */
static int64_t window_ns(const struct threads_capture *c)
{
	int64_t before_ns = c->process_age_ns - c->between_ns - STARTING_NS;
	int64_t each_ns = before_ns / GROWTH_WINDOWS;
	if (c->process_age_ns < 0 || each_ns < WINDOW_LEAST_NS)
		return 0;
	return each_ns < WINDOW_MOST_NS ? each_ns : WINDOW_MOST_NS;
}

static void find_recent(const struct threads_analysis *a, enum thread_kind kind, bool *chosen, struct threads_growth *out)
{
	const struct threads_capture *c = a->capture;
	int64_t each_ns = window_ns(c);
	bool any[GROWTH_WINDOWS] = {0};
	for (size_t i = 0; i < c->count; i++) {
		const struct seen_thread *t = &c->threads[i];
		chosen[i] = false;
		if (!of_kind(a, kind, i))
			continue;
		out->now++;
		out->begun += !t->first;
		chosen[i] = !t->first;
		int64_t before_ns = t->age_ns - c->between_ns;
		if (!each_ns || !t->first || before_ns < 0 || before_ns / each_ns >= GROWTH_WINDOWS)
			continue;
		any[before_ns / each_ns] = true;
		out->recent++;
		chosen[i] = true;
	}
	for (size_t i = 0; i < GROWTH_WINDOWS; i++)
		out->windows += any[i];
	out->window_s = (double)each_ns / 1e9;
}

/* By the first function of the application, or by where they stand: code that was optimized meanwhile may end in a tail call, and its frame is missing. */
static void find_alike(const struct threads_analysis *a, enum thread_kind kind, bool *chosen, struct threads_growth *out)
{
	const struct threads_capture *c = a->capture;
	bool any[GROWTH_SPREAD] = {0};
	for (size_t i = 0; i < c->count; i++)
		chosen[i] = of_kind(a, kind, i);
	uint32_t alike_here, here = most_common(a, chosen, place_method, &alike_here);
	method_of_thread *key = entry_method;
	out->alike_place = most_common(a, chosen, key, &out->alike);
	if (alike_here > out->alike) {
		key = place_method;
		out->alike = alike_here;
		out->alike_place = here;
	}
	for (size_t i = 0; i < c->count; i++) {
		chosen[i] = chosen[i] && out->alike && key(a, i) == out->alike_place && c->threads[i].age_ns >= 0;
		if (chosen[i] && c->threads[i].age_ns > out->alike_ns)
			out->alike_ns = c->threads[i].age_ns;
	}
	for (size_t i = 0; i < c->count && out->alike_ns >= GROWTH_SPREAD; i++)
		if (chosen[i]) {
			int64_t part = c->threads[i].age_ns / (out->alike_ns / GROWTH_SPREAD);
			any[part < GROWTH_SPREAD ? part : GROWTH_SPREAD - 1] = true;
		}
	for (size_t i = 0; i < GROWTH_SPREAD; i++)
		out->alike_spread += any[i];
	out->alike_last = any[0] || any[1];
}

void threads_growth_find(const struct threads_analysis *a, enum thread_kind kind, struct threads_growth *out)
{
	uint32_t most;
	bool *chosen = mem_calloc(a->capture->count + 1, sizeof *chosen);
	*out = (struct threads_growth){.alike_place = THREADS_NONE};
	find_recent(a, kind, chosen, out);
	out->place = most_common(a, chosen, entry_method, &most);
	find_alike(a, kind, chosen, out);
	free(chosen);
}
