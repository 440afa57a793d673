#include "agent/profilers/deadlocks/deadlock_numbers.h"

#include "agent/symbols/method_name.h"

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

static void set_circle(const struct deadlock_analysis *a, struct deadlock_numbers *out)
{
	if (!a->circle_count)
		return;
	const struct deadlock_circle *x = &a->circles[0];
	out->circle_threads = (double)x->count;
	out->circle_behind = x->behind;
	out->circle_timed = (double)x->timed;
	out->circle_agreed = x->agreed;
	set_place(&out->circle_first, a->capture, x->threads[0]);
	set_place(&out->circle_second, a->capture, x->threads[1 % x->count]);
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
	for (uint32_t i = 0; i < c->thread_count && !out->queue_waiter.text[0]; i++)
		if (a->graph.last[i] == a->head && i != a->head)
			set_place(&out->queue_waiter, c, i);
}

void deadlock_numbers_of(const struct deadlock_analysis *a, struct deadlock_numbers *out)
{
	const struct deadlock_capture *c = a->capture;
	rules_clear(&deadlock_numbers_fields, out);
	out->seconds_between = (double)c->between_ns / 1e9;
	rules_set_text(&out->unread, c->unread);
	if (c->unread)
		return;
	out->threads = (double)c->thread_count;
	out->monitors = (double)c->monitors;
	out->waiting = (double)a->waiting;
	out->lasting = (double)a->lasting;
	out->circles = (double)a->circle_count;
	out->queue = a->queue;
	set_circle(a, out);
	set_queue(a, out);
}
