/* AssemblyLoadContexts (plug-ins, scripts) that are loaded again and again and never unloaded: how many more, what is theirs of the growth, and who keeps
 * them from being unloaded. Pure. */
#ifndef DRDOTNET_LEAK_CONTEXTS_H
#define DRDOTNET_LEAK_CONTEXTS_H

#include "agent/profilers/leak/leak_model.h"

struct leak_contexts {
	int64_t more;      /* of loaders, at the last walk */
	bool at_each_walk; /* there were more each time */
	uint32_t keeper;   /* the step of what is held from outside, and so keeps them; LEAK_NONE: not known */
};

void leak_contexts_find(const struct leak_model *m, struct leak_contexts *out);

/* Whether what hangs there is the contexts' own: a static of theirs, of which there is one more with each, or an object of one of their types. */
bool leak_contexts_own(const struct leak_model *m, uint32_t step);

#endif
