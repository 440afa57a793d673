#include "agent/profilers/threads/threads_numbers.h"

#include <string.h>

#define NAMES_MAX 64

RULE_FIELDS(threads_numbers, THREADS_NUMBERS);

/* A queue, a sleep, and what comes from outside are what threads wait for all day; the main thread waits for the end. */
enum zombie_class threads_zombie_class(const struct threads_group *g)
{
	bool own = g->kind == THREAD_KIND_APPLICATION, worker = g->kind == THREAD_KIND_WORKER;
	if ((!own && !worker) || g->place == THREADS_NONE || !g->untimed)
		return ZOMBIE_NOT;
	switch (g->wait) {
	case THREAD_WAIT_LOCK:
		return ZOMBIE_LOCK;
	case THREAD_WAIT_TASK:
	case THREAD_WAIT_JOIN:
	case THREAD_WAIT_EVENT:
	case THREAD_WAIT_NATIVE:
		return worker ? ZOMBIE_WORKER : ZOMBIE_OTHER;
	default:
		return ZOMBIE_NOT;
	}
}

/* Threads that have gone on from their wait many times are a pool of the application's own: each waits for its next work. */
static bool has_worked(const struct threads_group *g)
{
	return g->worked * 4 >= g->untimed * 3;
}

/* The class weighs more than the number: a lock is certain. Below these numbers a group is everyday. */
static uint32_t zombie_weight(const struct threads_group *g)
{
	static const uint32_t least[] = {[ZOMBIE_NOT] = UINT32_MAX, [ZOMBIE_LOCK] = 3, [ZOMBIE_WORKER] = 5, [ZOMBIE_OTHER] = 10};
	if (threads_zombie_class(g) == ZOMBIE_OTHER && has_worked(g))
		return 0;
	return g->untimed >= least[threads_zombie_class(g)] ? g->untimed : 0;
}

static void set_zombies(const struct threads_analysis *a, struct threads_numbers *out)
{
	const struct threads_group *most = NULL;
	out->zombies = out->zombie_groups = 0;
	for (size_t i = 0; i < a->group_count; i++) {
		const struct threads_group *g = &a->groups[i];
		out->zombie_groups += zombie_weight(g) > 0;
		if (zombie_weight(g) > (most ? zombie_weight(most) : 0))
			most = g;
	}
	if (!most)
		return;
	out->zombies = most->untimed;
	out->zombie_class = threads_zombie_class(most);
	out->zombie_burst = most->burst;
	if (most->youngest_ns >= 0)
		out->zombie_spread_seconds = (double)(most->oldest_ns - most->youngest_ns) / 1e9;
	rules_set_text(&out->zombie_wait, thread_wait_words[most->wait].many);
	rules_set_text(&out->zombie_place, threads_method_name(a, most->place));
}

/* The name of most of those that began between the looks and run none of the application's code. */
static const char *name_of_begun(const struct threads_analysis *a)
{
	const struct seen_thread *names[NAMES_MAX];
	uint32_t counts[NAMES_MAX], known = 0, most = 0;
	for (size_t i = 0; i < a->capture->count; i++) {
		const struct seen_thread *t = &a->capture->threads[i];
		uint32_t k = 0;
		if (t->first || a->natures[i].place != THREADS_NONE || a->natures[i].kind == THREAD_KIND_PROFILER)
			continue;
		while (k < known && strcmp(names[k]->wait.name, t->wait.name) != 0)
			k++;
		if (k == NAMES_MAX)
			continue;
		if (k == known) {
			names[known] = t;
			counts[known++] = 0;
		}
		most = ++counts[k] > counts[most] ? k : most;
	}
	return known ? names[most]->wait.name : NULL;
}

static void set_growth(const struct threads_analysis *a, struct threads_numbers *out)
{
	const struct threads_growth *g = a->workers.begun > a->application.begun ? &a->workers : &a->application;
	bool others = a->libraries.begun > g->begun;
	g = others ? &a->libraries : g;
	out->grown_workers = g == &a->workers;
	rules_set_text(&out->grown_name, others ? name_of_begun(a) : NULL);
	out->grown_begun = g->begun;
	out->grown_ended = (double)a->capture->ended;
	out->grown_now = g->now;
	out->grown_recent = g->recent;
	rules_set_text(&out->grown_place, threads_method_name(a, g->place));
	if (g->window_s > 0) {
		out->grown_windows = g->windows;
		out->grown_parts = GROWTH_WINDOWS;
		out->grown_part_seconds = g->window_s;
	}
	out->alike = a->application.alike;
	out->alike_spread = a->application.alike_spread;
	out->alike_last = a->application.alike_last;
	out->alike_seconds = (double)a->application.alike_ns / 1e9;
	rules_set_text(&out->alike_place, threads_method_name(a, a->application.alike_place));
}

static void set_finalizer(const struct threads_analysis *a, struct threads_numbers *out)
{
	out->finalizer_seen = a->finalizer != THREADS_NONE;
	out->finalizer_waiters = a->finalizer_waiters;
	if (a->finalizer == THREADS_NONE)
		return;
	const struct thread_nature *n = &a->natures[a->finalizer];
	const struct seen_thread *t = &a->capture->threads[a->finalizer];
	out->finalizer_managed = n->place != THREADS_NONE;
	out->finalizer_still = t->still;
	rules_set_text(&out->finalizer_wait, thread_wait_words[n->wait].one);
	rules_set_text(&out->finalizer_place, n->place == THREADS_NONE ? "" : threads_method_name(a, a->method_of[n->place]));
}

static void set_workers(const struct threads_analysis *a, struct threads_numbers *out)
{
	out->workers_at_place = 0;
	for (size_t i = 0; i < a->group_count; i++) {
		const struct threads_group *g = &a->groups[i];
		if (g->kind != THREAD_KIND_WORKER || threads_group_idles(g) || g->still <= out->workers_at_place)
			continue;
		out->workers_at_place = g->still;
		rules_set_text(&out->workers_wait, thread_wait_words[g->wait].many);
		rules_set_text(&out->workers_place, threads_method_name(a, g->place));
	}
}

void threads_numbers_of(const struct threads_analysis *a, struct threads_numbers *out)
{
	const struct threads_capture *c = a->capture;
	rules_clear(&threads_numbers_fields, out);
	out->seconds_between = (double)c->between_ns / 1e9;
	if (c->unread) {
		rules_set_text(&out->unread, "the process's threads could not be read");
		return;
	}
	out->threads = (double)(c->count - a->kinds[THREAD_KIND_PROFILER]);
	out->threads_first = (double)c->first_count;
	out->threads_still = a->still;
	out->threads_application = a->kinds[THREAD_KIND_APPLICATION];
	out->threads_workers = a->kinds[THREAD_KIND_WORKER];
	out->stack_unknown = a->unread;
	set_zombies(a, out);
	set_growth(a, out);
	set_finalizer(a, out);
	set_workers(a, out);
	if (c->first_queue >= 0 && c->second_queue >= 0) {
		out->queue_first = (double)c->first_queue;
		out->queue_second = (double)c->second_queue;
	}
	if (c->pids_max >= 0) {
		out->pids_current = (double)c->pids_current;
		out->pids_max = (double)c->pids_max;
		if (c->pids_max > 0)
			out->limit_percent = fmin(100, 100.0 * (double)c->pids_current / (double)c->pids_max);
	}
}
