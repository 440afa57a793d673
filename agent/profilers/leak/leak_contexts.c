#include "agent/profilers/leak/leak_contexts.h"

#include "agent/profilers/leak/leak_take.h"

static uint32_t context_root(const struct leak_model *m, uint32_t step)
{
	while (m->steps[step].parent != LEAK_NONE)
		step = m->steps[step].parent;
	return step;
}

/* A static is there once; one that is there again and again is one of an assembly that was loaded as often. */
static bool is_own_static(const struct leak_model *m, uint32_t step)
{
	uint32_t root = context_root(m, step);
	return m->steps[root].root == LEAK_ROOT_STATIC && leak_model_more(m, root) > 0;
}

bool leak_contexts_own(const struct leak_model *m, uint32_t step)
{
	if (is_own_static(m, step))
		return true;
	for (; step != LEAK_NONE; step = m->steps[step].parent) {
		if (m->steps[step].plugged)
			return true;
	}
	return false;
}

/* Held from outside, and more with each context. */
static bool is_kept(const struct leak_model *m, uint32_t step)
{
	const struct leak_step *s = &m->steps[step];
	return s->plugged && s->parent != LEAK_NONE && !m->steps[s->parent].plugged && s->root != LEAK_ROOT_UNKNOWN && leak_model_more(m, step) > 0 &&
	       !is_own_static(m, step);
}

void leak_contexts_find(const struct leak_model *m, struct leak_contexts *out)
{
	size_t last = m->walk_count - 1;
	*out = (struct leak_contexts){.keeper = LEAK_NONE, .at_each_walk = true};
	for (size_t w = 1; w < m->walk_count; w++)
		out->at_each_walk &= leak_model_count_of(m, LEAK_LOADER, w) > leak_model_count_of(m, LEAK_LOADER, w - 1);
	out->more = (int64_t)(leak_model_count_of(m, LEAK_LOADER, last) - leak_model_count_of(m, LEAK_LOADER, 0));
	for (uint32_t i = 0; i < m->step_count && out->more > 0; i++) {
		if (!is_kept(m, i))
			continue;
		/* the nearest to their number; of those alike the first, which is nearest to its root */
		int64_t more = leak_model_more(m, i), best = out->keeper == LEAK_NONE ? 0 : leak_model_more(m, out->keeper);
		if ((more < out->more ? more : out->more) > (best < out->more ? best : out->more))
			out->keeper = i;
	}
}
