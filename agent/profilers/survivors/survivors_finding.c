#include "agent/profilers/survivors/survivors_finding.h"

#include "agent/profilers/survivors/survivors_text.h"

#include <string.h>

/* what decides the finding; percent of the heap */
#define EMPTY_BYTES 1000000
#define HOLDER_STANDS_OUT 25.0
#define TYPE_STANDS_OUT 30.0
#define SEVERAL_STAND_OUT 40.0
#define UNREACHABLE_STANDS_OUT 50.0
#define FREE_STANDS_OUT 50.0
#define FREE_BYTES 10000000

const char *survivors_finding_name(enum survivors_finding f)
{
	static const char *const names[] = {"empty", "holder", "type", "several", "spread", "freeMemory", "unreachable"};
	return names[f];
}

double survivors_finding_free_percent(const struct survivors *s)
{
	uint64_t all = s->bytes + s->free_bytes;
	return all ? 100.0 * (double)s->free_bytes / (double)all : 0;
}

uint64_t survivors_finding_shallow(const struct survivors_group *t)
{
	return t->total.bytes + t->total.dead_bytes;
}

const struct survivors_group *survivors_finding_largest_type(const struct survivors *s)
{
	const struct survivors_group *best = NULL;
	for (uint32_t i = 0; i < s->types.count; i++)
		if (!best || survivors_finding_shallow(&s->types.items[i]) > survivors_finding_shallow(best))
			best = &s->types.items[i];
	return best;
}

/* The first holder of these kinds: several and unknown are `apart`. */
static const struct survivors_holder *first_holder(const struct survivors *s, enum survivors_kind apart)
{
	for (uint32_t i = 0; i < s->holder_count; i++) {
		enum survivors_kind k = s->holders[i].kind;
		if (apart == SURVIVORS_KINDS ? k != SURVIVORS_SEVERAL && k != SURVIVORS_UNKNOWN : k == apart)
			return &s->holders[i];
	}
	return NULL;
}

uint64_t survivors_finding_retained(const struct survivors *s, const struct survivors_holder *h)
{
	return h ? s->tree.nodes[h->node].retained : 0;
}

static enum survivors_finding find_survivors_finding(const struct survivors *s)
{
	const struct survivors_group *t = survivors_finding_largest_type(s);
	if (survivors_finding_free_percent(s) >= FREE_STANDS_OUT && s->free_bytes >= FREE_BYTES)
		return SURVIVORS_FINDS_FREE;
	if (s->bytes < EMPTY_BYTES && !s->snapshot->facts.part)
		return SURVIVORS_FINDS_EMPTY;
	if (survivors_percent(s, survivors_finding_retained(s, first_holder(s, SURVIVORS_KINDS))) >= HOLDER_STANDS_OUT)
		return SURVIVORS_FINDS_HOLDER;
	/* what roots hold that were not read is no finding */
	if (!s->snapshot->facts.roots_unread && survivors_percent(s, s->unreachable_bytes) >= UNREACHABLE_STANDS_OUT)
		return SURVIVORS_FINDS_UNREACHABLE;
	if (survivors_percent(s, s->kinds[SURVIVORS_SEVERAL].retained) >= SEVERAL_STAND_OUT)
		return SURVIVORS_FINDS_SEVERAL;
	return t && survivors_percent(s, survivors_finding_shallow(t)) >= TYPE_STANDS_OUT ? SURVIVORS_FINDS_TYPE : SURVIVORS_FINDS_SPREAD;
}

/* Where the way down from a holder ends on which one type has most of what the one above holds. */
static uint32_t main_type(const struct survivors *s, const struct survivors_holder *h)
{
	const struct survivors_node *n = &s->tree.nodes[h->node];
	while (n->first && s->tree.nodes[n->first].retained * 2 >= n->retained)
		n = &s->tree.nodes[n->first];
	return n->type;
}

static bool is_delegate(const struct heap_type *t)
{
	for (size_t i = 0; i < t->field_count; i++)
		if (strcmp(t->fields[i].name, "_invocationList") == 0)
			return true;
	return false;
}

/* What the objects of a type below a holder mainly hold that is no array; NULL: nothing. */
static const struct survivors_node *held_by_type(const struct survivors *s, const struct survivors_holder *h, uint32_t type)
{
	const struct survivors_node *nodes = s->tree.nodes, *n = &nodes[h->node];
	while (n->type != type && n->first)
		n = &nodes[n->first];
	if (n->type != type)
		return NULL;
	uint32_t at = n->first;
	while (at && s->snapshot->types[nodes[at].type].flags & HEAP_TYPE_ARRAY)
		at = nodes[at].next;
	return at ? &nodes[at] : NULL;
}

/* What the holder has so many of: the end of the path; of delegates rather what they are bound to. */
static void find_end(const struct survivors *s, struct survivors_diagnosis *d)
{
	const struct heap_step *end = d->path && d->path->step_count ? &d->path->steps[d->path->step_count - 1] : NULL;
	const struct survivors_node *bound;
	if (!end) {
		d->type = main_type(s, d->holder);
		return;
	}
	d->type = end->type;
	if (d->path->held * 2 >= survivors_finding_retained(s, d->holder))
		d->count = end->count;
	if (is_delegate(&s->snapshot->types[end->type]) && (bound = held_by_type(s, d->holder, end->type)) &&
	    bound->retained * 2 >= d->path->held) {
		d->type = bound->type;
		d->count = bound->objects;
	}
}

void survivors_finding_decide(const struct survivors *s, struct survivors_diagnosis *d)
{
	const struct survivors_group *t = survivors_finding_largest_type(s);
	d->finding = find_survivors_finding(s);
	d->holder = first_holder(s, d->finding == SURVIVORS_FINDS_SEVERAL ? SURVIVORS_SEVERAL
				    : d->finding == SURVIVORS_FINDS_UNREACHABLE ? SURVIVORS_UNKNOWN
										: SURVIVORS_KINDS);
	d->path = d->holder ? survivors_text_path_of(s, d->holder) : NULL;
	if (d->finding == SURVIVORS_FINDS_TYPE || !d->holder)
		d->type = t ? t->type : HEAP_NODE_NONE;
	else
		find_end(s, d);
}
