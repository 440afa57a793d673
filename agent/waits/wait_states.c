#include "agent/waits/wait_states.h"

#include "common/base/cleanup.h"
#include "common/base/mem.h"

#include <stdlib.h>
#include <string.h>

#define PART_LEAST_NS 20000000 /* looks at threads are 15 ms apart */
#define STATE_IDLE WAIT_KIND_COUNT
#define STATES (WAIT_KIND_COUNT + 1)
#define RAN 0.5 /* of the time in which it was not seen to wait: less, and it cannot have run in all of it */

char wait_states_letter(enum wait_kind k)
{
	static const char letters[WAIT_KIND_COUNT + 1] = "LTSFCZERPQNU"; /* in the order of the kinds */
	return letters[k];
}

struct thread_parts {
	double ns[WAIT_STATES_PARTS][STATES];
	int64_t first_ns, last_ns; /* of what was seen of it; since the session's beginning */
};

static void add_to_parts(const struct wait_states *s, struct thread_parts *p, int64_t from_ns, int64_t to_ns, size_t state)
{
	for (size_t i = from_ns > 0 ? (size_t)(from_ns / s->part_ns) : 0; i < s->parts && (int64_t)i * s->part_ns < to_ns; i++) {
		int64_t begin_ns = (int64_t)i * s->part_ns, end_ns = begin_ns + s->part_ns;
		p->ns[i][state] += (double)((to_ns < end_ns ? to_ns : end_ns) - (from_ns > begin_ns ? from_ns : begin_ns));
	}
}

static double waited_in(const double *ns)
{
	double sum = 0;
	for (size_t k = 0; k < STATES; k++)
		sum += ns[k];
	return sum;
}

/* What the time may be called in which the thread was not seen to wait: between the waits that were seen, and before and after them. */
static void judge_rest(const struct wait_capture *c, struct wait_states *s, const struct thread_parts *p, int64_t cpu_ns, char *inside, char *outside)
{
	double rest_ns = (double)(p->last_ns - p->first_ns), outer_ns = (double)(s->length_ns - (p->last_ns - p->first_ns));
	for (size_t i = 0; i < s->parts; i++)
		rest_ns -= waited_in(p->ns[i]);
	rest_ns = rest_ns > 0 ? rest_ns : 0;
	if (!c->looks && cpu_ns >= 0 && rest_ns > (double)cpu_ns)
		s->lost_ns += rest_ns - (double)cpu_ns;
	bool ran = cpu_ns < 0 ? !c->looks : (double)cpu_ns >= RAN * rest_ns;
	*inside = ran ? WAIT_STATE_RUNS : WAIT_STATE_UNSEEN;
	*outside = (double)cpu_ns - (ran ? rest_ns : 0) >= RAN * outer_ns ? WAIT_STATE_RUNS : WAIT_STATE_ABSENT;
}

static void put_line(const struct wait_capture *c, struct wait_states *s, const struct thread_parts *p, int64_t cpu_ns, char *line)
{
	char inside, outside;
	judge_rest(c, s, p, cpu_ns, &inside, &outside);
	for (size_t i = 0; i < s->parts; i++) {
		int64_t begin_ns = (int64_t)i * s->part_ns, long_ns = s->length_ns - begin_ns < s->part_ns ? s->length_ns - begin_ns : s->part_ns;
		int64_t middle_ns = begin_ns + long_ns / 2;
		double most = (double)long_ns - waited_in(p->ns[i]);
		line[i] = middle_ns < p->first_ns || middle_ns > p->last_ns ? outside : inside;
		for (size_t k = 0; k < STATES; k++) {
			if (p->ns[i][k] <= most)
				continue;
			most = p->ns[i][k];
			line[i] = k == STATE_IDLE ? WAIT_STATE_IDLE : wait_states_letter((enum wait_kind)k);
		}
	}
}

static void note_wait(const struct wait_capture *c, const struct wait_states *s, struct thread_parts *p, const struct joined_wait *w)
{
	int64_t from_ns = w->wait->out_ns - c->started_ns, to_ns = w->wait->in_ns - c->started_ns;
	add_to_parts(s, p, from_ns, to_ns, w->meaning.idle ? STATE_IDLE : w->meaning.kind);
	p->first_ns = from_ns < p->first_ns ? from_ns : p->first_ns;
	p->last_ns = to_ns > p->last_ns ? to_ns : p->last_ns;
}

void wait_states_make(const struct wait_capture *c, const struct wait_join *j, struct wait_states *out)
{
	int64_t length_ns = c->ended_ns - c->started_ns;
	*out = (struct wait_states){.length_ns = length_ns, .part_ns = length_ns / WAIT_STATES_PARTS + 1, .count = c->stacks.thread_count};
	if (out->part_ns < PART_LEAST_NS)
		out->part_ns = PART_LEAST_NS;
	out->parts = length_ns > 0 ? (size_t)((length_ns + out->part_ns - 1) / out->part_ns) : 0;
	out->lines = mem_calloc(out->count + 1, sizeof *out->lines);
	AUTO_FREE struct thread_parts *p = mem_calloc(1, sizeof *p);
	AUTO_FREE size_t *first = mem_calloc(out->count + 1, sizeof *first);
	for (size_t i = j->timed_count; i-- > 0;)
		first[j->list[i].thread] = i + 1;
	for (size_t t = 0; t < out->count; t++) {
		*p = (struct thread_parts){.first_ns = first[t] ? INT64_MAX : 0};
		for (size_t i = first[t]; i && i <= j->timed_count && j->list[i - 1].thread == t; i++)
			note_wait(c, out, p, &j->list[i - 1]);
		out->lines[t] = mem_calloc(out->parts + 1, 1);
		put_line(c, out, p, c->stacks.threads[t].cpu_ns, out->lines[t]);
	}
}

void wait_states_fini(struct wait_states *s)
{
	for (size_t i = 0; i < s->count; i++)
		free(s->lines[i]);
	free(s->lines);
	*s = (struct wait_states){0};
}
