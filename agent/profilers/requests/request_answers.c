#include "agent/profilers/requests/request_answers.h"

#include "common/base/cleanup.h"
#include "common/base/mem.h"
#include "common/base/search.h"

#include <stdlib.h>

void request_answers_add(struct request_answers *x, const struct channel_request_answer *a)
{
	if (x->count == ANSWERS_MOST)
		return;
	GROW(x->list, x->count, x->cap);
	x->list[x->count++] = *a;
}

void request_answers_fini(struct request_answers *x)
{
	free(x->list);
	free(x->stalls);
	*x = (struct request_answers){0};
}

/* looks --------------------------------------------------------------------------------------------------------------- */

static const struct stalled_now *stalled_before(const struct request_answers *x, uint16_t port)
{
	for (size_t i = 0; i < x->now_count; i++)
		if (x->now[i].at.port == port)
			return &x->now[i];
	return NULL;
}

/* From the last look until this one. SIZE_MAX: no room, or it is another connection. */
static size_t extend_stall(struct request_answers *x, const struct stalled_now *before, uint64_t at_ns, const struct channel_request_stall *now)
{
	size_t i = before->stall;
	if (now->acked_bytes < before->at.acked_bytes || now->window_us < before->at.window_us)
		return SIZE_MAX;
	if (i == SIZE_MAX) {
		if (x->stall_count == STALLS_MOST)
			return SIZE_MAX;
		GROW(x->stalls, x->stall_count, x->stall_cap);
		i = x->stall_count++;
		x->stalls[i] = (struct request_stall){.from_ns = x->looked_ns, .port = now->port};
	}
	struct request_stall *s = &x->stalls[i];
	uint64_t window_us = now->window_us - before->at.window_us, passed_ns = at_ns - x->looked_ns;
	s->to_ns = at_ns;
	s->acked_bytes += now->acked_bytes - before->at.acked_bytes;
	s->window_ns += window_us < passed_ns / 1000 ? window_us * 1000 : passed_ns;
	return i;
}

void request_answers_look(struct request_answers *x, uint64_t at_ns, const struct channel_request_stall *list, size_t count)
{
	struct stalled_now now[STALLS_AT_ONCE];
	size_t n = 0;
	for (size_t i = 0; i < count && n < STALLS_AT_ONCE; i++) {
		const struct stalled_now *before = at_ns > x->looked_ns ? stalled_before(x, list[i].port) : NULL;
		now[n++] = (struct stalled_now){list[i], before ? extend_stall(x, before, at_ns, &list[i]) : SIZE_MAX};
	}
	for (size_t i = 0; i < n; i++)
		x->now[i] = now[i];
	x->now_count = n;
	x->looked_ns = at_ns;
}

/* joining them -------------------------------------------------------------------------------------------------------- */

static int compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int stall_by_port(const void *p, const void *q)
{
	const struct request_stall *a = p, *b = q;
	return a->port != b->port ? compare(a->port, b->port) : compare(a->from_ns, b->from_ns);
}

static int answer_by_port(const void *p, const void *q)
{
	const struct channel_request_answer *a = p, *b = q;
	return a->port != b->port ? compare(a->port, b->port) : compare(a->start_ns, b->start_ns);
}

static int answer_by_number(const void *p, const void *q)
{
	return compare(((const struct channel_request_answer *)p)->number, ((const struct channel_request_answer *)q)->number);
}

/* Of the port, the first that ends after `at_ns`. */
static size_t stall_after(const struct request_answers *x, uint16_t port, uint64_t at_ns)
{
	return SEARCH_PAST(i, x->stall_count, x->stalls[i].port < port || (x->stalls[i].port == port && x->stalls[i].to_ns <= at_ns));
}

static bool is_of(const struct request_answers *x, size_t stall, const struct channel_request_answer *a)
{
	return stall < x->stall_count && x->stalls[stall].port == a->port && x->stalls[stall].from_ns < a->end_ns;
}

static uint64_t overlap_from(const struct request_stall *s, const struct channel_request_answer *a)
{
	return s->from_ns > a->start_ns ? s->from_ns : a->start_ns;
}

static uint64_t overlap_to(const struct request_stall *s, const struct channel_request_answer *a)
{
	return s->to_ns < a->end_ns ? s->to_ns : a->end_ns;
}

static void add_waits(const struct request_answers *x, const struct channel_request_answer *a, struct request_trail *t)
{
	for (size_t i = stall_after(x, a->port, a->start_ns); is_of(x, i, a); i++) {
		const struct request_stall *s = &x->stalls[i];
		const struct channel_request_call c = {
			.start_ns = overlap_from(s, a),
			.end_ns = overlap_to(s, a),
			.number = a->number,
			.shape = REQUEST_SHAPE_CLIENT,
		};
		request_trail_call(t, &c);
	}
}

/* Of requests that share a connection, as those of HTTP/2 do, it is not told which one the client does not take. */
static void forget_shared(struct request_answers *x)
{
	AUTO_FREE bool *shared = mem_calloc(x->count, sizeof *shared);
	size_t last = 0; /* the one that ends last, of those before on the same connection */
	for (size_t i = 1; i < x->count; i++) {
		const struct channel_request_answer *a = &x->list[i], *b = &x->list[last];
		if (a->port == b->port && a->start_ns < b->end_ns)
			shared[i] = shared[last] = true;
		if (a->port != b->port || a->end_ns > b->end_ns)
			last = i;
	}
	for (size_t i = 0; i < x->count; i++)
		x->list[i].port = shared[i] ? 0 : x->list[i].port;
}

void request_answers_sort(struct request_answers *x, struct request_trail *t)
{
	if (x->stall_count)
		qsort(x->stalls, x->stall_count, sizeof *x->stalls, stall_by_port);
	if (!x->count)
		return;
	qsort(x->list, x->count, sizeof *x->list, answer_by_port);
	forget_shared(x);
	for (size_t i = 0; i < x->count; i++)
		if (x->list[i].port)
			add_waits(x, &x->list[i], t);
	qsort(x->list, x->count, sizeof *x->list, answer_by_number);
}

static const struct channel_request_answer *answer_of(const struct request_answers *x, uint32_t number)
{
	size_t low = SEARCH_PAST(i, x->count, x->list[i].number < number);
	return low < x->count && x->list[low].number == number && x->list[low].port ? &x->list[low] : NULL;
}

void request_answers_sums(const struct request_answers *x, uint32_t number, uint64_t *bytes, uint64_t *window_ns)
{
	const struct channel_request_answer *a = answer_of(x, number);
	for (size_t i = a ? stall_after(x, a->port, a->start_ns) : 0; a && is_of(x, i, a); i++) {
		const struct request_stall *s = &x->stalls[i];
		double part = (double)(overlap_to(s, a) - overlap_from(s, a)) / (double)(s->to_ns - s->from_ns);
		*bytes += (uint64_t)(part * (double)s->acked_bytes);
		*window_ns += (uint64_t)(part * (double)s->window_ns);
	}
}
