#include "agent/stacks/stack_profile.h"

void stack_profile_init(struct stack_profile *p, const struct cpu_analysis *a)
{
	const struct cpu_capture *c = a->capture;
	*p = (struct stack_profile){
		.tree = &a->tree,
		.methods = a->methods,
		.method_count = a->method_count,
		.by_self = a->by_self,
		.by_total = a->by_total,
		.frames = c->frames,
		.threads = a->threads,
		.thread_count = c->thread_count,
		.thread_order = a->thread_order,
		.leaves = a->leaves,
		.leaf_count = a->leaf_count,
		.total = a->tree.nodes[STACK_TREE_ROOT].total,
		.scale = 1,
		.period = 1,
		.started_wall_ms = c->facts.started_wall_ms,
		.duration_ns = c->facts.duration_ns,
	};
}
