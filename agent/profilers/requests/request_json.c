#include "agent/profilers/requests/request_json.h"

#include "agent/profilers/requests/request_report.h"
#include "agent/profilers/requests/request_bill.h"
#include "agent/report/report_json.h"
#include "agent/stacks/report_tree.h"
#include "agent/symbols/method_name.h"

#define ENDPOINTS_WRITTEN 1001
#define SLOWEST_WRITTEN 8
#define FALLS_WRITTEN 10 /* endpoints */
#define PEER_NAME_BYTES 80

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
	if (s->open_unfollowed != CHANNEL_REQUESTS_NOT_COUNTED)
		jsonw_unsigned(w, "inFlightNotFollowed", s->open_unfollowed);
	jsonw_unsigned(w, "beginningNotSeen", s->older);
	jsonw_unsigned(w, "dropped", s->dropped);
	jsonw_unsigned(w, "malformed", s->malformed);
	jsonw_number(w, "followedPercent", a->followed_percent, 1);
	jsonw_number(w, "countedPercent", a->counted_percent, 1);
	jsonw_number(w, "switchesPercent", a->window_percent, 1);
	jsonw_unsigned(w, "leftOut", a->capture->log->trail.left_out);
	jsonw_unsigned(w, "cpuSamples", a->code.samples);
	jsonw_unsigned(w, "cpuSamplesOfRequests", a->code.attributed);
	jsonw_unsigned(w, "cpuSamplesOfUnfinished", a->code.unnamed);
	jsonw_integer(w, "cpuSamplePeriodNanoseconds", a->work.period_ns);
	jsonw_number(w, "waitsPercent", a->has_waits ? wait_analysis_recorded_percent(&a->waits) : 0, 1);
	jsonw_unsigned(w, "threadLooks", a->has_waits ? a->waits.capture->looks : 0);
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
	for (size_t i = 0; i < p->slowest.count && i < SLOWEST_WRITTEN; i++) {
		const struct channel_request_done *d = &p->slowest.list[i];
		jsonw_object(w, NULL);
		jsonw_integer(w, "startNanoseconds", (int64_t)d->start_ns - a->capture->started_ns);
		jsonw_unsigned(w, "nanoseconds", d->end_ns - d->start_ns);
		jsonw_known(w, "status", d->status ? d->status : -1);
		jsonw_end(w);
	}
	jsonw_end(w);
}

static void put_doings(const struct request_bill *b, struct json_writer *w)
{
	jsonw_object(w, "thread");
	for (size_t i = 0; i < DOING_COUNT; i++)
		jsonw_unsigned(w, request_doing_key((enum request_doing)i), b->doing_ns[i]);
	jsonw_unsigned(w, "samples", b->samples);
	jsonw_end(w);
}

static void put_place_texts(const struct request_analysis *a, uint32_t place, struct report_file *f)
{
	const struct wait_place *p = a->has_waits && place < a->waits.place_count ? &a->waits.places[place] : NULL;
	report_json_string(f, "method", p && p->method != CPU_NO_METHOD ? a->waits.base.methods[p->method].name : NULL);
	jsonw_string(&f->json, "waitsFor", p ? p->meaning.what : "not told");
	report_json_string(f, "heldBy", p && p->holder != CPU_NO_METHOD ? a->waits.base.methods[p->holder].name : NULL);
}

static void put_places(const struct request_analysis *a, const struct request_bill *b, struct report_file *f)
{
	struct json_writer *w = &f->json;
	jsonw_array(w, "places");
	for (size_t i = 0; i < b->place_count; i++) {
		jsonw_object(w, NULL);
		jsonw_string(w, "kind", request_doing_key((enum request_doing)b->places[i].doing));
		put_place_texts(a, b->places[i].place, f);
		jsonw_unsigned(w, "nanoseconds", b->places[i].ns);
		jsonw_unsigned(w, "waits", b->places[i].waits);
		jsonw_end(w);
	}
	jsonw_end(w);
}

#define FALL_BARS 200 /* of one request; shorter ones are joined to those before them */

struct fall_bar {
	uint64_t from_ns, to_ns;
	uint32_t call, place; /* as in struct bill_moment */
	uint8_t doing;        /* DOING_COUNT: no thread worked for it */
	bool seen;
};

struct request_fall { /* one request as bars over its time */
	struct fall_bar bars[FALL_BARS];
	size_t count;
	uint64_t least_ns; /* bars that are shorter are part of the one before */
};

static bool is_alike(const struct fall_bar *a, const struct bill_moment *m)
{
	return a->call == m->call && a->place == m->place && a->doing == m->doing && a->seen == m->seen;
}

static void add_bar(void *ctx, const struct bill_moment *m)
{
	struct request_fall *f = ctx;
	struct fall_bar *last = f->count ? &f->bars[f->count - 1] : NULL;
	if (last && (is_alike(last, m) || m->to_ns - m->from_ns < f->least_ns || f->count == FALL_BARS)) {
		last->to_ns = m->to_ns;
		return;
	}
	f->bars[f->count++] = (struct fall_bar){m->from_ns, m->to_ns, m->call, m->place, m->doing, m->seen};
}

static void put_fall(const struct request_analysis *a, const char *key, const struct channel_request_done *d, struct report_file *f)
{
	struct json_writer *w = &f->json;
	struct request_fall fall;
	if (!d || !d->number) {
		jsonw_null(w, key);
		return;
	}
	fall.count = 0;
	fall.least_ns = (d->end_ns - d->start_ns) / 1000; /* what is shorter than a pixel is not drawn */
	request_bill_walk(&a->capture->log->trail, &a->work, d, add_bar, &fall);
	jsonw_object(w, key);
	jsonw_unsigned(w, "nanoseconds", d->end_ns - d->start_ns);
	jsonw_array(w, "bars");
	for (size_t i = 0; i < fall.count; i++) {
		const struct fall_bar *b = &fall.bars[i];
		const struct wait_place *p = b->place != WORK_NO_PLACE && a->has_waits ? &a->waits.places[b->place] : NULL;
		jsonw_object(w, NULL);
		jsonw_unsigned(w, "from", b->from_ns - d->start_ns);
		jsonw_unsigned(w, "to", b->to_ns - d->start_ns);
		jsonw_string(w, "kind", b->doing < DOING_COUNT ? request_doing_key((enum request_doing)b->doing) : b->call != UINT32_MAX ? "call"
								: b->seen ? "await" : "unseen");
		report_json_string(f, "call", b->call != UINT32_MAX ? request_analysis_call(a, b->call) : NULL);
		report_json_string(f, "place", p ? wait_analysis_place(&a->waits, p) : NULL);
		jsonw_end(w);
	}
	jsonw_end(w);
	jsonw_end(w);
}

static void put_code(const struct request_analysis *a, const struct endpoint_code *c, struct report_file *f)
{
	struct json_writer *w = &f->json;
	const struct cpu_analysis *all = &a->code.analysis;
	jsonw_object(w, "code");
	jsonw_unsigned(w, "samples", c->samples);
	jsonw_unsigned(w, "compiling", c->jit);
	jsonw_unsigned(w, "firstRequestSamples", c->first_samples);
	jsonw_unsigned(w, "firstRequestCompiling", c->first_jit);
	jsonw_array(w, "methods");
	for (size_t i = 0; i < c->method_count; i++) {
		const struct cpu_method *m = &all->methods[c->methods[i].method];
		jsonw_object(w, NULL);
		report_json_string(f, "name", m->name);
		report_json_string(f, "module", m->module);
		jsonw_string(w, "layer", cpu_layer_name(m->layer));
		jsonw_unsigned(w, "self", c->methods[i].self);
		jsonw_unsigned(w, "total", c->methods[i].total);
		jsonw_unsigned(w, "innermost", c->methods[i].own);
		jsonw_end(w);
	}
	jsonw_end(w);
	report_json_string(f, "called", c->callee_samples ? all->methods[c->callee].name : NULL);
	jsonw_unsigned(w, "calledSamples", c->callee_samples);
	if (c->tree)
		report_tree_json(f, c->tree, NULL);
	else
		jsonw_null(w, "tree");
	jsonw_end(w);
}

static void put_awaits(const struct request_analysis *a, const struct endpoint_awaits *e, struct report_file *f)
{
	struct json_writer *w = &f->json;
	jsonw_object(w, "awaits");
	jsonw_unsigned(w, "nanoseconds", e->ns);
	jsonw_unsigned(w, "toldNanoseconds", e->told_ns);
	jsonw_array(w, "places");
	for (size_t i = 0; i < e->count; i++) {
		const struct await_place *p = &e->list[i];
		const struct frame *x = &a->capture->awaits.frames[p->frame];
		struct method_name name;
		jsonw_object(w, NULL);
		method_name_make(x, &name);
		report_json_string(f, "method", name.text);
		report_json_string(f, "module", x->module);
		report_json_string(f, "file", x->file);
		jsonw_unsigned(w, "line", x->line);
		if (p->awaited != AWAIT_NO_FRAME)
			method_name_make(&a->capture->awaits.frames[p->awaited], &name);
		report_json_string(f, "awaits", p->awaited != AWAIT_NO_FRAME ? name.text : NULL);
		jsonw_unsigned(w, "nanoseconds", p->ns);
		jsonw_unsigned(w, "otherNanoseconds", p->other_ns);
		jsonw_unsigned(w, "times", p->times);
		jsonw_end(w);
	}
	jsonw_end(w);
	jsonw_end(w);
}

static void put_bill(const struct request_analysis *a, const struct request_bill *b, struct report_file *f)
{
	struct json_writer *w = &f->json;
	jsonw_object(w, "bill");
	jsonw_unsigned(w, "requests", b->requests);
	jsonw_unsigned(w, "nanoseconds", b->total_ns);
	jsonw_unsigned(w, "threadNanoseconds", b->thread_ns);
	put_doings(b, w);
	put_places(a, b, f);
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

static void put_peer(const struct request_analysis *a, const struct peer_match *m, struct report_file *f)
{
	struct json_writer *w = &f->json;
	AUTO_BUF struct buf name;
	buf_init(&name, PEER_NAME_BYTES);
	if (m->peer == SIZE_MAX) {
		jsonw_null(w, "server");
		return;
	}
	request_peers_name(&a->capture->log->peers.names[m->peer], &name);
	jsonw_object(w, "server");
	report_json_string(f, "name", buf_str(&name));
	jsonw_unsigned(w, "awaitLooks", m->looks[PEER_AWAIT]);
	jsonw_unsigned(w, "awaitLooksOwed", m->sums.looks[PEER_AWAIT]);
	jsonw_unsigned(w, "blockedLooks", m->looks[PEER_BLOCKED]);
	jsonw_unsigned(w, "blockedLooksOwed", m->sums.looks[PEER_BLOCKED]);
	jsonw_unsigned(w, "waitsSeen", m->sums.waits);
	jsonw_unsigned(w, "waitsAnswered", m->sums.answered);
	jsonw_end(w);
}

static void put_endpoint(const struct request_analysis *a, const struct endpoint_figures *p, bool falls, struct report_file *f)
{
	struct json_writer *w = &f->json;
	report_json_record(f);
	report_json_string(f, "name", p->name);
	jsonw_unsigned(w, "requests", p->requests);
	jsonw_number(w, "perSecond", p->per_second, 3);
	jsonw_number(w, "percent", p->is_stream ? 0 : request_analysis_percent(a, p), 2);
	jsonw_number(w, "waitedNanoseconds", p->waited_ns, 0);
	put_lengths(w, p->p50_ns, p->p95_ns, p->p99_ns, p->longest_ns);
	jsonw_unsigned(w, "firstNanoseconds", p->first.end_ns - p->first.start_ns);
	jsonw_number(w, "failedPercent", p->error_percent, 2);
	put_statuses(p, w);
	jsonw_unsigned(w, "inFlight", p->open);
	jsonw_unsigned(w, "oldestNanoseconds", p->oldest_ns);
	jsonw_unsigned(w, "streams", p->streams);
	jsonw_unsigned(w, "streamsInFlight", p->open_streams);
	jsonw_string(w, "streamKind", request_stream_key(request_analysis_kind(p)));
	jsonw_unsigned(w, "grpc", p->grpc);
	jsonw_bool(w, "stream", p->is_stream);
	jsonw_unsigned(w, "clients", p->clients);
	jsonw_unsigned(w, "withClient", p->with_client);
	jsonw_unsigned(w, "mostOfOneClient", p->most_of_client);
	put_histogram(p->latency, w);
	put_slowest(a, p, w);
	put_bill(a, &p->bill, f);
	put_awaits(a, &p->awaits, f);
	put_peer(a, &p->peers, f);
	put_code(a, &p->code, f);
	put_fall(a, "slowestRequest", falls && p->slowest.count ? &p->slowest.list[0] : NULL, f);
	put_fall(a, "typicalRequest", falls ? &p->typical : NULL, f);
	report_json_end(f);
}

/* What the endpoints' trees are of. */
static void put_methods(const struct request_analysis *a, struct report_file *f)
{
	jsonw_line(&f->json);
	jsonw_array(&f->json, "methods");
	for (size_t i = 0; i < a->code.analysis.method_count; i++) {
		const struct cpu_method *m = &a->code.analysis.methods[i];
		report_json_record(f);
		report_json_string(f, "name", m->name);
		report_json_string(f, "module", m->module);
		jsonw_string(&f->json, "layer", cpu_layer_name(m->layer));
		report_json_marks(f, "marks", m->marks);
		jsonw_unsigned(&f->json, "total", m->total);
		report_json_end(f);
	}
	jsonw_end(&f->json);
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
		put_endpoint(a, &a->endpoints[i], i < FALLS_WRITTEN && !a->endpoints[i].is_stream, f);
	jsonw_end(&f->json);
	put_methods(a, f);
	report_head_json_end(&s->head, f);
}
