#include "agent/profilers/requests/request_numbers.h"

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
	out->top_percent = a->waited_ns > 0 ? 100 * f->waited_ns / a->waited_ns : 0;
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

static double share_of(const struct request_analysis *a, const struct endpoint_figures *f)
{
	return a->waited_ns > 0 ? 100 * f->waited_ns / a->waited_ns : 0;
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

static double each_ms(const struct chosen_call *x)
{
	return (double)x->endpoint->bill.total_ns / 1e6 / (double)x->endpoint->bill.requests;
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
			choose_call(&many, f, c, calls_each(f, c) >= MANY ? all : 0);
			choose_call(&most, f, c, calls_each(f, c) < MANY ? (double)c->ns * whole : 0);
			choose_call(&blocked, f, c, (double)c->thread_ns * whole);
		}
	}
	out->window_percent = a->window_percent;
	out->calls_each = out->calls_percent = out->call_percent = out->blocked_percent = 0;
	if (many.call) {
		out->calls_each = calls_each(many.endpoint, many.call);
		out->calls_percent = call_percent(&many, many.call->ns + many.call->thread_ns);
		out->calls_share = share_of(a, many.endpoint);
		out->calls_requests = (double)many.endpoint->bill.requests;
		out->calls_ms = each_ms(&many);
		rules_set_text(&out->calls_endpoint, many.endpoint->name);
		rules_set_text(&out->calls_what, request_analysis_call(a, many.call->shape));
	}
	if (most.call) {
		out->call_each = calls_each(most.endpoint, most.call);
		out->call_percent = call_percent(&most, most.call->ns);
		out->call_share = share_of(a, most.endpoint);
		out->call_requests = (double)most.endpoint->bill.requests;
		out->call_ms = each_ms(&most);
		rules_set_text(&out->call_endpoint, most.endpoint->name);
		rules_set_text(&out->call_what, request_analysis_call(a, most.call->shape));
	}
	if (blocked.call) {
		out->blocked_percent = call_percent(&blocked, blocked.call->thread_ns);
		out->blocked_share = share_of(a, blocked.endpoint);
		out->blocked_requests = (double)blocked.endpoint->bill.requests;
		out->blocked_ms = each_ms(&blocked);
		rules_set_text(&out->blocked_endpoint, blocked.endpoint->name);
		rules_set_text(&out->blocked_what, request_analysis_call(a, blocked.call->shape));
	}
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
}
