#include "agent/profilers/requests/request_work.h"

#include "agent/profilers/requests/request_rest.h"
#include "common/base/cleanup.h"
#include "common/base/mem.h"
#include "common/base/search.h"

#include <stdlib.h>

static const struct {
	const char *key, *title;
} doings[DOING_COUNT] = {
	[DOING_GC] = {"gc", "stopped for garbage collections"},
	[DOING_CODE] = {"code", "running code"},
	[DOING_LOCK] = {"lock", "waiting for locks"},
	[DOING_IO] = {"io", "in synchronous I/O"},
	[DOING_TASK] = {"task", "blocked on tasks"},
	[DOING_NO_CPU] = {"noCPU", "waiting for a CPU"},
	[DOING_SLEEP] = {"sleep", "sleeping"},
	[DOING_BLOCKED] = {"blocked", "blocked otherwise"},
	[DOING_UNTOLD] = {"untold", "on a thread, not told"},
};

const char *request_doing_key(enum request_doing d)
{
	return doings[d].key;
}

const char *request_doing_title(enum request_doing d)
{
	return doings[d].title;
}

static enum request_doing doing_of(const struct joined_wait *w)
{
	static const uint8_t of[WAIT_KIND_COUNT] = {
		[WAIT_KIND_LOCK] = DOING_LOCK,       [WAIT_KIND_TASK] = DOING_TASK,   [WAIT_KIND_SOCKET] = DOING_IO,    [WAIT_KIND_FILE] = DOING_IO,
		[WAIT_KIND_CONSOLE] = DOING_IO,      [WAIT_KIND_SLEEP] = DOING_SLEEP, [WAIT_KIND_EVENT] = DOING_BLOCKED, [WAIT_KIND_RUNTIME] = DOING_BLOCKED,
		[WAIT_KIND_FAULT] = DOING_BLOCKED,   [WAIT_KIND_CPU] = DOING_NO_CPU,  [WAIT_KIND_NATIVE] = DOING_BLOCKED, [WAIT_KIND_UNKNOWN] = DOING_BLOCKED,
	};
	return w->idles ? DOING_IDLE : (enum request_doing)of[w->meaning.kind];
}

/* making it ----------------------------------------------------------------------------------------------------------- */


static void add_span(struct request_work *w, int64_t from_ns, int64_t to_ns, const struct work_span *like)
{
	if (from_ns >= to_ns)
		return;
	GROW(w->spans, w->span_count, w->span_cap);
	w->spans[w->span_count] = *like;
	w->spans[w->span_count].from_ns = from_ns;
	w->spans[w->span_count++].to_ns = to_ns;
}

size_t request_work_span_after(const struct request_work *w, uint32_t tid, int64_t at_ns)
{
	return SEARCH_PAST(i, w->span_count, w->spans[i].tid < tid || (w->spans[i].tid == tid && w->spans[i].to_ns <= at_ns));
}

/* A thread without a switch in a window may have slept through it, or run. */
static bool is_recorded_in(const struct request_work *w, uint32_t tid, const struct wait_window *window)
{
	size_t first = request_work_span_after(w, tid, window->from_ns - 1);
	for (size_t i = first; i < w->span_count && w->spans[i].tid == tid && w->spans[i].from_ns <= window->to_ns; i++)
		if (w->spans[i].recorded)
			return true;
	return false;
}

/* Where a thread's switches were recorded, looks tell nothing more. `w` has the recorded ones, sorted; what is made goes to `out`. */
static void add_looked(const struct request_work *w, const struct wait *x, const struct work_span *like, struct request_work *out)
{
	int64_t at_ns = x->out_ns;
	for (size_t i = 0; i < w->window_count && w->windows[i].from_ns < x->in_ns; i++) {
		if (w->windows[i].to_ns <= at_ns || !is_recorded_in(w, like->tid, &w->windows[i]))
			continue;
		add_span(out, at_ns, w->windows[i].from_ns, like);
		at_ns = w->windows[i].to_ns;
	}
	add_span(out, at_ns, x->in_ns, like);
}

static struct work_span span_of(const struct wait_analysis *a, const struct wait *x, uint32_t joined, uint32_t tid)
{
	struct work_span s = {.tid = tid, .place = WORK_NO_PLACE, .recorded = !x->looked, .seen_from_ns = x->out_ns, .seen_to_ns = x->in_ns};
	s.doing = (uint8_t)(joined ? doing_of(&a->join.list[joined - 1]) : x->doubtful ? DOING_UNTOLD : x->runnable ? DOING_NO_CPU : DOING_BLOCKED);
	if (joined)
		s.place = a->place_of[joined - 1];
	if (x->looked) {
		s.seen_from_ns = x->stack_ns;
		s.seen_to_ns = x->stack_ns + x->least_ns;
	}
	return s;
}

static void add_spans(const struct wait_analysis *a, struct request_work *w, bool looked, struct request_work *out)
{
	const struct wait_log *l = a->capture->log;
	AUTO_FREE uint32_t *joined = mem_calloc(l->wait_count + 1, sizeof *joined); /* plus one */
	for (size_t i = 0; i < a->join.count; i++)
		joined[a->join.list[i].wait - l->waits] = (uint32_t)i + 1;
	for (size_t i = 0; i < l->wait_count; i++) {
		const struct wait *x = &l->waits[i];
		uint32_t thread = l->threads[x->thread].index;
		if (x->looked != looked || thread >= a->capture->stacks.thread_count || (looked && !joined[i]))
			continue;
		struct work_span s = span_of(a, x, joined[i], (uint32_t)a->capture->stacks.threads[thread].tid);
		if (looked)
			add_looked(w, x, &s, out);
		else
			add_span(out, x->out_ns, x->in_ns, &s);
	}
}

/* A wait whose end and beginning were recorded, and its stack was not, or was lost: one that a look took in it is its own. */
static void take_stacks_of_looks(const struct wait_analysis *a, struct request_work *w)
{
	const struct wait_log *l = a->capture->log;
	for (size_t i = 0; i < a->join.count; i++) {
		const struct wait *x = a->join.list[i].wait;
		uint32_t thread = l->threads[x->thread].index;
		if (!x->looked || thread >= a->capture->stacks.thread_count)
			continue;
		uint32_t tid = (uint32_t)a->capture->stacks.threads[thread].tid;
		size_t k = request_work_span_after(w, tid, x->stack_ns);
		struct work_span *s = k < w->span_count ? &w->spans[k] : NULL;
		if (!s || s->tid != tid || s->from_ns > x->stack_ns || s->doing != DOING_BLOCKED || s->place != WORK_NO_PLACE)
			continue;
		s->doing = (uint8_t)doing_of(&a->join.list[i]);
		s->place = a->place_of[i];
	}
}

/* Those of looks after the others. */
static void add_all_spans(const struct wait_analysis *a, struct request_work *w)
{
	struct request_work looked = {0};
	add_spans(a, w, false, w);
	request_work_sort(w);
	take_stacks_of_looks(a, w);
	add_spans(a, w, true, &looked);
	for (size_t i = 0; i < looked.span_count; i++)
		add_span(w, looked.spans[i].from_ns, looked.spans[i].to_ns, &looked.spans[i]);
	free(looked.spans);
}

static void add_samples(const struct cpu_capture *c, int64_t started_ns, struct request_work *w)
{
	w->samples = mem_calloc(c->sample_count + 1, sizeof *w->samples);
	for (size_t i = 0; i < c->sample_count; i++)
		w->samples[w->sample_count++] =
			(struct work_sample){started_ns + c->samples[i].time_ns, (uint32_t)c->threads[c->samples[i].thread].tid, (uint32_t)i};
	w->period_ns = c->frequency_hertz > 0 ? 1000000000 / c->frequency_hertz : 0;
	w->stops = mem_calloc(c->collection_count + 1, sizeof *w->stops);
	for (size_t i = 0; i < c->collection_count; i++)
		w->stops[w->stop_count++] = (struct work_stop){started_ns + c->collections[i].start_ns, started_ns + c->collections[i].end_ns};
}

static int span_by_thread(const void *x, const void *y)
{
	const struct work_span *a = x, *b = y;
	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	return (a->from_ns > b->from_ns) - (a->from_ns < b->from_ns);
}

static int sample_by_thread(const void *x, const void *y)
{
	const struct work_sample *a = x, *b = y;
	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	return (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns);
}

/* A wait that was seen in two ways counts once. */
static void cut_overlaps(struct request_work *w)
{
	size_t kept = 0;
	for (size_t i = 0; i < w->span_count; i++) {
		struct work_span s = w->spans[i];
		const struct work_span *last = kept ? &w->spans[kept - 1] : NULL;
		if (last && last->tid == s.tid && s.from_ns < last->to_ns)
			s.from_ns = last->to_ns;
		if (s.from_ns < s.to_ns)
			w->spans[kept++] = s;
	}
	w->span_count = kept;
}

void request_work_sort(struct request_work *w)
{
	if (w->span_count)
		qsort(w->spans, w->span_count, sizeof *w->spans, span_by_thread);
	if (w->sample_count)
		qsort(w->samples, w->sample_count, sizeof *w->samples, sample_by_thread);
	cut_overlaps(w);
}

void request_work_make(const struct wait_analysis *waits, const struct cpu_capture *cpu, int64_t cpu_started_ns, struct request_work *out)
{
	*out = (struct request_work){.waits = waits};
	if (waits) {
		out->windows = mem_calloc(waits->capture->window_count + 1, sizeof *out->windows);
		for (size_t i = 0; i < waits->capture->window_count; i++)
			out->windows[out->window_count++] = waits->capture->windows[i];
		if (waits->capture->log->kept_none) /* waits are missing: a thread in none of them may have waited all the same */
			out->window_count = 0;
		add_all_spans(waits, out);
	}
	if (cpu)
		add_samples(cpu, cpu_started_ns, out);
	request_work_sort(out);
	if (waits)
		request_rest_make(waits->capture, out);
}

void request_work_fini(struct request_work *w)
{
	free(w->spans);
	free(w->samples);
	free(w->stops);
	free(w->windows);
	free(w->intervals);
	*w = (struct request_work){0};
}

/* reading it ---------------------------------------------------------------------------------------------------------- */

struct piece_reader {
	const struct request_work *work;
	request_work_fn *piece;
	void *ctx;
};

/* A thread that was in no span. */
static void tell_gap(const struct piece_reader *r, uint32_t tid, int64_t from_ns, int64_t to_ns)
{
	const struct request_work *w = r->work;
	for (size_t i = 0; i < w->window_count && w->windows[i].from_ns < to_ns && from_ns < to_ns; i++) {
		int64_t end_ns = w->windows[i].to_ns < to_ns ? w->windows[i].to_ns : to_ns;
		if (end_ns <= from_ns || !is_recorded_in(w, tid, &w->windows[i]))
			continue;
		if (from_ns < w->windows[i].from_ns) {
			r->piece(r->ctx, from_ns, w->windows[i].from_ns, DOING_UNTOLD, WORK_NO_PLACE);
			from_ns = w->windows[i].from_ns;
		}
		r->piece(r->ctx, from_ns, end_ns, DOING_CODE, WORK_NO_PLACE);
		from_ns = end_ns;
	}
	if (from_ns < to_ns)
		r->piece(r->ctx, from_ns, to_ns, DOING_UNTOLD, WORK_NO_PLACE);
}

void request_work_pieces(const struct request_work *w, uint32_t tid, int64_t from_ns, int64_t to_ns, request_work_fn *piece, void *ctx)
{
	const struct piece_reader r = {w, piece, ctx};
	int64_t at_ns = from_ns;
	for (size_t i = request_work_span_after(w, tid, from_ns); i < w->span_count && w->spans[i].tid == tid && w->spans[i].from_ns < to_ns; i++) {
		const struct work_span *s = &w->spans[i];
		if (s->seen_to_ns < from_ns || s->seen_from_ns >= to_ns)
			continue;
		int64_t begin_ns = s->from_ns > at_ns ? s->from_ns : at_ns, end_ns = s->to_ns < to_ns ? s->to_ns : to_ns;
		if (at_ns < begin_ns)
			tell_gap(&r, tid, at_ns, begin_ns);
		piece(ctx, begin_ns, end_ns, (enum request_doing)s->doing, s->place);
		at_ns = end_ns;
	}
	if (at_ns < to_ns)
		tell_gap(&r, tid, at_ns, to_ns);
}

static size_t sample_from(const struct request_work *w, uint32_t tid, int64_t at_ns)
{
	return SEARCH_PAST(i, w->sample_count, w->samples[i].tid < tid || (w->samples[i].tid == tid && w->samples[i].time_ns < at_ns));
}

size_t request_work_samples(const struct request_work *w, uint32_t tid, int64_t from_ns, int64_t to_ns, size_t *count)
{
	size_t first = sample_from(w, tid, from_ns);
	*count = sample_from(w, tid, to_ns) - first;
	return first;
}

size_t request_work_stop_after(const struct request_work *w, int64_t at_ns)
{
	return SEARCH_PAST(i, w->stop_count, w->stops[i].to_ns <= at_ns);
}
