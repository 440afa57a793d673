#include "agent/profilers/requests/request_peer_match.h"

#include "common/base/cleanup.h"
#include "common/base/mem.h"

#include <math.h>
#include <stdlib.h>

#define CLOSE_NS 12000000u /* the kernel counts in ticks of 4 ms, or 10 */
#define ASKS_NS 100000000u /* on a thread, from the question to the wait: it may lose its CPU there */
#define WAKES_NS 2000000u  /* in a wait of a thread: it is the same one */
#define LEAST_ENDS 8
#define LEAST_IDLE_LOOKS 20
#define ENDED_PERCENT 50.0 /* of the waits, so many end as something comes: it is that which they wait for */
#define MUCH_COMES 80.0    /* percent of other moments: with more it does not tell when it comes */
#define GOES_ON_PART 16u   /* of a wait: so late may a request go on when it is answered, beyond a tick */

/* one wait ------------------------------------------------------------------------------------------------------------ */

struct peer_walk {
	const struct request_peers *peers;
	struct peer_match *match;
	struct peer_sums *sums;  /* by peer */
	uint64_t from_ns, to_ns; /* of the wait, or the last one */
	uint64_t since_ns;       /* what was sent before that is not what it waits for */
	enum peer_wait kind;
	bool waits;
};

static bool owes_since(const struct peer_row *r, uint64_t from_ns)
{
	return r->flags & CHANNEL_PEER_OWES && r->sent_ns + CLOSE_NS >= from_ns;
}

/* Something came from it in the wait, or a tick around: what the looks up to the first one after the wait say. */
static bool has_answered(const struct request_peers *x, uint16_t peer, size_t from, size_t to, uint64_t from_ns)
{
	for (size_t k = from; k <= to && k < x->look_count; k++)
		for (size_t i = x->looks[k].first_row; i < request_peers_rows_end(x, k); i++)
			if (x->rows[i].peer == peer && x->rows[i].received_ns + CLOSE_NS / 2 >= from_ns)
				return true;
	return false;
}

static unsigned count_owing(const struct request_peers *x, size_t look, uint64_t from_ns)
{
	unsigned n = 0;
	for (size_t i = x->looks[look].first_row; i < request_peers_rows_end(x, look); i++)
		n += owes_since(&x->rows[i], from_ns);
	return n;
}

struct wait_looks { /* the first look in a wait, and the first after it */
	size_t from, to;
};

static const struct peer_row *row_of(const struct request_peers *x, size_t look, size_t peer)
{
	for (size_t i = x->looks[look].first_row; i < request_peers_rows_end(x, look); i++)
		if (x->rows[i].peer == peer)
			return &x->rows[i];
	return NULL;
}

/* Whether something came just before the wait ended, which is why it ends if it is for that; and at the looks before: how often that is so anyway. */
static void add_end(const struct peer_walk *w, uint16_t peer, struct wait_looks l, struct peer_sums *sums)
{
	const struct request_peers *x = w->peers;
	const uint64_t close_ns = CLOSE_NS + (w->to_ns - w->from_ns) / GOES_ON_PART;
	const struct peer_row *last = NULL;
	if (w->kind != PEER_AWAIT) /* a thread that blocks may wake now and then, and wait on */
		return;
	for (size_t k = l.from; k <= l.to && k < x->look_count; k++) {
		const struct peer_row *r = row_of(x, k, peer);
		last = r ? r : last;
		if (!r || x->looks[k].at_ns + 2 * close_ns >= w->to_ns)
			continue;
		sums->before++;
		sums->came += r->received_ns + close_ns >= x->looks[k].at_ns;
	}
	if (!last || l.to == x->look_count || last->received_ns > w->to_ns + CLOSE_NS) /* what came since hides it */
		return;
	sums->told++;
	sums->ended += last->received_ns + close_ns >= w->to_ns;
}

/* One that answers rarely has to answer this one: messages that nobody confirms are sent in the same way. */
static void add_wait_of(struct peer_walk *w, uint16_t peer, struct wait_looks l)
{
	const struct request_peers *x = w->peers;
	struct peer_sums sums = {.waits = 1, .ns = w->to_ns - w->from_ns};
	bool rarely = false;
	for (size_t k = l.from; k < l.to; k++)
		for (size_t i = x->looks[k].first_row; i < request_peers_rows_end(x, k); i++) {
			if (x->rows[i].peer != peer || !owes_since(&x->rows[i], w->since_ns))
				continue;
			sums.looks[w->kind]++;
			sums.alone += count_owing(x, k, w->since_ns) == 1;
			rarely |= x->rows[i].flags & CHANNEL_PEER_RARELY;
		}
	sums.answered = has_answered(x, peer, l.from, l.to, w->since_ns);
	add_end(w, peer, l, &sums);
	if (!sums.looks[w->kind] || (rarely && !sums.answered))
		return;
	w->sums[peer].looks[w->kind] += sums.looks[w->kind];
	w->sums[peer].alone += sums.alone;
	w->sums[peer].waits++;
	w->sums[peer].ns += sums.ns;
	w->sums[peer].answered += sums.answered;
	w->sums[peer].told += sums.told;
	w->sums[peer].ended += sums.ended;
	w->sums[peer].before += sums.before;
	w->sums[peer].came += sums.came;
}

static void end_peer_wait(struct peer_walk *w)
{
	const struct request_peers *x = w->peers;
	bool met[PEERS_MOST] = {false};
	if (!w->waits)
		return;
	const struct wait_looks l = {request_peers_after(x, w->from_ns), request_peers_after(x, w->to_ns)};
	w->match->waits[w->kind]++;
	w->match->looks[w->kind] += l.to - l.from;
	for (size_t k = l.from; k < l.to; k++)
		for (size_t i = x->looks[k].first_row; i < request_peers_rows_end(x, k); i++)
			met[x->rows[i].peer] |= owes_since(&x->rows[i], w->since_ns);
	for (uint16_t p = 0; p < x->name_count; p++)
		if (met[p])
			add_wait_of(w, p, l);
	w->waits = false;
}

/* One of which parts are not told is one wait. */
static bool is_blocked(const struct bill_moment *m)
{
	return m->doing == DOING_IO || m->doing == DOING_TASK || m->doing == DOING_BLOCKED || m->doing == DOING_UNTOLD;
}

static void begin_peer_wait(struct peer_walk *w, enum peer_wait kind, uint64_t from_ns)
{
	bool same = kind == PEER_BLOCKED && w->kind == PEER_BLOCKED && from_ns - w->to_ns < WAKES_NS;
	if (!same)
		w->since_ns = from_ns - w->to_ns < ASKS_NS ? w->to_ns : from_ns - ASKS_NS;
	w->from_ns = from_ns;
	w->kind = kind;
	w->waits = true;
}

static void walk_moment(void *ctx, const struct bill_moment *m)
{
	struct peer_walk *w = ctx;
	bool awaits = m->doing == DOING_COUNT && m->seen, waits = m->call == UINT32_MAX && (awaits || is_blocked(m));
	enum peer_wait kind = awaits ? PEER_AWAIT : PEER_BLOCKED;
	if (w->waits && (!waits || w->kind != kind || w->to_ns != m->from_ns))
		end_peer_wait(w);
	if (!waits)
		return;
	if (!w->waits)
		begin_peer_wait(w, kind, m->from_ns);
	w->to_ns = m->to_ns;
}

/* an endpoint --------------------------------------------------------------------------------------------------------- */

static uint64_t all_looks(const struct peer_sums *s)
{
	return s->looks[PEER_AWAIT] + s->looks[PEER_BLOCKED];
}

void request_peer_match(const struct request_log *l, const struct request_work *work, const struct request_slowest *requests, struct peer_match *out)
{
	const struct request_peers *x = &l->peers;
	AUTO_FREE struct peer_sums *sums = mem_calloc(x->name_count + 1, sizeof *sums);
	*out = (struct peer_match){.peer = SIZE_MAX};
	for (size_t i = 0; i < requests->count && x->name_count; i++) {
		uint64_t start_ns = requests->list[i].start_ns;
		struct peer_walk w = {.peers = x, .match = out, .sums = sums, .to_ns = start_ns, .since_ns = start_ns};
		request_bill_walk(&l->trail, work, &requests->list[i], walk_moment, &w);
		end_peer_wait(&w);
	}
	for (size_t p = 0; p < x->name_count; p++)
		if (all_looks(&sums[p]) > all_looks(&out->sums)) {
			out->peer = p;
			out->sums = sums[p];
		}
}

uint64_t request_peer_looks(const struct peer_match *m)
{
	return all_looks(&m->sums);
}

double request_peer_match_ns(const struct peer_match *m, const struct request_bill *b, enum peer_wait kind)
{
	uint64_t blocked_ns = b->doing_ns[DOING_IO] + b->doing_ns[DOING_TASK] + b->doing_ns[DOING_BLOCKED];
	return m->looks[kind] ? (double)(kind == PEER_AWAIT ? b->await_ns : blocked_ns) * (double)m->sums.looks[kind] / (double)m->looks[kind] : 0;
}

double request_peer_ended_percent(const struct peer_match *m)
{
	return m->sums.told >= LEAST_ENDS ? 100 * (double)m->sums.ended / (double)m->sums.told : NAN;
}

double request_peer_came_percent(const struct peer_match *m)
{
	return m->sums.before >= LEAST_ENDS ? 100 * (double)m->sums.came / (double)m->sums.before : NAN;
}

bool request_peer_goes_on_without(double ended_percent, double came_percent)
{
	if (isnan(ended_percent))
		return false;
	return ended_percent < ENDED_PERCENT || (came_percent <= MUCH_COMES && 2 * (ended_percent - came_percent) < 100 - came_percent);
}

/* the session --------------------------------------------------------------------------------------------------------- */

/* From one look that tells of it to the next one. Connections that are closed are no longer counted. */
static void count_asked(const struct request_peers *x, size_t peer, uint64_t *from_ns, uint64_t *to_ns, uint64_t *asked)
{
	const struct peer_row *last = NULL;
	for (size_t k = 0; k < x->look_count; k++) {
		const struct peer_row *r = row_of(x, k, peer);
		if (!r)
			continue;
		if (!last)
			*from_ns = x->looks[k].at_ns;
		*to_ns = x->looks[k].at_ns;
		*asked += last && r->asked > last->asked ? r->asked - last->asked : 0;
		last = r;
	}
}

struct idle_looks {
	const struct request_peers *peers;
	int32_t *change; /* of the requests in flight, from one look to the next */
	size_t peer;
	uint64_t ns;     /* what was sent longer before does not count */
};

static void add_flight(struct idle_looks *l, uint64_t from_ns, uint64_t to_ns)
{
	l->change[request_peers_after(l->peers, from_ns)]++;
	l->change[request_peers_after(l->peers, to_ns)]--;
}

/* From a request's first stay on a thread to its last one. */
static void add_flights(struct idle_looks *l, const struct request_trail *t)
{
	for (size_t i = 0, first = 0; i < t->stay_count; i++) {
		if (i + 1 < t->stay_count && t->stays[i + 1].number == t->stays[i].number)
			continue;
		add_flight(l, t->stays[first].from_ns, t->stays[i].to_ns);
		first = i + 1;
	}
}

static void count_idle(struct idle_looks *l, const struct request_trail *t, struct peer_contrast *out)
{
	const struct request_peers *x = l->peers;
	int32_t in_flight = 0;
	add_flights(l, t);
	for (size_t k = 0, w = 0; k < x->look_count; k++) {
		in_flight += l->change[k];
		while (w < t->window_count && t->windows[w].end_ns <= x->looks[k].at_ns)
			w++;
		if (in_flight || w == t->window_count || t->windows[w].start_ns > x->looks[k].at_ns)
			continue;
		const struct peer_row *r = row_of(x, k, l->peer);
		out->idle_looks++;
		out->idle_owes += r && r->flags & CHANNEL_PEER_OWES && r->sent_ns + l->ns >= x->looks[k].at_ns;
	}
}

void request_peer_contrast(const struct request_log *l, const struct peer_match *m, struct peer_contrast *out)
{
	const struct request_peers *x = &l->peers;
	const struct request_trail *t = &l->trail;
	AUTO_FREE int32_t *change = mem_calloc(x->look_count + 1, sizeof *change);
	struct idle_looks idle = {x, change, m->peer, CLOSE_NS + (m->sums.waits ? m->sums.ns / m->sums.waits : 0)};
	uint64_t from_ns = 0, to_ns = 0;
	*out = (struct peer_contrast){0};
	count_asked(x, m->peer, &from_ns, &to_ns, &out->asked);
	for (size_t i = 0; i + 1 < t->stay_count; i++)
		out->waits += t->stays[i].number == t->stays[i + 1].number && t->stays[i].to_ns >= from_ns && t->stays[i + 1].from_ns <= to_ns &&
			      t->stays[i].to_ns < t->stays[i + 1].from_ns;
	count_idle(&idle, t, out);
}

double request_peer_idle_percent(const struct peer_contrast *c)
{
	return c->idle_looks >= LEAST_IDLE_LOOKS ? 100 * (double)c->idle_owes / (double)c->idle_looks : NAN;
}

double request_peer_owes_percent(const struct peer_match *m)
{
	return 100 * (double)all_looks(&m->sums) / (double)(m->looks[PEER_AWAIT] + m->looks[PEER_BLOCKED]);
}

bool request_peer_owes_anyway(double idle_percent, double owes_percent)
{
	return idle_percent * 3 > owes_percent * 2;
}
