#include "agent/profilers/requests/request_gate.h"

#include "common/base/cleanup.h"
#include "common/base/mem.h"
#include "common/base/search.h"

#include <stdlib.h>
#include <string.h>

#define LEAST_WAIT_NS 1000000u
#define LONGEST_RUN_NS 5000000u /* on a thread, between the end of the wait and the command */
#define FULL_PERCENT 60u        /* of the wait: one command follows another with a short time between */

static bool is_command(const struct request_analysis *a, uint32_t shape)
{
	return shape != UINT32_MAX && strncmp(request_analysis_call(a, shape), "sql ", 4) == 0;
}

/* how many run ------------------------------------------------------------------------------------------------------- */

struct command_edge {
	uint64_t at_ns;
	int change;
};

static int edge_by_time(const void *x, const void *y)
{
	const struct command_edge *a = x, *b = y;
	if (a->at_ns != b->at_ns)
		return a->at_ns < b->at_ns ? -1 : 1;
	return a->change - b->change;
}

void gate_profile_make(const struct request_analysis *a, struct gate_profile *out)
{
	const struct request_trail *t = &a->capture->log->trail;
	AUTO_FREE struct command_edge *edges = mem_calloc(2 * t->call_count + 1, sizeof *edges);
	size_t count = 0;
	int now = 0, most = 0;
	*out = (struct gate_profile){0};
	for (size_t i = 0; i < t->call_count; i++) {
		if (!is_command(a, t->calls[i].shape))
			continue;
		edges[count++] = (struct command_edge){t->calls[i].start_ns, 1};
		edges[count++] = (struct command_edge){t->calls[i].end_ns, -1};
	}
	qsort(edges, count, sizeof *edges, edge_by_time);
	for (size_t i = 0; i < count; i++) {
		now += edges[i].change;
		most = now > most ? now : most;
	}
	out->most = (uint32_t)most;
	out->steps = mem_calloc(count + 1, sizeof *out->steps);
	now = 0;
	for (size_t i = 0; i < count; i++) {
		const struct gate_step *last = i ? &out->steps[i - 1] : NULL;
		now += edges[i].change;
		out->steps[out->step_count++] = (struct gate_step){
			edges[i].at_ns, last ? last->full_ns + (last->full ? edges[i].at_ns - last->at_ns : 0) : 0, now == most};
	}
}

void gate_profile_fini(struct gate_profile *p)
{
	free(p->steps);
	*p = (struct gate_profile){0};
}

/* Of the time before `at_ns`. */
static uint64_t full_until(const struct gate_profile *p, uint64_t at_ns)
{
	size_t low = SEARCH_PAST(i, p->step_count, p->steps[i].at_ns <= at_ns);
	if (!low)
		return 0;
	const struct gate_step *s = &p->steps[low - 1];
	return s->full_ns + (s->full ? at_ns - s->at_ns : 0);
}

/* who waits for it ---------------------------------------------------------------------------------------------------- */

struct gate_walk {
	const struct request_analysis *analysis;
	const struct gate_profile *profile;
	struct request_gate *gate;
	uint64_t from_ns, to_ns; /* of the last wait that nothing tells of; from_ns 0: there is none */
	uint64_t run_ns;         /* since then, on a thread */
};

static void end_wait(struct gate_walk *w, uint32_t command)
{
	uint64_t ns = w->to_ns - w->from_ns;
	if (!w->from_ns || ns < LEAST_WAIT_NS || w->run_ns > LONGEST_RUN_NS)
		return;
	if ((full_until(w->profile, w->to_ns) - full_until(w->profile, w->from_ns)) < ns / 100 * FULL_PERCENT)
		return;
	w->gate->ns += ns;
	w->gate->waits++;
	w->gate->shape = command;
}

static void walk_moment(void *ctx, const struct bill_moment *m)
{
	struct gate_walk *w = ctx;
	if (is_command(w->analysis, m->call)) {
		end_wait(w, m->call);
		w->from_ns = 0;
	} else if (m->call != UINT32_MAX || (m->doing == DOING_COUNT && !m->seen)) {
		w->from_ns = 0;
	} else if (m->doing != DOING_COUNT) {
		w->run_ns += m->to_ns - m->from_ns;
	} else {
		w->from_ns = w->from_ns && w->to_ns == m->from_ns ? w->from_ns : m->from_ns;
		w->to_ns = m->to_ns;
		w->run_ns = 0;
	}
}

void request_gate_find(const struct request_analysis *a, const struct gate_profile *p, const struct endpoint_figures *f, struct request_gate *out)
{
	*out = (struct request_gate){0};
	for (size_t i = 0; i < f->billed.count && p->most; i++) {
		struct gate_walk w = {.analysis = a, .profile = p, .gate = out};
		request_bill_walk(&a->capture->log->trail, &a->work, &f->billed.list[i], walk_moment, &w);
	}
}
