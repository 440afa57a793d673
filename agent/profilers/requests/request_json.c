#include "agent/profilers/requests/request_json.h"

#include "agent/profilers/requests/request_report.h"
#include "agent/report/report_json.h"

#define ENDPOINTS_WRITTEN 1001
#define SLOWEST_WRITTEN 8

static void put_lengths(struct json_writer *w, uint64_t p50, uint64_t p95, uint64_t p99, uint64_t longest)
{
	jsonw_unsigned(w, "p50Nanoseconds", p50);
	jsonw_unsigned(w, "p95Nanoseconds", p95);
	jsonw_unsigned(w, "p99Nanoseconds", p99);
	jsonw_unsigned(w, "longestNanoseconds", longest);
}

static void put_totals(const struct request_analysis *a, struct json_writer *w)
{
	const struct channel_requests_state *s = &a->capture->state;
	jsonw_line(w);
	jsonw_object(w, "requests");
	jsonw_unsigned(w, "count", a->requests);
	jsonw_number(w, "perSecond", a->seconds > 0 ? (double)a->requests / a->seconds : 0, 3);
	put_lengths(w, a->p50_ns, a->p95_ns, a->p99_ns, a->longest_ns);
	jsonw_number(w, "waitedNanoseconds", a->waited_ns, 0);
	jsonw_unsigned(w, "withStatus", a->with_status);
	jsonw_unsigned(w, "failed", a->errors);
	jsonw_unsigned(w, "streams", a->streams);
	jsonw_unsigned(w, "inFlight", a->open);
	jsonw_end(w);
	jsonw_line(w);
	jsonw_object(w, "sampling");
	jsonw_number(w, "seconds", a->seconds, 3);
	jsonw_unsigned(w, "began", s->started);
	jsonw_unsigned(w, "ended", s->ended);
	jsonw_unsigned(w, "notFollowed", s->untracked);
	jsonw_unsigned(w, "beginningNotSeen", s->older);
	jsonw_unsigned(w, "dropped", s->dropped);
	jsonw_unsigned(w, "malformed", s->malformed);
	jsonw_number(w, "switchesPercent", a->window_percent, 1);
	jsonw_unsigned(w, "leftOut", a->capture->log->trail.left_out);
	jsonw_bool(w, "besideAnotherProfiler", a->capture->stacks.facts.beside_profiler);
	jsonw_end(w);
}

static void put_histogram(const struct latency_histogram *h, struct json_writer *w)
{
	jsonw_array(w, "latencies"); /* the shortest of the bucket in nanoseconds, how many */
	for (size_t i = 0; i < LATENCY_BUCKETS; i++) {
		if (!h->buckets[i])
			continue;
		jsonw_unsigned(w, NULL, latency_histogram_start(i));
		jsonw_unsigned(w, NULL, h->buckets[i]);
	}
	jsonw_end(w);
}

static void put_statuses(const struct endpoint_figures *p, struct json_writer *w)
{
	static const char *const names[REQUEST_CLASSES] = {"notTold", "informational", "successful", "redirected", "clientError", "serverError"};
	jsonw_object(w, "statuses");
	for (size_t i = 0; i < REQUEST_CLASSES; i++)
		jsonw_unsigned(w, names[i], p->status[i]);
	jsonw_end(w);
}

static void put_slowest(const struct request_analysis *a, const struct endpoint_figures *p, struct json_writer *w)
{
	jsonw_array(w, "slowest");
	for (size_t i = 0; i < p->slowest_count && i < SLOWEST_WRITTEN; i++) {
		const struct channel_request_done *d = &p->slowest[i];
		jsonw_object(w, NULL);
		jsonw_integer(w, "startNanoseconds", (int64_t)d->start_ns - a->capture->started_ns);
		jsonw_unsigned(w, "nanoseconds", d->end_ns - d->start_ns);
		jsonw_known(w, "status", d->status ? d->status : -1);
		jsonw_end(w);
	}
	jsonw_end(w);
}

static void put_bill(const struct request_analysis *a, const struct request_bill *b, struct report_file *f)
{
	struct json_writer *w = &f->json;
	jsonw_object(w, "bill");
	jsonw_unsigned(w, "requests", b->requests);
	jsonw_unsigned(w, "nanoseconds", b->total_ns);
	jsonw_unsigned(w, "threadNanoseconds", b->thread_ns);
	jsonw_unsigned(w, "otherAwaitNanoseconds", b->await_ns);
	jsonw_unsigned(w, "unseenNanoseconds", b->unseen_ns);
	jsonw_array(w, "calls");
	for (size_t i = 0; i < b->call_count; i++) {
		const struct bill_call *c = &b->calls[i];
		jsonw_object(w, NULL);
		report_json_string(f, "name", request_analysis_call(a, c->shape));
		jsonw_unsigned(w, "count", c->count);
		jsonw_unsigned(w, "failed", c->failed);
		jsonw_unsigned(w, "awaitNanoseconds", c->ns);
		jsonw_unsigned(w, "threadNanoseconds", c->thread_ns);
		jsonw_unsigned(w, "longestNanoseconds", c->longest_ns);
		jsonw_end(w);
	}
	jsonw_end(w);
	jsonw_end(w);
}

static void put_endpoint(const struct request_analysis *a, const struct endpoint_figures *p, struct report_file *f)
{
	struct json_writer *w = &f->json;
	report_json_record(f);
	report_json_string(f, "name", p->name);
	jsonw_unsigned(w, "requests", p->requests);
	jsonw_number(w, "perSecond", p->per_second, 3);
	jsonw_number(w, "percent", p->is_stream || a->waited_ns <= 0 ? 0 : 100 * p->waited_ns / a->waited_ns, 2);
	jsonw_number(w, "waitedNanoseconds", p->waited_ns, 0);
	put_lengths(w, p->p50_ns, p->p95_ns, p->p99_ns, p->longest_ns);
	jsonw_unsigned(w, "firstNanoseconds", p->first_length_ns);
	jsonw_number(w, "failedPercent", p->error_percent, 2);
	put_statuses(p, w);
	jsonw_unsigned(w, "inFlight", p->open);
	jsonw_unsigned(w, "oldestNanoseconds", p->oldest_ns);
	jsonw_unsigned(w, "streams", p->streams);
	jsonw_unsigned(w, "grpc", p->grpc);
	jsonw_bool(w, "stream", p->is_stream);
	put_histogram(p->latency, w);
	put_slowest(a, p, w);
	put_bill(a, &p->bill, f);
	report_json_end(f);
}

void request_json_write(const void *source, struct report_file *f)
{
	const struct request_source *s = source;
	const struct request_analysis *a = s->analysis;
	report_head_json_begin(&s->head, findings_lead(s->head.findings) ? "slow" : a->requests + a->open ? "requests" : "none", f);
	jsonw_end(&f->json);
	put_totals(a, &f->json);
	jsonw_line(&f->json);
	jsonw_array(&f->json, "endpoints");
	for (size_t i = 0; i < a->endpoint_count && i < ENDPOINTS_WRITTEN; i++)
		put_endpoint(a, &a->endpoints[i], f);
	jsonw_end(&f->json);
	report_head_json_end(&s->head, f);
}
