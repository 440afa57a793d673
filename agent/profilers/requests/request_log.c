#include "agent/profilers/requests/request_log.h"

#include "common/base/buf.h"
#include "common/base/mem.h"
#include "common/base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NAME_BYTES 256

struct request_log *request_log_new(void)
{
	struct request_log *l = mem_calloc(1, sizeof *l);
	l->dice = 1;
	request_awaits_init(&l->awaits);
	return l;
}

void request_log_free(struct request_log *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->endpoint_cap; i++) {
		if (l->endpoints[i])
			free(l->endpoints[i]->name);
		free(l->endpoints[i]);
	}
	free(l->endpoints);
	request_trail_fini(&l->trail);
	request_answers_fini(&l->answers);
	request_awaits_fini(&l->awaits);
	request_peers_fini(&l->peers);
	free(l->shape_of);
	free(l);
}

/* Numbers are below CHANNEL_REQUESTS_SHAPES_MOST: the frames' readers see to it. */
static struct request_endpoint *endpoint_of(struct request_log *l, uint32_t shape)
{
	if (!l->endpoints) {
		l->endpoint_cap = CHANNEL_REQUESTS_SHAPES_MOST;
		l->endpoints = mem_calloc(l->endpoint_cap, sizeof(struct request_endpoint *));
	}
	if (!l->endpoints[shape])
		l->endpoints[shape] = mem_calloc(1, sizeof(struct request_endpoint));
	return l->endpoints[shape];
}

void request_log_shape(struct request_log *l, const struct channel_request_shape *s)
{
	struct request_endpoint *p = endpoint_of(l, s->number);
	AUTO_BUF struct buf name;
	buf_init(&name, 8 * NAME_BYTES);
	if (p->name)
		return;
	text_append_printable(&name, s->text.data, s->text.len < NAME_BYTES ? s->text.len : NAME_BYTES);
	p->name = mem_strdup(buf_str(&name));
}

void request_log_template(struct request_log *l, const struct channel_request_template *t)
{
	endpoint_of(l, t->shape)->template = t->template;
}

uint64_t request_length_ns(const struct channel_request_done *d)
{
	return d->end_ns - d->start_ns;
}

void request_slowest_keep(struct request_slowest *s, const struct channel_request_done *d)
{
	size_t at = s->count;
	if (at == REQUEST_SLOWEST && request_length_ns(&s->list[at - 1]) >= request_length_ns(d))
		return;
	if (at < REQUEST_SLOWEST)
		s->count++;
	else
		at--;
	for (; at > 0 && request_length_ns(&s->list[at - 1]) < request_length_ns(d); at--)
		s->list[at] = s->list[at - 1];
	s->list[at] = *d;
}

/* Each request is as likely to stay as any other. */
static void keep_random(struct request_log *l, struct request_endpoint *p, const struct channel_request_done *d)
{
	if (p->random_count < REQUEST_RANDOM) {
		p->random[p->random_count++] = *d;
		return;
	}
	l->dice = l->dice * 1664525u + 1013904223u;
	uint64_t at = ((uint64_t)l->dice * p->latency.count) >> 32;
	if (at < REQUEST_RANDOM)
		p->random[at] = *d;
}

bool request_stream_is(enum request_stream_kind k)
{
	return k != STREAM_NONE && k != STREAM_GRPC;
}

const char *request_stream_key(enum request_stream_kind k)
{
	static const char *const keys[STREAM_KINDS] = {
		[STREAM_WEB_SOCKET] = "webSocket",
		[STREAM_EVENTS] = "serverSentEvents",
		[STREAM_GRPC_CLIENT] = "grpcClientStreaming",
		[STREAM_GRPC_SERVER] = "grpcServerStreaming",
		[STREAM_GRPC_DUPLEX] = "grpcDuplex",
	};
	return keys[k];
}

uint64_t request_endpoint_streams(const struct request_endpoint *p)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < STREAM_KINDS; i++)
		sum += request_stream_is((enum request_stream_kind)i) ? p->streams[i] : 0;
	return sum;
}

static void keep_shape(struct request_log *l, const struct channel_request_done *d)
{
	if (d->number >= REQUEST_NUMBERS_KEPT)
		return;
	if (d->number >= l->shape_cap) {
		size_t cap = d->number < 2048 ? 4096 : 2 * (size_t)d->number;
		l->shape_of = mem_realloc(l->shape_of, cap, sizeof *l->shape_of);
		memset(l->shape_of + l->shape_cap, 0, (cap - l->shape_cap) * sizeof *l->shape_of);
		l->shape_cap = cap;
	}
	l->shape_of[d->number] = (uint16_t)d->shape;
}

uint32_t request_log_shape_of(const struct request_log *l, uint32_t number)
{
	return number < l->shape_cap ? l->shape_of[number] : 0;
}

void request_log_done(struct request_log *l, const struct channel_request_done *d)
{
	struct request_endpoint *p = endpoint_of(l, d->shape);
	struct request_round *round = &p->rounds[l->turn];
	l->requests++;
	size_t class = d->status / 100 < REQUEST_CLASSES ? d->status / 100 : 0;
	p->status[class]++;
	round->status[class]++;
	p->streams[d->stream]++;
	round->streams[d->stream]++;
	round->ended++;
	if (!p->ended++)
		p->first = *d;
	keep_shape(l, d);
	if (request_stream_is((enum request_stream_kind)d->stream))
		return;
	latency_histogram_add(&p->latency, request_length_ns(d));
	latency_histogram_add(&round->latency, request_length_ns(d));
	request_slowest_keep(&p->slowest, d);
	if (d->told)
		request_slowest_keep(&p->told, d);
	keep_random(l, p, d);
}

/* rounds ------------------------------------------------------------------------------------------------------------ */

#define TIMES_MOST 10000
#define MOST_OF_ROUND 0.9 /* of so long requests too few are seen to say how many there are */
#define MUCH 4

/* How much more often a round's requests are counted than they were seen. */
struct weight {
	double times;    /* for the rest beside it */
	uint64_t cut_ns; /* its length, after a rest: some that ended in it had begun before it unseen, the more the longer they take; 0: none had */
	bool itself;     /* and for those of its own that were not seen */
};

static double more_of(const void *weight, uint64_t ns)
{
	const struct weight *w = weight;
	double seen = w->cut_ns ? 1 - fmin((double)ns / (double)w->cut_ns, MOST_OF_ROUND) : 1;
	return w->itself ? (1 + w->times) / seen - 1 : w->times / seen;
}

/* Each kind as often as all of them on average. */
static void add_more(uint64_t *counts, const uint64_t *seen, size_t n, double more)
{
	for (size_t i = 0; i < n; i++)
		counts[i] += (uint64_t)llround((double)seen[i] * more);
}

static void count_again(struct request_endpoint *p, const struct request_round *x, const struct weight *w)
{
	if (!x->ended || (w->times <= 0 && !w->cut_ns))
		return;
	uint64_t added = latency_histogram_add_times(&p->latency, &x->latency, more_of, w);
	double more = x->latency.count ? (double)added / (double)x->latency.count : more_of(w, 0);
	add_more(p->status, x->status, REQUEST_CLASSES, more);
	add_more(p->streams, x->streams, STREAM_KINDS, more);
	add_more(&p->ended, &x->ended, 1, more);
}

static uint64_t cut_ns(const struct channel_request_round *r)
{
	return r->rest_ns ? r->end_ns - r->start_ns : 0;
}

static bool is_counted(const struct channel_request_round *r)
{
	return r->rest_requests != CHANNEL_REQUESTS_NOT_COUNTED;
}

/* How many requests a round tells of, with those of its own that were not seen. */
static double told_in(const struct request_log *l, unsigned turn, const struct channel_request_round *r)
{
	const struct weight w = {1, cut_ns(r), false};
	double sum = 0;
	for (size_t i = 0; i < l->endpoint_cap; i++) {
		const struct request_round *x = l->endpoints[i] ? &l->endpoints[i]->rounds[turn] : NULL;
		if (x && x->ended)
			sum += latency_histogram_times(&x->latency, more_of, &w) + (double)(x->ended - x->latency.count);
	}
	return sum;
}

/* The rounds beside a rest tell of which endpoints its requests were, and how long they took. */
static double times_of_count(const struct request_log *l, const struct channel_request_round *r)
{
	double told = told_in(l, l->turn, r) + told_in(l, !l->turn, &l->before);
	return told > 0 ? fmin((double)r->rest_requests / told, TIMES_MOST) : 0;
}

/* In a rest that was not counted as many requests came as the rounds beside it tell for the CPU time that the process took in it. */
static double times_of_cpu(const struct channel_request_round *r, uint64_t own_cpu_ns)
{
	return fmin((double)r->rest_cpu_ns / (double)(own_cpu_ns ? own_cpu_ns : 1), TIMES_MOST);
}

/* The round before the first rest has what is compiled at first in it, of the application and for its events: by CPU time that after it tells alone, if it is
 * of any weight. */
static void weigh(const struct request_log *l, const struct channel_request_round *r, struct weight *before, struct weight *now)
{
	bool counted = is_counted(r), alone = !counted && l->rests == 1 && r->own_cpu_ns >= l->before.own_cpu_ns / MUCH && r->end_ns > r->start_ns;
	double times = counted ? times_of_count(l, r) : times_of_cpu(r, r->own_cpu_ns + (alone ? 0 : l->before.own_cpu_ns));
	*before = (struct weight){alone ? 0 : times, cut_ns(&l->before), false};
	*now = (struct weight){times, cut_ns(r), true};
}

void request_log_round(struct request_log *l, const struct channel_request_round *r)
{
	struct weight before = {0}, now = {.itself = true};
	if (r->end_ns > l->told_to_ns)
		l->told_to_ns = r->end_ns;
	l->rest_ns += r->rest_ns;
	l->rests += r->rest_ns > 0;
	l->counted_ns += is_counted(r) ? r->rest_ns : 0;
	if (r->rest_ns)
		weigh(l, r, &before, &now);
	for (size_t i = 0; i < l->endpoint_cap; i++) {
		struct request_endpoint *p = l->endpoints[i];
		if (!p)
			continue;
		struct request_round *old = &p->rounds[!l->turn];
		if (r->rest_ns) {
			count_again(p, old, &before);
			count_again(p, &p->rounds[l->turn], &now);
		}
		if (old->ended)
			*old = (struct request_round){0};
	}
	l->turn = !l->turn;
	l->before = *r;
}

/* in flight --------------------------------------------------------------------------------------------------------- */

void request_log_look(struct request_log *l, uint64_t at_ns)
{
	l->open_at_ns = at_ns;
	if (at_ns > l->told_to_ns)
		l->told_to_ns = at_ns;
	for (size_t i = 0; i < l->endpoint_cap; i++)
		if (l->endpoints[i])
			l->endpoints[i]->open.count = l->endpoints[i]->open.streams = 0;
}

void request_log_open(struct request_log *l, const struct channel_request_open *o)
{
	endpoint_of(l, o->shape)->open = *o;
}
