#include "agent/profilers/survivors/survivors_finding.h"

#include "agent/profilers/survivors/survivors_keeper.h"
#include "agent/profilers/survivors/survivors_rules.h"
#include "agent/profilers/survivors/survivors_text.h"

#include <string.h>

#define KEEPER_PERCENT 25.0 /* of the heap: an object that retains less is not named instead of a root */

const char *survivors_finding_name(enum survivors_finding f)
{
	static const char *const names[] = {"empty", "holder", "type", "several", "spread", "freeMemory", "unreachable", "unread"};
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

/* Who has most: a root, or what a person can change of what roots hold. */
struct survivors_named {
	const struct survivors_holder *holder;
	uint32_t keeper; /* 0: the holder itself */
	uint64_t retained;
};

static struct survivors_named name_keeper(const struct survivors *s, const struct survivors_holder *h)
{
	uint32_t keeper = h ? survivors_keeper_below(s, h->node) : 0;
	uint64_t retained = keeper ? s->tree.nodes[keeper].retained : 0;
	return survivors_percent(s, retained) >= KEEPER_PERCENT ? (struct survivors_named){h, keeper, retained} : (struct survivors_named){0};
}

static struct survivors_named name_holder(const struct survivors *s)
{
	const struct survivors_holder *root = first_holder(s, SURVIVORS_KINDS);
	struct survivors_named of_root = {root, 0, survivors_finding_retained(s, root)}, below = {0};
	struct survivors_named shared = name_keeper(s, first_holder(s, SURVIVORS_SEVERAL));
	if (root && !survivors_keeper_is_root(s, root))
		below = name_keeper(s, root);
	if (below.holder)
		of_root = below;
	return shared.retained > of_root.retained ? shared : of_root;
}

/* Where the way down from a holder ends on which one type has most of what the one above holds. */
static uint32_t main_type(const struct survivors *s, uint32_t top)
{
	const struct survivors_node *n = &s->tree.nodes[top];
	while (n->first && s->tree.nodes[n->first].retained * 2 >= n->retained)
		n = &s->tree.nodes[n->first];
	return n->type;
}

/* What the objects of a type below a holder mainly hold that is no array; NULL: nothing. */
static const struct survivors_node *held_by_type(const struct survivors *s, uint32_t top, uint32_t type)
{
	const struct survivors_node *nodes = s->tree.nodes, *n = &nodes[top];
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
	uint32_t top = d->keeper ? d->keeper : d->holder->node;
	if (!end) {
		d->type = main_type(s, top);
		return;
	}
	d->type = end->type;
	if (d->path->held * 2 >= s->tree.nodes[top].retained)
		d->count = end->count;
	if (survivors_keeper_is_delegate(&s->snapshot->types[end->type]) && (bound = held_by_type(s, top, end->type)) && bound->retained * 2 >= d->path->held) {
		d->type = bound->type;
		d->count = bound->objects;
	}
}

/* The strongest path that leads through the keeper. */
static void find_keeper_path(const struct survivors *s, struct survivors_diagnosis *d)
{
	for (size_t i = 0; i < s->paths.count; i++) {
		if (!survivors_keeper_path(s, d->keeper, &s->paths.paths[i], &d->kept))
			continue;
		d->path = &d->kept;
		return;
	}
}

void survivors_finding_look(const struct survivors *s, enum survivors_finding f, struct survivors_diagnosis *d)
{
	const struct survivors_group *t = survivors_finding_largest_type(s);
	const struct survivors_named most = name_holder(s);
	*d = (struct survivors_diagnosis){.finding = f};
	d->holder = f == SURVIVORS_FINDS_HOLDER	? most.holder
		    : f == SURVIVORS_FINDS_SEVERAL	? first_holder(s, SURVIVORS_SEVERAL)
		    : f == SURVIVORS_FINDS_UNREACHABLE ? first_holder(s, SURVIVORS_UNKNOWN)
						       : first_holder(s, SURVIVORS_KINDS);
	d->path = d->holder ? survivors_text_path_of(s, d->holder) : NULL;
	if (f == SURVIVORS_FINDS_HOLDER && most.keeper) {
		d->keeper = most.keeper;
		find_keeper_path(s, d);
	}
	if (f == SURVIVORS_FINDS_TYPE || f == SURVIVORS_FINDS_UNREAD || !d->holder)
		d->type = t ? t->type : HEAP_NODE_NONE;
	else
		find_end(s, d);
}

/* What a reader looks at first: as the rules have it, the first row that one found. */
static enum survivors_finding finding_of(const struct survivors_numbers *n, const struct findings *found)
{
	static const struct {
		const char *id;
		enum survivors_finding finding;
	} rows[] = {
		{"HeapFragmentation", SURVIVORS_FINDS_FREE},	{"HeldByOneHolder", SURVIVORS_FINDS_HOLDER},
		{"NotCollectedYet", SURVIVORS_FINDS_UNREACHABLE}, {"HeldTogether", SURVIVORS_FINDS_SEVERAL},
		{"OneType", SURVIVORS_FINDS_TYPE},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (findings_find(found, rows[i].id))
			return rows[i].finding;
	if (survivors_rules_small(n))
		return SURVIVORS_FINDS_EMPTY;
	return survivors_rules_unread(n) ? SURVIVORS_FINDS_UNREAD : SURVIVORS_FINDS_SPREAD;
}

void survivors_finding_decide(const struct survivors *s, const struct survivors_numbers *n, const struct findings *found, struct survivors_diagnosis *d)
{
	survivors_finding_look(s, finding_of(n, found), d);
}
