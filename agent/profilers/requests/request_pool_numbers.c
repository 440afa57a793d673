#include "agent/profilers/requests/request_pool_numbers.h"

#include "agent/profilers/requests/request_connections.h"
#include "agent/profilers/requests/request_gate.h"
#include "common/base/cleanup.h"
#include "common/base/mem.h"
#include "common/base/search.h"

#include <string.h>

struct lost_part { /* of the endpoint whose users lose most by it */
	const struct endpoint_figures *endpoint;
	const char *what; /* the wait for a connection */
	double weight;
	uint64_t ns;
};

static void choose_part(struct lost_part *best, const struct endpoint_figures *f, const char *what, uint64_t ns)
{
	double weight = f->bill.total_ns && !f->is_stream ? (double)ns * f->waited_ns / (double)f->bill.total_ns : 0;
	if (weight > best->weight)
		*best = (struct lost_part){f, what, weight, ns};
}

static double part_percent(const struct lost_part *x)
{
	return x->endpoint ? 100 * (double)x->ns / (double)x->endpoint->bill.total_ns : 0;
}

static double part_share(const struct request_analysis *a, const struct lost_part *x)
{
	return x->endpoint ? request_analysis_percent(a, x->endpoint) : 0;
}

static double part_requests(const struct lost_part *x)
{
	return x->endpoint ? (double)x->endpoint->bill.requests : 0;
}

static double part_ms(const struct lost_part *x)
{
	return x->endpoint ? request_bill_mean_ms(&x->endpoint->bill) : 0;
}

#define HOSTS_MOST 32
#define ANEW 0.5 /* connections for each call: fewer are a pool that grows */

struct host_counts {
	const char *what;
	struct connection_counts n;
};
static const struct host_counts no_host;

struct hosts { /* that were counted */
	struct host_counts list[HOSTS_MOST];
	size_t count;
};

static const struct connection_counts *count_host(const struct request_analysis *a, struct hosts *h, const char *what)
{
	for (size_t i = 0; i < h->count; i++)
		if (h->list[i].what == what)
			return &h->list[i].n;
	if (h->count == HOSTS_MOST)
		return &no_host.n;
	h->list[h->count].what = what;
	request_connections_count(a->capture->log, what, &h->list[h->count].n);
	return &h->list[h->count++].n;
}

struct chosen_connections {
	struct lost_part pool, anew;
	struct hosts hosts;
};

static void choose_connections(const struct request_analysis *a, const struct endpoint_figures *f, struct chosen_connections *out)
{
	const char *wait = NULL;
	uint64_t most = 0, making = 0;
	for (size_t i = 0; i < f->bill.call_count; i++) {
		const struct bill_call *c = &f->bill.calls[i];
		const char *name = request_analysis_call(a, c->shape);
		making += request_connections_is_part(name) ? c->ns + c->thread_ns : 0;
		if (request_connections_is_wait(name) && (!wait || c->ns + c->thread_ns > most)) {
			most = c->ns + c->thread_ns;
			wait = name;
		}
	}
	if (!wait)
		return;
	const struct connection_counts *n = count_host(a, &out->hosts, wait);
	bool made_anew = n->calls && (double)n->opened >= ANEW * (double)n->calls;
	choose_part(made_anew ? &out->anew : &out->pool, f, wait, made_anew ? making : most);
}

static void number_connections(const struct request_analysis *a, struct request_numbers *out)
{
	struct chosen_connections x = {0};
	struct connection_counts n = {0};
	for (size_t i = 0; i < a->endpoint_count; i++)
		choose_connections(a, &a->endpoints[i], &x);
	const struct lost_part pool = x.pool, anew = x.anew;
	out->pool_percent = part_percent(&pool);
	out->pool_share = part_share(a, &pool);
	out->pool_requests = part_requests(&pool);
	out->pool_ms = part_ms(&pool);
	if (pool.endpoint) {
		n = *count_host(a, &x.hosts, pool.what);
		rules_set_text(&out->pool_endpoint, pool.endpoint->name);
		rules_set_text(&out->pool_what, pool.what + strlen("http connection "));
	}
	out->pool_waits = (double)n.waits;
	out->pool_opened_percent = n.waits ? 100 * (double)n.opened / (double)n.waits : 0;
	out->pool_failed_percent = n.calls ? 100 * (double)n.failed / (double)n.calls : 0;
	out->anew_percent = part_percent(&anew);
	out->anew_share = part_share(a, &anew);
	out->anew_requests = part_requests(&anew);
	out->anew_ms = part_ms(&anew);
	n = (struct connection_counts){0};
	if (anew.endpoint) {
		n = *count_host(a, &x.hosts, anew.what);
		rules_set_text(&out->anew_endpoint, anew.endpoint->name);
		rules_set_text(&out->anew_what, anew.what + strlen("http connection "));
	}
	out->anew_opened = (double)n.opened;
	out->anew_calls = (double)n.calls;
}

/* Waits of a worker that is given no CPU, or that nothing is known of, are nobody's fault in the application. */
static bool blocks_worker(const struct wait_place *p)
{
	return p->pool_ns > 0 && p->method != CPU_NO_METHOD && p->meaning.kind != WAIT_KIND_CPU && p->meaning.kind != WAIT_KIND_FAULT &&
	       p->meaning.kind != WAIT_KIND_UNKNOWN;
}

/* The method in which they block most, whatever they wait for there. */
static void number_blocker(const struct wait_analysis *a, struct request_numbers *out)
{
	AUTO_FREE double *ns = mem_calloc(a->base.method_count + 1, sizeof *ns);
	const struct wait_place *top = NULL;
	for (size_t i = 0; i < a->blocking_count; i++) {
		const struct wait_place *p = &a->places[i];
		if (!blocks_worker(p))
			continue;
		ns[p->method] += p->pool_ns;
		if (!top || ns[p->method] > ns[top->method])
			top = p;
	}
	out->blocker_percent = top && a->pool.blocked_ns > 0 ? fmin(100, 100 * ns[top->method] / a->pool.blocked_ns) : 0;
	rules_set_text(&out->blocker_place, top ? wait_analysis_place(a, top) : NULL);
	rules_set_text(&out->blocker_what, top ? top->meaning.what : NULL);
}

#define AWAIT_PART 5 /* of their time, as one of so many: with less the requests are not looked at */

/* Commands of databases say only when they have a connection. */
static void number_gate(const struct request_analysis *a, struct request_numbers *out)
{
	struct lost_part most = {0};
	struct request_gate of_most = {0};
	struct gate_profile p;
	gate_profile_make(a, &p);
	for (size_t i = 0; i < a->endpoint_count && p.most; i++) {
		const struct endpoint_figures *f = &a->endpoints[i];
		struct request_gate g;
		if (f->bill.await_ns < f->bill.total_ns / AWAIT_PART)
			continue;
		request_gate_find(a, &p, f, &g);
		double before = most.weight;
		choose_part(&most, f, NULL, g.ns);
		if (most.weight > before)
			of_most = g;
	}
	out->gate_percent = part_percent(&most);
	out->gate_share = part_share(a, &most);
	out->gate_requests = part_requests(&most);
	out->gate_ms = part_ms(&most);
	out->gate_waits = (double)of_most.waits;
	out->gate_width = p.most;
	rules_set_text(&out->gate_endpoint, most.endpoint ? most.endpoint->name : NULL);
	rules_set_text(&out->gate_what, of_most.shape ? request_analysis_call(a, of_most.shape) : NULL);
	gate_profile_fini(&p);
}

/* the thread pool ----------------------------------------------------------------------------------------------------- */

struct await_walk {
	const struct pool_sights *sights;
	bool *met; /* by look */
};

static void mark_moment(void *ctx, const struct bill_moment *m)
{
	struct await_walk *w = ctx;
	const struct pool_sights *s = w->sights;
	if (m->doing != DOING_COUNT || m->call != UINT32_MAX || !m->seen)
		return;
	for (size_t i = SEARCH_PAST(k, s->count, s->list[k].at_ns < (int64_t)m->from_ns); i < s->count && s->list[i].at_ns < (int64_t)m->to_ns; i++)
		w->met[i] = true;
}

/* A worker is there from its first wait on; one in no wait runs, or wants to. */
static void count_workers(const struct wait_analysis *a, int64_t at_ns, struct queue_match *out)
{
	const struct wait_join *j = &a->join;
	for (size_t i = 0, end; i < j->timed_count; i = end) {
		uint32_t thread = j->list[i].thread;
		for (end = i + 1; end < j->timed_count && j->list[end].thread == thread; end++)
			;
		if (!a->is_worker[thread] || j->list[i].wait->out_ns > at_ns)
			continue;
		const struct joined_wait *w = wait_join_at(j, thread, at_ns);
		if (w && w->meaning.idle)
			continue;
		out->busy++;
		out->blocked += w && w->meaning.kind != WAIT_KIND_CPU;
	}
}

void request_queue_match(const struct request_analysis *a, const struct endpoint_figures *f, struct queue_match *out)
{
	const struct pool_sights *s = &a->capture->waits->queue;
	AUTO_FREE bool *met = mem_calloc(s->count + 1, sizeof *met);
	struct await_walk w = {s, met};
	*out = (struct queue_match){0};
	for (size_t i = 0; i < f->billed.count && s->count; i++)
		request_bill_walk(&a->capture->log->trail, &a->work, &f->billed.list[i], mark_moment, &w);
	for (size_t i = 0; i < s->count; i++) {
		if (!met[i])
			continue;
		out->looks++;
		out->items += (double)s->list[i].length;
		out->most = s->list[i].length > out->most ? s->list[i].length : out->most;
		count_workers(&a->waits, s->list[i].at_ns, out);
	}
}

/* Of the whole session, where looks did not meet enough requests that await. */
static void take_session(const struct request_analysis *a, struct request_numbers *out)
{
	const struct pool_sights *q = &a->capture->waits->queue;
	const struct wait_worker_sums *p = &a->waits.pool;
	double busy_ns = p->alive_ns - p->idle_ns;
	if (q->looks) {
		out->queue_looks = (double)q->looks;
		out->queue_mean = q->sum / (double)q->looks;
		out->queue_most = (double)q->most;
	}
	out->workers_blocked_percent = busy_ns > 0 ? fmin(100, 100 * p->blocked_ns / busy_ns) : 0;
}

static void take_match(const struct queue_match *m, struct request_numbers *out)
{
	out->queue_looks = (double)m->looks;
	out->queue_mean = m->items / (double)m->looks;
	out->queue_most = (double)m->most;
	out->workers_blocked_percent = m->busy ? 100 * (double)m->blocked / (double)m->busy : 0;
}

/* Requests that wait for the pool count before those that wait for a timer. */
static double queue_weight(const struct queue_match *m)
{
	return m->looks >= POOL_LEAST_MET ? fmin(1, m->items / (double)m->looks / POOL_QUEUED) : 0;
}

struct awaiting { /* an endpoint whose requests await */
	struct lost_part part;
	struct queue_match match;
};

static void choose_awaiting(struct awaiting *best, const struct endpoint_figures *f, uint64_t ns, const struct queue_match *m)
{
	double before = best->part.weight;
	choose_part(&best->part, f, NULL, ns);
	if (best->part.weight > before)
		best->match = *m;
}

static struct awaiting find_awaiting(const struct request_analysis *a)
{
	struct awaiting any = {0}, queued = {0};
	for (size_t i = 0; i < a->endpoint_count; i++) {
		const struct endpoint_figures *f = &a->endpoints[i];
		struct queue_match m = {0};
		if (a->has_waits && f->bill.await_ns >= f->bill.total_ns / AWAIT_PART)
			request_queue_match(a, f, &m);
		choose_awaiting(&any, f, f->bill.await_ns, &m);
		choose_awaiting(&queued, f, (uint64_t)((double)f->bill.await_ns * queue_weight(&m)), &m);
	}
	return queued.part.endpoint ? queued : any;
}

static void number_workers(const struct request_analysis *a, struct request_numbers *out)
{
	struct awaiting x = find_awaiting(a);
	x.part.ns = x.part.endpoint ? x.part.endpoint->bill.await_ns : 0;
	out->await_percent = part_percent(&x.part);
	out->await_share = part_share(a, &x.part);
	out->await_requests = part_requests(&x.part);
	out->await_ms = part_ms(&x.part);
	out->await_per_second = x.part.endpoint ? x.part.endpoint->per_second : 0;
	rules_set_text(&out->await_endpoint, x.part.endpoint ? x.part.endpoint->name : NULL);
	if (!a->has_waits)
		return;
	number_blocker(&a->waits, out);
	out->queue_met = (double)x.match.looks;
	if (x.match.looks >= POOL_LEAST_MET)
		take_match(&x.match, out);
	else
		take_session(a, out);
}

void request_pool_numbers_of(const struct request_analysis *a, struct request_numbers *out)
{
	const struct channel_requests_unanswered *u = &a->capture->log->unanswered;
	number_connections(a, out);
	number_workers(a, out);
	number_gate(a, out);
	out->unanswered_count = u->connections;
	out->unanswered_oldest_s = (double)u->oldest_ns / 1e9;
}
