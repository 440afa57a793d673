#include "agent/profilers/requests/request_client_numbers.h"

/* Of the slowest requests' time, that in which no thread worked for them and their client did not take the response. */
static uint64_t client_ns(const struct endpoint_figures *f)
{
	uint64_t ns = 0;
	for (size_t i = 0; i < f->bill.call_count; i++)
		ns += f->bill.calls[i].shape == REQUEST_SHAPE_CLIENT ? f->bill.calls[i].ns : 0;
	return f->is_stream ? 0 : ns;
}

static void number_reading(const struct request_analysis *a, struct request_numbers *out)
{
	const struct endpoint_figures *f = NULL;
	uint64_t bytes = 0, window_ns = 0, stalled_ns = 0;
	double most = 0;
	for (size_t i = 0; i < a->endpoint_count; i++) {
		const struct endpoint_figures *x = &a->endpoints[i];
		double weight = x->bill.total_ns ? (double)client_ns(x) * x->waited_ns / (double)x->bill.total_ns : 0;
		if (weight > most) {
			most = weight;
			f = x;
		}
	}
	out->client_percent = 0;
	if (!f)
		return;
	for (size_t i = 0; i < f->billed.count; i++)
		request_answers_sums(&a->capture->log->answers, f->billed.list[i].number, &bytes, &window_ns);
	for (size_t i = 0; i < f->bill.call_count; i++)
		stalled_ns += f->bill.calls[i].shape == REQUEST_SHAPE_CLIENT ? f->bill.calls[i].ns + f->bill.calls[i].thread_ns : 0;
	out->client_percent = 100 * (double)client_ns(f) / (double)f->bill.total_ns;
	out->client_share = request_analysis_percent(a, f);
	out->client_requests = (double)f->bill.requests;
	out->client_ms = request_bill_mean_ms(&f->bill);
	out->client_bytes = (double)bytes / (double)f->bill.requests;
	out->client_window_percent = stalled_ns ? fmin(100, 100 * (double)window_ns / (double)stalled_ns) : 0;
	rules_set_text(&out->client_endpoint, f->name);
}

#define LEAST_ADDRESSES 2 /* of one alone nothing can be said */

static void number_one_client(const struct request_analysis *a, struct request_numbers *out)
{
	const struct endpoint_figures *f = NULL;
	double most = 0;
	for (size_t i = 0; i < a->endpoint_count; i++) {
		const struct endpoint_figures *x = &a->endpoints[i];
		double weight = x->clients >= LEAST_ADDRESSES && !x->is_stream ? x->waited_ns * (double)x->most_of_client / (double)x->with_client : 0;
		if (weight > most) {
			most = weight;
			f = x;
		}
	}
	out->one_percent = 0;
	if (!f)
		return;
	out->one_percent = 100 * (double)f->most_of_client / (double)f->with_client;
	out->one_share = request_analysis_percent(a, f);
	out->one_requests = (double)f->most_of_client;
	out->one_told = (double)f->with_client;
	out->one_others = f->clients - 1;
	out->one_p95_ms = (double)f->p95_ns / 1e6;
	rules_set_text(&out->one_endpoint, f->name);
}

void request_client_numbers_of(const struct request_analysis *a, struct request_numbers *out)
{
	number_reading(a, out);
	number_one_client(a, out);
}
