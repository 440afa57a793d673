#include "agent/stacks/outside_names.h"

#include "agent/attach/profiler_channel.h"
#include "agent/locks/code_map.h"
#include "agent/locks/managed_methods.h"
#include "agent/locks/memory_pages.h"
#include "common/api/reason.h"
#include "common/base/index_set.h"
#include "common/base/mem.h"

#include <stdlib.h>

struct outside_function {
	uint64_t method; /* its MethodDesc */
	bool named;
	struct resolved_function function; /* its texts are owned here */
};

struct outside_names {
	struct process_memory memory; /* with the budget */
	struct work_budget budget;
	bool able;
	struct code_map map;
	struct managed_methods *methods;
	struct outside_function **functions;
	size_t count, cap;
	struct index_set by_method;
};

struct outside_names *outside_names_new(const struct process_memory *m, const struct runtime_contract *c, const struct dac_table *dac, bool may)
{
	struct outside_names *n = mem_alloc(sizeof *n);
	n->memory = *m;
	n->memory.budget = &n->budget;
	work_budget_init(&n->budget, WORK_NAMES);
	n->able = may && c->known && c->code.known;
	code_map_init(&n->map, &n->memory, &c->code, dac->words, dac->count);
	n->methods = managed_methods_new(&n->memory, c);
	return n;
}

static void free_outside_function(struct outside_function *f)
{
	const char *const texts[] = {f->function.module, f->function.type, f->function.type_args, f->function.method, f->function.method_args};
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		free((char *)texts[i]);
	free((char *)f->function.params);
	free(f);
}

void outside_names_free(struct outside_names *n)
{
	if (!n)
		return;
	for (size_t i = 0; i < n->count; i++)
		free_outside_function(n->functions[i]);
	free(n->functions);
	index_set_fini(&n->by_method);
	managed_methods_free(n->methods);
	free(n);
}

bool outside_names_able(const struct outside_names *n)
{
	return n->able;
}

static void use_memory(struct outside_names *n, const struct process_memory *m)
{
	n->map.memory = m;
	managed_methods_use(n->methods, m);
}

/* Of one question: structures lie together. */
static void begin_question(struct outside_names *n, struct memory_pages *pages)
{
	memory_pages_init(pages, &n->memory);
	use_memory(n, &pages->memory);
	work_budget_begin(&n->budget);
}

static void end_question(struct outside_names *n, struct memory_pages *pages)
{
	work_budget_end(&n->budget);
	use_memory(n, &n->memory);
	memory_pages_fini(pages);
}

static const char *text_or_null(const char *text)
{
	return text[0] ? mem_strdup(text) : NULL;
}

static struct outside_function *describe_function(struct outside_names *n, uint64_t method)
{
	struct managed_method *x = mem_alloc(sizeof *x);
	struct outside_function *f = mem_alloc(sizeof *f);
	f->method = method;
	f->named = managed_methods_describe(n->methods, method, x);
	if (f->named)
		f->function = (struct resolved_function){
			.function_id = method,
			.module = mem_strdup(x->module),
			.type = text_or_null(x->type),
			.type_args = text_or_null(x->type_args),
			.method = mem_strdup(x->method),
			.method_args = text_or_null(x->method_args),
			.params = x->params_known ? mem_strdup(x->params) : NULL,
			.overloaded = x->overloaded && x->params_known,
			.dynamic = x->dynamic,
			.token = x->token,
			.image = x->image,
		};
	free(x);
	return f;
}

/* The memory of a dynamic method may hold another one by the next question. */
static const struct resolved_function *function_of(struct outside_names *n, uint64_t method)
{
	uint32_t hash = index_hash(INDEX_HASH_START, &method, sizeof method), i;
	size_t at = hash;
	while ((i = index_set_next(&n->by_method, hash, &at)) != INDEX_NONE)
		if (n->functions[i]->method == method && !n->functions[i]->function.dynamic)
			return n->functions[i]->named ? &n->functions[i]->function : NULL;
	if (n->count == OUTSIDE_NAMES_MAX)
		return NULL;
	GROW(n->functions, n->count, n->cap);
	n->functions[n->count] = describe_function(n, method);
	index_set_add(&n->by_method, hash, (uint32_t)n->count);
	i = (uint32_t)n->count++;
	return n->functions[i]->named ? &n->functions[i]->function : NULL;
}

int outside_names_resolve(void *ctx, const uint64_t *ips, size_t count, const struct resolved_function **out)
{
	struct outside_names *n = ctx;
	struct memory_pages pages;
	struct managed_code code;
	begin_question(n, &pages);
	for (size_t i = 0; i < count; i++)
		out[i] = n->able && code_map_find(&n->map, ips[i], &code) ? function_of(n, code.method) : NULL;
	end_question(n, &pages);
	return 0;
}

int outside_names_code(void *ctx, const uint64_t *ips, size_t count, struct channel_code_body *out)
{
	struct outside_names *n = ctx;
	struct memory_pages pages;
	struct managed_code code;
	begin_question(n, &pages);
	for (size_t i = 0; i < count; i++) {
		bool found = n->able && code_map_find(&n->map, ips[i], &code);
		out[i] = (struct channel_code_body){.start = found ? code.start : 0, .bytes = found ? code.bytes : 0};
	}
	end_question(n, &pages);
	return 0;
}

void outside_names_note_compiled(const char *reason, const struct cpu_capture *c, struct session_facts *f)
{
	static const char nameless[] = "methods have no names: keep APP.dbg beside the executable";
	if (reason != REASON_NativeAOT || c->managed_frames + c->unresolved_frames == 0)
		return;
	if (c->managed_frames) {
		limits_note(&f->limits, "names", -1, -1,
			    "The application is compiled ahead of time (Native AOT): its methods are named by its symbols. Overloads of a method, and file "
			    "and line, are not told.");
		return;
	}
	limits_note(&f->limits, "names", -1, -1,
		    "Methods have no names: the executable has no symbols, and the file with them was not found. Keep APP.dbg, which dotnet publish "
		    "writes, beside the executable.");
	engine_doubt(&f->engines, ENGINE_SLEEPERS, nameless);
	engine_doubt(&f->engines, ENGINE_SAMPLING, nameless);
}
