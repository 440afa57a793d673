#include "agent/profilers/leak/leak_lines.h"

#include "agent/report/phrase.h"
#include "agent/profilers/leak/leak_async.h"
#include "agent/profilers/leak/leak_headline.h"
#include "agent/profilers/leak/leak_types.h"
#include "agent/profilers/leak/leak_words.h"
#include "agent/profilers/leak/memory_growth.h"
#include "agent/symbols/method_name.h"
#include "agent/report/report.h"
#include "common/base/size_text.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define PATH_CHARS 300
#define TYPE_CHARS 60
#define NEXT_GROUPS 3
#define MAPPINGS_NAMED 4
#define DURATION_MAX_SECONDS 3600 /* of a session */

struct words {
	const struct leak_model *m;
	struct leak_diagnosis *d;
	struct buf line; /* the one that is being made */
	struct buf text;
};

/* Lines that no longer fit are left out: the most telling ones come first. */
static void end_leak_line(struct words *w)
{
	size_t needed = w->line.len + (w->text.len ? 1 : 0);
	if (w->line.len && w->text.len + needed < DIAGNOSIS_MAX_BYTES) {
		if (w->text.len)
			buf_putc(&w->text, '\n');
		buf_puts(&w->text, buf_str(&w->line));
	}
	buf_reset(&w->line);
}

static void put_step_name(struct words *w, uint32_t step, size_t max_chars)
{
	leak_words_name(&w->line, w->m, step, max_chars);
}

static void put_rate(struct words *w, double bytes_per_minute)
{
	size_text_bytes(&w->line, (uint64_t)bytes_per_minute);
	buf_puts(&w->line, " a minute");
}

static void put_leak_period(struct words *w)
{
	leak_words_period(&w->line, w->m);
}

/* lines of the findings --------------------------------------------------------------------------------------------- */

/* ", held by 10,000 calls of the async method Feed.Listen, which await Task.Delay" */
static bool put_async(struct words *w, const struct leak_group *g)
{
	AUTO_BUF struct buf method, awaited;
	buf_init(&method, 1024);
	buf_init(&awaited, 1024);
	if (g->pattern != LEAK_ASYNC || g->state == LEAK_NONE || !leak_async_method(&method, w->m, g->state))
		return false;
	if (g->payload != g->state) {
		buf_puts(&w->line, ", held by ");
		size_text_count(&w->line, (uint64_t)leak_model_more(w->m, g->state));
		buf_puts(&w->line, " more calls of the async method ");
		method_name_shorten(buf_str(&method), TYPE_CHARS, &w->line);
	}
	if (leak_async_awaits(&awaited, w->m, g->state)) {
		buf_puts(&w->line, ", which await ");
		method_name_shorten(buf_str(&awaited), TYPE_CHARS, &w->line);
	}
	return true;
}

static void put_group(struct words *w, const struct leak_group *g)
{
	const char *how = leak_pattern_phrase(g->pattern);
	AUTO_BUF struct buf event;
	buf_init(&event, 4096);
	leak_words_more(&w->line, w->m, g, TYPE_CHARS);
	buf_puts(&w->line, " (");
	if (g->grown_count <= 0)
		buf_puts(&w->line, "+ ");
	size_text_bytes(&w->line, (uint64_t)g->grown_bytes);
	buf_putc(&w->line, ')');
	put_leak_period(w);
	if (g->pattern == LEAK_EVENT_HANDLER && leak_words_event(&event, w->m, g->payload, PATH_CHARS))
		buf_printf(&w->line, ", held by handlers of the event %s", buf_str(&event));
	else if (!put_async(w, g) && how[0])
		buf_printf(&w->line, ", held %s", how);
	buf_putc(&w->line, '.');
	end_leak_line(w);
	buf_puts(&w->line, "Path: ");
	leak_put_path(&w->line, w->m, g->payload, PATH_CHARS);
	end_leak_line(w);
}

static void put_course(struct words *w)
{
	const struct leak_diagnosis *d = w->d;
	size_t walks = w->m->walk_count;
	if (walks == 2)
		buf_puts(&w->line, "Two walks cannot tell a leak from a cache that fills: memoryLeak.walks: 5 would.");
	else
		buf_printf(&w->line, "It grew %s over %zu walks (confidence: %s).", d->fit.steady ? "steadily" : "all the time, though not evenly,", walks,
			   leak_confidence_name(d->confidence));
	if (w->m->uptime_ms >= 0 && w->m->uptime_ms < LEAK_JUST_STARTED_MS) {
		buf_puts(&w->line, " The process had started ");
		leak_put_measured(&w->line, (double)w->m->uptime_ms / 1000);
		buf_puts(&w->line, " before: it may still be warming up.");
	}
	end_leak_line(w);
}

static void put_forecast(struct words *w)
{
	const struct leak_forecast *f = &w->d->forecast;
	if (f->bytes_per_minute <= 0)
		return;
	if (f->kind == LEAK_LIMIT_NONE) {
		buf_puts(&w->line, "When memory runs out is not known: the container's limit could not be read.");
		end_leak_line(w);
		return;
	}
	if (f->kind == LEAK_LIMIT_CONTAINER) {
		if (f->seconds < 0) {
			buf_puts(&w->line, "The container's memory limit is more than ");
			leak_put_forecast(&w->line, f->farthest);
			buf_puts(&w->line, " away at this pace.");
		} else {
			buf_puts(&w->line, "Reaches the container's memory limit of ");
			leak_put_limit(&w->line, f->limit_bytes);
			buf_puts(&w->line, " in ");
			leak_put_forecast(&w->line, f->seconds);
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
			leak_put_forecast(&w->line, f->seconds);
		}
		buf_putc(&w->line, '.');
	}
	end_leak_line(w);
}

/* The rules say it: "Also: ...". */
static bool is_said(const struct words *w, const struct leak_group *g)
{
	for (enum leak_part part = 0; part < LEAK_PARTS; part++) {
		if (leak_numbers_group(w->m, &w->d->groups, part) == g)
			return true;
	}
	return false;
}

static void put_next_groups(struct words *w)
{
	const struct leak_groups *g = &w->d->groups;
	size_t named = 0;
	for (size_t i = 0; i < g->count && named < NEXT_GROUPS; i++) {
		if (&g->items[i] == w->d->group || g->items[i].verdict != LEAK_GROWS || is_said(w, &g->items[i]))
			continue;
		buf_puts(&w->line, named++ ? ", " : "Further growth: ");
		put_step_name(w, leak_words_root(w->m, g->items[i].holder), TYPE_CHARS);
		buf_puts(&w->line, " ");
		leak_words_more(&w->line, w->m, &g->items[i], TYPE_CHARS);
		buf_puts(&w->line, " (");
		size_text_bytes(&w->line, (uint64_t)g->items[i].grown_bytes);
		buf_putc(&w->line, ')');
	}
	if (named)
		buf_putc(&w->line, '.');
	end_leak_line(w);
}

static void put_growth_of(struct words *w, const char *what, int64_t bytes)
{
	buf_puts(&w->line, what);
	buf_puts(&w->line, bytes < 0 ? " - " : " + ");
	size_text_bytes(&w->line, (uint64_t)(bytes < 0 ? -bytes : bytes));
}

static void put_leak_memory(struct words *w)
{
	const struct leak_diagnosis *d = w->d;
	if (!d->memory_known) {
		if (w->m->walk_count >= 2) {
			buf_puts(&w->line, "Memory outside the heap is unknown: the agent may not read this process's memory map.");
			end_leak_line(w);
		}
		return;
	}
	put_growth_of(w, "Process", (int64_t)(w->m->last.total.rss - w->m->first.total.rss));
	put_growth_of(w, ": live objects", d->heap_bytes);
	put_growth_of(w, ", free in the heap", d->free_bytes);
	put_growth_of(w, ", unmanaged", d->unmanaged_bytes);
	buf_putc(&w->line, '.');
	end_leak_line(w);
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
	end_leak_line(w);
	memory_growth_free(grown, count);
}

static const char *unmanaged_remedy(enum memory_kind k)
{
	switch (k) {
	case MEMORY_STACKS:
		return "Threads keep being created and never exit: find the code that creates them (long-running tasks, timers of native libraries).";
	case MEMORY_CODE:
		return "Code keeps being compiled: cache compiled regular expressions, expression trees, serializers and dynamic assemblies.";
	case MEMORY_SHARED:
		return "Shared memory is mapped and never released: dispose MemoryMappedFile and its views.";
	default:
		return "Native memory is not released: free what NativeMemory and Marshal.Alloc* allocated; dispose SafeHandles, streams, images and "
		       "connections; otherwise a native library leaks.";
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
	end_leak_line(w);
	buf_puts(&w->line, w->d->torn ? "A collection cannot move pinned objects, and the gaps around them stay: free handles (GCHandle.Free) early, "
					"and allocate long-lived pinned buffers together (GC.AllocateArray(pinned: true), a pool)."
				      : "The runtime returns it when memory gets short; DOTNET_GCConserveMemory or a lower memory limit makes it do so "
					"earlier. Short-lived pinned and large objects fragment the heap: pool them.");
	end_leak_line(w);
}

static void put_large_group(struct words *w)
{
	if (!w->d->group->large)
		return;
	buf_puts(&w->line, "They are on the large object heap, which is collected only by gen 2 GCs and not compacted by default: pool them, or keep them in "
			   "pieces of less than 85,000 bytes.");
	end_leak_line(w);
}

static void put_uncertain(struct words *w)
{
	int64_t given_ns[LEAK_MAX_WALKS];
	if (w->d->group && w->m->steps[w->d->group->holder].root == LEAK_ROOT_UNKNOWN) {
		buf_puts(&w->line, "It is reachable only from a root that was not read, or not yet collected: run the session again with roots: Exact.");
		end_leak_line(w);
		return;
	}
	if (w->d->group && leak_pattern_pooled(w->m, w->d->group->payload)) {
		buf_puts(&w->line, "A pool keeps what was given back to it, up to a bound (ArrayPool.Shared: 32 arrays of each size for each CPU), and lets go "
				   "of it when memory is short: that is no leak by itself.");
		end_leak_line(w);
		return;
	}
	if (w->m->walk_count == 2) {
		buf_puts(&w->line, "Two heap snapshots cannot tell a leak from a cache that fills up: run it again with memoryLeak.walks: 3 or more.");
		end_leak_line(w);
		return;
	}
	if (leak_model_given_ns(w->m, given_ns)) {
		buf_puts(&w->line, "Its threads waited for a CPU for a part of the time, so that a falling pace says nothing: profile again, for longer, when "
				   "the node has CPUs to spare.");
		end_leak_line(w);
		return;
	}
	buf_puts(&w->line, "A list or dictionary that is full doubles its array, then does not grow for twice as long as before: profile for "
			   "longer (durationSeconds), with memoryLeak.walks: 5 or more.");
	end_leak_line(w);
}

/* As a session's duration: whole minutes, an hour at most. */
static int64_t worth_seconds(double seconds)
{
	int64_t whole = ((int64_t)seconds + 59) / 60 * 60;
	return whole < DURATION_MAX_SECONDS ? whole : DURATION_MAX_SECONDS;
}

static void put_slows(struct words *w)
{
	const struct leak_fit *f = &w->d->fit;
	double seconds = leak_model_seconds(w->m), longer = f->fills ? f->look_seconds : 0;
	if (f->fills) {
		buf_printf(&w->line, "Its pace fell to %.0f%% of that at the first walk, as a cache's does that fills", fmax(1, f->pace_left * 100));
		if (f->settle_seconds >= 1) {
			buf_puts(&w->line, "; it would be full in ");
			leak_put_forecast(&w->line, (int64_t)f->settle_seconds + 1);
		}
	} else {
		buf_puts(&w->line, "It has hardly grown for ");
		leak_put_measured(&w->line, f->stood_seconds);
		buf_puts(&w->line, ", after it grew for ");
		leak_put_measured(&w->line, f->grew_seconds);
		longer = 2 * seconds;
	}
	int64_t look = worth_seconds(longer > seconds ? longer : seconds);
	buf_puts(&w->line, ". To see whether it stops, profile again for ");
	leak_put_measured(&w->line, (double)look);
	buf_printf(&w->line, " (durationSeconds: %" PRId64 ").", look);
	end_leak_line(w);
}

static void put_churn(struct words *w)
{
	const struct leak_diagnosis *d = w->d;
	const uint64_t *by = d->groups.by_verdict;
	static const struct {
		enum leak_verdict verdict;
		const char *what;
	} kinds[] = {{LEAK_IN_USE, "held by running methods only"},
		     {LEAK_NOT_HELD, "reachable from no known root: not yet collected, or retained by a handle"},
		     {LEAK_FLUCTUATES, "growing and shrinking"}};
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
		if (!by[kinds[i].verdict])
			continue;
		const struct leak_group *g = leak_groups_first(&d->groups, kinds[i].verdict);
		size_text_bytes(&w->line, (uint64_t)by[kinds[i].verdict]);
		buf_printf(&w->line, " more %s, most of it ", kinds[i].what);
		put_step_name(w, g->payload, TYPE_CHARS);
		buf_putc(&w->line, '.');
		end_leak_line(w);
	}
}

static void put_floor(struct words *w)
{
	if (w->m->walk_count < 2)
		return;
	buf_puts(&w->line, "Less than ");
	put_rate(w, w->d->detectable_per_minute);
	buf_puts(&w->line, " would not be seen");
	put_leak_period(w);
	buf_puts(&w->line, ": measure for longer to rule it out.");
	end_leak_line(w);
	if (w->m->walk_count > 2 || w->d->finding == LEAK_FOUND_UNCERTAIN || w->d->finding == LEAK_FOUND_WARMING_UP)
		return;
	buf_puts(&w->line, "Two heap walks cannot rule out a leak: run it again with memoryLeak.walks: 3 or more.");
	end_leak_line(w);
}

static void put_types_growth(struct words *w)
{
	leak_types_put_growth(w->m, w->d, &w->line);
	end_leak_line(w);
}

/* What the finding is about. */
static void put_subject(struct words *w)
{
	if (w->d->group)
		put_group(w, w->d->group);
	else if (w->d->type != LEAK_NONE)
		put_types_growth(w);
	else
		put_mappings(w);
}

/* What is found by its count rather than by a holder's bytes. */
static void put_counted(struct words *w)
{
	static const char *const ids[] = {"AssemblyLoadContextsKept", "TimersPileUp", "CancellationTokenSourcesPileUp", "TrackedEntities"};
	const struct finding *lead = findings_lead(&w->d->findings);
	bool counted = false;
	for (size_t i = 0; lead && i < sizeof ids / sizeof *ids; i++)
		counted |= strcmp(lead->id, ids[i]) == 0;
	if (!counted || (w->d->group && strcmp(lead->id, ids[0]) != 0))
		return;
	if (w->d->numbers.loaders_keeper.text[0] && strcmp(lead->id, "AssemblyLoadContextsKept") == 0)
		buf_printf(&w->line, "Kept by: %s", w->d->numbers.loaders_keeper.text);
	else
		buf_printf(&w->line, "%s.", lead->evidence);
	end_leak_line(w);
	buf_printf(&w->line, "Fix: %s.", lead->fix);
	end_leak_line(w);
}

static void put_leak_lines(struct words *w)
{
	const struct leak_diagnosis *d = w->d;
	leak_types_put_needs(w->m, &w->line);
	end_leak_line(w);
	switch (d->finding) {
	case LEAK_FOUND_GROWS:
		put_counted(w);
		if (!d->group)
			break;
		put_group(w, d->group);
		buf_puts(&w->line, leak_pattern_remedy(w->m, d->group->pattern, d->group->holder));
		end_leak_line(w);
		put_large_group(w);
		put_forecast(w);
		put_course(w);
		put_next_groups(w);
		break;
	case LEAK_FOUND_TYPES:
		put_types_growth(w);
		put_forecast(w);
		put_course(w);
		break;
	case LEAK_FOUND_UNMANAGED:
		put_mappings(w);
		buf_puts(&w->line, unmanaged_remedy(leak_words_memory(w->m)));
		end_leak_line(w);
		put_forecast(w);
		put_next_groups(w);
		break;
	case LEAK_FOUND_FREE_MEMORY:
		if (d->group)
			put_group(w, d->group);
		put_free_memory(w);
		break;
	case LEAK_FOUND_UNCERTAIN:
		put_subject(w);
		put_uncertain(w);
		break;
	case LEAK_FOUND_SLOWS_DOWN:
		put_subject(w);
		put_slows(w);
		break;
	case LEAK_FOUND_WARMING_UP:
	case LEAK_FOUND_LEVELLED_OFF:
		put_subject(w);
		if (d->finding == LEAK_FOUND_WARMING_UP) {
			buf_puts(&w->line, "Ask again when it has run for some minutes, or with memoryLeak.walks: 5.");
			end_leak_line(w);
		}
		break;
	case LEAK_FOUND_UNKNOWN:
		buf_puts(&w->line, "Growth is told by two walks or more: let the session run to its end.");
		end_leak_line(w);
		return;
	default:
		break;
	}
	put_leak_memory(w);
	put_churn(w);
	if (d->finding != LEAK_FOUND_GROWS && d->finding != LEAK_FOUND_UNMANAGED)
		put_floor(w);
}

void leak_lines_make(const struct leak_model *m, struct leak_diagnosis *d)
{
	struct words w = {.m = m, .d = d};
	buf_init(&w.line, DIAGNOSIS_MAX_BYTES);
	buf_init(&w.text, DIAGNOSIS_MAX_BYTES);
	const struct finding *lead = findings_lead(&d->findings);
	AUTO_BUF struct buf shown;
	buf_init(&shown, DIAGNOSIS_MAX_BYTES);
	if (lead)
		method_name_shorten(lead->message, HEADLINE_MAX_CHARS, &shown); /* as it is, when it fits */
	d->headline = lead ? buf_steal(&shown) : leak_headline_make(m, d);
	buf_puts(&w.line, d->headline);
	end_leak_line(&w);
	put_leak_lines(&w);
	d->text = buf_steal(&w.text);
	buf_fini(&w.line);
	buf_fini(&w.text);
}
