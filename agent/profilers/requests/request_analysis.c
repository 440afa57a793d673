#include "agent/profilers/requests/request_analysis.h"

#include "common/base/cleanup.h"
#include "common/base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* one endpoint ------------------------------------------------------------------------------------------------------ */

/* Whether `name` is the route that `folded` stands for: equal but for one word where that has {name}. */
static bool is_folded_into(const char *name, const char *folded)
{
	static const char mark[] = "{name}";
	const char *at = strstr(folded, mark);
	if (!at || strncmp(name, folded, (size_t)(at - folded)) != 0)
		return false;
	const char *word = name + (at - folded), *rest = at + sizeof mark - 1;
	size_t len = strcspn(word, "/");
	return len && word[0] != '{' && (strcmp(word + len, rest) == 0 || is_folded_into(word + len, rest));
}

static const struct request_endpoint *folded_of(const struct request_log *l, const struct request_endpoint *p)
{
	for (size_t i = 0; p->name && i < l->endpoint_cap; i++) {
		const struct request_endpoint *q = l->endpoints[i];
		if (q && q != p && q->name && is_folded_into(p->name, q->name))
			return q;
	}
	return p;
}

static void merge_slowest(struct request_slowest *to, const struct request_slowest *from)
{
	for (size_t i = 0; i < from->count; i++)
		request_slowest_keep(to, &from->list[i]);
}

static void merge_endpoint(struct endpoint_figures *f, const struct request_endpoint *p, uint64_t open_at_ns)
{
	latency_histogram_merge(f->latency, &p->latency);
	for (size_t i = 0; i < REQUEST_CLASSES; i++) {
		f->status[i] += p->status[i];
		f->requests += p->status[i];
	}
	f->streams += request_endpoint_streams(p);
	for (size_t i = 0; i < STREAM_KINDS; i++) {
		f->kinds[i] += p->streams[i];
		f->grpc += i >= STREAM_GRPC ? p->streams[i] : 0;
	}
	f->kinds[p->open.stream] += p->open.streams;
	f->open_streams += p->open.streams;
	f->open += p->open.count;
	if (p->open.count && open_at_ns - p->open.start_ns > f->oldest_ns)
		f->oldest_ns = open_at_ns - p->open.start_ns;
	if (p->ended && (!f->first.number || p->first.end_ns < f->first.end_ns))
		f->first = p->first;
	merge_slowest(&f->slowest, &p->slowest);
	merge_slowest(&f->told, &p->told);
}

/* Of those in flight only the oldest one's age is known: the others are taken for half as old. */
static void finish_figures(struct endpoint_figures *f, double seconds)
{
	f->with_status = f->requests - f->status[0];
	f->per_second = seconds > 0 ? (double)f->requests / seconds : 0;
	f->error_percent = f->with_status ? 100 * (double)f->status[5] / (double)f->with_status : NAN;
	f->p50_ns = latency_histogram_quantile(f->latency, 0.5);
	f->p95_ns = latency_histogram_quantile(f->latency, 0.95);
	f->p99_ns = latency_histogram_quantile(f->latency, 0.99);
	f->longest_ns = f->latency->longest_ns;
	f->is_stream = f->streams * 2 > f->requests || (!f->requests && f->open_streams > f->open);
	f->waited_ns = (double)f->latency->sum_ns;
	if (f->open && !f->is_stream)
		f->waited_ns += (double)f->oldest_ns * (1 + (f->open - 1) / 2.0);
}

/* all of them ------------------------------------------------------------------------------------------------------- */

static int by_waiting(const void *x, const void *y)
{
	const struct endpoint_figures *a = x, *b = y;
	if (a->is_stream != b->is_stream)
		return a->is_stream ? 1 : -1;
	if (a->waited_ns != b->waited_ns)
		return a->waited_ns < b->waited_ns ? 1 : -1;
	return strcmp(a->name, b->name);
}

/* Whose name it has: that of its route's template, where all of its requests that told were of one. */
static const struct request_endpoint *named_of(const struct request_log *l, const struct request_endpoint *p)
{
	const struct request_endpoint *q = p->template && p->template < l->endpoint_cap ? l->endpoints[p->template] : NULL;
	return folded_of(l, q && q->name ? q : p);
}

/* `endpoint_of`: by shape, plus one. */
static void collect_endpoints(const struct request_log *l, struct request_analysis *a, uint32_t *endpoint_of)
{
	uint32_t *row = mem_calloc(l->endpoint_cap + 1, sizeof *row); /* plus one */
	a->endpoints = mem_calloc(l->endpoint_cap + 1, sizeof *a->endpoints);
	for (size_t i = 0; i < l->endpoint_cap; i++) {
		const struct request_endpoint *p = l->endpoints[i], *as = p ? named_of(l, p) : NULL;
		size_t k = 0;
		if (!p || (!p->open.count && !p->open.streams && !p->ended))
			continue;
		while (k < l->endpoint_cap && l->endpoints[k] != as)
			k++;
		if (!row[k]) {
			row[k] = (uint32_t)++a->endpoint_count;
			a->endpoints[row[k] - 1] = (struct endpoint_figures){
				.id = row[k] - 1,
				.name = as->name ? as->name : "others",
				.latency = mem_calloc(1, sizeof(struct latency_histogram)),
			};
		}
		endpoint_of[i] = row[k];
		merge_endpoint(&a->endpoints[row[k] - 1], p, l->open_at_ns);
	}
	free(row);
}

static void sum_up(struct request_analysis *a)
{
	struct latency_histogram *all = mem_calloc(1, sizeof *all);
	for (size_t i = 0; i < a->endpoint_count; i++) {
		struct endpoint_figures *f = &a->endpoints[i];
		finish_figures(f, a->seconds);
		latency_histogram_merge(all, f->latency);
		a->requests += f->requests;
		a->streams += f->streams;
		a->with_status += f->with_status;
		a->errors += f->status[5];
		a->open += f->open;
		a->waited_ns += f->is_stream ? 0 : f->waited_ns;
	}
	a->p50_ns = latency_histogram_quantile(all, 0.5);
	a->p95_ns = latency_histogram_quantile(all, 0.95);
	a->p99_ns = latency_histogram_quantile(all, 0.99);
	a->longest_ns = all->longest_ns;
	free(all);
}

#define TOLD_LEAST 8

static bool are_the_same(const struct request_slowest *x, const struct request_slowest *y)
{
	bool same = x->count == y->count;
	for (size_t i = 0; same && i < x->count; i++)
		same = x->list[i].number == y->list[i].number;
	return same;
}

/* Where switches were told for a part of the time, the slowest requests are hardly ever in it: then those that are, if they are slow, too. */
static void add_to_bill(struct request_analysis *a, struct endpoint_figures *f)
{
	uint64_t as_slow_ns = f->slowest.count ? request_length_ns(&f->slowest.list[f->slowest.count / 2]) / 2 : 0;
	size_t told = 0;
	while (told < f->told.count && request_length_ns(&f->told.list[told]) >= as_slow_ns)
		told++;
	f->bill_of_told = told >= TOLD_LEAST && !are_the_same(&f->told, &f->slowest);
	f->billed = f->bill_of_told ? f->told : f->slowest;
	f->billed.count = f->bill_of_told ? told : f->slowest.count;
	for (size_t k = 0; k < f->billed.count; k++) {
		const struct request_log *l = a->capture->log;
		request_bill_add(&f->bill, &l->trail, &a->work, &f->billed.list[k]);
		request_awaits_add(&l->awaits, &a->capture->awaits, &l->trail, &a->work, &f->billed.list[k], &f->awaits);
	}
	request_awaits_finish(&f->awaits);
	request_bill_finish(&f->bill, a->work.period_ns);
	request_peer_match(a->capture->log, &a->work, &f->billed, &f->peers);
}

/* Of each endpoint's slowest requests together. */
static void make_bills(struct request_analysis *a)
{
	struct request_trail *t = &a->capture->log->trail;
	request_awaits_sort(&a->capture->log->awaits);
	uint64_t windows_ns = 0;
	for (size_t i = 0; i < t->window_count; i++)
		windows_ns += t->windows[i].end_ns - t->windows[i].start_ns;
	a->window_percent = a->seconds > 0 ? fmin(100, (double)windows_ns / 1e7 / a->seconds) : 0;
	for (size_t i = 0; i < a->endpoint_count; i++)
		add_to_bill(a, &a->endpoints[i]);
}

/* Whose requests they are. */
static int by_value(const void *x, const void *y)
{
	uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
	return (a > b) - (a < b);
}

static void count_client(struct endpoint_figures *f, uint64_t requests)
{
	f->clients++;
	f->with_client += requests;
	if (requests > f->most_of_client)
		f->most_of_client = requests;
}

/* `endpoint_of`: by shape. */
static void count_clients(struct request_analysis *a, const uint32_t *endpoint_of)
{
	const struct request_log *l = a->capture->log;
	AUTO_FREE uint64_t *list = mem_calloc(l->answers.count + 1, sizeof *list);
	size_t count = 0, from = 0;
	for (size_t i = 0; i < l->answers.count; i++) {
		const struct channel_request_answer *x = &l->answers.list[i];
		uint32_t shape = request_log_shape_of(l, x->number), endpoint = shape && shape < l->endpoint_cap ? endpoint_of[shape] : UINT32_MAX;
		if (x->client && endpoint < a->endpoint_count)
			list[count++] = (uint64_t)endpoint << 32 | x->client;
	}
	qsort(list, count, sizeof *list, by_value);
	for (size_t i = 1; i <= count; i++) {
		if (i < count && list[i] == list[from])
			continue;
		count_client(&a->endpoints[list[from] >> 32], i - from);
		from = i;
	}
}

/* what threads did ---------------------------------------------------------------------------------------------------- */

static void make_work(struct request_analysis *a)
{
	const struct request_capture *c = a->capture;
	if (!c->log->trail.stays) {
		request_answers_sort(&c->log->answers, &c->log->trail);
		request_trail_sort(&c->log->trail);
	}
	a->has_waits = c->waits && c->waits->ended_ns > c->waits->started_ns;
	if (a->has_waits)
		wait_analysis_run(c->waits, &a->waits);
	request_work_make(a->has_waits ? &a->waits : NULL, &c->cpu, c->cpu_started_ns, &a->work);
}

/* `endpoint_of`: by shape, plus one, as they were before they were sorted. */
static void make_code(struct request_analysis *a, uint32_t *endpoint_of)
{
	const struct request_log *l = a->capture->log;
	AUTO_FREE uint32_t *now_at = mem_calloc(a->endpoint_count + 1, sizeof *now_at), *first = mem_calloc(a->endpoint_count + 1, sizeof *first);
	AUTO_FREE struct endpoint_code *codes = mem_calloc(a->endpoint_count + 1, sizeof *codes);
	for (size_t i = 0; i < a->endpoint_count; i++) {
		now_at[a->endpoints[i].id] = (uint32_t)i;
		first[i] = a->endpoints[i].first.number;
	}
	for (size_t i = 0; i < l->endpoint_cap; i++)
		endpoint_of[i] = endpoint_of[i] ? now_at[endpoint_of[i] - 1] : UINT32_MAX;
	request_code_make(&a->capture->cpu, &a->work, l, endpoint_of, first, codes, a->endpoint_count, &a->code);
	for (size_t i = 0; i < a->endpoint_count; i++)
		a->endpoints[i].code = codes[i];
	const struct cpu_analysis *all = &a->code.analysis;
	a->gc_percent = a->code.analyzed && all->samples ? cpu_analysis_percent(all, all->by_category[CATEGORY_GC]) : NAN;
	a->jit_percent = a->code.analyzed && all->samples ? cpu_analysis_percent(all, all->by_category[CATEGORY_JIT]) : NAN;
}

/* One that is told is taken for nearer. */
static uint64_t distance_to(const struct channel_request_done *d, uint64_t ns)
{
	uint64_t length = request_length_ns(d), distance = length > ns ? length - ns : ns - length;
	return d->told && distance < ns / 4 ? 0 : distance;
}

/* Of those that were kept at random the one that is nearest to the median, if it is near. */
static void choose_typical(const struct request_log *l, struct request_analysis *a, const uint32_t *endpoint_of)
{
	for (size_t i = 0; i < l->endpoint_cap; i++) {
		const struct request_endpoint *p = l->endpoints[i];
		struct endpoint_figures *f = p && endpoint_of[i] < a->endpoint_count ? &a->endpoints[endpoint_of[i]] : NULL;
		for (size_t k = 0; f && k < p->random_count; k++)
			if (!f->typical.number || distance_to(&p->random[k], f->p50_ns) < distance_to(&f->typical, f->p50_ns))
				f->typical = p->random[k];
	}
}

double request_analysis_percent(const struct request_analysis *a, const struct endpoint_figures *f)
{
	return a->waited_ns > 0 ? 100 * f->waited_ns / a->waited_ns : 0;
}

enum request_stream_kind request_analysis_kind(const struct endpoint_figures *f)
{
	enum request_stream_kind most = STREAM_NONE;
	for (enum request_stream_kind k = STREAM_NONE; k < STREAM_KINDS; k++)
		if (request_stream_is(k) && f->kinds[k] && (most == STREAM_NONE || f->kinds[k] > f->kinds[most]))
			most = k;
	return most;
}

const char *request_analysis_call(const struct request_analysis *a, uint32_t shape)
{
	const struct request_log *l = a->capture->log;
	const struct request_endpoint *p = shape < l->endpoint_cap ? l->endpoints[shape] : NULL;
	if (shape == REQUEST_SHAPE_CLIENT)
		return REQUEST_CLIENT_NAME;
	return p && p->name ? p->name : "others";
}

static double percent_without(const struct request_analysis *a, uint64_t ns)
{
	return a->seconds > 0 ? fmax(0, 100 - (double)ns / 1e7 / a->seconds) : 100;
}

void request_analysis_run(const struct request_capture *c, struct request_analysis *out)
{
	*out = (struct request_analysis){.capture = c, .seconds = (double)(c->ended_ns - c->started_ns) / 1e9};
	out->followed_percent = percent_without(out, c->log->rest_ns);
	out->counted_percent = percent_without(out, c->log->rest_ns - c->log->counted_ns);
	out->cpus = c->process_cpu_ns >= 0 && out->seconds > 0 ? (double)c->process_cpu_ns / 1e9 / out->seconds : NAN;
	AUTO_FREE uint32_t *endpoint_of = mem_calloc(c->log->endpoint_cap + 1, sizeof *endpoint_of);
	collect_endpoints(c->log, out, endpoint_of);
	sum_up(out);
	if (out->endpoint_count)
		qsort(out->endpoints, out->endpoint_count, sizeof *out->endpoints, by_waiting);
	make_work(out);
	make_bills(out);
	make_code(out, endpoint_of);
	count_clients(out, endpoint_of);
	choose_typical(c->log, out, endpoint_of);
}

void request_analysis_fini(struct request_analysis *a)
{
	for (size_t i = 0; i < a->endpoint_count; i++) {
		free(a->endpoints[i].latency);
		request_code_fini_endpoint(&a->endpoints[i].code);
	}
	free(a->endpoints);
	request_code_fini(&a->code);
	request_work_fini(&a->work);
	if (a->has_waits)
		wait_analysis_fini(&a->waits);
	*a = (struct request_analysis){0};
}
