#include "agent/profilers/allocs/alloc_numbers.h"

#include <string.h>

#define COMPARER_DEPTH 3 /* methods above an allocation that may be the comparer's */

RULE_FIELDS(alloc_numbers, ALLOC_NUMBERS);

bool alloc_numbers_value_type(const char *type)
{
	static const char *const values[] = {
		"bool", "byte", "sbyte", "short", "ushort", "int", "uint", "long", "ulong", "nint", "nuint", "char", "float", "double", "decimal",
		"System.DateTime", "System.DateTimeOffset", "System.TimeSpan", "System.Guid", "System.IntPtr", "System.DateOnly", "System.TimeOnly",
		"System.Threading.CancellationToken",
	};
	for (size_t i = 0; i < sizeof values / sizeof *values; i++)
		if (strcmp(type, values[i]) == 0)
			return true;
	return strncmp(type, "System.Collections.Generic.KeyValuePair<", 40) == 0 || strncmp(type, "System.ValueTuple<", 18) == 0;
}

/* A key without an Equals of its own is compared as an object. */
static bool is_comparer(const char *method)
{
	return strstr(method, "ObjectEqualityComparer") || strstr(method, "ObjectComparer") || strncmp(method, "System.ValueType.", 17) == 0;
}

bool alloc_numbers_compared(const struct alloc_analysis *a, const struct alloc_sum *s)
{
	const struct stack_tree *t = &a->base.tree;
	uint32_t node = a->stack_node[s->stack];
	for (int i = 0; i < COMPARER_DEPTH && node != STACK_TREE_ROOT; i++, node = t->nodes[node].parent)
		if (is_comparer(a->base.methods[t->nodes[node].method].name))
			return strchr(a->capture->types[s->type], '[') == NULL;
	return false;
}

/* By the runtime's word; else by the type's name, or by who makes the object. */
static bool is_boxed(const struct alloc_analysis *a, const struct alloc_sum *s)
{
	return s->boxed || alloc_numbers_value_type(a->capture->types[s->type]) || alloc_numbers_compared(a, s);
}

const struct alloc_sum *alloc_numbers_site(const struct alloc_analysis *a)
{
	const struct alloc_sum *best = NULL;
	for (size_t i = 0; i < a->site_count; i++) {
		const struct alloc_sum *s = &a->sites[i];
		if (s->method != CPU_NO_METHOD && (!best || a->caused[s->method] > a->caused[best->method]))
			best = s; /* a method's first row is its largest */
	}
	return best;
}

const struct alloc_sum *alloc_numbers_large(const struct alloc_analysis *a)
{
	for (size_t i = 0; i < a->site_count; i++)
		if (a->sites[i].heap == ALLOC_LARGE)
			return &a->sites[i];
	return NULL;
}

const struct alloc_sum *alloc_numbers_boxed(const struct alloc_analysis *a)
{
	for (size_t i = 0; i < a->site_count; i++)
		if (is_boxed(a, &a->sites[i]))
			return &a->sites[i];
	return NULL;
}

static void name_alloc_sum(const struct alloc_analysis *a, const struct alloc_sum *s, struct rule_text *type, struct rule_text *method)
{
	if (type)
		rules_set_text(type, s ? a->capture->types[s->type] : NULL);
	rules_set_text(method, s ? alloc_analysis_method(a, s->method) : NULL);
}

void alloc_numbers_of(const struct alloc_analysis *a, struct alloc_numbers *out)
{
	const struct alloc_sum *site = alloc_numbers_site(a), *type = a->type_count ? &a->types[0] : NULL;
	double boxed = 0, seconds = a->seconds > 0 ? a->seconds : 1, lost = a->all.bytes + a->dropped.bytes;
	rules_clear(&alloc_numbers_fields, out);
	for (size_t i = 0; i < a->site_count; i++)
		boxed += is_boxed(a, &a->sites[i]) ? a->sites[i].estimate.bytes : 0;
	out->seconds = a->seconds;
	out->samples = (double)a->all.samples;
	out->dropped_percent = lost > 0 ? 100 * a->dropped.bytes / lost : 0;
	out->bytes_per_second = a->all.bytes / seconds;
	out->site_percent = site ? alloc_analysis_percent(a, a->caused[site->method]) : 0;
	out->type_percent = type ? alloc_analysis_percent(a, type->estimate.bytes) : 0;
	out->large_percent = alloc_analysis_percent(a, a->large_bytes);
	out->boxed_percent = alloc_analysis_percent(a, boxed);
	name_alloc_sum(a, site, NULL, &out->site_method);
	name_alloc_sum(a, type, &out->type_name, &out->type_method);
	name_alloc_sum(a, alloc_numbers_large(a), &out->large_type, &out->large_method);
	name_alloc_sum(a, alloc_numbers_boxed(a), &out->boxed_type, &out->boxed_method);
	out->collections = a->base.collections.count;
	out->collecting_percent = (double)a->base.collections.total_ns / 1e7 / seconds;
	out->longest_collection_ms = (double)a->base.collections.longest_ns / 1e6;
}
