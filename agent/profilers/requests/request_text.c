#include "agent/profilers/requests/request_text.h"

#include "agent/report/phrase.h"
#include "agent/report/report.h"
#include "agent/symbols/frame_place.h"
#include "agent/symbols/method_name.h"
#include "common/base/size_text.h"

#include <string.h>

#define ENDPOINTS_SHOWN 3
#define NAME_CHARS 60
#define HEADLINE_NAME 30
#define HEADLINE_CHARS 80
#define LARGEST_PERCENT 40.0
#define SLOW_NS 20000000u /* what takes less needs no reason */
#define WORTH_PERCENT 5.0
#define LEAST_PEER_LOOKS 10
#define PEER_PART 0.3

void request_text_length(struct buf *out, double ns)
{
	if (ns < 1e6)
		buf_printf(out, "%.0f us", ns / 1e3);
	else if (ns < 9.95e6)
		buf_printf(out, "%.1f ms", ns / 1e6);
	else if (ns < 1e9)
		buf_printf(out, "%.0f ms", ns / 1e6);
	else
		buf_printf(out, ns < 9.95e9 ? "%.1f s" : "%.0f s", ns / 1e9);
}

void request_text_endpoint(struct buf *out, const char *name, size_t max_chars)
{
	size_t chars = phrase_chars(name);
	if (chars <= max_chars) {
		buf_puts(out, name);
		return;
	}
	buf_append(out, name, max_chars - 3); /* shapes are ASCII */
	buf_puts(out, "...");
}

void request_text_method(struct buf *out, const char *before, const char *name, size_t max_chars)
{
	const char *at = name, *end = name + strcspn(name, "(");
	while ((size_t)(end - at) > max_chars && strcspn(at, ".(") < (size_t)(end - at))
		at += strcspn(at, ".(") + 1;
	if ((size_t)(end - at) > max_chars || at == end)
		return;
	buf_puts(out, before);
	buf_append(out, at, (size_t)(end - at));
}

static void put_endpoint_line(const struct request_analysis *a, const struct endpoint_figures *f, struct buf *out)
{
	buf_puts(out, "\n");
	request_text_endpoint(out, f->name, NAME_CHARS);
	buf_puts(out, ": ");
	phrase_percent(out, request_analysis_percent(a, f));
	if (f->latency->count) {
		buf_printf(out, " of all waiting, %.1f/s, p50 ", f->per_second);
		request_text_length(out, (double)f->p50_ns);
		buf_puts(out, ", p95 ");
		request_text_length(out, (double)f->p95_ns);
		buf_puts(out, ", p99 ");
		request_text_length(out, (double)f->p99_ns);
	} else {
		buf_puts(out, " of all waiting, none ended");
	}
	if (f->status[5]) {
		buf_puts(out, ", failed ");
		phrase_percent(out, f->error_percent);
	}
	if (f->open) {
		buf_printf(out, ", %u in flight, the oldest for ", f->open);
		request_text_length(out, (double)f->oldest_ns);
	}
	buf_puts(out, ".");
}

static void put_part(struct buf *out, const struct request_bill *b, uint64_t ns, const char *what, const char *name)
{
	double percent = 100 * (double)ns / (double)b->total_ns;
	if (percent < WORTH_PERCENT)
		return;
	buf_puts(out, out->data[out->len - 1] == ':' ? " " : ", ");
	phrase_percent(out, percent);
	buf_printf(out, " %s", what);
	if (name)
		request_text_endpoint(out, name, NAME_CHARS);
}

/* Where most of that waiting is; NULL: it is told nowhere. */
static const struct wait_place *waiting_place(const struct request_analysis *a, const struct request_bill *b, enum request_doing doing)
{
	for (size_t i = 0; i < b->place_count && a->has_waits; i++)
		if (b->places[i].doing == doing && b->places[i].place < a->waits.place_count)
			return &a->waits.places[b->places[i].place];
	return NULL;
}

static const char *doing_place(const struct request_analysis *a, const struct endpoint_figures *f, enum request_doing doing)
{
	const struct code_method *top = f->code.method_count ? &f->code.methods[0] : NULL;
	if (doing == DOING_CODE)
		return top && top->own ? a->code.analysis.methods[top->method].name : NULL;
	const struct wait_place *p = waiting_place(a, &f->bill, doing);
	return p && p->method != CPU_NO_METHOD ? wait_analysis_place(&a->waits, p) : NULL;
}

/* " in SqliteCommand.ExecuteReader called by Orders.List": where most of the code is that the application has run there. */
static bool put_callee(const struct request_analysis *a, const struct endpoint_code *c, struct buf *out)
{
	size_t before = out->len;
	if (!c->callee_samples || c->callee_samples * 2 < c->methods[0].own)
		return false;
	request_text_method(out, " in ", a->code.analysis.methods[c->callee].name, NAME_CHARS);
	if (out->len > before)
		request_text_method(out, " called by ", a->code.analysis.methods[c->methods[0].method].name, NAME_CHARS);
	return out->len > before;
}

/* "40% waiting for locks in Warehouse.Reserve" */
static void put_doing(const struct request_analysis *a, const struct endpoint_figures *f, enum request_doing doing, struct buf *out)
{
	const char *place = doing_place(a, f, doing);
	size_t before = out->len;
	put_part(out, &f->bill, f->bill.doing_ns[doing], request_doing_title(doing), NULL);
	if (out->len == before || !place || doing == DOING_NO_CPU || doing == DOING_GC || (doing == DOING_CODE && put_callee(a, &f->code, out)))
		return;
	request_text_method(out, " in ", place, NAME_CHARS);
	const struct wait_place *p = waiting_place(a, &f->bill, doing);
	if (doing == DOING_LOCK && p && strcmp(p->meaning.what, WAIT_WHAT_DATABASE) == 0)
		buf_printf(out, " (%s)", p->meaning.what);
}

/* " in Orders.List (Orders.cs:41)": where most of what is no call that is known was awaited. */
static void put_await_place(const struct request_analysis *a, const struct endpoint_figures *f, struct buf *out)
{
	const struct await_place *p = request_awaits_main(&f->awaits, f->bill.await_ns);
	struct method_name name;
	if (!p || 100 * (double)f->bill.await_ns < WORTH_PERCENT * (double)f->bill.total_ns)
		return;
	method_name_make(&a->capture->awaits.frames[p->frame], &name);
	request_text_method(out, " in ", name.text, NAME_CHARS);
	frame_place_put_behind(&a->capture->awaits.frames[p->frame], out);
}

/* Of its awaits; 0: hardly any, or it is none of the requests' answers. */
static double peer_part(const struct request_analysis *a, const struct endpoint_figures *f)
{
	const struct peer_match *m = &f->peers;
	struct peer_contrast c;
	double part = m->looks[PEER_AWAIT] >= LEAST_PEER_LOOKS ? (double)m->sums.looks[PEER_AWAIT] / (double)m->looks[PEER_AWAIT] : 0;
	if (part < PEER_PART || request_peer_goes_on_without(request_peer_ended_percent(m), request_peer_came_percent(m)))
		return 0;
	request_peer_contrast(a->capture->log, m, &c);
	return request_peer_owes_anyway(request_peer_idle_percent(&c), request_peer_owes_percent(m)) ? 0 : part;
}

/* " (93% of it while 127.0.0.1:6379 owed an answer)" */
static void put_peer(const struct request_analysis *a, const struct endpoint_figures *f, struct buf *out)
{
	AUTO_BUF struct buf name;
	buf_init(&name, 2 * NAME_CHARS);
	double part = peer_part(a, f);
	if (part < PEER_PART || 100 * (double)f->bill.await_ns < WORTH_PERCENT * (double)f->bill.total_ns)
		return;
	request_peers_name(&a->capture->log->peers.names[f->peers.peer], &name);
	buf_puts(out, " (");
	phrase_percent(out, 100 * part);
	buf_printf(out, " of it while %s owed an answer)", buf_str(&name));
}

/* "Its slowest 32: 88% awaiting sql SELECT ..., 9% on a thread." */
static void put_bill_line(const struct request_analysis *a, const struct endpoint_figures *f, struct buf *out)
{
	const struct request_bill *b = &f->bill;
	uint64_t in_calls = 0;
	if (!b->total_ns)
		return;
	buf_printf(out, f->bill_of_told ? " %llu of its slowest:" : " Its slowest %llu:", (unsigned long long)b->requests);
	bool told = b->doing_ns[DOING_UNTOLD] * 2 <= b->thread_ns;
	for (size_t i = 0; i < b->call_count; i++) {
		put_part(out, b, b->calls[i].ns, "awaiting ", request_analysis_call(a, b->calls[i].shape));
		if (told)
			continue;
		put_part(out, b, b->calls[i].thread_ns, "on a thread during ", request_analysis_call(a, b->calls[i].shape));
		in_calls += b->calls[i].thread_ns;
	}
	for (size_t i = 0; i < DOING_COUNT && told; i++)
		put_doing(a, f, (enum request_doing)i, out);
	if (!told)
		put_part(out, b, b->thread_ns - in_calls, "on a thread", NULL);
	put_part(out, b, b->await_ns, "awaiting something else", NULL);
	put_await_place(a, f, out);
	put_peer(a, f, out);
	put_part(out, b, b->unseen_ns, "not seen", NULL);
	buf_puts(out, ".");
}

static void put_endpoints(const struct request_analysis *a, struct buf *out)
{
	for (size_t i = 0; i < a->endpoint_count && i < ENDPOINTS_SHOWN; i++) {
		const struct endpoint_figures *f = &a->endpoints[i];
		if (f->is_stream || (i && 100 * f->waited_ns < WORTH_PERCENT * a->waited_ns))
			return;
		put_endpoint_line(a, f, out);
		put_bill_line(a, f, out);
	}
}

static void put_what_else(const struct request_analysis *a, struct buf *out)
{
	const struct request_bill *b = a->endpoint_count ? &a->endpoints[0].bill : NULL;
	if (b && b->total_ns && peer_part(a, &a->endpoints[0]) < PEER_PART && 100 * (double)b->await_ns >= LARGEST_PERCENT * (double)b->total_ns)
		buf_puts(out, "\nSomething else that is awaited: a timer, a semaphore, the thread pool's queue, the client, or a library whose calls are "
			      "not known; StuckTasks names the awaits.");
}

static void put_streams(const struct request_analysis *a, struct buf *out)
{
	uint64_t ended = 0, open = 0;
	for (size_t i = 0; i < a->endpoint_count; i++) {
		ended += a->endpoints[i].streams;
		open += a->endpoints[i].open_streams + (a->endpoints[i].is_stream ? a->endpoints[i].open : 0);
	}
	if (ended + open)
		buf_printf(out, "\nStreams (web sockets, server-sent events, streaming calls of gRPC) are not slow requests and not counted "
				"as such: %llu ended, %llu open.",
			   (unsigned long long)ended, (unsigned long long)open);
}

static void put_followed(const struct request_analysis *a, struct buf *out)
{
	if (a->followed_percent > 99.95)
		return;
	buf_puts(out, " Requests are many: they were followed for ");
	phrase_percent(out, a->followed_percent);
	if (a->counted_percent > 99.95)
		buf_puts(out, " of the time, and counted all of it. Of which endpoints they are, and their latencies, are estimated from that part.");
	else
		buf_puts(out, " of the time, and counts, rates and latencies are estimated from that.");
}

static void put_watched(const struct request_analysis *a, const struct request_numbers *n, struct buf *out)
{
	const struct channel_requests_state *s = &a->capture->state;
	buf_puts(out, "\nWatched for ");
	buf_printf(out, "%.1f s: ", a->seconds);
	size_text_counted(out, a->requests, "request ended, ", "requests ended, ");
	size_text_counted(out, a->open, "is in flight", "are in flight");
	if (s->open_unfollowed && s->open_unfollowed != CHANNEL_REQUESTS_NOT_COUNTED) {
		buf_puts(out, ", and ");
		size_text_count(out, s->open_unfollowed);
		buf_puts(out, " more that were not followed");
	}
	if (s->older) {
		buf_puts(out, "; ");
		size_text_count(out, s->older);
		buf_puts(out, " more ended whose beginning was not seen");
	}
	if (n->lost_percent >= 0.1) {
		buf_puts(out, "; ");
		phrase_percent(out, n->lost_percent);
		buf_puts(out, " could not be followed");
	}
	buf_puts(out, ".");
	const struct channel_requests_unanswered *u = &a->capture->log->unanswered;
	if (u->connections) {
		buf_printf(out, " Requests that began before the session and have not ended are seen as connections only: on %u the client has waited ",
			   u->connections);
		buf_puts(out, size_text_plural(u->connections, "for ", "for up to "));
		request_text_length(out, (double)u->oldest_ns);
		buf_puts(out, "; StuckTasks tells where requests wait.");
	}
	put_followed(a, out);
}

struct largest_part { /* of a bill */
	uint64_t ns;
	const char *what, *place; /* place: of a method; NULL */
	const char *call;
};

static void consider_part(struct largest_part *x, uint64_t ns, const char *what, const char *call, const char *place)
{
	if (ns > x->ns)
		*x = (struct largest_part){ns, what, place, call};
}

static struct largest_part largest_part_of(const struct request_analysis *a, const struct endpoint_figures *f)
{
	const struct request_bill *b = &f->bill;
	struct largest_part x = {0};
	bool told = b->doing_ns[DOING_UNTOLD] * 2 <= b->thread_ns;
	for (size_t i = 0; i < b->call_count; i++)
		consider_part(&x, b->calls[i].ns, "awaiting ", request_analysis_call(a, b->calls[i].shape), NULL);
	for (size_t i = 0; i < DOING_COUNT && told; i++) {
		enum request_doing doing = (enum request_doing)i;
		const char *place = doing != DOING_NO_CPU && doing != DOING_GC ? doing_place(a, f, doing) : NULL;
		consider_part(&x, b->doing_ns[i], request_doing_title(doing), NULL, place);
	}
	if (!told)
		consider_part(&x, b->thread_ns, "on a thread", NULL, NULL);
	consider_part(&x, b->await_ns, "awaiting something else", NULL, NULL);
	consider_part(&x, b->unseen_ns, "not seen", NULL, NULL);
	return x;
}

/* ", 97% running code in RouteEndpoint.Shortest": what most of the slowest requests' time is. */
static void put_largest_part(const struct request_analysis *a, struct buf *out)
{
	const struct endpoint_figures *f = a->endpoint_count ? &a->endpoints[0] : NULL;
	if (!f || !f->bill.total_ns || f->p95_ns < SLOW_NS)
		return;
	struct largest_part x = largest_part_of(a, f);
	double percent = 100 * (double)x.ns / (double)f->bill.total_ns;
	if (percent < LARGEST_PERCENT)
		return;
	buf_puts(out, ", ");
	phrase_percent(out, percent);
	buf_printf(out, " %s", x.what);
	if (x.call && out->len < HEADLINE_CHARS)
		request_text_endpoint(out, x.call, HEADLINE_CHARS - out->len);
	if (x.place && out->len + 4 < HEADLINE_CHARS)
		request_text_method(out, " in ", x.place, HEADLINE_CHARS - out->len - 4);
}

static void put_request_headline(const struct request_analysis *a, const struct request_numbers *n, const struct findings *f, struct buf *out)
{
	const struct finding *lead = findings_lead(f);
	if (lead) {
		buf_puts(out, lead->message);
	} else if (!a->requests && !a->open) {
		buf_printf(out, "No request of ASP.NET Core in %.0f s", a->seconds);
	} else if (!n->top_endpoint.text[0]) {
		buf_puts(out, "Only streams, no other requests");
	} else {
		request_text_endpoint(out, n->top_endpoint.text, HEADLINE_NAME);
		buf_puts(out, ": p95 ");
		request_text_length(out, n->top_p95_ms * 1e6);
		put_largest_part(a, out);
	}
}

void request_text_put(const struct request_analysis *a, const struct request_numbers *n, const struct findings *f, struct buf *out)
{
	put_request_headline(a, n, f, out);
	put_endpoints(a, out);
	put_what_else(a, out);
	put_streams(a, out);
	put_watched(a, n, out);
}
