#include "agent/profilers/requests/request_peer_rules.h"

#include "agent/profilers/requests/request_text.h"

#include <string.h>

#define LEAST_SLOW 5
#define LEAST_SHARE 5.0
#define LOST_PERCENT 20.0
#define WINDOW_PERCENT 5.0
#define LEAST_LOOKS 10
#define PART_PERCENT 40.0  /* of the requests' time: looks meet less than there is */
#define PART_MS 50.0       /* several quick round trips are no slow server */
#define MANY_TRIPS 15
#define TRIPS_PERCENT 10.0 /* most of a quick round trip is the client's own part of it */
#define SLOW_MS 20.0
#define ALONE_PERCENT 50.0
#define ANSWERED_PERCENT 50.0
#define CONTRAST_TIMES 3
#define ASKED_LEAST 0.5    /* questions for each await */
#define ASKED_MOST 2.0
#define NAME_CHARS 30      /* so that a headline holds it */
#define LEAST_NAME 8
#define HEADLINE_CHARS 80
#define ENDED_MORE 50.0    /* than at other moments of these waits: it is not just because much comes */

/* by what threads were in ------------------------------------------------------------------------------------------ */

struct client_search {
	const char *what;
	bool several;
};

static void consider_method(struct client_search *x, const char *name)
{
	const char *what = request_peers_of_method(name);
	x->several |= what && x->what && strcmp(x->what, what) != 0;
	x->what = what ? what : x->what;
}

static void consider_tree(struct client_search *x, const struct request_analysis *a, const struct stack_tree *t)
{
	for (size_t i = 1; t && i < t->count; i++)
		if (t->nodes[i].method < a->code.analysis.method_count)
			consider_method(x, a->code.analysis.methods[t->nodes[i].method].name);
}

/* The kind of server, by what the requests' threads were seen in, whose client that is; NULL: in none that is known, or in several. */
static const char *client_of(const struct request_analysis *a, const struct endpoint_figures *f)
{
	struct client_search x = {0};
	for (size_t i = 0; i < f->code.method_count; i++)
		consider_method(&x, a->code.analysis.methods[f->code.methods[i].method].name);
	consider_tree(&x, a, f->code.tree);
	for (size_t i = 0; i < f->bill.place_count && a->has_waits; i++) {
		const struct wait_place *p = f->bill.places[i].place < a->waits.place_count ? &a->waits.places[f->bill.places[i].place] : NULL;
		if (p && p->method != CPU_NO_METHOD)
			consider_method(&x, a->waits.base.methods[p->method].name);
	}
	return x.several ? NULL : x.what;
}

/* the endpoint whose users wait most for one ------------------------------------------------------------------------ */

static double peer_ns(const struct endpoint_figures *f)
{
	return request_peer_match_ns(&f->peers, &f->bill, PEER_AWAIT) + request_peer_match_ns(&f->peers, &f->bill, PEER_BLOCKED);
}

static const struct endpoint_figures *choose_endpoint(const struct request_analysis *a)
{
	const struct endpoint_figures *best = NULL;
	double most = 0;
	for (size_t i = 0; i < a->endpoint_count; i++) {
		const struct endpoint_figures *f = &a->endpoints[i];
		double weight = f->is_stream || !f->bill.total_ns || f->peers.peer == SIZE_MAX ? 0 : peer_ns(f) * f->waited_ns / (double)f->bill.total_ns;
		if (weight > most) {
			most = weight;
			best = f;
		}
	}
	return best;
}

static void name_peer(const struct request_analysis *a, const struct endpoint_figures *f, struct request_numbers *out)
{
	const struct peer_name *n = &a->capture->log->peers.names[f->peers.peer];
	AUTO_BUF struct buf name;
	buf_init(&name, RULE_TEXT_BYTES);
	request_peers_name(n, &name);
	rules_set_text(&out->peer_name, buf_str(&name));
	rules_set_text(&out->peer_endpoint, f->name);
	rules_set_text(&out->peer_port_of, request_peers_usual(n->port));
	rules_set_text(&out->peer_client, client_of(a, f));
}

void request_peer_numbers_of(const struct request_analysis *a, struct request_numbers *out)
{
	const struct endpoint_figures *f = choose_endpoint(a);
	struct peer_contrast c;
	out->peer_percent = 0;
	if (!f)
		return;
	const struct peer_match *m = &f->peers;
	bool blocks = m->sums.looks[PEER_BLOCKED] > m->sums.looks[PEER_AWAIT];
	double looks = (double)request_peer_looks(m);
	request_peer_contrast(a->capture->log, m, &c);
	out->peer_percent = 100 * peer_ns(f) / (double)f->bill.total_ns;
	out->peer_blocked_percent = 100 * request_peer_match_ns(m, &f->bill, PEER_BLOCKED) / (double)f->bill.total_ns;
	out->peer_share = request_analysis_percent(a, f);
	out->peer_requests = (double)f->bill.requests;
	out->peer_ms = request_bill_mean_ms(&f->bill);
	out->peer_looks = looks;
	out->peer_owes_percent = request_peer_owes_percent(m);
	out->peer_alone_percent = 100 * (double)m->sums.alone / looks;
	out->peer_answered_percent = 100 * (double)m->sums.answered / (double)m->sums.waits;
	out->peer_waits_each = (double)m->waits[blocks ? PEER_BLOCKED : PEER_AWAIT] / (double)f->bill.requests;
	if (c.waits && !blocks)
		out->peer_asked_each = (double)c.asked / (double)c.waits;
	out->peer_idle_percent = request_peer_idle_percent(&c);
	out->peer_ended_percent = request_peer_ended_percent(m);
	out->peer_came_percent = request_peer_came_percent(m);
	name_peer(a, f, out);
}

/* the rules ----------------------------------------------------------------------------------------------------------- */

static const struct request_numbers *peer_numbers_in(const void *numbers)
{
	return numbers;
}

const char *request_peer_needs(const void *numbers)
{
	const struct request_numbers *n = peer_numbers_in(numbers);
	if (n->requests < LEAST_SLOW)
		return "there were too few requests";
	if (n->lost_percent > LOST_PERCENT)
		return "too many requests could not be followed";
	return n->window_percent >= WINDOW_PERCENT ? NULL : "it was told for too little of the time which thread works for which request";
}

static bool concerns_many(const struct request_numbers *n)
{
	return n->peer_share >= LEAST_SHARE && n->peer_requests >= LEAST_SLOW && n->peer_looks >= LEAST_LOOKS;
}

/* How often a request asks that server. */
static double trips_each(const struct request_numbers *n)
{
	return n->peer_waits_each * (rules_known(n->peer_asked_each) && n->peer_asked_each < 1 ? n->peer_asked_each : 1);
}

static bool is_kind_told(const struct request_numbers *n)
{
	return n->peer_client.text[0] && strcmp(n->peer_client.text, n->peer_port_of.text) == 0;
}

static bool owes_anyway(const struct request_numbers *n)
{
	return request_peer_owes_anyway(n->peer_idle_percent, n->peer_owes_percent);
}

/* Of the awaits of all requests, and of what was sent to it: one for one. */
static bool is_asked_once(const struct request_numbers *n)
{
	return n->peer_asked_each >= ASKED_LEAST && n->peer_asked_each <= ASKED_MOST;
}

static bool ends_as_it_answers(const struct request_numbers *n)
{
	return rules_known(n->peer_ended_percent) && rules_known(n->peer_came_percent) && n->peer_ended_percent - n->peer_came_percent >= ENDED_MORE;
}

static bool goes_on_without(const struct request_numbers *n)
{
	return request_peer_goes_on_without(n->peer_ended_percent, n->peer_came_percent);
}

/* More is sent to it than there are awaits, and there is no moment without a request to tell who asks. */
static bool is_asked_by_others(const struct request_numbers *n)
{
	return n->peer_asked_each > ASKED_MOST && !rules_known(n->peer_idle_percent) && !is_kind_told(n) && !ends_as_it_answers(n);
}

/* Nothing tells against its answers being what the requests wait for. */
static bool may_be_awaited(const struct request_numbers *n)
{
	return !owes_anyway(n) && !goes_on_without(n) && !is_asked_by_others(n);
}

/* The kernel's clock says that the server owes an answer, the tasks that the request waits. That it is this answer: no other server owes one then, and
 * - this one hardly ever does while there is no request;
 * - or the waits end as something comes from it, which is rare at other moments of them;
 * - or the requests' threads were seen in the code of that server's client, and ask it once for each await, as far as awaits are counted. */
static bool is_its_answer(const struct request_numbers *n)
{
	if (n->peer_alone_percent < ALONE_PERCENT)
		return false;
	if (rules_known(n->peer_idle_percent) && n->peer_idle_percent * CONTRAST_TIMES <= n->peer_owes_percent && n->peer_answered_percent >= ANSWERED_PERCENT)
		return true;
	if (ends_as_it_answers(n))
		return true;
	return is_kind_told(n) && (!rules_known(n->peer_asked_each) || is_asked_once(n));
}

/* "Redis (10.0.0.7:6379)": by its port, and by the client unless that says otherwise; of that what a headline has room for. */
static void put_server(const struct request_numbers *n, struct buf *out)
{
	size_t kind = strlen(n->peer_port_of.text), name = strlen(n->peer_name.text), room = out->len < HEADLINE_CHARS ? HEADLINE_CHARS - out->len : 0;
	bool told = kind && (!n->peer_client.text[0] || is_kind_told(n));
	if (told && kind + name + strlen(" ()") <= room)
		buf_printf(out, "%s (%s)", n->peer_port_of.text, n->peer_name.text);
	else if (told && name > room)
		buf_puts(out, n->peer_port_of.text);
	else if (room > LEAST_NAME)
		request_text_endpoint(out, n->peer_name.text, room);
	else
		buf_puts(out, "a server");
}

static void put_looks(const struct request_numbers *n, struct buf *out)
{
	buf_printf(out, "%s owed an answer to what was sent since the wait began at %.0f%% of %.0f looks at waits of its %.0f slowest requests",
		   n->peer_name.text, n->peer_owes_percent, n->peer_owes_percent > 0 ? 100 * n->peer_looks / n->peer_owes_percent : 0, n->peer_requests);
	if (rules_known(n->peer_idle_percent))
		buf_printf(out, ", and at %.0f%% of those with no request in flight", n->peer_idle_percent);
	if (n->peer_alone_percent < ALONE_PERCENT)
		buf_puts(out, "; others owed one, too");
	if (n->peer_answered_percent < ANSWERED_PERCENT)
		buf_printf(out, "; in %.0f%% of these waits nothing came from it", 100 - n->peer_answered_percent);
	if (rules_known(n->peer_ended_percent))
		buf_printf(out, "; %.0f%% of these waits ended just as something came from it", n->peer_ended_percent);
	if (rules_known(n->peer_ended_percent) && rules_known(n->peer_came_percent))
		buf_printf(out, ", which it did at %.0f%% of the looks before", n->peer_came_percent);
	if (n->peer_client.text[0])
		buf_printf(out, "; threads of these requests were in a client of %s", n->peer_client.text);
}

struct rule_score request_peer_waits(const void *numbers)
{
	const struct request_numbers *n = peer_numbers_in(numbers);
	bool found = n->peer_percent >= PART_PERCENT && concerns_many(n) && may_be_awaited(n) && n->peer_ms >= PART_MS && trips_each(n) < MANY_TRIPS;
	return (struct rule_score){found ? rules_score(n->peer_percent * n->peer_share / 100) : 0, found && is_its_answer(n) ? 2 : 1};
}

void request_peer_says_waits(const void *numbers, struct finding *out)
{
	const struct request_numbers *n = peer_numbers_in(numbers);
	AUTO_BUF struct buf text, looks;
	buf_init(&text, 4 * RULE_TEXT_BYTES);
	buf_init(&looks, 4 * RULE_TEXT_BYTES);
	if (out->state == FINDING_EXCLUDED) {
		finding_message(out, "a slow server whose client tells of no calls");
		buf_printf(&looks, "requests await something else, or block, while one owes an answer for at most %.0f%% of the time of an endpoint's slowest "
				   "requests", n->peer_percent);
		if (goes_on_without(n))
			buf_printf(&looks, ", and they go on as something comes from it in only %.0f%% of these waits", n->peer_ended_percent);
		finding_evidence(out, "%s", buf_str(&looks));
		return;
	}
	request_text_endpoint(&text, n->peer_endpoint.text, NAME_CHARS);
	buf_printf(&text, ": %.0f%% of %.0f ms %s", n->peer_percent, n->peer_ms,
		   n->peer_blocked_percent * 2 > n->peer_percent ? "blocked, awaiting " : "awaiting ");
	put_server(n, &text);
	finding_message(out, "%s", buf_str(&text));
	put_looks(n, &looks);
	finding_evidence(out, "%s", buf_str(&looks));
	finding_place(out, n->peer_name.text);
}

/* The tasks count the awaits; the kernel, the segments that were sent: one for each. */
struct rule_score request_peer_trips(const void *numbers)
{
	const struct request_numbers *n = peer_numbers_in(numbers);
	bool found = n->peer_percent >= TRIPS_PERCENT && concerns_many(n) && may_be_awaited(n) && n->peer_ms >= SLOW_MS && trips_each(n) >= MANY_TRIPS;
	bool counted = rules_known(n->peer_asked_each) ? is_asked_once(n) : is_kind_told(n);
	return (struct rule_score){found ? rules_score(fmax(20, n->peer_percent * n->peer_share / 100)) : 0, found && counted && is_its_answer(n) ? 2 : 1};
}

void request_peer_says_trips(const void *numbers, struct finding *out)
{
	const struct request_numbers *n = peer_numbers_in(numbers);
	AUTO_BUF struct buf text, looks;
	buf_init(&text, 4 * RULE_TEXT_BYTES);
	buf_init(&looks, 4 * RULE_TEXT_BYTES);
	if (out->state == FINDING_EXCLUDED) {
		finding_message(out, "many round trips to a server in a request");
		finding_evidence(out, "at most %.0f in one of the slowest requests that wait for one whose client tells of no calls",
				 rules_known(n->peer_waits_each) ? trips_each(n) : 0);
		return;
	}
	request_text_endpoint(&text, n->peer_endpoint.text, NAME_CHARS);
	buf_printf(&text, ": %.0f round trips a request to ", trips_each(n));
	put_server(n, &text);
	finding_message(out, "%s", buf_str(&text));
	if (rules_known(n->peer_asked_each))
		buf_printf(&looks, "%.1f segments were sent for each await; ", n->peer_asked_each);
	put_looks(n, &looks);
	finding_evidence(out, "%s", buf_str(&looks));
	finding_place(out, n->peer_name.text);
}
