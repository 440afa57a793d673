/* Heaps of .NET 11, made by hand: tasks whose methods the runtime has suspended itself, with their Continuations. */
#include "agent/profilers/stucktasks/task_groups.h"
#include "agent/profilers/stucktasks/task_holders.h"
#include "common/base/mem.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define PENDING 0x2000400
#define TASK_FIELDS "8 m_action, 16 m_stateObject, 32 m_continuationObject"

struct made {
	struct heap_builder *b;
	uint32_t runtime, suspended, helper, task, delay, box, source, action, other;
	int32_t load, reserve, place, send;
};

static void begin_heap(struct made *m)
{
	const unsigned task = HEAP_TYPE_REFERENCES | HEAP_BUILDER_VALUES(HEAP_VALUE_TASK);
	const unsigned suspended = HEAP_TYPE_REFERENCES | HEAP_BUILDER_VALUES(HEAP_VALUE_STATE | HEAP_VALUE_METHOD);
	m->b = heap_builder_new(false);
	m->runtime = heap_builder_type(m->b, "System.Runtime.CompilerServices.AsyncHelpers.RuntimeAsyncTask<int>", task, 72, TASK_FIELDS);
	m->suspended = heap_builder_type(m->b, "?", suspended, 64, NULL);
	m->helper = heap_builder_type(m->b, "System.Runtime.CompilerServices.RuntimeAsyncTaskContinuation", suspended, 72,
				      "8 Next, 32 Task, 40 RuntimeAsyncTask");
	m->task = heap_builder_type(m->b, "System.Threading.Tasks.Task<int>", task, 72, TASK_FIELDS);
	m->delay = heap_builder_type(m->b, "System.Threading.Tasks.Task.DelayPromise", task, 72, TASK_FIELDS);
	m->box = heap_builder_type(m->b, "System.Runtime.CompilerServices.AsyncTaskMethodBuilder`1+AsyncStateMachineBox`1"
				   "<System.Int32,Shop.Orders+<OpenAsync>d__2>",
				   HEAP_TYPE_REFERENCES | HEAP_BUILDER_VALUES(HEAP_VALUE_TASK | HEAP_VALUE_STATE), 80, "8 m_action, 32 m_continuationObject");
	m->source = heap_builder_type(m->b, "System.Threading.Tasks.TaskCompletionSource<int>", HEAP_TYPE_REFERENCES, 24, "8 _task");
	m->action = heap_builder_type(m->b, "System.Action", HEAP_TYPE_REFERENCES, 64, "8 _target");
	m->other = heap_builder_type(m->b, "Shop.Table", HEAP_TYPE_REFERENCES, 24, "8 _entry");
	m->load = heap_builder_method(m->b, "Shop.Orders", "LoadAsync");
	m->reserve = heap_builder_method(m->b, "Shop.Stock", "ReserveAsync");
	m->place = heap_builder_method(m->b, "Shop.Orders+<>c", "<PlaceAsync>b__0");
	m->send = heap_builder_method(m->b, "System.Net.Http.HttpConnection", "SendAsync");
}

static void put(struct made *m, uint32_t type, uint64_t at, int32_t first, int32_t second, const struct heap_edge *edges)
{
	int32_t values[HEAP_VALUES_MAX] = {first, second};
	size_t n = 0;
	while (edges && edges[n].target)
		n++;
	heap_builder_values(m->b, values);
	heap_builder_object(m->b, type, at, 0, edges, n);
}

#define EDGES(...) (const struct heap_edge[]){__VA_ARGS__, {0, 0}}

/* A task of the runtime's at `at`, whose first Continuation follows; its delegate lies behind all. */
static void put_runtime(struct made *m, uint64_t at, uint64_t waiter)
{
	if (waiter)
		put(m, m->runtime, at, PENDING, 0, EDGES({8, at + 0xf00}, {16, at + 0x100}, {32, waiter}));
	else
		put(m, m->runtime, at, PENDING, 0, EDGES({8, at + 0xf00}, {16, at + 0x100}));
}

/* A completion that only LoadAsync knows; LoadAsync is called by ReserveAsync, which PlaceAsync's lambda calls. */
static void put_stuck(struct made *m, uint64_t at)
{
	put_runtime(m, at, 0);
	put(m, m->helper, at + 0x100, 0, 0, EDGES({8, at + 0x200}, {32, at + 0x500}, {40, at}));
	put(m, m->suspended, at + 0x200, 0, m->load, EDGES({8, at + 0x300}, {32, at + 0x600}));
	put(m, m->suspended, at + 0x300, 1, m->reserve, EDGES({8, at + 0x400}));
	put(m, m->suspended, at + 0x400, 2, m->place, NULL);
	put(m, m->task, at + 0x500, PENDING, 0, EDGES({32, at}));
	put(m, m->source, at + 0x600, 0, 0, EDGES({8, at + 0x500}));
	put(m, m->action, at + 0xf00, 0, 0, EDGES({8, at}));
}

static struct heap_snapshot *group_twice(struct made *m, struct task_groups *g)
{
	struct heap_snapshot *s = heap_builder_finish_take(m->b);
	struct task_look l;
	struct task_brief brief;
	task_look_make(s, &l);
	task_holders_find(&l);
	task_brief_make(&l, &brief);
	task_groups_make(&l, &brief, g);
	task_brief_fini(&brief);
	task_look_fini(&l);
	return s;
}

static void check_call(const struct task_group *g, size_t i, const char *method, int state, bool framework)
{
	cr_assert_lt(i, g->call_count, "%s", method);
	cr_expect_str_eq(g->calls[i].method, method);
	cr_expect(g->calls[i].state == state && g->calls[i].framework == framework, "%s: %d", method, g->calls[i].state);
}

Test(task_suspended, a_chain_from_what_is_waited_for_to_the_last_caller)
{
	struct made m;
	struct task_groups g;
	begin_heap(&m);
	for (uint64_t i = 0; i < 3; i++)
		put_stuck(&m, 0x10000 + i * 0x1000);
	put(&m, m.other, 0x20000, 0, 0, EDGES({8, 0x10000})); /* a list of what was begun has the first one */
	put(&m, m.suspended, 0x20100, 0, m.load, EDGES({32, 0x11000})); /* a method that has gone on had the second one */
	struct heap_snapshot *s = group_twice(&m, &g);
	cr_assert_eq(g.count, 1);
	const struct task_group *x = &g.items[0];
	cr_expect(x->count == 3 && x->lasting == 3 && x->unheld == 3 && x->kept == 1, "%lu %lu %lu %lu", x->count, x->lasting, x->unheld, x->kept);
	cr_expect(x->wait == TASK_WAIT_COMPLETION && g.unread == 0);
	cr_expect_str_eq(x->awaited, "System.Threading.Tasks.Task<int>");
	cr_expect_eq(x->call_count, 3);
	check_call(x, 0, "Shop.Orders.LoadAsync", 0, false);
	check_call(x, 1, "Shop.Stock.ReserveAsync", 1, false);
	check_call(x, 2, "Shop.Orders.PlaceAsync.lambda", 2, false);
	cr_expect(g.boxes == 9 && g.tasks == 3 && g.operations == 3);
	task_groups_fini(&g);
	heap_snapshot_free(s);
}

Test(task_suspended, a_completion_that_others_hold_may_come)
{
	struct made m;
	struct task_groups g;
	begin_heap(&m);
	put_stuck(&m, 0x10000);
	put(&m, m.other, 0x20000, 0, 0, EDGES({8, 0x10600}));
	struct heap_snapshot *s = group_twice(&m, &g);
	cr_assert_eq(g.count, 1);
	cr_expect(g.items[0].lasting == 1 && g.items[0].unheld == 0);
	task_groups_fini(&g);
	heap_snapshot_free(s);
}

/* A method of a library that the runtime suspends, called by a compiled one, which one that the runtime suspends calls. */
Test(task_suspended, both_kinds_in_one_chain)
{
	struct made m;
	struct task_groups g;
	begin_heap(&m);
	put(&m, m.task, 0x10000, PENDING, 0, EDGES({32, 0x11000}));
	put_runtime(&m, 0x11000, 0x12000);
	put(&m, m.suspended, 0x11100, 4, m.send, NULL);
	put(&m, m.box, 0x12000, PENDING, 0, EDGES({32, 0x13000}));
	put_runtime(&m, 0x13000, 0);
	put(&m, m.suspended, 0x13100, 0, m.load, NULL);
	struct heap_snapshot *s = group_twice(&m, &g);
	cr_assert_eq(g.count, 1);
	cr_expect_eq(g.items[0].wait, TASK_WAIT_HTTP);
	cr_expect_eq(g.items[0].place, 1);
	check_call(&g.items[0], 0, "System.Net.Http.HttpConnection.SendAsync", TASK_STATE_UNKNOWN, true);
	check_call(&g.items[0], 1, "Shop.Orders.OpenAsync", 0, false);
	check_call(&g.items[0], 2, "Shop.Orders.LoadAsync", 0, false);
	cr_expect(g.items[0].asked && g.items[0].call_count == 3);
	task_groups_fini(&g);
	heap_snapshot_free(s);
}

/* The library was compiled again meanwhile: its awaits have other numbers, and a method that it calls is inlined. */
Test(task_suspended, one_await_of_the_application_is_one_group)
{
	struct made m;
	struct task_groups g;
	begin_heap(&m);
	int32_t fill = heap_builder_method(m.b, "System.Net.Http.HttpConnection", "FillAsync");
	for (uint64_t i = 0; i < 4; i++) {
		uint64_t at = 0x10000 + i * 0x1000;
		put(&m, m.task, at, PENDING, 0, EDGES({32, at + 0x100}));
		put_runtime(&m, at + 0x100, 0);
		if (i < 2)
			put(&m, m.suspended, at + 0x200, 0, fill, EDGES({8, at + 0x300}));
		else
			put(&m, m.suspended, at + 0x200, 3, m.send, EDGES({8, at + 0x400}));
		if (i < 2)
			put(&m, m.suspended, at + 0x300, (int32_t)i, m.send, EDGES({8, at + 0x400}));
		put(&m, m.suspended, at + 0x400, i == 3, m.load, NULL);
	}
	struct heap_snapshot *s = group_twice(&m, &g);
	cr_assert_eq(g.count, 2, "%zu", g.count);
	size_t most = g.items[0].count == 3 ? 0 : 1;
	cr_expect(g.items[most].count == 3 && g.items[most].lasting == 3 && g.items[1 - most].count == 1);
	task_groups_fini(&g);
	heap_snapshot_free(s);
}

/* Where nothing but a library waits, its methods tell operations apart. */
Test(task_suspended, libraries_alone_are_grouped_by_their_methods)
{
	struct made m;
	struct task_groups g;
	begin_heap(&m);
	int32_t accept = heap_builder_method(m.b, "Microsoft.AspNetCore.Connections.Listener", "AcceptAsync");
	for (uint64_t i = 0; i < 3; i++) {
		put_runtime(&m, 0x10000 + i * 0x1000, 0);
		put(&m, m.suspended, 0x10100 + i * 0x1000, (int32_t)i, i ? m.send : accept, NULL);
	}
	struct heap_snapshot *s = group_twice(&m, &g);
	cr_expect_eq(g.count, 2, "%zu", g.count);
	task_groups_fini(&g);
	heap_snapshot_free(s);
}

Test(task_suspended, what_a_helper_alone_tells_of)
{
	struct made m;
	struct task_groups g;
	begin_heap(&m);
	put_runtime(&m, 0x10000, 0);
	put(&m, m.helper, 0x10100, 0, 0, EDGES({8, 0x10200}, {32, 0x10300})); /* nothing leads from the timer to the task */
	put(&m, m.suspended, 0x10200, 0, m.load, NULL);
	put(&m, m.delay, 0x10300, PENDING, 0, NULL);
	struct heap_snapshot *s = group_twice(&m, &g);
	cr_assert_eq(g.count, 1);
	check_call(&g.items[0], 0, "Shop.Orders.LoadAsync", 0, false);
	cr_expect(g.items[0].wait == TASK_WAIT_TIMER && g.items[0].bounded);
	task_groups_fini(&g);
	heap_snapshot_free(s);
}

Test(task_suspended, only_what_belongs_to_a_task_is_an_operation)
{
	struct made m;
	struct task_groups g;
	begin_heap(&m);
	put(&m, m.suspended, 0x10000, 0, m.load, EDGES({8, 0x10100})); /* that has gone on since */
	put(&m, m.suspended, 0x10100, 0, m.place, NULL);
	put(&m, m.runtime, 0x11000, PENDING, 0, EDGES({8, 0x11f00}, {32, 0x12000})); /* it runs: it has none */
	put(&m, m.action, 0x11f00, 0, 0, EDGES({8, 0x11000}));
	put(&m, m.box, 0x12000, PENDING, 0, NULL);
	struct heap_snapshot *s = group_twice(&m, &g);
	cr_assert_eq(g.count, 1);
	cr_expect_eq(g.items[0].wait, TASK_WAIT_WORK);
	check_call(&g.items[0], 0, "Shop.Orders.OpenAsync", 0, false);
	cr_expect(g.unread == 0 && g.boxes == 1);
	task_groups_fini(&g);
	heap_snapshot_free(s);
}

Test(task_suspended, what_could_not_be_read_is_counted)
{
	struct made m;
	struct task_groups g;
	begin_heap(&m);
	int32_t nameless = heap_builder_method(m.b, NULL, NULL);
	put_runtime(&m, 0x10000, 0); /* the table was full */
	put(&m, m.suspended, 0x10100, 0, HEAP_METHOD_UNKNOWN, NULL);
	put_runtime(&m, 0x11000, 0);
	put(&m, m.suspended, 0x11100, 0, nameless, NULL);
	put_runtime(&m, 0x12000, 0); /* classes of another layout */
	put(&m, m.other, 0x12100, 0, 0, NULL);
	put_runtime(&m, 0x13000, 0); /* another version's number */
	put(&m, m.suspended, 0x13100, 0, nameless + 1, NULL);
	put_stuck(&m, 0x14000);
	struct heap_snapshot *s = group_twice(&m, &g);
	cr_expect_eq(g.unread, 4);
	task_groups_fini(&g);
	heap_snapshot_free(s);
}

Test(task_suspended, circles_and_long_chains_end)
{
	struct made m;
	struct task_groups g;
	begin_heap(&m);
	put_runtime(&m, 0x10000, 0x10000);
	put(&m, m.suspended, 0x10100, 0, m.load, EDGES({8, 0x10200}));
	put(&m, m.suspended, 0x10200, 0, m.place, EDGES({8, 0x10100}));
	put_runtime(&m, 0x11000, 0); /* the same chain again */
	put(&m, m.suspended, 0x11100, 0, m.load, EDGES({8, 0x10200}));
	put_runtime(&m, 0x12000, 0);
	put(&m, m.helper, 0x12100, 0, 0, EDGES({8, 0x12100}, {32, 0x12000})); /* it is its own caller, and waits for its own task */
	put_runtime(&m, 0x20000, 0);
	for (uint64_t at = 0x20100; at < 0x200000; at += 0x100)
		put(&m, m.suspended, at, 0, m.load, EDGES({8, at + 0x100}));
	struct heap_snapshot *s = group_twice(&m, &g);
	cr_expect_geq(g.boxes, (0x200000 - 0x20100) / 0x100, "%lu", g.boxes);
	task_groups_fini(&g);
	heap_snapshot_free(s);
}
