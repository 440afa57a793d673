#include "agent/profilers/survivors/survivors_diagnosis.h"

#include "agent/symbols/method_name.h"
#include "agent/report/phrase.h"
#include "agent/report/report.h"
#include "common/base/size_text.h"
#include "agent/profilers/survivors/survivors_advice.h"
#include "agent/profilers/survivors/survivors_finding.h"
#include "agent/profilers/survivors/survivors_rules.h"
#include "agent/profilers/survivors/survivors_text.h"
#include "agent/profilers/survivors/survivors_types.h"
#include "common/base/mem.h"

#include <stdlib.h>
#include <string.h>

/* what is worth a line */
#define FREE_LINE 10.0
#define LARGE_LINE 15.0
#define UNREACHABLE_LINE 10.0
#define NEXT_HOLDERS 3
#define NEXT_HOLDER_LINE 1.0
#define TOP_TYPES 4
#define TYPE_LINE 1.0
#define PINNED_LINE 100
#define NAME_CHARS 70
#define PATH_CHARS 300

const char *survivors_diagnosis_named(const struct survivors *s, const struct survivors_diagnosis *d)
{
	return d->keeper ? survivors_tree_name(&s->tree, s->snapshot, d->keeper) : d->holder ? d->holder->name : NULL;
}

/* Where no rule found anything. */
static void put_survivors_nothing(const struct survivors *s, const struct survivors_diagnosis *d, struct buf *line)
{
	if (d->finding == SURVIVORS_FINDS_EMPTY) {
		buf_puts(line, "The heap is small: ");
		size_text_bytes(line, s->bytes);
		buf_puts(line, " in ");
		size_text_count(line, s->objects);
		buf_puts(line, size_text_plural(s->objects, " object", " objects"));
		return;
	}
	if (d->found.withheld) {
		findings_put_withheld(&d->found, line);
		return;
	}
	if (d->finding == SURVIVORS_FINDS_UNREAD) {
		buf_puts(line, "What holds ");
		size_text_bytes(line, s->unreachable_bytes);
		buf_puts(line, " of ");
		size_text_bytes(line, s->bytes);
		buf_puts(line, " was not read");
		return;
	}
	if (!s->graph) {
		survivors_types_headline(s, HEADLINE_MAX_CHARS, line);
		return;
	}
	size_text_bytes(line, s->bytes);
	buf_puts(line, ", no holder stands out");
	if (d->holder) {
		buf_puts(line, "; most, ");
		phrase_percent(line, survivors_percent(s, survivors_finding_retained(s, d->holder)));
		buf_puts(line, ", ");
		survivors_text_holder(line, d->holder->name, HEADLINE_MAX_CHARS - phrase_chars(buf_str(line)));
	}
}

static void put_survivors_headline(const struct survivors *s, const struct survivors_diagnosis *d, struct buf *line)
{
	const struct finding *lead = findings_lead(&d->found);
	if (lead)
		buf_puts(line, lead->message);
	else
		put_survivors_nothing(s, d, line);
}

/* the lines ------------------------------------------------------------------------------------------------------- */

static void put_survivors_path(const struct survivors *s, const struct survivors_diagnosis *d, struct buf *line)
{
	if (!d->path || !d->path->step_count || d->finding == SURVIVORS_FINDS_EMPTY || d->finding == SURVIVORS_FINDS_UNREAD)
		return;
	buf_puts(line, d->finding == SURVIVORS_FINDS_HOLDER ? "Held through " : "The main path to it: ");
	if (d->path != &d->kept) {
		survivors_text_holder(line, survivors_text_root(s->snapshot, d->path), NAME_CHARS);
		buf_puts(line, " -> ");
	}
	survivors_text_steps(line, s->snapshot, d->path, PATH_CHARS);
	buf_puts(line, ": ");
	survivors_text_share(line, s, d->path->held);
}

/* The way to the object of the application is of types that nobody can change. */
static void put_reached_from(const struct survivors *s, const struct survivors_diagnosis *d, struct buf *line)
{
	bool several = d->keeper && d->holder->kind == SURVIVORS_SEVERAL;
	if (!d->keeper)
		return;
	buf_puts(line, several ? "Several roots reach " : "The root that reaches ");
	survivors_text_objects(line, s->snapshot, s->tree.nodes[d->keeper].type, 1, NAME_CHARS);
	if (!several || d->path == &d->kept) {
		buf_puts(line, several ? "; one is " : " is ");
		survivors_text_holder(line, several ? survivors_text_root(s->snapshot, d->path) : d->holder->name, NAME_CHARS);
	}
}

static void put_advice(const struct survivors *s, const struct survivors_diagnosis *d, struct buf *line)
{
	const struct finding *lead = findings_lead(&d->found);
	const char *advice = lead ? survivors_advice_disease(lead->id) : NULL;
	if (advice)
		;
	else if (d->finding == SURVIVORS_FINDS_FREE)
		advice = s->spaces[HEAP_GEN_LOH].free_bytes * 2 > s->free_bytes
				 ? "Remedy: pool large arrays (ArrayPool), or compact once: GCSettings.LargeObjectHeapCompactionMode"
				 : "Remedy: the memory was needed once and is kept for reuse: GCConserveMemory or a limit (GCHeapHardLimit) returns it";
	else if (d->finding == SURVIVORS_FINDS_UNREAD)
		advice = survivors_advice_unread(&s->snapshot->facts);
	else if (d->keeper)
		advice = survivors_advice_kept(s->snapshot, d->path);
	else if (d->finding != SURVIVORS_FINDS_EMPTY && d->holder)
		advice = survivors_advice(s->snapshot, d->holder->kind, d->path);
	if (advice)
		buf_puts(line, advice);
}

static void put_next_holders(const struct survivors *s, const struct survivors_diagnosis *d, struct buf *line)
{
	size_t said = 0;
	for (uint32_t i = 0; i < s->holder_count && said < NEXT_HOLDERS; i++) {
		const struct survivors_holder *h = &s->holders[i];
		if (h == d->holder || survivors_percent(s, survivors_finding_retained(s, h)) < NEXT_HOLDER_LINE)
			continue;
		buf_puts(line, said++ ? "; " : d->holder ? "Next: " : "Holders: ");
		survivors_text_holder(line, h->name, NAME_CHARS);
		if (h->kind == SURVIVORS_SEVERAL)
			buf_puts(line, " (held by several)");
		else if (h->kind == SURVIVORS_UNKNOWN)
			buf_printf(line, " (%s)", heap_facts_unheld(&s->snapshot->facts));
		buf_puts(line, ": ");
		survivors_text_share(line, s, survivors_finding_retained(s, h));
	}
}

static int by_shallow(const void *a, const void *b)
{
	uint64_t x = survivors_finding_shallow(*(const struct survivors_group *const *)a);
	uint64_t y = survivors_finding_shallow(*(const struct survivors_group *const *)b);
	return x > y ? -1 : x < y;
}

static void put_survivors_types(const struct survivors *s, struct buf *line)
{
	const struct survivors_group **order = mem_calloc(s->types.count + 1, sizeof *order);
	for (uint32_t i = 0; i < s->types.count; i++)
		order[i] = &s->types.items[i];
	qsort(order, s->types.count, sizeof *order, by_shallow);
	for (uint32_t i = 0; i < s->types.count && i < TOP_TYPES && survivors_percent(s, survivors_finding_shallow(order[i])) >= TYPE_LINE; i++) {
		buf_puts(line, i ? "; " : "Most bytes by type: ");
		survivors_text_objects(line, s->snapshot, order[i]->type, order[i]->total.count + order[i]->total.dead_count, NAME_CHARS);
		buf_puts(line, ": ");
		survivors_text_share(line, s, survivors_finding_shallow(order[i]));
	}
	free(order);
}

static void put_survivors_generations(const struct survivors *s, struct buf *line)
{
	uint64_t large = s->spaces[HEAP_GEN_LOH].bytes + s->spaces[HEAP_GEN_LOH].dead_bytes;
	uint64_t old = s->spaces[HEAP_GEN2].bytes + s->spaces[HEAP_GEN2].dead_bytes;
	buf_puts(line, "In the old generation: ");
	survivors_text_share(line, s, old);
	buf_puts(line, "; on the large object heap: ");
	survivors_text_share(line, s, large);
	if (survivors_percent(s, large) >= LARGE_LINE)
		buf_puts(line, ": it is collected with generation 2 only and not compacted, pool large arrays");
}

static void put_free(const struct survivors *s, const struct survivors_diagnosis *d, struct buf *line)
{
	int most = 0;
	uint64_t pinned = s->pinned_objects - s->spaces[HEAP_GEN_POH].pinned_count;
	for (int i = 1; i < HEAP_GENERATIONS; i++)
		if (s->spaces[i].free_bytes > s->spaces[most].free_bytes)
			most = i;
	if (survivors_finding_free_percent(s) < FREE_LINE && d->finding != SURVIVORS_FINDS_FREE)
		return;
	buf_puts(line, "Free space between objects: ");
	size_text_bytes(line, s->free_bytes);
	buf_puts(line, " beside ");
	size_text_bytes(line, s->bytes);
	buf_puts(line, " of objects, most of it in ");
	buf_puts(line, heap_generation_name(most));
	if (s->spaces[most].largest_free_bytes) {
		buf_puts(line, ", the largest gap ");
		size_text_bytes(line, s->spaces[most].largest_free_bytes);
	}
	if (pinned >= PINNED_LINE) {
		buf_puts(line, "; ");
		size_text_count(line, pinned);
		buf_puts(line, " pinned objects keep it from being compacted");
	}
}

static void put_unreachable(const struct survivors *s, const struct survivors_diagnosis *d, struct buf *line)
{
	if (d->finding == SURVIVORS_FINDS_UNREACHABLE || d->finding == SURVIVORS_FINDS_UNREAD || survivors_percent(s, s->unreachable_bytes) < UNREACHABLE_LINE)
		return;
	survivors_text_share(line, s, s->unreachable_bytes);
	buf_puts(line, " are ");
	buf_puts(line, heap_facts_unheld(&s->snapshot->facts));
}

static void put_roots_read(const struct survivors *s, struct buf *line)
{
	const struct heap_facts *f = &s->snapshot->facts;
	if (!s->graph) {
		survivors_types_put_meaning(line);
		return;
	}
	buf_puts(line, f->way == HEAP_WAY_EXACT ? "Roots: all, by a forced collection" : "Roots: statics, handles and stacks, without a collection");
	if (f->why && f->why[0])
		buf_printf(line, " (%s)", f->why);
}

/* all of it ------------------------------------------------------------------------------------------------------- */

static void add_survivors_line(struct buf *text, struct buf *line)
{
	if (line->len && text->len + line->len + 2 <= DIAGNOSIS_MAX_BYTES) {
		buf_putc(text, '\n');
		buf_append(text, line->data, line->len);
		if (line->data[line->len - 1] != '.')
			buf_putc(text, '.');
	}
	buf_reset(line);
}

void survivors_diagnosis_make(const struct survivors *s, struct survivors_diagnosis *out)
{
	AUTO_BUF struct buf text, line;
	buf_init(&text, DIAGNOSIS_MAX_BYTES + 1);
	buf_init(&line, DIAGNOSIS_MAX_BYTES * 4);
	struct survivors_numbers *n = mem_alloc(sizeof *n);
	struct findings found;
	survivors_numbers_of(s, n);
	rules_run(survivors_rules, survivors_rules_count, &survivors_numbers_fields, n, &found);
	if (s->snapshot->facts.engines)
		findings_withhold(&found, survivors_engines, s->snapshot->facts.engines);
	survivors_finding_decide(s, n, &found, out);
	out->numbers = n;
	out->found = found;
	put_survivors_headline(s, out, &line);
	out->headline = mem_strdup(buf_str(&line));
	buf_puts(&text, out->headline);
	buf_reset(&line);
	if (!s->graph) {
		survivors_types_put_needs(s, &line);
		add_survivors_line(&text, &line);
		survivors_types_put_part(s, &line);
		add_survivors_line(&text, &line);
	}
	put_survivors_path(s, out, &line);
	add_survivors_line(&text, &line);
	put_reached_from(s, out, &line);
	add_survivors_line(&text, &line);
	put_advice(s, out, &line);
	add_survivors_line(&text, &line);
	put_next_holders(s, out, &line);
	add_survivors_line(&text, &line);
	put_survivors_types(s, &line);
	add_survivors_line(&text, &line);
	put_survivors_generations(s, &line);
	add_survivors_line(&text, &line);
	put_free(s, out, &line);
	add_survivors_line(&text, &line);
	put_unreachable(s, out, &line);
	add_survivors_line(&text, &line);
	put_roots_read(s, &line);
	add_survivors_line(&text, &line);
	out->text = buf_steal(&text);
}

void survivors_diagnosis_fini(struct survivors_diagnosis *d)
{
	findings_fini(&d->found);
	free(d->numbers);
	free(d->headline);
	free(d->text);
	*d = (struct survivors_diagnosis){0};
}
