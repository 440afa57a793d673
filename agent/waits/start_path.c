#include "agent/waits/start_path.h"

#include "common/base/cleanup.h"
#include "common/base/mem.h"

#include <stdlib.h>
#include <string.h>

#define MOMENTS 4000   /* at which the threads' waits are asked for */
#define WAITS_MAX 256  /* different ones */

struct path {
	const struct wait_analysis *a;
	const struct start_peer *peers;
	size_t peer_count;
	struct capture_start *out;
	struct { /* of each of out->waits: by what it is known again */
		const char *what;
		uint32_t method;
	} keys[WAITS_MAX];
};

static uint32_t tid_of(const struct path *p, const struct joined_wait *w)
{
	return p->a->capture->log->threads[w->wait->thread].tid;
}

static const char *peer_of(const struct path *p, const struct joined_wait *w)
{
	for (size_t i = 0; i < p->peer_count; i++)
		if (p->peers[i].stack_ns == w->wait->stack_ns && p->peers[i].tid == tid_of(p, w))
			return p->peers[i].peer;
	return "";
}

static bool same_wait(const struct path *p, size_t at, const struct joined_wait *w, uint32_t method, const char *peer, bool other)
{
	const struct capture_start_wait *x = &p->out->waits[at];
	return p->keys[at].what == w->called && p->keys[at].method == method && x->other == other && strcmp(x->peer, peer) == 0 &&
	       strcmp(x->kind, wait_kind_name(w->meaning.kind)) == 0;
}

static void add_wait(struct path *p, const struct joined_wait *w, bool other, int64_t ns)
{
	struct capture_start *out = p->out;
	const char *peer = peer_of(p, w);
	uint32_t method = p->a->method_of[w->stack];
	size_t at = 0;
	while (at < out->wait_count && !same_wait(p, at, w, method, peer, other))
		at++;
	if (at == WAITS_MAX)
		return;
	if (at == out->wait_count) {
		GROW(out->waits, out->wait_count, out->wait_cap);
		out->waits[at] = (struct capture_start_wait){.kind = wait_kind_name(w->meaning.kind), .what = w->called, .other = other};
		if (method != CPU_NO_METHOD)
			out->waits[at].method = mem_strdup(p->a->base.methods[method].name);
		memcpy(out->waits[at].peer, peer, strlen(peer) + 1);
		p->keys[at].what = w->called;
		p->keys[at].method = method;
		out->wait_count++;
	}
	out->waits[at].ns += ns;
}

static bool blocks(const struct joined_wait *w)
{
	enum wait_kind k = w->meaning.kind;
	return !w->meaning.idle && k != WAIT_KIND_TASK && k != WAIT_KIND_CPU && k != WAIT_KIND_RUNTIME && k != WAIT_KIND_UNKNOWN;
}

/* The worker of the pool that blocks then, and has for longest. */
static const struct joined_wait *blocked_worker(const struct path *p, int64_t at_ns)
{
	const struct wait_analysis *a = p->a;
	const struct joined_wait *first = NULL;
	for (uint32_t i = 0; i < a->capture->stacks.thread_count; i++) {
		const struct joined_wait *w = a->is_worker[i] ? wait_join_at(&a->join, i, at_ns) : NULL;
		if (w && blocks(w) && (!first || w->wait->out_ns < first->wait->out_ns))
			first = w;
	}
	return first;
}

/* A host's main thread waits for its end, and its services may still be starting: only a port tells. */
static void add_moment(struct path *p, uint32_t thread, int64_t at_ns, int64_t ns)
{
	const struct joined_wait *w = wait_join_at(&p->a->join, thread, at_ns), *worker = NULL;
	if (!w)
		return;
	if (w->meaning.kind == WAIT_KIND_TASK)
		worker = blocked_worker(p, at_ns);
	if (worker)
		add_wait(p, worker, true, ns);
	else if (w->idles && !p->out->listens_ns && w->meaning.kind != WAIT_KIND_RUNTIME)
		p->out->idle_ns += ns;
	else
		add_wait(p, w, false, ns);
}

static void note_awaits(struct path *p, uint32_t thread, int64_t started_ns)
{
	const struct wait_join *j = &p->a->join;
	struct capture_start *out = p->out;
	size_t cap = 0;
	for (size_t i = 0; i < j->timed_count; i++) {
		if (j->list[i].thread != thread || j->list[i].meaning.kind != WAIT_KIND_TASK)
			continue;
		GROW(out->awaits, out->await_count, cap);
		out->awaits[out->await_count++] = (struct capture_span){j->list[i].wait->out_ns - started_ns, j->list[i].wait->in_ns - started_ns};
	}
}

static int longer_wait(const void *x, const void *y)
{
	const struct capture_start_wait *a = x, *b = y;
	return (a->ns < b->ns) - (a->ns > b->ns);
}

void start_path_make(const struct wait_analysis *a, uint32_t main_tid, int64_t started_ns, const struct start_peer *peers, size_t peer_count,
		     struct capture_start *out)
{
	const struct wait_capture *c = a->capture;
	const struct wait_log_thread *main = wait_log_find(c->log, main_tid);
	int64_t time_ns = c->ended_ns - c->started_ns;
	struct path p = {.a = a, .peers = peers, .peer_count = peer_count, .out = out};
	if (!c->looks || time_ns <= 0)
		return;
	out->looked = (struct capture_span){c->started_ns - started_ns, c->ended_ns - started_ns};
	if (!main || main->index >= c->stacks.thread_count) /* it has not slept at all */
		return;
	for (int i = 0; i < MOMENTS; i++)
		add_moment(&p, main->index, c->started_ns + time_ns * (2 * i + 1) / (2 * MOMENTS), time_ns / MOMENTS);
	note_awaits(&p, main->index, started_ns);
	if (out->wait_count)
		qsort(out->waits, out->wait_count, sizeof *out->waits, longer_wait);
}
