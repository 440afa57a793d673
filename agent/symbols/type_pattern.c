#include "agent/symbols/type_pattern.h"

#include <stddef.h>
#include <string.h>

#define SCOPE "Microsoft.Extensions.DependencyInjection.ServiceLookup.ServiceProviderEngineScope"
#define SOURCE "System.Threading.CancellationTokenSource"
#define EF "Microsoft.EntityFrameworkCore.ChangeTracking.Internal."

static const struct {
	const char *type;
	enum type_pattern pattern;
} types[] = {
	{"System.Threading.TimerQueueTimer", TYPE_PATTERN_TIMER},
	{"System.Threading.TimerQueue", TYPE_PATTERN_TIMER_QUEUE},
	{SOURCE, TYPE_PATTERN_CANCELLATION},
	{SOURCE ".Linked1CancellationTokenSource", TYPE_PATTERN_CANCELLATION},
	{SOURCE ".Linked2CancellationTokenSource", TYPE_PATTERN_CANCELLATION},
	{SOURCE ".LinkedNCancellationTokenSource", TYPE_PATTERN_CANCELLATION},
	{SCOPE, TYPE_PATTERN_SCOPE},
	{EF "StateManager", TYPE_PATTERN_TRACKER},
	{EF "InternalEntityEntry", TYPE_PATTERN_TRACKED},
	/* before EF Core 6 */
	{EF "InternalClrEntityEntry", TYPE_PATTERN_TRACKED},
	{EF "InternalMixedEntityEntry", TYPE_PATTERN_TRACKED},
	{EF "InternalShadowEntityEntry", TYPE_PATTERN_TRACKED},
	/* the runtime has one for each: its finalizer lets the code go */
	{"System.Reflection.LoaderAllocator", TYPE_PATTERN_LOAD_CONTEXT},
};

enum type_pattern type_pattern_of(const char *type)
{
	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		if (strcmp(types[i].type, type) == 0)
			return types[i].pattern;
	return TYPE_PATTERN_NONE;
}

bool type_pattern_is_disposables(const char *type, const char *field)
{
	return field && strcmp(type, SCOPE) == 0 && strcmp(field, "_disposables") == 0;
}

static bool begins_with_any(const char *type, const char *const *with)
{
	for (; *with; with++)
		if (strncmp(type, *with, strlen(*with)) == 0)
			return true;
	return false;
}

bool type_pattern_is_framework(const char *type)
{
	static const char *const spaces[] = {"System.", "Microsoft.", "Interop", "Internal.", "(", NULL};
	static const char *const words[] = {"object", "string", "byte", "char", "int", "long", "bool", "short", "double", "float",
					    "uint", "ulong", "ushort", "sbyte", "decimal", "nint", "nuint", "void*"};
	size_t n = strcspn(type, "[<?");

	if (begins_with_any(type, spaces))
		return true;
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strlen(words[i]) == n && strncmp(type, words[i], n) == 0)
			return true;
	return false;
}

bool type_pattern_is_collection(const char *type)
{
	static const char *const spaces[] = {"System.Collections.", "Microsoft.Extensions.Caching.", "System.Runtime.Caching.", NULL};
	size_t n = strlen(type);

	return begins_with_any(type, spaces) || (n > 2 && strcmp(type + n - 2, "[]") == 0);
}
