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
}
