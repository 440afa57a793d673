#include "agent/profilers/requests/request_numbers.h"

#include "agent/profilers/requests/request_client_numbers.h"
#include "agent/profilers/requests/request_connections.h"
#include "agent/profilers/requests/request_peer_rules.h"
#include "agent/profilers/requests/request_pool_numbers.h"

RULE_FIELDS(request_numbers, REQUEST_NUMBERS);

static double ms_of(uint64_t ns)
{
	return (double)ns / 1e6;
}

static void number_top(const struct request_analysis *a, struct request_numbers *out)
{
	const struct endpoint_figures *f = a->endpoint_count && !a->endpoints[0].is_stream ? &a->endpoints[0] : NULL;
	if (!f)
		return;
	out->top_percent = request_analysis_percent(a, f);
	out->top_per_second = f->per_second;
	out->top_p50_ms = ms_of(f->p50_ns);
	out->top_p95_ms = ms_of(f->p95_ns);
	out->top_p99_ms = ms_of(f->p99_ns);
	rules_set_text(&out->top_endpoint, f->name);
}

static void number_open(const struct request_analysis *a, struct request_numbers *out)
{
	const struct endpoint_figures *oldest = NULL;
	out->in_flight = (double)a->open;
	for (size_t i = 0; i < a->endpoint_count; i++) {
		const struct endpoint_figures *f = &a->endpoints[i];
		if (f->open && !f->is_stream && (!oldest || f->oldest_ns > oldest->oldest_ns))
			oldest = f;
	}
	out->open_count = oldest ? oldest->open : 0;
	out->open_oldest_s = oldest ? (double)oldest->oldest_ns / 1e9 : 0;
	out->open_p99_s = oldest && oldest->latency->count ? (double)oldest->p99_ns / 1e9 : NAN;
	out->open_done = oldest ? (double)oldest->requests : 0;
	rules_set_text(&out->open_endpoint, oldest ? oldest->name : NULL);
}

static void number_errors(const struct request_analysis *a, struct request_numbers *out)
{
	const struct endpoint_figures *worst = NULL;
	out->status_percent = a->requests ? 100 * (double)a->with_status / (double)a->requests : 0;
	if (!a->with_status)
		return;
	for (size_t i = 0; i < a->endpoint_count; i++)
		if (a->endpoints[i].status[5] && (!worst || a->endpoints[i].status[5] > worst->status[5]))
			worst = &a->endpoints[i];
	out->error_percent = 100 * (double)a->errors / (double)a->with_status;
	out->error_count = worst ? (double)worst->status[5] : 0;
	out->error_endpoint_percent = worst ? worst->error_percent : 0;
	rules_set_text(&out->error_endpoint, worst ? worst->name : NULL);
}

struct chosen_call { /* what a rule looks at */
	const struct endpoint_figures *endpoint;
	const struct bill_call *call;
	double weight;
};

static void choose_call(struct chosen_call *best, const struct endpoint_figures *f, const struct bill_call *c, double weight)
{
	if (weight > best->weight && c->shape != UINT32_MAX)
		*best = (struct chosen_call){f, c, weight};
}

static double call_percent(const struct chosen_call *x, uint64_t ns)
{
	return x->endpoint->bill.total_ns ? 100 * (double)ns / (double)x->endpoint->bill.total_ns : 0;
}

static double calls_each(const struct endpoint_figures *f, const struct bill_call *c)
{
	return (double)c->count / (double)f->bill.requests;
}

#define MANY 10 /* calls of one request */

/* An endpoint weighs as much as its users wait for the calls. */
static void number_calls(const struct request_analysis *a, struct request_numbers *out)
{
	struct chosen_call many = {0}, most = {0}, blocked = {0};
	for (size_t i = 0; i < a->endpoint_count; i++) {
		const struct endpoint_figures *f = &a->endpoints[i];
		for (size_t k = 0; k < f->bill.call_count && f->bill.total_ns && !f->is_stream; k++) {
			const struct bill_call *c = &f->bill.calls[k];
			double whole = f->waited_ns / (double)f->bill.total_ns, all = (double)(c->ns + c->thread_ns) * whole;
			bool apart = c->shape == REQUEST_SHAPE_CLIENT || request_connections_is_wait(request_analysis_call(a, c->shape)); /* judged so */
			choose_call(&many, f, c, calls_each(f, c) >= MANY && !apart ? all : 0);
			choose_call(&most, f, c, calls_each(f, c) < MANY && !apart ? (double)c->ns * whole : 0);
			choose_call(&blocked, f, c, c->shape != REQUEST_SHAPE_CLIENT ? (double)c->thread_ns * whole : 0);
		}
	}
	out->window_percent = a->window_percent;
	out->calls_each = out->calls_percent = out->call_percent = out->blocked_percent = 0;
	if (many.call) {
		out->calls_each = calls_each(many.endpoint, many.call);
		out->calls_percent = call_percent(&many, many.call->ns + many.call->thread_ns);
		out->calls_share = request_analysis_percent(a, many.endpoint);
		out->calls_requests = (double)many.endpoint->bill.requests;
		out->calls_ms = request_bill_mean_ms(&many.endpoint->bill);
		rules_set_text(&out->calls_endpoint, many.endpoint->name);
		rules_set_text(&out->calls_what, request_analysis_call(a, many.call->shape));
	}
	if (most.call) {
		out->call_each = calls_each(most.endpoint, most.call);
		out->call_percent = call_percent(&most, most.call->ns);
		out->call_share = request_analysis_percent(a, most.endpoint);
		out->call_requests = (double)most.endpoint->bill.requests;
		out->call_ms = request_bill_mean_ms(&most.endpoint->bill);
		rules_set_text(&out->call_endpoint, most.endpoint->name);
		rules_set_text(&out->call_what, request_analysis_call(a, most.call->shape));
	}
	if (blocked.call) {
		out->blocked_percent = call_percent(&blocked, blocked.call->thread_ns);
		out->blocked_share = request_analysis_percent(a, blocked.endpoint);
		out->blocked_requests = (double)blocked.endpoint->bill.requests;
		out->blocked_ms = request_bill_mean_ms(&blocked.endpoint->bill);
		rules_set_text(&out->blocked_endpoint, blocked.endpoint->name);
		rules_set_text(&out->blocked_what, request_analysis_call(a, blocked.call->shape));
	}
}

/* what threads did ---------------------------------------------------------------------------------------------------- */

struct chosen_doing {
	double percent, share, requests, ms;
	const struct endpoint_figures *endpoint;
	const struct bill_place *top; /* NULL: it is told nowhere */
	const struct wait_place *place;
};

/* An endpoint weighs as much as its users wait for it. */
static struct chosen_doing choose_doing(const struct request_analysis *a, enum request_doing doing)
{
	struct chosen_doing x = {0};
	double most = 0;
	for (size_t i = 0; i < a->endpoint_count; i++) {
		const struct endpoint_figures *f = &a->endpoints[i];
		const struct request_bill *b = &f->bill;
		double weight = b->total_ns && !f->is_stream ? (double)b->doing_ns[doing] * f->waited_ns / (double)b->total_ns : 0;
		if (weight <= most)
			continue;
		most = weight;
		x = (struct chosen_doing){100 * (double)b->doing_ns[doing] / (double)b->total_ns, request_analysis_percent(a, f), (double)b->requests,
					  request_bill_mean_ms(b), f, NULL, NULL};
	}
	for (size_t i = 0; x.endpoint && i < x.endpoint->bill.place_count && !x.top; i++)
		if (x.endpoint->bill.places[i].doing == doing)
			x.top = &x.endpoint->bill.places[i];
	if (x.top && a->has_waits && x.top->place < a->waits.place_count)
		x.place = &a->waits.places[x.top->place];
	return x;
}

static const char *name_of(const struct chosen_doing *x)
{
	return x->endpoint ? x->endpoint->name : NULL;
}

static const char *place_name(const struct request_analysis *a, const struct chosen_doing *x)
{
	return x->place ? wait_analysis_place(&a->waits, x->place) : NULL;
}

static void number_locks(const struct request_analysis *a, struct request_numbers *out)
{
	struct chosen_doing x = choose_doing(a, DOING_LOCK);
	out->lock_percent = x.percent;
	out->lock_share = x.share;
	out->lock_requests = x.requests;
	out->lock_ms = x.ms;
	out->lock_looks = x.place ? x.place->sightings : 0;
	rules_set_text(&out->lock_endpoint, name_of(&x));
	rules_set_text(&out->lock_place, place_name(a, &x));
	rules_set_text(&out->lock_what, x.place ? x.place->meaning.what : NULL);
	rules_set_text(&out->lock_holder, x.place && x.place->holder != CPU_NO_METHOD ? a->waits.base.methods[x.place->holder].name : NULL);
}

static void number_tasks(const struct request_analysis *a, struct request_numbers *out)
{
	struct chosen_doing x = choose_doing(a, DOING_TASK);
	out->task_percent = x.percent;
	out->task_share = x.share;
	out->task_requests = x.requests;
	out->task_ms = x.ms;
	out->task_call_percent = x.percent > 0 ? 100 * (double)x.endpoint->bill.task_call_ns / (double)x.endpoint->bill.doing_ns[DOING_TASK] : 0;
	rules_set_text(&out->task_endpoint, name_of(&x));
	rules_set_text(&out->task_place, place_name(a, &x));
}

static void number_io(const struct request_analysis *a, struct request_numbers *out)
{
	struct chosen_doing x = choose_doing(a, DOING_IO);
	out->io_percent = x.percent;
	out->io_share = x.share;
	out->io_requests = x.requests;
	out->io_ms = x.ms;
	rules_set_text(&out->io_endpoint, name_of(&x));
	rules_set_text(&out->io_place, place_name(a, &x));
	rules_set_text(&out->io_what, x.place ? x.place->meaning.what : NULL);
}

static void number_stops(const struct request_analysis *a, struct request_numbers *out)
{
	struct chosen_doing gc = choose_doing(a, DOING_GC), cpu = choose_doing(a, DOING_NO_CPU);
	const struct cpu_capture *c = &a->capture->stacks;
	out->gc_percent = gc.percent;
	out->gc_share = gc.share;
	out->gc_requests = gc.requests;
	out->gc_ms = gc.ms;
	out->gc_cpu_percent = a->gc_percent;
	rules_set_text(&out->gc_endpoint, name_of(&gc));
	out->no_cpu_percent = cpu.percent;
	out->no_cpu_share = cpu.share;
	out->no_cpu_requests = cpu.requests;
	out->no_cpu_ms = cpu.ms;
	out->throttled_percent = c->total_periods > 0 && c->throttled_periods >= 0 ? 100 * (double)c->throttled_periods / (double)c->total_periods : NAN;
	rules_set_text(&out->no_cpu_endpoint, name_of(&cpu));
}

static void number_first(const struct request_analysis *a, struct request_numbers *out)
{
	const struct endpoint_figures *worst = NULL;
	double most = 0;
	for (size_t i = 0; i < a->endpoint_count; i++) {
		const struct endpoint_figures *f = &a->endpoints[i];
		double more = ms_of(f->first.end_ns - f->first.start_ns) - ms_of(f->p50_ns);
		if (f->is_stream || !f->first.number || f->requests < 2 || more <= most)
			continue;
		most = more;
		worst = f;
	}
	out->first_ms = worst ? ms_of(worst->first.end_ns - worst->first.start_ns) : 0;
	out->first_p50_ms = worst ? ms_of(worst->p50_ns) : 0;
	out->first_samples = worst ? worst->code.first_samples : 0;
	out->first_jit_percent = worst && worst->code.first_samples ? 100.0 * worst->code.first_jit / worst->code.first_samples : 0;
	rules_set_text(&out->first_endpoint, worst ? worst->name : NULL);
}

/* Where nothing tells what threads did, the numbers stay unknown. */
static void number_work(const struct request_analysis *a, struct request_numbers *out)
{
	uint64_t thread_ns = 0, untold_ns = 0;
	for (size_t i = 0; i < a->endpoint_count; i++) {
		thread_ns += a->endpoints[i].bill.thread_ns;
		untold_ns += a->endpoints[i].bill.doing_ns[DOING_UNTOLD];
	}
	out->told_percent = thread_ns ? 100 - 100 * (double)untold_ns / (double)thread_ns : NAN;
	number_stops(a, out);
	if (a->has_waits) {
		number_locks(a, out);
		number_tasks(a, out);
		number_io(a, out);
	} else {
		out->no_cpu_percent = NAN;
	}
	if (a->capture->has_cpu)
		number_first(a, out);
}

void request_numbers_of(const struct request_analysis *a, struct request_numbers *out)
{
	const struct channel_requests_state *s = &a->capture->state;
	rules_clear(&request_numbers_fields, out);
	out->seconds = a->seconds;
	out->requests = (double)a->requests;
	out->per_second = a->seconds > 0 ? (double)a->requests / a->seconds : 0;
	out->lost_percent = s->started ? 100 * (double)(s->untracked + s->dropped + s->malformed) / (double)s->started : 0;
	out->p50_ms = ms_of(a->p50_ns);
	out->p95_ms = ms_of(a->p95_ns);
	out->p99_ms = ms_of(a->p99_ns);
	out->longest_ms = ms_of(a->longest_ns);
	number_top(a, out);
	number_open(a, out);
	number_errors(a, out);
	number_calls(a, out);
	number_work(a, out);
	request_pool_numbers_of(a, out);
	request_client_numbers_of(a, out);
	request_peer_numbers_of(a, out);
}
