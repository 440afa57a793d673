#include "agent/profilers/cpu/cpu_signs.h"

#include "common/base/cleanup.h"
#include "common/base/mem.h"

#include <stdlib.h>
#include <string.h>

#define HARDLY_ELSE 0.8       /* of a thread's samples */
#define LEAST_OF_A_CPU 0.25   /* of the session, for a thread to count */
#define RUNNING_OF_A_CPU 0.5  /* of what it could have where CPUs are short */
#define RUNNING_LEAST_SAMPLES 50
#define SHORT_OF_CPU 0.5      /* of the time in which its threads could run */
#define LEAST_LATE 5
#define RUNNING_SPAN 0.9      /* of the session between its first and its last sample */

enum sign { SIGN_SPIN, SIGN_REGEX, SIGN_REGEX_CALL, SIGN_DICTIONARY, SIGN_GENERATES, SIGN_COUNT };

static bool sign_starts(const char *s, const char *with)
{
	return s && strncmp(s, with, strlen(with)) == 0;
}

/* What a frame is a sign of, as bits. Stacks show a match of a generated expression in the application's own assembly. */
static unsigned signs_of_frame(const struct frame *f)
{
	if (f->kind != FRAME_MANAGED || !f->method)
		return 0;
	if (strstr(f->method, "TryMatchAtCurrentPosition"))
		return 1u << SIGN_REGEX | 1u << SIGN_REGEX_CALL;
	if (!sign_starts(f->module, "System."))
		return 0;
	if (f->dynamic && sign_starts(f->module, "System.Text.RegularExpressions")) /* "Regex7_Scan": the library's callers of it may be inlined */
		return 1u << SIGN_GENERATES | 1u << SIGN_REGEX_CALL;
	if (sign_starts(f->type, "System.Linq.Expressions.") || sign_starts(f->type, "System.Reflection.Emit."))
		return 1u << SIGN_GENERATES;
	if (sign_starts(f->type, "System.Text.RegularExpressions.")) /* its own code is compiled already: what is compiled below it, it has generated */
		return 1u << SIGN_GENERATES | (strcmp(f->method, ".ctor") != 0 ? 1u << SIGN_REGEX_CALL : 0);
	if (sign_starts(f->type, "System.Collections.Generic.Dictionary`2") || sign_starts(f->type, "System.Collections.Generic.HashSet`1"))
		return 1u << SIGN_DICTIONARY;
	bool thread = f->type && strcmp(f->type, "System.Threading.Thread") == 0;
	bool spins = sign_starts(f->type, "System.Threading.SpinWait") || sign_starts(f->type, "System.Threading.SpinLock") ||
		     (thread && (sign_starts(f->method, "SpinWait") || strcmp(f->method, "Yield") == 0));
	return spins ? 1u << SIGN_SPIN : 0;
}

static bool is_generated_expression(const struct frame *f)
{
	return sign_starts(f->type, "System.Text.RegularExpressions.Generated.");
}

/* From the leaf to the nearest method of the application: what that method waits for or calls. */
static unsigned signs_of_stack(const struct cpu_capture *c, const unsigned *of_frame, const struct capture_stack *s)
{
	const uint32_t *frames = c->stack_frames + s->first;
	unsigned signs = 0;
	for (size_t i = 0; i < s->depth; i++) {
		const struct frame *f = &c->frames[frames[i]];
		signs |= of_frame[frames[i]];
		if (f->kind == FRAME_MANAGED && cpu_layer_of(f) == LAYER_APPLICATION && !is_generated_expression(f))
			return signs;
	}
	return signs & ~(1u << SIGN_SPIN); /* the pool's own threads spin before they sleep */
}

struct sign_count {
	uint32_t samples, late, longest, longest_on, *by_method, *by_thread, *run; /* run: samples of the thread since the last one without the sign */
};

struct signs {
	const struct cpu_analysis *a;
	uint32_t *application; /* by node: the nearest method of the application, itself included */
	unsigned *of_stack;
	struct sign_count of[SIGN_COUNT];
	uint32_t late; /* all samples of the session's last third */
};

static void signs_init(struct signs *s, const struct cpu_analysis *a)
{
	const struct cpu_capture *c = a->capture;
	AUTO_FREE unsigned *of_frame = mem_calloc(c->frame_count + 1, sizeof *of_frame);
	*s = (struct signs){.a = a};
	for (size_t i = 0; i < c->frame_count; i++)
		of_frame[i] = signs_of_frame(&c->frames[i]);
	s->of_stack = mem_calloc(c->stack_count + 1, sizeof *s->of_stack);
	for (size_t i = 0; i < c->stack_count; i++)
		s->of_stack[i] = signs_of_stack(c, of_frame, &c->stacks[i]);
	s->application = mem_calloc(a->tree.count + 1, sizeof *s->application);
	s->application[STACK_TREE_ROOT] = CPU_NO_METHOD;
	for (size_t i = 1; i < a->tree.count; i++) {
		const struct stack_node *n = &a->tree.nodes[i];
		s->application[i] = a->methods[n->method].layer == LAYER_APPLICATION ? n->method : s->application[n->parent];
	}
	for (int k = 0; k < SIGN_COUNT; k++) {
		s->of[k].by_method = mem_calloc(a->method_count + 1, sizeof(uint32_t));
		s->of[k].by_thread = mem_calloc(c->thread_count + 1, sizeof(uint32_t));
		s->of[k].run = mem_calloc(c->thread_count + 1, sizeof(uint32_t));
	}
}

static void signs_fini(struct signs *s)
{
	for (int k = 0; k < SIGN_COUNT; k++) {
		free(s->of[k].by_method);
		free(s->of[k].by_thread);
		free(s->of[k].run);
	}
	free(s->application);
	free(s->of_stack);
}

static void count_signs(struct signs *s)
{
	const struct cpu_capture *c = s->a->capture;
	for (size_t i = 0; i < c->sample_count; i++) {
		const struct capture_sample *x = &c->samples[i];
		uint32_t method = s->application[cpu_analysis_node(s->a, i)];
		bool compiles = s->a->sample_work[i] == WORK_JIT, late = x->time_ns * 3 >= c->facts.duration_ns * 2;
		s->late += late;
		for (int k = 0; k < SIGN_COUNT; k++) {
			struct sign_count *n = &s->of[k];
			bool is = s->of_stack[x->stack] >> k & 1 && (k != SIGN_GENERATES || compiles);
			n->late += is && late;
			n->run[x->thread] = is ? n->run[x->thread] + 1 : 0;
			n->longest_on = n->run[x->thread] > n->longest ? x->thread : n->longest_on;
			n->longest = n->run[x->thread] > n->longest ? n->run[x->thread] : n->longest;
			n->samples += is;
			n->by_thread[x->thread] += is;
			n->by_method[method == CPU_NO_METHOD ? s->a->method_count : method] += is;
		}
	}
}

static double seconds_of(const struct cpu_analysis *a, double samples)
{
	return samples * (double)a->period_ns / 1e9;
}

/* Threads that use a good part of a CPU and do hardly anything else. */
static uint32_t threads_of_sign(const struct cpu_analysis *a, const struct sign_count *n)
{
	double session = (double)a->capture->facts.duration_ns / 1e9;
	uint32_t count = 0;
	for (size_t t = 0; t < a->capture->thread_count; t++)
		count += n->by_thread[t] > 0 && n->by_thread[t] >= HARDLY_ELSE * (double)a->threads[t].weight &&
			 seconds_of(a, n->by_thread[t]) >= LEAST_OF_A_CPU * session;
	return count;
}

/* How long the longest stretch of the sign would be by chance, if each sample of its thread had it as often as those outside the longest one do. */
static double seconds_by_chance(const struct cpu_analysis *a, const struct sign_count *n)
{
	if (n->longest == 0)
		return 0;
	double with = n->by_thread[n->longest_on] - n->longest, without = (double)a->threads[n->longest_on].weight - n->by_thread[n->longest_on];
	double part = (with + 1) / (with + without + 2);
	return seconds_of(a, log(1 + without) / -log(part));
}

static void name_of_sign(const struct cpu_analysis *a, const struct sign_count *n, struct rule_text *out)
{
	size_t best = SIZE_MAX;
	for (size_t m = 0; m < a->method_count; m++)
		if (n->by_method[m] && (best == SIZE_MAX || n->by_method[m] > n->by_method[best]))
			best = m;
	rules_set_text(out, best == SIZE_MAX ? NULL : a->methods[best].name);
}

/* One function of the runtime without a name that a method of the application calls itself: it is told by where it begins. */
static bool is_tight(const struct cpu_capture *c, const struct capture_stack *s)
{
	const uint32_t *frames = c->stack_frames + s->first;
	if (s->depth < 2)
		return false;
	const struct frame *leaf = &c->frames[frames[0]], *caller = &c->frames[frames[1]];
	return leaf->kind == FRAME_NATIVE && cpu_layer_of(leaf) == LAYER_RUNTIME && !(leaf->method && leaf->method[0]) && leaf->address &&
	       caller->kind == FRAME_MANAGED && cpu_layer_of(caller) == LAYER_APPLICATION;
}

/* The runtime's wait of some instructions (Thread.SpinWait) is one function, and what asks again and again stands nowhere else. */
static void find_tight(const struct signs *s, struct cpu_numbers *out)
{
	const struct cpu_capture *c = s->a->capture;
	AUTO_FREE uint32_t *by_frame = mem_calloc(c->frame_count + 1, sizeof *by_frame);
	AUTO_FREE uint32_t *node_of = mem_calloc(c->frame_count + 1, sizeof *node_of);
	size_t best = 0;
	for (size_t i = 0; i < c->sample_count; i++) {
		const struct capture_stack *stack = &c->stacks[c->samples[i].stack];
		uint32_t frame = stack->depth ? c->stack_frames[stack->first] : 0;
		if (!is_tight(c, stack))
			continue;
		by_frame[frame]++;
		node_of[frame] = cpu_analysis_node(s->a, i);
		best = by_frame[frame] > by_frame[best] ? frame : best;
	}
	out->tight_percent = c->frame_count ? cpu_analysis_percent(s->a, by_frame[best]) : 0;
	uint32_t method = out->tight_percent > 0 ? s->application[node_of[best]] : CPU_NO_METHOD;
	rules_set_text(&out->tight_method, method == CPU_NO_METHOD ? NULL : s->a->methods[method].name);
}

/* a method that runs on and on --------------------------------------------------------------------------------------- */

struct thread_span {
	uint32_t node;  /* where all its samples have been; STACK_TREE_NONE: it has none */
	int64_t first_ns, last_ns;
};

static uint32_t common_node(const struct stack_tree *t, uint32_t a, uint32_t b)
{
	while (a != b) {
		uint32_t *deeper = t->nodes[a].depth >= t->nodes[b].depth ? &a : &b;
		*deeper = t->nodes[*deeper].parent;
	}
	return a;
}

/* The runtime's stubs have no name and no callee's frame: one that ends beside the method may be on the way into it, or out of it for a moment, as where
 * a loop goes on in optimized code. */
static bool in_a_stub(const struct cpu_analysis *a, uint32_t method, uint32_t node)
{
	const struct stack_node *n = &a->tree.nodes[node];
	return a->methods[n->method].layer == LAYER_UNKNOWN && node != STACK_TREE_ROOT && n->parent == a->tree.nodes[method].parent;
}

static struct thread_span *find_spans(const struct cpu_analysis *a)
{
	const struct cpu_capture *c = a->capture;
	struct thread_span *spans = mem_calloc(c->thread_count + 1, sizeof *spans);
	for (size_t t = 0; t < c->thread_count; t++)
		spans[t].node = STACK_TREE_NONE;
	for (size_t i = 0; i < c->sample_count; i++) {
		struct thread_span *s = &spans[c->samples[i].thread];
		uint32_t node = cpu_analysis_node(a, i);
		if (s->node == STACK_TREE_NONE)
			*s = (struct thread_span){node, c->samples[i].time_ns, 0};
		if (!in_a_stub(a, s->node, node) || sign_starts(a->threads[c->samples[i].thread].name, ".NET TP Worker"))
			s->node = common_node(&a->tree, s->node, node);
		s->last_ns = c->samples[i].time_ns;
	}
	return spans;
}

/* How many of a thread's samples end in one node, or in the kernel, which takes the CPU away just there. */
static uint64_t ends_in(const struct cpu_analysis *a, size_t thread, uint32_t node)
{
	uint64_t count = 0;
	for (size_t i = 0; i < a->leaf_count; i++) {
		uint32_t end = a->leaves[i].node;
		while (end != node && end != STACK_TREE_ROOT && a->methods[a->tree.nodes[end].method].layer == LAYER_KERNEL)
			end = a->tree.nodes[end].parent;
		count += a->leaves[i].thread == thread && end == node ? a->leaves[i].count : 0;
	}
	return count;
}

/* The pool's threads take one piece of work after the other: one that was in the same method at each sample has not come back from it. Threads of the
 * application's own may loop as they like: there it is one method that calls nothing. */
static bool may_run_on(const struct cpu_analysis *a, size_t thread, const struct thread_span *s)
{
	uint64_t weight = a->threads[thread].weight;
	if (sign_starts(a->threads[thread].name, ".NET TP Worker"))
		return true;
	return a->methods[a->tree.nodes[s->node].method].layer == LAYER_APPLICATION && ends_in(a, thread, s->node) * 100 >= weight * 98;
}

/* The part of the time in which its threads could run that they did run; 1: not known. */
static double part_that_ran(const struct cpu_analysis *a)
{
	double ran = (double)a->cpu_ns, waited = (double)a->capture->facts.run_delay_ns;
	return ran > 0 && waited > 0 ? ran / (ran + waited) : 1;
}

static void find_running(const struct signs *s, struct cpu_numbers *out)
{
	const struct cpu_analysis *a = s->a;
	AUTO_FREE struct thread_span *spans = find_spans(a);
	int64_t session_ns = a->capture->facts.duration_ns;
	uint64_t most = 0;
	out->running_threads = out->running_percent = 0;
	for (size_t t = 0; t < a->capture->thread_count; t++) {
		uint64_t weight = a->threads[t].weight;
		uint32_t method = spans[t].node == STACK_TREE_NONE ? CPU_NO_METHOD : s->application[spans[t].node];
		int64_t span_ns = spans[t].last_ns - spans[t].first_ns;
		if (method == CPU_NO_METHOD || weight < RUNNING_LEAST_SAMPLES || !may_run_on(a, t, &spans[t]) ||
		    (double)span_ns < RUNNING_SPAN * (double)session_ns ||
		    seconds_of(a, (double)weight) < RUNNING_OF_A_CPU * part_that_ran(a) * (double)session_ns / 1e9)
			continue;
		out->running_threads++;
		if (weight <= most)
			continue;
		most = weight;
		out->running_percent = cpu_analysis_percent(a, (uint32_t)weight);
		out->running_seconds = (double)span_ns / 1e9;
		rules_set_text(&out->running_method, a->methods[method].name);
	}
}

/* observers ---------------------------------------------------------------------------------------------------------- */

static const struct {
	const char *prefix, *name;
} observers[] = {
	{"Datadog.", "Datadog"},	  {"libdatadog", "Datadog"},
	{"libddwaf", "Datadog"},	  {"NewRelic.", "New Relic"},
	{"libNewRelic", "New Relic"},	  {"Dynatrace.", "Dynatrace"},
	{"liboneagent", "Dynatrace"},	  {"libruxit", "Dynatrace"},
	{"AppDynamics.", "AppDynamics"},  {"libappdprofiler", "AppDynamics"},
	{"OpenTelemetry", "OpenTelemetry"}, {"Elastic.Apm", "Elastic APM"},
	{"libelastic_apm", "Elastic APM"}, {"Microsoft.ApplicationInsights", "Application Insights"},
	{"Instana.", "Instana"},	  {"libinstana", "Instana"},
	{"SkyApm.", "SkyWalking"},	  {"Sentry.", "Sentry"},
	{"Pyroscope.", "Pyroscope"},
}, observer_threads[] = {
	{"DD_", "Datadog"},		  {"dd-", "Datadog"},
	{"DD.Profiler", "Datadog"},	  {"NewRelic", "New Relic"},
	{"New Relic", "New Relic"},	  {"ruxit", "Dynatrace"},
	{"oneagent", "Dynatrace"},	  {"OpenTelemetry", "OpenTelemetry"},
	{"ElasticApm", "Elastic APM"},	  {"AppD", "AppDynamics"},
	{"pyroscope", "Pyroscope"},
};

const char *cpu_signs_observer(const char *module)
{
	for (size_t i = 0; i < sizeof observers / sizeof observers[0]; i++)
		if (sign_starts(module, observers[i].prefix))
			return observers[i].name;
	return NULL;
}

const char *cpu_signs_observer_thread(const char *name)
{
	for (size_t i = 0; i < sizeof observer_threads / sizeof observer_threads[0]; i++)
		if (sign_starts(name, observer_threads[i].prefix))
			return observer_threads[i].name;
	return NULL;
}

/* The observer that a sample in this node is of: the nearest of its methods, before any method of the application. */
static const char *observer_of_node(const struct cpu_analysis *a, uint32_t node)
{
	for (; node != STACK_TREE_ROOT; node = a->tree.nodes[node].parent) {
		const struct cpu_method *m = &a->methods[a->tree.nodes[node].method];
		const char *observer = m->module[0] ? cpu_signs_observer(m->module) : NULL;
		if (observer || m->layer == LAYER_APPLICATION)
			return observer;
	}
	return NULL;
}

static void find_observers(const struct cpu_analysis *a, struct cpu_numbers *out)
{
	const char *seen = NULL;
	uint32_t count = 0;
	for (size_t i = 0; i < a->leaf_count; i++) {
		const struct stack_leaf *l = &a->leaves[i];
		const char *observer = cpu_signs_observer_thread(a->threads[l->thread].name);
		observer = observer ? observer : observer_of_node(a, l->node);
		seen = observer ? observer : seen;
		count += observer ? (uint32_t)l->count : 0;
	}
	out->observer_percent = cpu_analysis_percent(a, count);
	rules_set_text(&out->observer, seen);
}

/* Of what is generated, the part of the session's last third. Where others had the CPUs then, few samples of any kind are from it: it is measured by those. */
static double late_percent(const struct signs *s, const struct sign_count *n)
{
	double percent = n->samples ? 100.0 * n->late / n->samples : 0;
	if (part_that_ran(s->a) > SHORT_OF_CPU || n->late < LEAST_LATE || s->late * 3 >= s->a->samples)
		return percent;
	return fmin(100, percent * s->a->samples / (3.0 * s->late));
}

void cpu_signs_of(const struct cpu_analysis *a, struct cpu_numbers *out)
{
	struct signs s;
	signs_init(&s, a);
	count_signs(&s);
	out->spin_percent = cpu_analysis_percent(a, s.of[SIGN_SPIN].samples);
	out->spin_threads = threads_of_sign(a, &s.of[SIGN_SPIN]);
	name_of_sign(a, &s.of[SIGN_SPIN], &out->spin_method);
	out->regex_percent = cpu_analysis_percent(a, s.of[SIGN_REGEX].samples);
	out->regex_longest_seconds = seconds_of(a, s.of[SIGN_REGEX].longest);
	out->regex_chance_seconds = seconds_by_chance(a, &s.of[SIGN_REGEX]);
	name_of_sign(a, &s.of[SIGN_REGEX], &out->regex_method);
	out->regex_call_percent = cpu_analysis_percent(a, s.of[SIGN_REGEX_CALL].samples);
	out->regex_call_longest_seconds = seconds_of(a, s.of[SIGN_REGEX_CALL].longest);
	out->regex_call_chance_seconds = seconds_by_chance(a, &s.of[SIGN_REGEX_CALL]);
	name_of_sign(a, &s.of[SIGN_REGEX_CALL], &out->regex_call_method);
	out->generated_percent = cpu_analysis_percent(a, s.of[SIGN_GENERATES].samples);
	out->generated_late_percent = late_percent(&s, &s.of[SIGN_GENERATES]);
	find_tight(&s, out);
	out->dictionary_percent = cpu_analysis_percent(a, s.of[SIGN_DICTIONARY].samples);
	out->dictionary_threads = threads_of_sign(a, &s.of[SIGN_DICTIONARY]);
	out->dictionary_longest_seconds = seconds_of(a, s.of[SIGN_DICTIONARY].longest);
	name_of_sign(a, &s.of[SIGN_DICTIONARY], &out->dictionary_method);
	find_running(&s, out);
	find_observers(a, out);
	signs_fini(&s);
}
