#include "agent/profilers/cpu/cpu_numbers.h"

#include "agent/profilers/cpu/cpu_signs.h"
#include "agent/profilers/cpu/cpu_start.h"
#include "agent/stacks/cpu_edges.h"
#include "common/base/cleanup.h"
#include "common/base/mem.h"

#include <string.h>

#define HANDLES 0.8 /* of the method's samples */
#define FUNNEL 50.0 /* percent of the samples */
#define GENERATED 10.0      /* of the samples */
#define GENERATED_LATE 15.0 /* of those, in the last third of the session: less is a start-up that comes to its end */
#define LIBRARY_METHODS 50  /* with most self time: whose types compete */

RULE_FIELDS(cpu_numbers, CPU_NUMBERS);

bool cpu_numbers_compiles_on(const struct cpu_numbers *n)
{
	bool made = n->generated_percent >= GENERATED && n->generated_late_percent >= GENERATED_LATE;
	return made || n->uptime_minutes >= CPU_WARM_UP_MINUTES;
}

static uint32_t method_causes(const struct cpu_method *m, bool compiles_on)
{
	return cpu_analysis_caused(m) + (compiles_on ? m->caused[CATEGORY_JIT] : 0);
}

uint32_t cpu_numbers_hottest(const struct cpu_analysis *a, bool compiles_on)
{
	uint32_t best = CPU_NO_METHOD, most = 0;
	for (uint32_t i = 0; i < a->method_count; i++) {
		uint32_t caused = method_causes(&a->methods[i], compiles_on);
		if (caused > most) {
			best = i;
			most = caused;
		}
	}
	if (best != CPU_NO_METHOD || a->method_count == 0)
		return best;
	return a->methods[a->by_self[0]].self ? a->by_self[0] : CPU_NO_METHOD;
}

uint32_t cpu_numbers_funnel(const struct cpu_analysis *a)
{
	for (size_t i = a->method_count; i-- > 0;) {
		const struct cpu_method *m = &a->methods[a->by_total[i]];
		if (m->layer == LAYER_APPLICATION && cpu_analysis_percent(a, (uint32_t)m->total) >= FUNNEL)
			return a->by_total[i];
	}
	return CPU_NO_METHOD;
}

static double percent_of(const struct cpu_analysis *a, uint64_t samples)
{
	return cpu_analysis_percent(a, (uint32_t)samples);
}

static double seconds_known(int64_t ns)
{
	return ns < 0 ? NAN : (double)ns / 1e9;
}

static void put_process(const struct cpu_analysis *a, struct cpu_numbers *out)
{
	const struct cpu_capture *c = a->capture;
	int64_t due = cpu_capture_due(c), pressure_ns = c->facts.node_pressure_ns;
	out->samples = a->samples;
	out->samples_due = due < 0 ? NAN : (double)due;
	out->seconds = (double)c->facts.duration_ns / 1e9;
	out->uptime_minutes = c->facts.uptime_ms < 0 ? NAN : (double)c->facts.uptime_ms / 60000;
	out->cpus_used = a->cpus_used;
	out->cpus_allowed = a->cpus_allowed > 0 ? a->cpus_allowed : NAN;
	out->cpu_limited = c->cpu_limit_millicores < 0 ? NAN : a->limited;
	out->node_cpus = c->node_cpus > 0 ? (double)c->node_cpus : NAN;
	out->busy_threads = a->busy_threads;
	out->threads = (double)c->thread_count;
	if (c->total_periods >= 0 && c->throttled_periods >= 0)
		out->throttled_percent = c->total_periods ? 100.0 * (double)c->throttled_periods / (double)c->total_periods : 0;
	out->throttled_seconds = seconds_known(c->throttled_ns);
	out->waited_seconds = seconds_known(c->facts.run_delay_ns);
	if (pressure_ns >= 0 && c->facts.duration_ns > 0)
		out->node_pressure_percent = fmin(100.0 * (double)pressure_ns / (double)c->facts.duration_ns, 100);
	out->server_gc_threads = 0;
	for (size_t i = 0; i < c->thread_count; i++)
		out->server_gc_threads += strncmp(c->threads[i].name, ".NET Server GC", 14) == 0;
}

/* What calls the application's handler of a request: ASP.NET, or the delegate that it makes for it. */
static bool is_of_pipeline(const struct cpu_analysis *a, uint32_t node)
{
	uint32_t frame = a->methods[a->tree.nodes[node].method].frame;
	const struct frame *f = frame == UINT32_MAX ? NULL : &a->capture->frames[frame];
	if (!f || f->kind != FRAME_MANAGED)
		return false;
	return (f->type && strncmp(f->type, "Microsoft.AspNetCore.", 21) == 0) || (f->dynamic && f->method && strncmp(f->method, "lambda_method", 13) == 0);
}

/* The outermost method of the application between ASP.NET and the node; CPU_NO_METHOD: it is in no request, or calls itself above. */
static uint32_t handler_above(const struct cpu_analysis *a, uint32_t node)
{
	uint32_t method = a->tree.nodes[node].method, handler = method;
	for (node = a->tree.nodes[node].parent; node != STACK_TREE_ROOT; node = a->tree.nodes[node].parent) {
		const struct cpu_method *m = &a->methods[a->tree.nodes[node].method];
		if (is_of_pipeline(a, node))
			return handler;
		if (a->tree.nodes[node].method == method)
			return CPU_NO_METHOD;
		if (m->layer == LAYER_APPLICATION)
			handler = a->tree.nodes[node].method;
	}
	return CPU_NO_METHOD;
}

/* A route stands on no stack; the method that handles it does. */
static void put_handler(const struct cpu_analysis *a, uint32_t method, struct cpu_numbers *out)
{
	AUTO_FREE uint64_t *by_method = mem_calloc(a->method_count + 1, sizeof *by_method);
	uint32_t best = CPU_NO_METHOD;
	for (uint32_t i = 1; i < a->tree.count; i++) {
		uint32_t handler = a->tree.nodes[i].method == method ? handler_above(a, i) : CPU_NO_METHOD;
		if (handler == CPU_NO_METHOD)
			continue;
		by_method[handler] += a->tree.nodes[i].total;
		best = best == CPU_NO_METHOD || by_method[handler] > by_method[best] ? handler : best;
	}
	if (best != CPU_NO_METHOD && best != method && (double)by_method[best] >= HANDLES * (double)a->methods[method].total)
		rules_set_text(&out->handler, a->methods[best].name);
}

static void put_hottest(const struct cpu_analysis *a, struct cpu_numbers *out)
{
	uint32_t method = cpu_numbers_hottest(a, cpu_numbers_compiles_on(out)), through = cpu_numbers_funnel(a);
	struct cpu_edge callee;
	if (through != CPU_NO_METHOD) {
		rules_set_text(&out->funnel, a->methods[through].name);
		out->funnel_percent = percent_of(a, a->methods[through].total);
	}
	if (method == CPU_NO_METHOD)
		return;
	const struct cpu_method *m = &a->methods[method];
	bool application = m->layer == LAYER_APPLICATION;
	rules_set_text(&out->method, m->name);
	if (application)
		put_handler(a, method, out);
	out->method_of_application = application;
	out->method_percent = percent_of(a, application ? m->total : m->self);
	out->method_caused_percent = percent_of(a, application ? method_causes(m, cpu_numbers_compiles_on(out)) : m->self);
	out->method_worked_percent = percent_of(a, application ? cpu_analysis_worked(m) : m->self);
	out->method_compiled_percent = percent_of(a, m->caused[CATEGORY_JIT] + m->caused[CATEGORY_TYPE_LOADING]);
	if (!application || !cpu_edges_callees(a, method, &callee, 1) || a->methods[callee.method].layer != LAYER_LIBRARY)
		return;
	rules_set_text(&out->callee, a->methods[callee.method].name);
	out->callee_percent = percent_of(a, callee.count);
}

static const char *type_of(const struct cpu_analysis *a, const struct cpu_method *m)
{
	const struct frame *f = m->layer == LAYER_LIBRARY && m->frame != UINT32_MAX ? &a->capture->frames[m->frame] : NULL;
	bool named = f && f->kind == FRAME_MANAGED && f->type && !f->dynamic;
	return named && strncmp(f->type, "System.Threading.", 17) != 0 ? f->type : NULL; /* the pool's and tasks' own methods are on every stack */
}

/* The type of .NET's libraries that works most by itself, by its method that most of that stands below: what to say where the application's own methods
 * were inlined into code that has no name of theirs. */
static void put_library(const struct cpu_analysis *a, struct cpu_numbers *out)
{
	uint64_t most = 0;
	for (size_t i = 0; i < a->method_count && i < LIBRARY_METHODS; i++) {
		const char *type = type_of(a, &a->methods[a->by_self[i]]);
		const struct cpu_method *whole = NULL;
		uint64_t self = 0;
		for (size_t k = 0; type && k < a->method_count; k++) {
			const struct cpu_method *m = &a->methods[a->by_self[k]];
			if (!type_of(a, m) || strcmp(type_of(a, m), type) != 0)
				continue;
			self += m->self;
			whole = whole && whole->total >= m->total ? whole : m;
		}
		if (self <= most)
			continue;
		most = self;
		rules_set_text(&out->library, whole->name);
		out->library_percent = percent_of(a, whole->total);
		out->library_self_percent = percent_of(a, self);
	}
}

/* The application method that makes the runtime or the kernel do most of a kind of work, when there is one for most of it. */
static void put_cause(const struct cpu_analysis *a, enum cpu_category category, double *percent, struct rule_text *below)
{
	uint32_t best = CPU_NO_METHOD, most = 0;
	for (uint32_t i = 0; i < a->method_count; i++)
		if (a->methods[i].caused[category] > most) {
			most = a->methods[i].caused[category];
			best = i;
		}
	*percent = percent_of(a, a->by_category[category]);
	rules_set_text(below, most * 2 > a->by_category[category] ? a->methods[best].name : NULL);
}

void cpu_numbers_of(const struct cpu_analysis *a, struct cpu_numbers *out)
{
	rules_clear(&cpu_numbers_fields, out);
	put_process(a, out);
	cpu_start_numbers(a, out);
	cpu_signs_of(a, out);
	put_hottest(a, out);
	put_library(a, out);
	put_cause(a, CATEGORY_GC, &out->gc_percent, &out->gc_below);
	put_cause(a, CATEGORY_JIT, &out->jit_percent, &out->jit_below);
	put_cause(a, CATEGORY_TYPE_LOADING, &out->type_loading_percent, &out->type_loading_below);
	put_cause(a, CATEGORY_SCHEDULING, &out->scheduling_percent, &out->scheduling_below);
	put_cause(a, CATEGORY_EXCEPTIONS, &out->exceptions_percent, &out->exceptions_below);
	put_cause(a, CATEGORY_RUNTIME, &out->runtime_percent, &out->runtime_below);
	put_cause(a, CATEGORY_KERNEL, &out->kernel_percent, &out->kernel_below);
}
