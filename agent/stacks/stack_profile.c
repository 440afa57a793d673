#include "agent/stacks/stack_profile.h"

#include "agent/stacks/report_folded.h"
#include "agent/stacks/report_pprof.h"
#include "agent/stacks/report_speedscope.h"

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

static void write_profile_pprof(const void *source, struct report_file *f)
{
	report_pprof_write(source, f);
}

static void write_profile_folded(const void *source, struct report_file *f)
{
	report_folded_write(source, f);
}

static void write_profile_speedscope(const void *source, struct report_file *f)
{
	report_speedscope_write(source, NULL, f);
}

const struct report_writer profile_files[PROFILE_FILES] = {
	{"profile.pb.gz", "application/vnd.google.protobuf+gzip", write_profile_pprof},
	{"stacks.folded", "text/plain; charset=utf-8", write_profile_folded},
	{"profile.speedscope.json", "application/json", write_profile_speedscope},
};
