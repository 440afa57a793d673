#include "agent/profilers/survivors/survivors_keeper.h"

#include "agent/symbols/type_pattern.h"

#include <string.h>

#define FEW_OBJECTS 4 /* more of a type are what is held, not who holds */

bool survivors_keeper_is_delegate(const struct heap_type *t)
{
	for (size_t i = 0; i < t->field_count; i++)
		if (strcmp(t->fields[i].name, "_invocationList") == 0)
			return true;
	return false;
}

static bool keeper_may_be(const struct survivors *s, const struct survivors_node *n)
{
	const struct heap_type *t = n->type == HEAP_NODE_NONE ? NULL : &s->snapshot->types[n->type];
	return t && n->objects <= FEW_OBJECTS && n->bytes * 2 <= n->retained && !(t->flags & HEAP_TYPE_ARRAY) && !type_pattern_is_framework(t->name) &&
	       !survivors_keeper_is_delegate(t);
}

uint32_t survivors_keeper_below(const struct survivors *s, uint32_t top)
{
	const struct survivors_node *nodes = s->tree.nodes;
	uint32_t found = 0;
	for (uint32_t at = top; at;) {
		if (keeper_may_be(s, &nodes[at]))
			found = at;
		uint32_t child = nodes[at].first; /* that with the most */
		at = child && nodes[child].retained * 2 >= nodes[at].retained ? child : 0;
	}
	return found;
}

/* "static Shop.Cache._items", "stack of Shop.Import.Run (thread 12)": of whose type. */
static bool is_of_application(const char *label)
{
	static const char *const words[] = {"thread static ", "static ", "stack of "};
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strncmp(label, words[i], strlen(words[i])) == 0)
			return !type_pattern_is_framework(label + strlen(words[i]));
	return false;
}

bool survivors_keeper_is_root(const struct survivors *s, const struct survivors_holder *h)
{
	const struct survivors_node *n = &s->tree.nodes[h->node];
	if (h->kind == SURVIVORS_FINALIZER)
		return true;
	if (!is_of_application(h->name))
		return false;
	const char *first = n->first ? s->snapshot->types[s->tree.nodes[n->first].type].name : "";
	return !type_pattern_is_framework(first) || type_pattern_is_collection(first);
}

bool survivors_keeper_path(const struct survivors *s, uint32_t keeper, const struct heap_path *path, struct heap_path *out)
{
	uint32_t type = s->tree.nodes[keeper].type;
	for (size_t i = 0; path && i + 1 < path->step_count; i++) {
		if (path->steps[i].type != type)
			continue;
		*out = *path;
		out->step_count = path->step_count - i;
		memmove(out->steps, path->steps + i, out->step_count * sizeof *out->steps);
		return true;
	}
	return false;
}
