#include "agent/profilers/waits/wait_text.h"

#include "agent/report/phrase.h"
#include "agent/symbols/method_name.h"
#include "common/base/size_text.h"

#include <string.h>

#define PLACES_SHOWN 4
#define IDLE_SHOWN 3
#define NOTABLE_THREADS 0.1
#define HEADLINE_NAME 36
#define NO_METHOD_NOTABLE 10 /* percent of all waiting */
#define UNSEEN_NOTABLE 10 /* percent of all waiting */

static void put_name(const char *name, struct buf *out)
{
	method_name_shorten(name, PHRASE_NAME_CHARS, out);
}

static void put_holder(const struct wait_analysis *a, const struct wait_place *p, struct buf *out)
{
	if (!p->sightings && strcmp(p->meaning.what, "SemaphoreSlim") == 0)
		buf_puts(out, " A SemaphoreSlim does not record its holder.");
	if (!p->sightings && strcmp(p->meaning.what, "ReaderWriterLockSlim") == 0)
		buf_puts(out, " A ReaderWriterLockSlim does not record its readers.");
	if (!p->sightings)
		return;
	buf_printf(out, " Held at %u %s", p->sightings, size_text_plural(p->sightings, "look", "looks"));
	if (p->held_known) {
		buf_printf(out, ": at %u by a thread that waited in ", p->held_known);
		put_name(p->holder == CPU_NO_METHOD ? "code of .NET" : a->base.methods[p->holder].name, out);
		buf_printf(out, " (%s)", p->holder_what ? p->holder_what : "unknown");
	}
	if (p->held_running)
		buf_printf(out, "%s at %u by a thread that ran", p->held_known ? "," : ":", p->held_running);
	buf_puts(out, ".");
}

/* Of the pool's workers, which do nothing but the application's work as a rule. */
static void put_no_method(const struct wait_analysis *a, const struct wait_place *p, struct buf *out)
{
	if (p->method != CPU_NO_METHOD || p->nearest == CPU_NO_METHOD || p->pool_ns * 2 < p->ns || wait_analysis_percent(a, p->ns) < NO_METHOD_NOTABLE)
		return;
	buf_puts(out, " No method of the application is on these stacks (the nearest is ");
	put_name(a->base.methods[p->nearest].name, out);
	buf_puts(out, "): .NET's own code waits, or the runtime has inlined the method into that; DOTNET_JitNoInline=1 at the start shows it.");
}

/* "4.9 threads at a time wait in Shop.Cache.Get (Monitor): 96% of the waiting; 310.0 waits/s, median 15.0 ms, longest 62.0 ms." */
static void put_place_line(const struct wait_analysis *a, const struct wait_place *p, struct buf *out)
{
	double threads = wait_analysis_threads(a, p->ns);
	buf_printf(out, "\n%.1f %s in ", threads, size_text_plural(threads, "thread at a time waits", "threads at a time wait"));
	put_name(wait_analysis_place(a, p), out);
	buf_printf(out, " (%s): ", p->meaning.what);
	phrase_percent(out, wait_analysis_percent(a, p->ns));
	buf_printf(out, " of the waiting; %.1f waits/s, median ", a->seconds > 0 ? p->count / a->seconds : 0);
	phrase_duration(out, p->p50_ns);
	buf_puts(out, ", longest ");
	phrase_duration(out, p->longest_ns);
	buf_puts(out, ".");
	if (p->whole && p->whole == p->threads)
		buf_puts(out, size_text_plural(p->whole, " It waits through the whole session.", " Each of them waits through the whole session."));
	else if (p->whole)
		buf_printf(out, " %u of the %u %s through the whole session.", p->whole, p->threads, size_text_plural(p->whole, "waits", "wait"));
	put_holder(a, p, out);
	put_no_method(a, p, out);
}

static void put_places(const struct wait_analysis *a, struct buf *out)
{
	size_t shown = 0;
	for (size_t i = 0; i < a->blocking_count && shown < PLACES_SHOWN; i++) {
		if (a->places[i].meaning.kind == WAIT_KIND_CPU || wait_analysis_threads(a, a->places[i].ns) < NOTABLE_THREADS / 2)
			continue;
		put_place_line(a, &a->places[i], out);
		shown++;
	}
}

static void put_pool(const struct wait_analysis *a, const struct wait_numbers *n, struct buf *out)
{
	if (!a->pool.workers)
		return;
	buf_printf(out, "\nThread pool: %.0f %s at the beginning, %.0f at the end; ", n->workers_begin, size_text_plural(n->workers_begin, "worker", "workers"),
		   n->workers_end);
	phrase_percent(out, n->pool_blocked_percent);
	buf_puts(out, " of their time blocked, ");
	phrase_percent(out, n->pool_idle_percent);
	buf_puts(out, " without work.");
	if (n->queue_looks > 0 && n->queue_most < 1)
		buf_puts(out, " Its queue was empty at each look.");
	else if (n->queue_looks > 0)
		buf_printf(out, " Its queue held %.0f to %.0f %s, %.0f on average.", n->queue_least, n->queue_most,
			   size_text_plural(n->queue_most, "item", "items"), n->queue_mean);
}

static void put_idle(const struct wait_analysis *a, struct buf *out)
{
	size_t count = a->place_count - a->blocking_count;
	if (!count)
		return;
	double threads = wait_analysis_threads(a, a->idle_ns);
	buf_printf(out, "\nIdle: %.1f %s at a time", threads, size_text_plural(threads, "thread", "threads"));
	for (size_t i = 0; i < count && i < IDLE_SHOWN; i++) {
		const struct wait_place *p = &a->places[a->blocking_count + i];
		buf_printf(out, "%s%s %.1f", i ? ", " : ": ", p->meaning.what, wait_analysis_threads(a, p->ns));
	}
	buf_puts(out, ".");
}

/* How it is known. */
static void put_way(const struct wait_analysis *a, struct buf *out)
{
	double recorded = wait_analysis_recorded_percent(a);
	if (a->capture->looks)
		buf_printf(out, "%zu %s at the threads, switches recorded for ", a->capture->looks,
			   size_text_plural((double)a->capture->looks, "look", "looks"));
	if (a->capture->looks && recorded < 0.05)
		buf_puts(out, "no time");
	else if (a->capture->looks)
		buf_printf(out, "%.0f%% of the time, ", recorded);
	if (recorded >= 0.05 && a->capture->period == 1)
		buf_puts(out, "each with its stack");
	else if (recorded >= 0.05)
		buf_printf(out, "one of %llu with its stack", (unsigned long long)a->capture->period);
}

static void put_followed(const struct wait_analysis *a, const struct wait_numbers *n, struct buf *out)
{
	buf_puts(out, "\nFollowed for ");
	buf_printf(out, "%.1f s: ", a->seconds);
	size_text_counted(out, (uint64_t)n->threads, "thread", "threads");
	buf_printf(out, ", %.0f context switches/s, ", n->switches_per_second);
	put_way(a, out);
	if (n->unseen_percent >= 0.1) {
		buf_puts(out, "; of ");
		phrase_percent(out, n->unseen_percent);
		buf_puts(out, " of all waiting no stack is known");
	}
	buf_puts(out, ".");
}

static void put_wait_headline(const struct wait_analysis *a, const struct wait_numbers *n, const struct findings *f, struct buf *out)
{
	const struct finding *lead = findings_lead(f);
	if (lead) {
		buf_puts(out, lead->message);
	} else if (f->withheld) {
		findings_put_withheld(f, out);
	} else if (n->waiting_threads < NOTABLE_THREADS) {
		buf_puts(out, a->idle_ns > 0 ? "Nothing waits but idle threads" : "Nothing waits");
	} else {
		buf_printf(out, "%s%.1f %s, mostly in ", n->unseen_percent > UNSEEN_NOTABLE ? "At least " : "", n->waiting_threads,
			   size_text_plural(n->waiting_threads, "thread at a time waits", "threads at a time wait"));
		method_name_shorten(n->top_place.text, HEADLINE_NAME, out);
	}
}

void wait_text_put(const struct wait_analysis *a, const struct wait_numbers *n, const struct findings *f, struct buf *out)
{
	put_wait_headline(a, n, f, out);
	put_places(a, out);
	put_pool(a, n, out);
	put_idle(a, out);
	put_followed(a, n, out);
}
