#include "agent/symbols/type_pattern.h"
#include "agent/heap/heap_type_name.h"

#include <criterion/criterion.h>
#include <stdlib.h>

/* As the runtime's metadata has the names. */
Test(type_pattern, types_are_told_by_the_names_that_reports_show)
{
	static const struct {
		const char *metadata;
		enum type_pattern pattern;
	} rows[] = {
		{"System.Threading.TimerQueueTimer", TYPE_PATTERN_TIMER},
		{"System.Threading.TimerQueue", TYPE_PATTERN_TIMER_QUEUE},
		{"System.Threading.CancellationTokenSource", TYPE_PATTERN_CANCELLATION},
		{"System.Threading.CancellationTokenSource+Linked1CancellationTokenSource", TYPE_PATTERN_CANCELLATION},
		{"System.Threading.CancellationTokenSource+LinkedNCancellationTokenSource", TYPE_PATTERN_CANCELLATION},
		{"System.Threading.CancellationTokenSource+CallbackNode", TYPE_PATTERN_NONE},
		{"System.Threading.CancellationTokenSource+Registrations", TYPE_PATTERN_NONE},
		{"Microsoft.Extensions.DependencyInjection.ServiceLookup.ServiceProviderEngineScope", TYPE_PATTERN_SCOPE},
		{"Microsoft.EntityFrameworkCore.ChangeTracking.Internal.StateManager", TYPE_PATTERN_TRACKER},
		{"Microsoft.EntityFrameworkCore.ChangeTracking.Internal.InternalEntityEntry", TYPE_PATTERN_TRACKED},
		{"System.Reflection.LoaderAllocator", TYPE_PATTERN_LOAD_CONTEXT},
		{"System.Reflection.LoaderAllocatorScout", TYPE_PATTERN_NONE},
		{"Shop.TimerQueueTimer", TYPE_PATTERN_NONE},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct heap_type t = {0};
		heap_type_set_name(&t, rows[i].metadata);
		cr_expect_eq(type_pattern_of(t.name), rows[i].pattern, "%s", t.name);
		free(t.name);
		free(t.short_name);
		free(t.space);
	}
}

Test(type_pattern, what_a_scope_will_dispose_of)
{
	static const char scope[] = "Microsoft.Extensions.DependencyInjection.ServiceLookup.ServiceProviderEngineScope";

	cr_expect(type_pattern_is_disposables(scope, "_disposables"));
	cr_expect_not(type_pattern_is_disposables(scope, "_resolvedServices"));
	cr_expect_not(type_pattern_is_disposables(scope, NULL));
	cr_expect_not(type_pattern_is_disposables("Shop.Scope", "_disposables"));
}

Test(type_pattern, whose_a_type_is)
{
	static const struct {
		const char *type;
		bool framework, collection;
	} rows[] = {
		{"System.Net.Sockets.SocketAsyncEngine", true, false},
		{"Microsoft.AspNetCore.Hosting.GenericWebHostService", true, false},
		{"System.Collections.Generic.Dictionary<int, Shop.Order>", true, true},
		{"System.Collections.Generic.Dictionary<int, Shop.Order>.Entry[]", true, true},
		{"Shop.Order[]", false, true},
		{"object", true, false},
		{"object[]", true, true},
		{"string", true, false},
		{"int?", true, false},
		{"stringy", false, false},
		{"(unloaded type)", true, false},
		{"Shop.PriceFeed", false, false},
		{"SystemShop.Cart", false, false},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		cr_expect_eq(type_pattern_is_framework(rows[i].type), rows[i].framework, "%s", rows[i].type);
		cr_expect_eq(type_pattern_is_collection(rows[i].type), rows[i].collection, "%s", rows[i].type);
	}
}
