#include "agent/profilers/leak/leak_numbers.h"

#include "agent/profilers/leak/leak_contexts.h"
#include "agent/profilers/leak/leak_finding.h"
#include "agent/profilers/leak/leak_headline.h"
#include "agent/profilers/leak/leak_words.h"
#include "common/base/cleanup.h"
#include "common/base/mem.h"

#include <stdlib.h>

#define HOLDER_CHARS 200
#define ROOT_CHARS 34 /* in a headline */
#define TIMERS "System.Threading.TimerQueueTimer"
#define TOKENS "System.Threading.CancellationTokenSource"
#define ENTITIES "Microsoft.EntityFrameworkCore.ChangeTracking.Internal.Internal"
#define TRACKERS "Microsoft.EntityFrameworkCore.ChangeTracking.Internal.StateManager"

RULE_FIELDS(leak_numbers, LEAK_NUMBERS);

struct part_numbers {
	double *bytes, *more;
	struct rule_text *holder, *line;
};

#define PART(x) {&n->x##_bytes, &n->x##_more, &n->x##_holder, &n->x##_line}

static struct part_numbers part_of_numbers(struct leak_numbers *n, enum leak_part part)
{
	const struct part_numbers parts[LEAK_PARTS] = {
		[LEAK_PART_HELD] = PART(held),	 [LEAK_PART_EVENTS] = PART(event),	 [LEAK_PART_TIMERS] = PART(timer),     [LEAK_PART_TOKENS] = PART(token),
		[LEAK_PART_ASYNC] = PART(async), [LEAK_PART_CONTAINER] = PART(container), [LEAK_PART_CONTEXTS] = PART(context),
		[LEAK_PART_ENTITIES] = PART(entity),
	};
	return parts[part];
}

/* How it is held, or for whom. */
static enum leak_part part_of_group(const struct leak_model *m, const struct leak_group *g)
{
	static const enum leak_part by_pattern[LEAK_PATTERNS] = {
		[LEAK_EVENT_HANDLER] = LEAK_PART_EVENTS, [LEAK_TIMER] = LEAK_PART_TIMERS,	  [LEAK_CANCELLATION] = LEAK_PART_TOKENS,
		[LEAK_ASYNC] = LEAK_PART_ASYNC,		 [LEAK_DISPOSABLES] = LEAK_PART_CONTAINER, [LEAK_TRACKED] = LEAK_PART_ENTITIES,
		[LEAK_SCOPES] = LEAK_PART_CONTAINER,
	};
	return leak_contexts_own(m, g->payload) ? LEAK_PART_CONTEXTS : by_pattern[g->pattern];
}

const struct leak_group *leak_numbers_group(const struct leak_model *m, const struct leak_groups *g, enum leak_part part)
{
	for (size_t i = 0; i < g->count; i++) { /* most growth first */
		if (g->items[i].verdict == LEAK_GROWS && part_of_group(m, &g->items[i]) == part)
			return &g->items[i];
	}
	return NULL;
}

static void set_line(const struct leak_model *m, const struct leak_diagnosis *d, enum leak_finding finding, const struct leak_group *g, struct rule_text *out)
{
	struct leak_diagnosis as = *d; /* as if that led */
	as.finding = finding;
	as.group = g;
	AUTO_FREE char *line = leak_headline_make(m, &as);
	rules_set_text(out, line);
}

static void set_holder(const struct leak_model *m, uint32_t step, struct rule_text *out)
{
	AUTO_BUF struct buf path;
	buf_init(&path, 8192);
	leak_put_path(&path, m, step, HOLDER_CHARS);
	rules_set_text(out, buf_str(&path));
}

/* Where nothing of the part is sure to grow, but something grew: what a count may be about. */
static void set_likely_holder(const struct leak_model *m, const struct leak_groups *groups, enum leak_part part, struct rule_text *out)
{
	for (size_t i = 0; i < groups->count && part != LEAK_PART_HELD; i++) {
		if (part_of_group(m, &groups->items[i]) != part)
			continue;
		set_holder(m, groups->items[i].payload, out);
		return;
	}
}

static void set_parts(const struct leak_model *m, const struct leak_diagnosis *d, struct leak_numbers *n)
{
	for (enum leak_part part = 0; part < LEAK_PARTS; part++) {
		struct part_numbers p = part_of_numbers(n, part);
		*p.bytes = *p.more = 0;
		const struct leak_group *first = leak_numbers_group(m, &d->groups, part);
		if (!first) {
			set_likely_holder(m, &d->groups, part, p.holder);
			continue;
		}
		for (size_t i = 0; i < d->groups.count; i++) {
			const struct leak_group *g = &d->groups.items[i];
			if (g->verdict != LEAK_GROWS || part_of_group(m, g) != part)
				continue;
			*p.bytes += (double)g->grown_bytes;
			*p.more += (double)g->grown_count;
		}
		set_holder(m, first->payload, p.holder);
		set_line(m, d, LEAK_FOUND_GROWS, first, p.line);
	}
}

/* Types only: who holds them is not known. */
static void set_types_part(const struct leak_model *m, const struct leak_diagnosis *d, struct leak_numbers *n)
{
	n->held_bytes = (double)d->held_bytes;
	if (d->held_bytes <= 0 || d->type == LEAK_NONE)
		return;
	n->held_more = (double)leak_model_type_at(m, d->type, m->walk_count - 1)->count - (double)leak_model_type_at(m, d->type, 0)->count;
	rules_set_text(&n->held_holder, leak_model_text(m, m->types[d->type].name));
	set_line(m, d, LEAK_FOUND_TYPES, NULL, &n->held_line);
}

static void set_open(const struct leak_diagnosis *d, enum leak_verdict types, struct leak_numbers *n)
{
	static const char *const why[LEAK_VERDICTS] = {
		[LEAK_UNCERTAIN] = "what grows by leaps, or slows down while CPUs are short, may go on: a longer session would tell",
		[LEAK_WARMING_UP] = "the process had just started",
		[LEAK_SLOWS_DOWN] = "what grows slows down, as a cache that fills: a longer session would tell",
	};
	n->open_bytes = 0;
	for (size_t i = 0; i < d->groups.count; i++) {
		const struct leak_group *g = &d->groups.items[i];
		if (!why[g->verdict])
			continue;
		n->open_bytes += (double)g->grown_bytes;
		if (!n->open_why.text[0])
			rules_set_text(&n->open_why, why[g->verdict]);
	}
	if (why[types]) {
		n->open_bytes += (double)d->type_bytes;
		rules_set_text(&n->open_why, why[types]);
	}
}

static void set_memory(const struct leak_model *m, const struct leak_diagnosis *d, struct leak_numbers *n)
{
	const struct leak_walk *first = &m->walks[0], *last = &m->walks[m->walk_count - 1];
	n->gap_bytes = (double)last->free_bytes - (double)first->free_bytes;
	n->pinned_more = (double)last->pinned_objects - (double)first->pinned_objects;
	n->torn = d->torn;
	if (d->torn || d->keeps)
		set_line(m, d, LEAK_FOUND_FREE_MEMORY, NULL, d->torn ? &n->torn_line : &n->kept_line);
	if (!d->memory_known)
		return;
	n->unmanaged_bytes = (double)d->unmanaged_bytes;
	n->unmanaged_growing = d->unmanaged == LEAK_GROWS ? (double)d->unmanaged_bytes : 0;
	n->unmanaged_open = d->unmanaged == LEAK_UNCERTAIN || d->unmanaged == LEAK_SLOWS_DOWN || d->unmanaged == LEAK_WARMING_UP;
	n->kept_bytes = (double)d->free_bytes;
	n->kept_much = d->keeps && !d->torn;
	n->unmanaged_code = leak_words_memory(m) == MEMORY_CODE;
	rules_set_text(&n->unmanaged_kind, memory_kind_title(leak_words_memory(m)));
	if (d->unmanaged == LEAK_GROWS)
		set_line(m, d, LEAK_FOUND_UNMANAGED, NULL, &n->unmanaged_line);
}

/* Whether there were more at each walk. */
static double rises(const struct leak_model *m, const char *type)
{
	for (size_t w = 1; w < m->walk_count; w++) {
		if (leak_model_count_of(m, type, w) <= leak_model_count_of(m, type, w - 1))
			return 0;
	}
	return 1;
}

static void set_counts(const struct leak_model *m, struct leak_numbers *n)
{
	struct leak_contexts contexts;
	size_t last = m->walk_count - 1;
	n->timers_first = (double)leak_model_count_of(m, TIMERS, 0);
	n->timers_last = (double)leak_model_count_of(m, TIMERS, last);
	n->tokens_first = (double)leak_model_count_of(m, TOKENS, 0);
	n->tokens_last = (double)leak_model_count_of(m, TOKENS, last);
	n->entities_first = (double)leak_model_count_of(m, ENTITIES, 0);
	n->entities_last = (double)leak_model_count_of(m, ENTITIES, last);
	n->entities_rise = rises(m, ENTITIES);
	n->trackers_last = (double)leak_model_count_of(m, TRACKERS, last);
	leak_contexts_find(m, &contexts);
	n->loaders_more = (double)contexts.more;
	n->loaders_rise = contexts.at_each_walk;
	if (contexts.keeper == LEAK_NONE)
		return;
	AUTO_BUF struct buf root;
	buf_init(&root, 1024);
	leak_words_name(&root, m, leak_words_root(m, contexts.keeper), ROOT_CHARS);
	rules_set_text(&n->loaders_root, buf_str(&root));
	set_holder(m, contexts.keeper, &n->loaders_keeper);
}

void leak_numbers_of(const struct leak_model *m, const struct leak_diagnosis *d, struct leak_numbers *out)
{
	bool types_only = leak_model_types_only(m);
	rules_clear(&leak_numbers_fields, out);
	out->walks = (double)m->walk_count;
	out->seconds = leak_model_seconds(m);
	if (m->walk_count < 2 || out->seconds <= 0)
		return;
	out->types_only = types_only;
	if (m->uptime_ms >= 0)
		out->uptime_seconds = (double)m->uptime_ms / 1000;
	out->live_bytes = (double)m->walks[m->walk_count - 1].bytes;
	out->heap_bytes = (double)d->heap_bytes;
	out->least_per_minute = d->detectable_per_minute;
	out->bytes_per_minute = d->forecast.bytes_per_minute;
	if (m->limit.bytes >= 0)
		out->limit_bytes = (double)m->limit.bytes;
	if (m->limit.used_bytes >= 0)
		out->used_bytes = (double)m->limit.used_bytes;
	if (types_only)
		set_types_part(m, d, out);
	else
		set_parts(m, d, out);
	set_open(d, d->types, out);
	set_memory(m, d, out);
	set_counts(m, out);
}
