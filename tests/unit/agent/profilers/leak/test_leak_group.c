#include "agent/profilers/leak/leak_finding.h"
#include "agent/profilers/leak/leak_group.h"
#include "agent/symbols/type_pattern.h"

#include "tests/unit/agent/profilers/leak/make_model.h"

static const struct leak_group *only(const struct leak_groups *g)
{
	cr_assert_eq(g->count, 1, "%zu groups", g->count);
	return &g->items[0];
}

Test(leak_group, names_the_collection_and_what_is_in_it)
{
	struct leak_model m;
	struct leak_groups g;
	make_walks(&m, 2, 60);
	uint32_t order = make_cache(&m, COUNTS(1000, 101000));
	leak_groups_find(&m, &g);
	const struct leak_group *is = only(&g);
	cr_expect_eq(is->holder, m.steps[order].parent);
	cr_expect_eq(is->element, order);
	cr_expect_eq(is->payload, order);
	cr_expect_eq(is->grown_count, 100000);
	cr_expect_eq(is->grown_bytes, 10000000);
	cr_expect_eq(is->bytes[0], 24000 + 100000);
	cr_expect_float_eq(is->bytes_per_minute, 1e7, 1);
	cr_expect_eq(is->verdict, LEAK_GROWS);
	cr_expect_eq(is->pattern, LEAK_STATIC_COLLECTION);
	AUTO_BUF struct buf path;
	buf_init(&path, 4096);
	leak_put_path(&path, &m, is->payload, 300);
	cr_expect_str_eq(buf_str(&path), "static Shop.Cache._items -> Dictionary<int, Order>._entries -> Entry[].value -> Order");
	leak_groups_fini(&g);
	leak_model_fini(&m);
}

Test(leak_group, what_hangs_below_added_objects_is_theirs)
{
	struct leak_model m;
	struct leak_groups g;
	make_walks(&m, 2, 60);
	uint32_t order = make_cache(&m, COUNTS(1000, 101000));
	uint32_t list = make_step(&m, order, "System.Collections.Generic.List<Line>", "Lines", 40, COUNTS(1000, 101000));
	make_step(&m, list, "Shop.Line", "_items[]", 50, COUNTS(3000, 303000));
	leak_groups_find(&m, &g);
	const struct leak_group *is = only(&g);
	cr_expect_eq(is->element, order);
	cr_expect_eq(is->grown_bytes, 100000 * (100 + 40 + 150));
	leak_groups_fini(&g);
	leak_model_fini(&m);
}

Test(leak_group, a_few_more_that_grew_each_are_not_the_elements)
{
	struct leak_model m;
	struct leak_groups g;
	make_walks(&m, 2, 60);
	uint32_t root = leak_model_root(&m, LEAK_ROOT_STATIC, "static Shop.Sessions.All");
	uint32_t session = make_step(&m, root, "Shop.Session", NULL, 100, COUNTS(100, 110));
	uint32_t list = make_step(&m, session, "System.Collections.Generic.List<Event>", "_log", 40, COUNTS(100, 110));
	uint32_t event = make_step(&m, list, "Shop.Event", "_items[]", 100, COUNTS(1000, 100000));
	leak_groups_find(&m, &g);
	const struct leak_group *is = only(&g);
	cr_expect_eq(is->holder, list);
	cr_expect_eq(is->element, event);
	leak_groups_fini(&g);
	leak_model_fini(&m);
}

/* A dictionary's buckets leap when its entries do: by themselves they would be an array that may grow, whatever is said of what was added. */
Test(leak_group, arrays_beside_the_one_that_objects_were_added_to_are_its_own)
{
	struct leak_model m;
	struct leak_groups g;
	make_walks(&m, 3, 60);
	uint32_t order = make_cache(&m, COUNTS(1000, 101000, 101000)), entries = m.steps[order].parent;
	uint32_t buckets = make_step(&m, m.steps[entries].parent, "int[]", "_buckets", 4000, COUNTS(1, 101, 101));
	for (size_t w = 0; w < 3; w++)
		leak_model_at(&m, buckets, w)->count = 1;
	leak_groups_find(&m, &g);
	const struct leak_group *is = only(&g);
	cr_expect_eq(is->element, order);
	cr_expect_eq(is->verdict, LEAK_LEVELLED_OFF);
	cr_expect_eq(is->grown_bytes, 10000000 + 400000);
	cr_expect_eq(is->added[2], 10100000);
	leak_groups_fini(&g);
	leak_model_fini(&m);
}

Test(leak_group, an_array_grows_itself)
{
	struct leak_model m;
	struct leak_groups g;
	make_walks(&m, 2, 60);
	uint32_t root = leak_model_root(&m, LEAK_ROOT_STATIC, "static Shop.Log.Numbers");
	uint32_t list = make_step(&m, root, "System.Collections.Generic.List<int>", NULL, 40, COUNTS(1, 1));
	uint32_t array = make_step(&m, list, "int[]", "_items", 1, COUNTS(1, 1));
	leak_model_at(&m, array, 1)->bytes += MB(8);
	for (uint32_t s = array; s != LEAK_NONE; s = m.steps[s].parent)
		leak_model_at(&m, s, 1)->held += MB(8);
	leak_groups_find(&m, &g);
	const struct leak_group *is = only(&g);
	cr_expect_eq(is->holder, array);
	cr_expect_eq(is->grown_count, 0);
	cr_expect_eq(is->grown_bytes, (int64_t)MB(8));
	cr_expect_eq(is->pattern, LEAK_STATIC_COLLECTION);
	leak_groups_fini(&g);
	leak_model_fini(&m);
}

Test(leak_group, many_kinds_a_little_each)
{
	struct leak_model m;
	struct leak_groups g;
	make_walks(&m, 2, 60);
	uint32_t root = leak_model_root(&m, LEAK_ROOT_STATIC, "static Shop.Bag.All");
	uint32_t list = make_step(&m, root, "object[]", NULL, 40, COUNTS(1, 1));
	for (int i = 0; i < 100; i++) {
		char name[32];
		snprintf(name, sizeof name, "Shop.Kind%d", i);
		make_step(&m, list, name, "[]", 100, COUNTS(10, 160));
	}
	leak_groups_find(&m, &g);
	const struct leak_group *is = only(&g);
	cr_expect_eq(is->holder, list);
	cr_expect_eq(is->grown_bytes, 100 * 150 * 100);
	cr_expect_eq(is->verdict, LEAK_GROWS);
	leak_groups_fini(&g);
	leak_model_fini(&m);
}

Test(leak_group, looks_through_the_frameworks_wrappers)
{
	struct leak_model m;
	struct leak_groups g;
	make_walks(&m, 3, 60);
	uint32_t root = leak_model_root(&m, LEAK_ROOT_STATIC, "static System.Threading.TimerQueue.Instances");
	uint32_t queue = make_step(&m, root, "System.Threading.TimerQueue", "[]", 100, COUNTS(2, 2, 2));
	uint32_t timer = make_step(&m, queue, "System.Threading.TimerQueueTimer", "_shortTimers", 96, COUNTS(10, 5010, 10010));
	uint32_t callback = make_step(&m, timer, "System.Threading.TimerCallback", "_timerCallback", 64, COUNTS(10, 5010, 10010));
	uint32_t poller = make_step(&m, callback, "Shop.Poller", "_target", 32, COUNTS(8, 5008, 10008));
	make_step(&m, poller, "byte[]", "buffer", 224, COUNTS(8, 5008, 10008));
	leak_groups_find(&m, &g);
	const struct leak_group *is = only(&g);
	cr_expect_eq(is->holder, queue);
	cr_expect_eq(is->element, timer);
	cr_expect_eq(is->payload, poller);
	cr_expect_eq(is->grown_count, 10000);
	cr_expect_eq(is->pattern, LEAK_TIMER);
	leak_groups_fini(&g);
	leak_model_fini(&m);
}

Test(leak_group, those_that_grow_come_first)
{
	struct leak_model m;
	struct leak_groups g;
	make_walks(&m, 3, 60);
	make_cache(&m, COUNTS(1000, 5000, 9000));
	uint32_t stack = leak_model_root(&m, LEAK_ROOT_STACK, "stack of Shop.Main (thread 1)");
	make_step(&m, stack, "Shop.Row", NULL, 1000, COUNTS(0, 5000, 9000));
	uint32_t loose = leak_model_root(&m, LEAK_ROOT_UNKNOWN, "");
	make_step(&m, loose, "Shop.Garbage", NULL, 1000, COUNTS(0, 50000, 90000));
	leak_groups_find(&m, &g);
	cr_assert_eq(g.count, 3);
	cr_expect_eq(g.items[0].verdict, LEAK_GROWS);
	cr_expect_eq(g.items[1].verdict, LEAK_NOT_HELD);
	cr_expect_eq(g.items[2].verdict, LEAK_IN_USE);
	cr_expect_eq(g.by_verdict[LEAK_GROWS], 800000);
	cr_expect_eq(g.by_verdict[LEAK_NOT_HELD], 90000000);
	cr_expect_eq(g.by_verdict[LEAK_IN_USE], 9000000);
	leak_groups_fini(&g);
	leak_model_fini(&m);
}

Test(leak_group, old_objects_of_a_running_method_count)
{
	struct leak_model m;
	struct leak_groups g;
	make_walks(&m, 3, 60);
	uint32_t stack = leak_model_root(&m, LEAK_ROOT_STACK, "stack of Shop.Main (thread 1)");
	uint32_t list = make_step(&m, stack, "System.Collections.Generic.List<Row>", NULL, 40, COUNTS(1, 1, 1));
	make_step(&m, list, "Shop.Row", "_items[]", 1000, COUNTS(1000, 5000, 9000));
	uint32_t type = leak_model_type(&m, "Shop.Row", "Shop.dll");
	*leak_model_type_at(&m, type, 0) = (struct leak_type_figures){1000, MB(1), MB(1), 0, 0};
	*leak_model_type_at(&m, type, 2) = (struct leak_type_figures){9000, MB(9), MB(8), 0, 0};
	leak_groups_find(&m, &g);
	cr_expect_eq(only(&g)->verdict, LEAK_GROWS);
	cr_expect_eq(only(&g)->pattern, LEAK_STACK);
	leak_groups_fini(&g);
	leak_model_at(&m, list, 0)->bytes = 0;
	leak_model_type_at(&m, type, 2)->old_bytes = MB(2);
	leak_groups_find(&m, &g);
	cr_expect_eq(only(&g)->verdict, LEAK_IN_USE);
	leak_groups_fini(&g);
	leak_model_fini(&m);
}

static const struct {
	const char *what;
	enum leak_root root;
	const char *types[4], *fields[4];
	enum leak_pattern pattern;
} rows[] = {
	{"event", LEAK_ROOT_STATIC, {"Shop.PriceFeed", "System.EventHandler", "object[]", "System.EventHandler"}, {NULL, "Changed", "_invocationList", "[]"}, LEAK_EVENT_HANDLER},
	{"timer", LEAK_ROOT_STATIC, {"System.Threading.TimerQueue", "System.Threading.TimerQueueTimer", "Shop.Poller"}, {NULL}, LEAK_TIMER},
	{"a timer's lambda", LEAK_ROOT_STATIC, {"System.Threading.TimerQueueTimer", "Shop.Jobs+<>c__DisplayClass1_0"}, {NULL}, LEAK_TIMER},
	{"closure", LEAK_ROOT_STATIC, {"System.Collections.Generic.List<Func<int>>", "System.Func<int>", "Shop.Jobs+<>c__DisplayClass1_0"}, {NULL}, LEAK_CLOSURE},
	{"closure as it is shown", LEAK_ROOT_STATIC, {"System.Func<int>[]", "System.Func<int>", "Shop.Jobs.(closure)"}, {NULL, "[]", "_target"}, LEAK_CLOSURE},
	{"value beside a key", LEAK_ROOT_STATIC, {"System.Collections.Generic.List<object>", "object", "Shop.Metadata"}, {NULL, "_items", LEAK_DEPENDENT_FIELD}, LEAK_WEAK_TABLE},
	{"weak table", LEAK_ROOT_STATIC, {"System.Runtime.CompilerServices.ConditionalWeakTable<object, Shop.Metadata>", "Shop.Metadata"}, {NULL}, LEAK_WEAK_TABLE},
	{"dependent handle", LEAK_ROOT_DEPENDENT_HANDLE, {"Shop.Metadata"}, {NULL}, LEAK_WEAK_TABLE},
	{"registrations", LEAK_ROOT_STATIC, {"System.Threading.CancellationTokenSource", "Shop.Job"}, {NULL}, LEAK_CANCELLATION},
	{"finalizer queue", LEAK_ROOT_FINALIZER, {"Shop.Native"}, {NULL}, LEAK_FINALIZERS},
	{"thread static", LEAK_ROOT_THREAD_STATIC, {"Shop.Order[]"}, {NULL}, LEAK_THREAD_STATIC},
	{"collection", LEAK_ROOT_STATIC, {"System.Collections.Concurrent.ConcurrentDictionary<int, Shop.Order>", "Shop.Order"}, {NULL}, LEAK_STATIC_COLLECTION},
	{"array", LEAK_ROOT_STATIC, {"Shop.Order[]", "Shop.Order"}, {NULL}, LEAK_STATIC_COLLECTION},
	{"a chain in a list", LEAK_ROOT_STATIC, {"System.Collections.Generic.List<Node>", "Shop.Node[]", "Shop.Node", "Shop.Order"}, {NULL}, LEAK_STATIC},
	{"an async method that awaits a timer", LEAK_ROOT_STATIC,
	 {"System.Threading.TimerQueueTimer", "System.Threading.Tasks.Task.DelayPromise",
	  "System.Runtime.CompilerServices.AsyncTaskMethodBuilder<VoidTaskResult>.AsyncStateMachineBox<Feed.Listen>", "Shop.Visit"},
	 {NULL}, LEAK_ASYNC},
	{"a timer in an async method", LEAK_ROOT_STATIC,
	 {"System.Threading.Tasks.Task",
	  "System.Runtime.CompilerServices.AsyncTaskMethodBuilder<VoidTaskResult>.AsyncStateMachineBox<Feed.Listen>", "System.Timers.Timer", "Shop.Visit"},
	 {NULL}, LEAK_TIMER},
	{"own list", LEAK_ROOT_STATIC, {"Shop.Node"}, {NULL}, LEAK_STATIC},
	{"handle", LEAK_ROOT_HANDLE, {"Shop.Order"}, {NULL}, LEAK_HANDLE},
	{"stack", LEAK_ROOT_STACK, {"Shop.Order"}, {NULL}, LEAK_STACK},
	{"other", LEAK_ROOT_OTHER, {"Shop.Order"}, {NULL}, LEAK_OTHER},
};

Test(leak_pattern, is_told_by_the_path)
{
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct leak_model m;
		make_walks(&m, 2, 60);
		uint32_t step = leak_model_root(&m, rows[i].root, "static Shop.Thing");
		for (size_t k = 0; k < 4 && rows[i].types[k]; k++)
			step = leak_model_step(&m, step, rows[i].types[k], rows[i].types[k], "", rows[i].fields[k]);
		enum leak_pattern p = leak_pattern_of(&m, step, m.steps[step].parent);
		cr_expect_eq(p, rows[i].pattern, "%s: %s", rows[i].what, leak_pattern_name(p));
		leak_model_fini(&m);
	}
	struct leak_model m;
	make_walks(&m, 2, 60);
	uint32_t root = leak_model_root(&m, LEAK_ROOT_STATIC, "static Shop.PriceFeed.Instance");
	uint32_t delegate = leak_model_step(&m, root, "System.EventHandler", "EventHandler", "", "Changed");
	uint32_t widget = leak_model_step(&m, delegate, "Shop.Widget", "Widget", "", "_target");
	cr_expect_eq(leak_pattern_of(&m, widget, delegate), LEAK_STATIC, "one delegate is no event's list");
	m.steps[delegate].nested = true;
	cr_expect_eq(leak_pattern_of(&m, widget, delegate), LEAK_EVENT_HANDLER);
	leak_model_fini(&m);
	static const struct {
		const char *type;
		bool is;
	} types[] = {{"System.String", true}, {"string", true}, {"byte[]", true}, {"string[][]", true}, {"int?", true}, {"Shop.Order", false},
		     {"stringy.Thing", false}, {"Microsoft.Extensions.Logging.Logger", true}, {"", false}};
	for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
		cr_expect_eq(type_pattern_is_framework(types[i].type), types[i].is, "%s", types[i].type);
}

Test(leak_model, is_bounded_and_joins_equal_paths)
{
	struct leak_model m;
	leak_model_init(&m);
	uint32_t a = leak_model_root(&m, LEAK_ROOT_STATIC, "static A"), b = leak_model_root(&m, LEAK_ROOT_HANDLE, "static A");
	cr_expect_neq(a, b);
	uint32_t one = leak_model_step(&m, a, "Shop.Order", "Order", "Shop.dll", "");
	cr_expect_eq(leak_model_step(&m, a, "Shop.Order", "Order", "Shop.dll", "_item"), one);
	cr_expect_str_eq(leak_model_text(&m, m.steps[one].field), "_item");
	cr_expect_eq(leak_model_step(&m, a, "Shop.Order", "Order", "Shop.dll", "_other"), one);
	cr_expect_str_eq(leak_model_text(&m, m.steps[one].field), "_item");
	cr_expect_neq(leak_model_step(&m, a, "Shop.Order", "Order", "Other.dll", ""), one);
	cr_expect_neq(leak_model_step(&m, b, "Shop.Order", "Order", "Shop.dll", ""), one);
	for (int i = 0; i < LEAK_MAX_STEPS + 10; i++) {
		char name[32];
		snprintf(name, sizeof name, "Shop.Type%d", i);
		leak_model_step(&m, a, name, name, "", "");
	}
	cr_expect_eq(m.step_count, LEAK_MAX_STEPS);
	cr_expect_gt(m.no_place, 10);
	cr_expect_eq(leak_model_step(&m, LEAK_NONE, "Shop.Order", "Order", "", ""), LEAK_NONE);
	cr_expect_eq(leak_model_type(&m, "Shop.Order", "Shop.dll"), 0);
	cr_expect_eq(leak_model_type(&m, "Shop.Order", "Other.dll"), 1);
	cr_expect_eq(leak_model_type(&m, "Shop.Order", "Shop.dll"), 0);
	leak_model_fini(&m);
}
