#include "agent/profilers/leak/leak_headline.h"

#include "agent/report/phrase.h"
#include "agent/profilers/leak/leak_async.h"
#include "agent/profilers/leak/leak_types.h"
#include "agent/profilers/leak/leak_words.h"
#include "agent/symbols/method_name.h"
#include "agent/report/report.h"
#include "common/base/size_text.h"

#define EVENT_CHARS 28
#define IDLE_CPUS 0.01 /* the walks' own collections are in it */
#define MADE_CHARS 34

struct words {
	const struct leak_model *m;
	const struct leak_diagnosis *d;
	struct buf line;
};

static size_t leak_line_room(const struct words *w)
{
	size_t used = phrase_chars(buf_str(&w->line));
	return used < HEADLINE_MAX_CHARS ? HEADLINE_MAX_CHARS - used : 0;
}

static void headline_name(struct words *w, uint32_t step, size_t max_chars)
{
	leak_words_name(&w->line, w->m, step, max_chars);
}

static void headline_period(struct words *w)
{
	leak_words_period(&w->line, w->m);
}

static void headline_phrase_if_room(struct words *w, const char *phrase)
{
	if (phrase_chars(phrase) <= leak_line_room(w))
		buf_puts(&w->line, phrase);
}

static void put_forecast_if_room(struct words *w)
{
	AUTO_BUF struct buf b;
	const struct leak_forecast *f = &w->d->forecast;
	buf_init(&b, 128);
	if (f->kind != LEAK_LIMIT_CONTAINER || f->seconds < 0)
		return;
	buf_puts(&b, "; limit in ");
	leak_put_forecast(&b, f->seconds);
	headline_phrase_if_room(w, buf_str(&b));
}

/* By the method that made them: "Calls of Feed.Listen never end: + 10,000", "Closures of Callbacks.Add pile up: + 10,000". false: it is not known. */
static bool headline_made(struct words *w, const struct leak_group *g)
{
	bool async = g->pattern == LEAK_ASYNC && g->state != LEAK_NONE;
	int64_t more = async ? leak_model_more(w->m, g->state) : g->grown_count;
	AUTO_BUF struct buf method;
	buf_init(&method, 1024);
	bool known = async ? leak_async_method(&method, w->m, g->state) : g->pattern == LEAK_CLOSURE && leak_async_closure(&method, w->m, g->payload);
	if (!known || more <= 0)
		return false;
	buf_puts(&w->line, async ? "Calls of " : "Closures of ");
	method_name_shorten(buf_str(&method), MADE_CHARS, &w->line);
	buf_puts(&w->line, async ? " never end: + " : " pile up: + ");
	size_text_count(&w->line, (uint64_t)more);
	return true;
}

static void headline_grows(struct words *w)
{
	static const char *const pile[LEAK_PATTERNS] = {
		[LEAK_EVENT_HANDLER] = "Event handlers pile up: ",
		[LEAK_TIMER] = "Timers pile up: ",
		[LEAK_WEAK_TABLE] = "ConditionalWeakTable values pile up: ",
		[LEAK_CANCELLATION] = "CancellationToken registrations pile up: ",
		[LEAK_FINALIZERS] = "The finalizer queue grows: ",
		[LEAK_HANDLE] = "GC handles pile up: ",
		[LEAK_TRACKED] = "A DbContext tracks ever more entities: ",
		[LEAK_DISPOSABLES] = "The DI container holds disposables: ",
		[LEAK_SCOPES] = "Undisposed DI scopes pile up: ",
	};
	const struct leak_group *g = w->d->group;
	AUTO_BUF struct buf rate;
	buf_init(&rate, 64);
	size_text_bytes(&rate, (uint64_t)g->bytes_per_minute);
	buf_puts(&rate, "/min");
	if (headline_made(w, g)) {
		buf_printf(&w->line, ", %s", buf_str(&rate));
	} else if (pile[g->pattern]) { /* the rest is a number and the rate */
		AUTO_BUF struct buf event;
		buf_init(&event, 256);
		if (g->pattern == LEAK_EVENT_HANDLER && leak_words_event(&event, w->m, g->payload, EVENT_CHARS))
			buf_printf(&w->line, "Handlers of %s pile up: ", buf_str(&event));
		else
			buf_puts(&w->line, pile[g->pattern]);
		leak_words_more(&w->line, w->m, g, leak_line_room(w) > 50 ? leak_line_room(w) - 36 : 14);
		AUTO_BUF struct buf last;
		buf_init(&last, 80);
		buf_printf(&last, ", %s", buf_str(&rate));
		headline_phrase_if_room(w, buf_str(&last));
	} else {
		headline_name(w, leak_words_root(w->m, g->holder), 45);
		buf_printf(&w->line, " grows by %s", buf_str(&rate));
	}
	put_forecast_if_room(w);
}

/* Between two walks nothing can be seen to have ended: a collection that grows once a minute looks like one that is full. */
static bool two_walks(const struct words *w)
{
	return w->m->walk_count == 2;
}

/* What an idle process leaks with its next request is not to be seen. */
static bool did_nothing(const struct words *w)
{
	double cpus = leak_model_cpus(w->m);
	return cpus >= 0 && cpus < IDLE_CPUS;
}

static void headline_free(struct words *w)
{
	const struct leak_walk *first = &w->m->walks[0], *last = &w->m->walks[w->m->walk_count - 1];
	if (w->d->torn) {
		buf_puts(&w->line, "Heap fragmentation from pinned objects: +");
		size_text_bytes(&w->line, last->free_bytes - first->free_bytes);
		buf_puts(&w->line, ", +");
		size_text_count(&w->line, last->pinned_objects - first->pinned_objects);
		buf_puts(&w->line, " pinned");
		return;
	}
	buf_puts(&w->line, two_walks(w) ? "The heap keeps " : "No object leak: the heap keeps ");
	size_text_bytes(&w->line, (uint64_t)w->d->free_bytes);
	buf_puts(&w->line, " more free memory");
}

/* "static Shop.Cache._items", "unmanaged memory (malloc)", "Shop.Order" */
static void headline_subject(struct words *w, size_t max_chars)
{
	if (w->d->group)
		headline_name(w, leak_words_root(w->m, w->d->group->holder), max_chars);
	else if (w->d->type != LEAK_NONE)
		leak_types_put_name(w->m, w->d->type, max_chars, &w->line);
	else
		buf_printf(&w->line, "unmanaged memory (%s)", memory_kind_name(leak_words_memory(w->m)));
}

static void headline_slows(struct words *w)
{
	const struct leak_fit *f = &w->d->fit;
	if (!w->d->group && w->d->type != LEAK_NONE)
		buf_puts(&w->line, "Types only: ");
	if (f->fills) {
		buf_puts(&w->line, "Grows ever slower: ");
		headline_subject(w, leak_line_room(w) - 28);
		buf_puts(&w->line, ", ");
		size_text_bytes(&w->line, leak_words_now(w->m, w->d));
		buf_puts(&w->line, " of about ");
		size_text_bytes(&w->line, leak_words_full(w->m, w->d));
		return;
	}
	buf_puts(&w->line, "May have stopped growing: ");
	headline_subject(w, leak_line_room(w) - 12);
	buf_puts(&w->line, " at ");
	size_text_bytes(&w->line, leak_words_now(w->m, w->d));
}

static void headline_calm(struct words *w)
{
	const struct leak_diagnosis *d = w->d;
	switch (d->finding) {
	case LEAK_FOUND_TYPES:
		leak_types_put_headline(w->m, d, &w->line);
		put_forecast_if_room(w);
		break;
	case LEAK_FOUND_WARMING_UP:
		if (!d->group) {
			buf_puts(&w->line, "Types only: too early to tell, the process has just started");
			break;
		}
		buf_puts(&w->line, "Too early to tell: it just started, ");
		headline_name(w, leak_words_root(w->m, d->group->holder), leak_line_room(w) - 12);
		buf_puts(&w->line, " + ");
		size_text_bytes(&w->line, (uint64_t)d->group->grown_bytes);
		break;
	case LEAK_FOUND_SLOWS_DOWN:
		headline_slows(w);
		break;
	case LEAK_FOUND_UNCERTAIN:
		buf_puts(&w->line, d->group ? "May grow: " : "Types only: may grow: ");
		headline_subject(w, leak_line_room(w) - 34);
		buf_puts(&w->line, two_walks(w) ? " grew to " : " jumped to ");
		size_text_bytes(&w->line, leak_words_now(w->m, d));
		headline_period(w);
		break;
	case LEAK_FOUND_LEVELLED_OFF:
		if (!d->group) {
			buf_puts(&w->line, "Types only: what grew has levelled off");
			break;
		}
		buf_puts(&w->line, "No leak: ");
		headline_name(w, leak_words_root(w->m, d->group->holder), leak_line_room(w) - 36);
		buf_puts(&w->line, " filled up to ");
		size_text_bytes(&w->line, (uint64_t)(d->group->bytes[w->m->walk_count - 1]));
		buf_puts(&w->line, " and stays");
		break;
	case LEAK_FOUND_CHURN:
		buf_puts(&w->line, leak_model_types_only(w->m) ? "Types only: what grew is young or comes and goes, nothing old grows"
				   : two_walks(w)	       ? "Between two heap walks only what is short-lived grew"
							       : "No leak: what grew is short-lived, in use only at that moment");
		break;
	case LEAK_FOUND_STEADY:
		buf_puts(&w->line, two_walks(w) ? "Nothing grew between two heap walks" : did_nothing(w) ? "Nothing grew" : "No leak: nothing grew");
		headline_period(w);
		if (did_nothing(w))
			buf_puts(&w->line, ", but it was idle");
		buf_puts(&w->line, ", the heap holds ");
		size_text_bytes(&w->line, (uint64_t)(w->m->walks[w->m->walk_count - 1].bytes));
		break;
	default:
		buf_puts(&w->line, "Nothing to compare: it ended before the second heap walk");
	}
}

static void put_leak_headline(struct words *w)
{
	const struct leak_diagnosis *d = w->d;
	double minutes = leak_model_seconds(w->m) / 60;
	switch (d->finding) {
	case LEAK_FOUND_GROWS:
		headline_grows(w);
		break;
	case LEAK_FOUND_UNMANAGED:
		buf_puts(&w->line, "Unmanaged memory grows by ");
		size_text_bytes(&w->line, (uint64_t)(d->unmanaged_bytes / minutes));
		buf_printf(&w->line, "/min (%s)", memory_kind_name(leak_words_memory(w->m)));
		if (d->held_bytes == 0)
			headline_phrase_if_room(w, ", not the heap");
		put_forecast_if_room(w);
		break;
	case LEAK_FOUND_FREE_MEMORY:
		headline_free(w);
		break;
	default:
		headline_calm(w);
	}
}

char *leak_headline_make(const struct leak_model *m, const struct leak_diagnosis *d)
{
	struct words w = {.m = m, .d = d};
	AUTO_BUF struct buf shown;
	buf_init(&w.line, DIAGNOSIS_MAX_BYTES);
	buf_init(&shown, DIAGNOSIS_MAX_BYTES);
	put_leak_headline(&w);
	method_name_shorten(buf_str(&w.line), HEADLINE_MAX_CHARS, &shown); /* as it is, when it fits */
	buf_fini(&w.line);
	return buf_steal(&shown);
}
