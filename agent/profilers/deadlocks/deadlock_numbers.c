#include "agent/profilers/deadlocks/deadlock_numbers.h"

#include "agent/profilers/deadlocks/deadlock_blocked.h"
#include "agent/symbols/method_name.h"

#include <string.h>

RULE_FIELDS(deadlock_numbers, DEADLOCK_NUMBERS);

static void set_place(struct rule_text *out, const struct deadlock_capture *c, uint32_t thread)
{
	struct method_name name;
	const struct frame *f = deadlock_analysis_place(c, thread);
	if (!f)
		return;
	method_name_make(f, &name);
	rules_set_text(out, name.text);
}

static void set_thread(struct rule_text *out, const struct deadlock_capture *c, uint32_t thread)
{
	AUTO_BUF struct buf text;
	buf_init(&text, RULE_TEXT_BYTES);
	buf_printf(&text, "thread %u", c->threads[thread].wait.inner_tid);
	if (c->threads[thread].wait.name[0]) {
		buf_puts(&text, " \"");
		method_name_printable(c->threads[thread].wait.name, sizeof c->threads[thread].wait.name, &text);
		buf_puts(&text, "\"");
	}
	rules_set_text(out, buf_str(&text));
}

static size_t first_on_task(const struct deadlock_capture *c, const struct deadlock_circle *x)
{
	size_t i = 0;
	while (i < x->count - 1 && !deadlock_analysis_on_task(c, x->threads[i]))
		i++;
	return i;
}

static void set_circle(const struct deadlock_analysis *a, struct deadlock_numbers *out)
{
	if (!a->circle_count)
		return;
	const struct deadlock_circle *x = &a->circles[0];
	out->circle_threads = (double)x->count;
	out->circle_behind = x->behind;
	out->circle_timed = (double)x->timed;
	out->circle_agreed = x->agreed;
	out->circle_cancelable = (double)x->cancelable;
	out->circle_tasks = (double)x->tasks;
	size_t first = x->tasks ? first_on_task(a->capture, x) : 0;
	set_place(&out->circle_first, a->capture, x->threads[first]);
	set_place(&out->circle_second, a->capture, x->threads[(first + 1) % x->count]);
}

/* The method of the application waits in a call that takes from a queue, or to be told: an idle consumer does nothing else. */
static bool takes_work(const struct deadlock_capture *c, uint32_t thread)
{
	static const struct {
		const char *type, *method; /* how they begin */
	} takes[] = {
		{"System.Collections.Concurrent.BlockingCollection`1", "Take"},
		{"System.Collections.Concurrent.BlockingCollection`1", "TryTake"},
		{"System.Collections.Concurrent.BlockingCollection`1", "GetConsumingEnumerable"},
		{"System.Collections.Concurrent.BlockingCollection`1+<GetConsumingEnumerable", "MoveNext"},
		{"System.Threading.Monitor", "Wait"},
		{"System.Threading.Condition", "Wait"}, /* of a monitor: .NET 11 inlines the former */
	};
	const struct frame *f = deadlock_analysis_call(c, thread);
	for (size_t i = 0; f && f->type && f->method && i < sizeof takes / sizeof *takes; i++)
		if (strncmp(f->type, takes[i].type, strlen(takes[i].type)) == 0 && strncmp(f->method, takes[i].method, strlen(takes[i].method)) == 0)
			return true;
	return false;
}

static bool same_place(const struct deadlock_capture *c, uint32_t a, uint32_t b)
{
	struct rule_text x = {""}, y = {""};
	set_place(&x, c, a);
	set_place(&y, c, b);
	return x.text[0] && strcmp(x.text, y.text) == 0;
}

static void set_queue(const struct deadlock_analysis *a, struct deadlock_numbers *out)
{
	const struct deadlock_capture *c = a->capture;
	if (a->head == WAIT_NONE)
		return;
	out->queue_agreed = a->queue_agreed;
	out->queue_head_runs = !c->threads[a->head].still;
	set_thread(&out->queue_head, c, a->head);
	set_place(&out->queue_place, c, a->head);
	out->queue_head_takes = takes_work(c, a->head);
	rules_set_text(&out->queue_peer, c->threads[a->head].peer);
	out->queue_peers = 0;
	for (uint32_t i = 0; i < c->thread_count; i++) {
		if (a->graph.last[i] != a->head || i == a->head)
			continue;
		out->queue_peers += same_place(c, i, a->head);
		if (!out->queue_waiter.text[0])
			set_place(&out->queue_waiter, c, i);
	}
}

static void set_workers(const struct deadlock_capture *c, struct deadlock_numbers *out)
{
	struct deadlock_blocked b;
	struct method_name name;
	const struct blocked_group *most = NULL;
	deadlock_blocked_find(c, &b);
	out->workers = b.workers;
	out->workers_blocked = b.workers_blocked;
	for (size_t i = 0; i < b.count; i++)
		if (b.items[i].workers > (most ? most->workers : 0))
			most = &b.items[i];
	if (most) {
		method_name_make(most->place, &name);
		rules_set_text(&out->workers_place, name.text);
	}
	if (c->first_queue >= 0 && c->second_queue >= 0) {
		out->items_first = (double)c->first_queue;
		out->items_second = (double)c->second_queue;
	}
}

void deadlock_numbers_of(const struct deadlock_analysis *a, struct deadlock_numbers *out)
{
	const struct deadlock_capture *c = a->capture;
	rules_clear(&deadlock_numbers_fields, out);
	out->seconds_between = (double)c->between_ns / 1e9;
	rules_set_text(&out->unread, c->unread);
	if (c->unread)
		return;
	out->other_locks = c->other_locks;
	out->tasks = c->tasks;
	out->early = c->proven_ns > 0;
	out->named = c->named;
	out->threads = (double)c->thread_count;
	out->monitors = (double)c->monitors;
	out->waiting = (double)a->waiting;
	out->lasting = (double)a->lasting;
	out->circles = (double)a->circle_count;
	out->queue = a->queue;
	set_circle(a, out);
	set_queue(a, out);
	set_workers(c, out);
}
