#include "agent/leak/leak_lines.h"

#include "agent/cpu_phrase.h"
#include "agent/leak/leak_types.h"
#include "agent/leak/memory_growth.h"
#include "agent/method_name.h"
#include "agent/report.h"
#include "agent/size_text.h"

#include <inttypes.h>
#include <string.h>

#define PATH_CHARS 300
#define TYPE_CHARS 60
#define NEXT_GROUPS 3
#define MAPPINGS_NAMED 4

struct words {
	const struct leak_model *m;
	struct leak_diagnosis *d;
	struct buf line; /* the one that is being made */
	struct buf text;
};

static size_t room(const struct words *w)
{
	size_t used = cpu_phrase_chars(buf_str(&w->line));
	return used < HEADLINE_MAX_CHARS ? HEADLINE_MAX_CHARS - used : 0;
}

/* Lines that no longer fit are left out: the most telling ones come first. */
static void end_line(struct words *w)
{
	size_t needed = w->line.len + (w->text.len ? 1 : 0);
	if (w->line.len && w->text.len + needed < DIAGNOSIS_MAX_BYTES) {
		if (w->text.len)
			buf_putc(&w->text, '\n');
		buf_puts(&w->text, buf_str(&w->line));
	}
	buf_reset(&w->line);
}

static void put_name(struct words *w, uint32_t step, size_t max_chars)
{
	AUTO_BUF struct buf shown;
	buf_init(&shown, 4096);
	method_name_printable(leak_model_text(w->m, w->m->steps[step].shown), 1000, &shown);
	method_name_shorten(buf_str(&shown), max_chars, &w->line);
}

static uint32_t root_of(const struct leak_model *m, uint32_t step)
{
	while (m->steps[step].parent != LEAK_NONE)
		step = m->steps[step].parent;
	return step;
}

static void put_rate(struct words *w, double bytes_per_minute)
{
	size_text_bytes(&w->line, (uint64_t)bytes_per_minute);
	buf_puts(&w->line, " a minute");
}

static void put_period(struct words *w)
{
	buf_puts(&w->line, " in ");
	leak_put_time(&w->line, (int64_t)(leak_model_seconds(w->m) + 0.5));
}

/* "+ 100,000 Order" */
static void put_more(struct words *w, const struct leak_group *g, size_t max_chars)
{
	buf_puts(&w->line, "+ ");
	size_text_count(&w->line, g->grown_count > 0 ? (uint64_t)g->grown_count : 0);
	buf_putc(&w->line, ' ');
	put_name(w, g->payload, max_chars);
}

/* headline -------------------------------------------------------------------------------------------------------- */

static void put_if_room(struct words *w, const char *phrase)
{
	if (cpu_phrase_chars(phrase) <= room(w))
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
	leak_put_time(&b, f->seconds);
	put_if_room(w, buf_str(&b));
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
	};
	const struct leak_group *g = w->d->group;
	AUTO_BUF struct buf rate;
	buf_init(&rate, 64);
	size_text_bytes(&rate, (uint64_t)g->bytes_per_minute);
	buf_puts(&rate, "/min");
	if (pile[g->pattern]) {
		buf_puts(&w->line, pile[g->pattern]);
		put_more(w, g, room(w) - 30);
		buf_printf(&w->line, ", %s", buf_str(&rate));
	} else {
		put_name(w, root_of(w->m, g->holder), 45);
		buf_printf(&w->line, " grows by %s", buf_str(&rate));
	}
	put_forecast_if_room(w);
}

/* The kind of memory outside of the heap that grew most. */
static enum memory_kind grown_kind(const struct leak_model *m)
{
	static const enum memory_kind kinds[] = {MEMORY_MALLOC, MEMORY_ANONYMOUS, MEMORY_STACKS, MEMORY_CODE, MEMORY_SHARED};
	enum memory_kind found = MEMORY_MALLOC;
	int64_t most = INT64_MIN;
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
		const struct memory_figures *a = &m->first.by_kind[kinds[i]], *b = &m->last.by_kind[kinds[i]];
		int64_t grown = (int64_t)(b->rss + b->swap - a->rss - a->swap);
		if (grown > most) {
			most = grown;
			found = kinds[i];
		}
	}
	return found;
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
		put_name(w, root_of(w->m, d->group->holder), room(w) - 12);
		buf_puts(&w->line, " + ");
		size_text_bytes(&w->line, (uint64_t)d->group->grown_bytes);
		break;
	case LEAK_FOUND_LEVELLED_OFF:
		if (!d->group) {
			buf_puts(&w->line, "Types only: what grew has levelled off");
			break;
		}
		buf_puts(&w->line, "No leak: ");
		put_name(w, root_of(w->m, d->group->holder), room(w) - 36);
		buf_puts(&w->line, " filled up to ");
		size_text_bytes(&w->line, (uint64_t)(d->group->bytes[w->m->walk_count - 1]));
		buf_puts(&w->line, " and stays");
		break;
	case LEAK_FOUND_CHURN:
		buf_puts(&w->line, leak_model_types_only(w->m) ? "Types only: what grew is young or comes and goes, nothing old grows"
							       : "No leak: what grew is churn, only in use for the moment");
		break;
	case LEAK_FOUND_STEADY:
		buf_puts(&w->line, "No leak: nothing grew");
		put_period(w);
		buf_puts(&w->line, ", the heap holds ");
		size_text_bytes(&w->line, (uint64_t)(w->m->walks[w->m->walk_count - 1].bytes));
		break;
	default:
		buf_puts(&w->line, "Nothing to compare: it ended before the second heap walk");
	}
}

static void put_headline(struct words *w)
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
		buf_printf(&w->line, "/min (%s)", memory_kind_name(grown_kind(w->m)));
		if (d->held_bytes == 0)
			put_if_room(w, ", not the heap");
		put_forecast_if_room(w);
		break;
	case LEAK_FOUND_FREE_MEMORY:
		buf_puts(&w->line, "No leak of objects: the heap keeps ");
		size_text_bytes(&w->line, (uint64_t)d->free_bytes);
		buf_puts(&w->line, " more that none uses");
		break;
	default:
		headline_calm(w);
	}
}

/* lines of the findings --------------------------------------------------------------------------------------------- */

static void put_group(struct words *w, const struct leak_group *g)
{
	const char *how = leak_pattern_phrase(g->pattern);
	if (g->grown_count > 0)
		put_more(w, g, TYPE_CHARS);
	else
		put_name(w, g->payload, TYPE_CHARS);
	buf_puts(&w->line, " (");
	if (g->grown_count <= 0)
		buf_puts(&w->line, "+ ");
	size_text_bytes(&w->line, (uint64_t)g->grown_bytes);
	buf_putc(&w->line, ')');
	put_period(w);
	if (how[0])
		buf_printf(&w->line, ", held %s", how);
	buf_putc(&w->line, '.');
	end_line(w);
	buf_puts(&w->line, "Path: ");
	leak_put_path(&w->line, w->m, g->payload, PATH_CHARS);
	end_line(w);
}

static void put_course(struct words *w)
{
	const struct leak_diagnosis *d = w->d;
	size_t walks = w->m->walk_count;
	if (walks == 2)
		buf_puts(&w->line, "Two walks cannot tell a leak from a cache that fills: memoryLeak.walks: 5 would.");
	else
		buf_printf(&w->line, "It grew steadily over %zu walks (confidence: %s).", walks, leak_confidence_name(d->confidence));
	if (w->m->uptime_ms >= 0 && w->m->uptime_ms < LEAK_JUST_STARTED_MS) {
		buf_puts(&w->line, " The process had started ");
		leak_put_time(&w->line, w->m->uptime_ms / 1000 + 1);
		buf_puts(&w->line, " before: it may still be warming up.");
	}
	end_line(w);
}

static void put_forecast(struct words *w)
{
	const struct leak_forecast *f = &w->d->forecast;
	if (f->bytes_per_minute <= 0 || f->kind == LEAK_LIMIT_NONE)
		return;
	if (f->kind == LEAK_LIMIT_CONTAINER) {
		if (f->seconds < 0) {
			buf_puts(&w->line, "The container's memory limit is more than a month away.");
		} else {
			buf_puts(&w->line, "Reaches the container's memory limit of ");
			leak_put_limit(&w->line, f->limit_bytes);
			buf_puts(&w->line, " in ");
			leak_put_time(&w->line, f->seconds);
			buf_puts(&w->line, " (now ");
			size_text_bytes(&w->line, (uint64_t)f->used_bytes);
			buf_puts(&w->line, ").");
		}
	} else {
		buf_puts(&w->line, "The container has no memory limit");
		if (f->seconds >= 0) {
			buf_puts(&w->line, "; the node's free ");
			leak_put_limit(&w->line, f->limit_bytes);
			buf_puts(&w->line, " last for ");
			leak_put_time(&w->line, f->seconds);
		}
		buf_putc(&w->line, '.');
	}
	end_line(w);
}

static void put_next(struct words *w)
{
	const struct leak_groups *g = &w->d->groups;
	size_t named = 0;
	for (size_t i = 0; i < g->count && named < NEXT_GROUPS; i++) {
		if (&g->items[i] == w->d->group || g->items[i].verdict != LEAK_GROWS)
			continue;
		buf_puts(&w->line, named++ ? ", " : "Also: ");
		put_name(w, root_of(w->m, g->items[i].holder), TYPE_CHARS);
		buf_puts(&w->line, " ");
		put_more(w, &g->items[i], TYPE_CHARS);
		buf_puts(&w->line, " (");
		size_text_bytes(&w->line, (uint64_t)g->items[i].grown_bytes);
		buf_putc(&w->line, ')');
	}
	if (named)
		buf_putc(&w->line, '.');
	end_line(w);
}

static void put_growth_of(struct words *w, const char *what, int64_t bytes)
{
	buf_puts(&w->line, what);
	buf_puts(&w->line, bytes < 0 ? " - " : " + ");
	size_text_bytes(&w->line, (uint64_t)(bytes < 0 ? -bytes : bytes));
}

static void put_memory(struct words *w)
{
	const struct leak_diagnosis *d = w->d;
	if (!d->memory_known) {
		if (w->m->walk_count >= 2) {
			buf_puts(&w->line, "Memory outside of the heap is not known: the agent may not read this process's memory map.");
			end_line(w);
		}
		return;
	}
	put_growth_of(w, "Process", (int64_t)(w->m->last.total.rss - w->m->first.total.rss));
	put_growth_of(w, ": live objects", d->heap_bytes);
	put_growth_of(w, ", free in the heap", d->free_bytes);
	put_growth_of(w, ", unmanaged", d->unmanaged_bytes);
	buf_putc(&w->line, '.');
	end_line(w);
}

static void put_mappings(struct words *w)
{
	struct memory_grown *grown = NULL;
	size_t count = memory_growth_find(&w->m->first, &w->m->last, MAPPINGS_NAMED * 2, &grown), named = 0;
	for (size_t i = 0; i < count && named < MAPPINGS_NAMED; i++) {
		if (grown[i].kind == MEMORY_GC || grown[i].kind >= MEMORY_FILES) /* files are the kernel's to drop */
			continue;
		buf_puts(&w->line, named++ ? ", " : "Mappings that grew: ");
		method_name_printable(grown[i].name, 120, &w->line);
		buf_putc(&w->line, ' ');
		size_text_bytes(&w->line, (uint64_t)grown[i].first);
		buf_puts(&w->line, " to ");
		size_text_bytes(&w->line, (uint64_t)grown[i].last);
	}
	if (named)
		buf_putc(&w->line, '.');
	end_line(w);
	memory_growth_free(grown, count);
}

static const char *unmanaged_remedy(enum memory_kind k)
{
	switch (k) {
	case MEMORY_STACKS:
		return "Threads are started and do not end: look at who starts them (long-running tasks, timers of native libraries).";
	case MEMORY_CODE:
		return "Code is compiled without end: cache compiled regular expressions, expression trees, serializers and dynamic assemblies.";
	case MEMORY_SHARED:
		return "Shared memory is mapped and not let go of: dispose MemoryMappedFile and its views.";
	default:
		return "Native memory is not given back: free what NativeMemory and Marshal.Alloc* gave, dispose SafeHandles, streams, images and "
		       "connections; else a native library leaks.";
	}
}

static void put_free_memory(struct words *w)
{
	const struct leak_walk *last = &w->m->walks[w->m->walk_count - 1];
	buf_puts(&w->line, "Gaps between objects: ");
	size_text_bytes(&w->line, (uint64_t)last->free_bytes);
	buf_puts(&w->line, "; pinned objects: ");
	size_text_count(&w->line, last->pinned_objects);
	buf_puts(&w->line, "; large objects: ");
	size_text_bytes(&w->line, (uint64_t)last->spaces[HEAP_GEN_LOH].used);
	buf_putc(&w->line, '.');
	end_line(w);
	buf_puts(&w->line, "The runtime gives it back when memory gets short; DOTNET_GCConserveMemory or a smaller memory limit make it do so "
			   "earlier. Pinned and large objects that come and go tear the heap: pool them.");
	end_line(w);
}

static void put_churn(struct words *w)
{
	const struct leak_diagnosis *d = w->d;
	const uint64_t *by = d->groups.by_verdict;
	static const struct {
		enum leak_verdict verdict;
		const char *what;
	} kinds[] = {{LEAK_IN_USE, "held by running methods only"},
		     {LEAK_NOT_HELD, "held by no known root: garbage that waits for its collection, or behind a handle"},
		     {LEAK_FLUCTUATES, "growing and shrinking"}};
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
		if (!by[kinds[i].verdict])
			continue;
		const struct leak_group *g = leak_groups_first(&d->groups, kinds[i].verdict);
		size_text_bytes(&w->line, (uint64_t)by[kinds[i].verdict]);
		buf_printf(&w->line, " more %s, most of it ", kinds[i].what);
		put_name(w, g->payload, TYPE_CHARS);
		buf_putc(&w->line, '.');
		end_line(w);
	}
}

static void put_floor(struct words *w)
{
	if (w->m->walk_count < 2)
		return;
	buf_puts(&w->line, "Less than ");
	put_rate(w, w->d->detectable_per_minute);
	buf_puts(&w->line, " would not be seen");
	put_period(w);
	buf_puts(&w->line, ": measure for longer to rule it out.");
	end_line(w);
}

static void put_types_growth(struct words *w)
{
	leak_types_put_growth(w->m, w->d, &w->line);
	end_line(w);
}

static void put_lines(struct words *w)
{
	const struct leak_diagnosis *d = w->d;
	leak_types_put_needs(w->m, &w->line);
	end_line(w);
	switch (d->finding) {
	case LEAK_FOUND_GROWS:
		put_group(w, d->group);
		buf_puts(&w->line, leak_pattern_remedy(d->group->pattern));
		end_line(w);
		put_forecast(w);
		put_course(w);
		put_next(w);
		break;
	case LEAK_FOUND_TYPES:
		put_types_growth(w);
		put_forecast(w);
		put_course(w);
		break;
	case LEAK_FOUND_UNMANAGED:
		put_mappings(w);
		buf_puts(&w->line, unmanaged_remedy(grown_kind(w->m)));
		end_line(w);
		put_forecast(w);
		put_next(w);
		break;
	case LEAK_FOUND_FREE_MEMORY:
		put_free_memory(w);
		break;
	case LEAK_FOUND_WARMING_UP:
	case LEAK_FOUND_LEVELLED_OFF:
		if (d->group)
			put_group(w, d->group);
		else
			put_types_growth(w);
		if (d->finding == LEAK_FOUND_WARMING_UP) {
			buf_puts(&w->line, "Ask again when it has run for some minutes, or with memoryLeak.walks: 5.");
			end_line(w);
		}
		break;
	case LEAK_FOUND_UNKNOWN:
		buf_puts(&w->line, "Growth is told by two walks or more: let the session run to its end.");
		end_line(w);
		return;
	default:
		break;
	}
	put_memory(w);
	put_churn(w);
	if (d->finding != LEAK_FOUND_GROWS && d->finding != LEAK_FOUND_UNMANAGED)
		put_floor(w);
}

void leak_lines_make(const struct leak_model *m, struct leak_diagnosis *d)
{
	struct words w = {.m = m, .d = d};
	buf_init(&w.line, DIAGNOSIS_MAX_BYTES);
	buf_init(&w.text, DIAGNOSIS_MAX_BYTES);
	put_headline(&w);
	AUTO_BUF struct buf headline;
	buf_init(&headline, DIAGNOSIS_MAX_BYTES);
	method_name_shorten(buf_str(&w.line), HEADLINE_MAX_CHARS, &headline); /* as it is, when it fits */
	d->headline = buf_steal(&headline);
	end_line(&w);
	put_lines(&w);
	d->text = buf_steal(&w.text);
	buf_fini(&w.line);
	buf_fini(&w.text);
}
