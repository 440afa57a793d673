#include "agent/profilers/survivors/survivors_numbers.h"

#include "agent/profilers/survivors/survivors_finding.h"
#include "agent/profilers/survivors/survivors_signs.h"
#include "agent/profilers/survivors/survivors_types.h"

RULE_FIELDS(survivors_numbers, SURVIVORS_NUMBERS);

static void set_of(const struct survivors *s, const struct survivors_diagnosis *d, struct rule_text *of, double *objects)
{
	if (!d->count || d->type == HEAP_NODE_NONE)
		return;
	rules_set_text(of, s->snapshot->types[d->type].short_name);
	*objects = (double)d->count;
}

static void number_holders(const struct survivors *s, struct survivors_numbers *out)
{
	struct survivors_diagnosis d;
	out->unread_bytes = s->snapshot->facts.roots_unread ? (double)s->unreachable_bytes : 0;
	survivors_finding_look(s, SURVIVORS_FINDS_HOLDER, &d);
	rules_set_text(&out->holder, survivors_diagnosis_named(s, &d));
	out->holder_objects = d.keeper ? (double)s->tree.nodes[d.keeper].objects : 0;
	out->holder_bytes = d.keeper ? (double)s->tree.nodes[d.keeper].retained : (double)survivors_finding_retained(s, d.holder);
	set_of(s, &d, &out->holder_of, &out->holder_of_objects);
	survivors_finding_look(s, SURVIVORS_FINDS_SEVERAL, &d);
	out->shared_bytes = (double)s->kinds[SURVIVORS_SEVERAL].retained;
	set_of(s, &d, &out->shared_of, &out->shared_of_objects);
	survivors_finding_look(s, SURVIVORS_FINDS_UNREACHABLE, &d);
	out->unheld_bytes = (double)s->unreachable_bytes;
	rules_set_text(&out->unheld_words, heap_facts_unheld(&s->snapshot->facts));
	set_of(s, &d, &out->unheld_of, &out->unheld_of_objects);
}

/* Pinned objects of the pinned object heap stand in nobody's way. */
static void number_spaces(const struct survivors *s, struct survivors_numbers *out)
{
	const struct heap_space *large = &s->spaces[HEAP_GEN_LOH];
	int most = 0;
	for (int i = 1; i < HEAP_GENERATIONS; i++)
		if (s->spaces[i].free_bytes > s->spaces[most].free_bytes)
			most = i;
	out->large_bytes = (double)(large->bytes + large->dead_bytes);
	if (s->snapshot->facts.part)
		return;
	out->free_bytes = (double)s->free_bytes;
	out->large_free_bytes = (double)large->free_bytes;
	out->largest_free_bytes = (double)s->spaces[most].largest_free_bytes;
	rules_set_text(&out->free_generation, heap_generation_name(most));
	if (s->graph)
		out->pinned_objects = (double)(s->pinned_objects - s->spaces[HEAP_GEN_POH].pinned_count);
}

void survivors_numbers_of(const struct survivors *s, struct survivors_numbers *out)
{
	const struct survivors_group *t = survivors_finding_largest_type(s);
	rules_clear(&survivors_numbers_fields, out);
	out->objects = (double)s->objects;
	out->heap_bytes = (double)s->bytes;
	out->holders_known = s->graph != NULL;
	out->seen_percent = survivors_types_seen_percent(s);
	if (s->graph)
		number_holders(s, out);
	if (t) {
		rules_set_text(&out->type, s->snapshot->types[t->type].short_name);
		out->type_objects = (double)(t->total.count + t->total.dead_count);
		out->type_bytes = (double)survivors_finding_shallow(t);
	}
	number_spaces(s, out);
	survivors_signs_of(s, out);
}
