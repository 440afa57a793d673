/* Heaps of known operations, made by hand: who calls whom, what is waited for, who holds it, and which are the same at the next look. */
#include "agent/profilers/stucktasks/task_groups.h"
#include "agent/profilers/stucktasks/task_holders.h"

#include <criterion/criterion.h>
#include <string.h>

#define PENDING 0x2000400
#define DONE 0x3000400
#define FAULTED 0x2200400
#define BOX_OF(machine) "System.Runtime.CompilerServices.AsyncTaskMethodBuilder`1+AsyncStateMachineBox`1<System.Int32," machine ">"
#define TASK_FIELDS "8 m_action, 32 m_continuationObject"

struct made {
	struct heap_builder *b;
	uint32_t load, place, task, action, list, array, source, delay, semaphore, node, blocker, holder, other;
	uint64_t at;
};

static void begin_heap(struct made *m)
{
	const unsigned task = HEAP_TYPE_REFERENCES | HEAP_BUILDER_VALUES(HEAP_VALUE_TASK);
	const unsigned box = HEAP_TYPE_REFERENCES | HEAP_BUILDER_VALUES(HEAP_VALUE_TASK | HEAP_VALUE_STATE);
	m->b = heap_builder_new(false);
	m->at = 0x10000;
	m->load = heap_builder_type(m->b, BOX_OF("Shop.Orders+<LoadAsync>d__1"), box, 80, TASK_FIELDS ", 64 StateMachine.<>u__1.m_task");
	m->place = heap_builder_type(m->b, BOX_OF("Shop.Orders+<PlaceAsync>d__2"), box, 80, TASK_FIELDS ", 64 StateMachine.<>u__1.m_task");
	m->task = heap_builder_type(m->b, "System.Threading.Tasks.Task<int>", task, 72, TASK_FIELDS);
	m->action = heap_builder_type(m->b, "System.Action", HEAP_TYPE_REFERENCES, 64, "8 _target");
	m->list = heap_builder_type(m->b, "System.Collections.Generic.List<object>", HEAP_TYPE_REFERENCES, 32, "8 _items");
	m->array = heap_builder_type(m->b, "object[]", HEAP_TYPE_REFERENCES | HEAP_TYPE_VARIABLE | HEAP_TYPE_ARRAY, 24, NULL);
	m->source = heap_builder_type(m->b, "System.Threading.Tasks.TaskCompletionSource<int>", HEAP_TYPE_REFERENCES, 24, "8 _task");
	m->delay = heap_builder_type(m->b, "System.Threading.Tasks.Task.DelayPromise", task, 72, TASK_FIELDS);
	m->semaphore = heap_builder_type(m->b, "System.Threading.SemaphoreSlim",
					 HEAP_TYPE_REFERENCES | HEAP_BUILDER_VALUES(HEAP_VALUE_COUNT | HEAP_VALUE_MOST), 64, "8 m_asyncHead");
	m->node = heap_builder_type(m->b, "System.Threading.SemaphoreSlim.TaskNode", task, 88, TASK_FIELDS ", 64 Prev, 72 Next");
	m->blocker = heap_builder_type(m->b, "System.Threading.Tasks.Task.SetOnInvokeMres", 0, 32, NULL);
	m->holder = heap_builder_type(m->b, "System.Threading.Tasks.TaskExceptionHolder", HEAP_TYPE_REFERENCES | HEAP_BUILDER_VALUES(HEAP_VALUE_HANDLED), 32,
				      "8 m_task");
	m->other = heap_builder_type(m->b, "Shop.Table", HEAP_TYPE_REFERENCES, 24, "8 _entry");
}

/* With two values, and references at rising offsets up to one of 0. */
static void put(struct made *m, uint32_t type, uint64_t at, int32_t first, int32_t second, const struct heap_edge *edges)
{
	int32_t values[HEAP_VALUES_MAX] = {first, second};
	size_t n = 0;
	while (edges && edges[n].target)
		n++;
	heap_builder_values(m->b, values);
	heap_builder_object(m->b, type, at, type == m->array ? 24 + 8 * (n ? n : 1) : 0, edges, n);
}

#define EDGES(...) (const struct heap_edge[]){__VA_ARGS__, {0, 0}}

static struct heap_snapshot *finish(struct made *m)
{
	return heap_builder_finish_take(m->b);
}

static void look_at(const struct heap_snapshot *s, struct task_look *l)
{
	task_look_make(s, l);
	task_holders_find(l);
}

/* One PlaceAsync that calls LoadAsync, which waits for the task of a source that only LoadAsync itself refers to. */
static void put_stuck(struct made *m, uint64_t at, int32_t state)
{
	put(m, m->place, at, PENDING, 1, EDGES({64, at + 0x100}));
	put(m, m->load, at + 0x100, PENDING, state, EDGES({32, at}, {64, at + 0x200}, {72, at + 0x300}));
	put(m, m->task, at + 0x200, PENDING, 0, EDGES({32, at + 0x100}));
	put(m, m->source, at + 0x300, 0, 0, EDGES({8, at + 0x200}));
}

static void group_twice(const struct heap_snapshot *s, struct task_groups *g)
{
	struct task_look l;
	struct task_brief brief;
	look_at(s, &l);
	task_brief_make(&l, &brief);
	task_groups_make(&l, &brief, g);
	task_brief_fini(&brief);
	task_look_fini(&l);
}

Test(task_look, a_chain_from_what_is_waited_for_to_the_last_caller)
{
	struct made m;
	struct task_groups g;
	begin_heap(&m);
	for (uint64_t i = 0; i < 3; i++)
		put_stuck(&m, 0x10000 + i * 0x1000, 0);
	put(&m, m.load, 0x20000, DONE, -2, NULL);
	struct heap_snapshot *s = finish(&m);
	group_twice(s, &g);
	cr_assert_eq(g.count, 1);
	const struct task_group *x = &g.items[0];
	cr_expect(x->count == 3 && x->before == 3 && x->lasting == 3 && x->unheld == 3, "%lu %lu %lu %lu", x->count, x->before, x->lasting, x->unheld);
	cr_expect_eq(x->kept, 0, "nothing refers to any of them");
	cr_expect_eq(x->wait, TASK_WAIT_COMPLETION);
	cr_assert_eq(x->call_count, 2);
	cr_expect_str_eq(x->calls[0].method, "Shop.Orders.LoadAsync");
	cr_expect_str_eq(x->calls[1].method, "Shop.Orders.PlaceAsync");
	cr_expect(x->calls[0].state == 0 && x->calls[1].state == 1 && x->place == 0);
	cr_expect_eq(g.operations, 3);
	task_groups_fini(&g);
	heap_snapshot_free(s);
}

Test(task_look, who_is_held_by_others_may_be_completed)
{
	struct made m;
	struct task_groups g;
	begin_heap(&m);
	put_stuck(&m, 0x10000, 0);
	put_stuck(&m, 0x11000, 0);
	put_stuck(&m, 0x12000, 0);
	put(&m, m.other, 0x20000, 0, 0, EDGES({8, 0x10300})); /* a table of pending requests */
	heap_builder_root(m.b, HEAP_ROOT_STACK, HEAP_ROOT_CONSERVATIVE, 0x11200, 0, "a stack");
	heap_builder_root(m.b, HEAP_ROOT_HANDLE, HEAP_ROOT_WEAK, 0x12200, 0, "a weak handle");
	struct heap_snapshot *s = finish(&m);
	group_twice(s, &g);
	cr_assert_eq(g.count, 1);
	cr_expect(g.items[0].lasting == 3 && g.items[0].unheld == 1, "only the one behind a weak handle");
	task_groups_fini(&g);
	heap_snapshot_free(s);
}

Test(task_look, an_operation_that_something_refers_to_was_not_given_up)
{
	struct made m;
	struct task_groups g;
	begin_heap(&m);
	for (uint64_t i = 0; i < 5; i++)
		put_stuck(&m, 0x10000 + i * 0x1000, 0);
	put(&m, m.other, 0x20000, 0, 0, EDGES({8, 0x10000})); /* a list of what was begun */
	put(&m, m.other, 0x20100, 0, 0, EDGES({8, 0x11100})); /* the inner one's caller is not kept by it */
	heap_builder_root(m.b, HEAP_ROOT_STACK, HEAP_ROOT_CONSERVATIVE, 0x12000, 0, "a word of a stack, which may be left over");
	heap_builder_root(m.b, HEAP_ROOT_STACK, 0, 0x13000, 0, "a stack");
	struct heap_snapshot *s = finish(&m);
	group_twice(s, &g);
	cr_assert_eq(g.count, 1);
	cr_expect(g.items[0].unheld == 5 && g.items[0].kept == 2, "%lu of %lu", g.items[0].kept, g.items[0].unheld);
	task_groups_fini(&g);
	heap_snapshot_free(s);
}

Test(task_look, roots_that_were_not_read_may_hold_all)
{
	struct made m;
	struct task_groups g;
	begin_heap(&m);
	put_stuck(&m, 0x10000, 0);
	struct heap_snapshot *s = finish(&m);
	s->facts.roots_unread = true;
	group_twice(s, &g);
	cr_expect(g.items[0].lasting == 1 && g.items[0].unheld == 0);
	task_groups_fini(&g);
	heap_snapshot_free(s);
}

Test(task_look, lists_and_delegates_lead_on)
{
	struct made m;
	struct task_look l;
	begin_heap(&m);
	put(&m, m.task, 0x10000, PENDING, 0, EDGES({32, 0x10100}));
	put(&m, m.list, 0x10100, 0, 0, EDGES({8, 0x10200}));
	put(&m, m.array, 0x10200, 0, 0, EDGES({16, 0x10300}, {24, 0x10400}, {32, 0x10500}));
	put(&m, m.action, 0x10300, 0, 0, EDGES({8, 0x10600}));
	put(&m, m.load, 0x10400, PENDING, 0, NULL);
	put(&m, m.blocker, 0x10500, 0, 0, NULL);
	put(&m, m.place, 0x10600, PENDING, 2, NULL);
	struct heap_snapshot *s = finish(&m);
	look_at(s, &l);
	uint32_t task = task_look_find(&l, 0x10000), load = task_look_find(&l, 0x10400), place = task_look_find(&l, 0x10600);
	cr_expect_eq(l.nodes[load].awaits, task);
	cr_expect_eq(l.nodes[place].awaits, task);
	cr_expect(l.nodes[task].flags & TASK_BLOCKS);
	task_look_fini(&l);
	heap_snapshot_free(s);
}

/* A token that is fetched for all: one operation waits for the reply, the others for its task. */
Test(task_look, many_that_wait_for_one_task_are_counted)
{
	struct made m;
	struct task_groups g;
	begin_heap(&m);
	put(&m, m.task, 0x10000, PENDING, 0, EDGES({32, 0x10100}));
	put(&m, m.load, 0x10100, PENDING, 0, EDGES({32, 0x10200}));
	put(&m, m.list, 0x10200, 0, 0, EDGES({8, 0x10300}));
	put(&m, m.array, 0x10300, 0, 0, EDGES({16, 0x11000}, {24, 0x12000}, {32, 0x13000}, {40, 0x15000}));
	put(&m, m.place, 0x11000, PENDING, 0, NULL);
	put(&m, m.place, 0x12000, PENDING, 0, NULL);
	put(&m, m.place, 0x13000, PENDING, 0, EDGES({32, 0x14000}));
	put(&m, m.place, 0x14000, PENDING, 1, NULL); /* the third one's caller */
	put(&m, m.task, 0x15000, PENDING, 0, EDGES({32, 0x16000})); /* Task.WhenAny: it goes on when another one ends */
	put(&m, m.place, 0x16000, PENDING, 2, NULL);
	put_stuck(&m, 0x20000, 0);
	struct heap_snapshot *s = finish(&m);
	group_twice(s, &g);
	cr_assert_eq(g.count, 2);
	const struct task_group *x = g.items[0].behind ? &g.items[0] : &g.items[1], *other = x == &g.items[0] ? &g.items[1] : &g.items[0];
	cr_expect(x->count == 1 && x->behind == 2, "%lu %lu", x->count, x->behind);
	cr_expect_str_eq(x->calls[0].method, "Shop.Orders.LoadAsync");
	cr_expect(other->count == 1 && other->behind == 0);
	task_groups_fini(&g);
	heap_snapshot_free(s);
}

Test(task_look, circles_end)
{
	struct made m;
	struct task_groups g;
	begin_heap(&m);
	put(&m, m.load, 0x10000, PENDING, 0, EDGES({32, 0x10100}));
	put(&m, m.place, 0x10100, PENDING, 0, EDGES({32, 0x10000}));
	put(&m, m.task, 0x10200, PENDING, 0, EDGES({32, 0x10300}));
	put(&m, m.task, 0x10300, PENDING, 0, EDGES({32, 0x10200}));
	put(&m, m.list, 0x10400, 0, 0, EDGES({8, 0x10400}));
	put(&m, m.task, 0x10500, PENDING, 0, EDGES({32, 0x10400}));
	struct heap_snapshot *s = finish(&m);
	group_twice(s, &g);
	cr_expect_eq(g.boxes, 2);
	task_groups_fini(&g);
	heap_snapshot_free(s);
}

static struct heap_snapshot *semaphore_heap(uint64_t head, int32_t count)
{
	struct made m;
	begin_heap(&m);
	put(&m, m.semaphore, 0x10000, count, 1, EDGES({8, head}));
	for (uint64_t at = 0x11000; at < 0x15000; at += 0x1000) {
		put(&m, m.node, at, PENDING, 0, EDGES({32, at + 0x100}, {72, at + 0x1000}));
		put(&m, m.load, at + 0x100, PENDING, 0, EDGES({64, at}));
	}
	return finish(&m);
}

static uint64_t frozen_between(struct heap_snapshot *first, struct heap_snapshot *second)
{
	struct task_look l;
	struct task_brief brief;
	struct task_groups g;
	look_at(first, &l);
	task_brief_make(&l, &brief);
	task_look_fini(&l);
	look_at(second, &l);
	task_groups_make(&l, &brief, &g);
	uint64_t frozen = g.items[0].frozen;
	cr_expect_eq(g.items[0].wait, TASK_WAIT_SEMAPHORE);
	cr_expect_eq(g.items[0].most, g.items[0].frozen || second != first ? g.items[0].most : 1);
	task_groups_fini(&g);
	task_brief_fini(&brief);
	task_look_fini(&l);
	heap_snapshot_free(first);
	heap_snapshot_free(second);
	return frozen;
}

Test(task_look, a_queue_whose_first_is_the_same_did_not_move)
{
	cr_expect_eq(frozen_between(semaphore_heap(0x11000, 0), semaphore_heap(0x11000, 0)), 4);
	cr_expect_eq(frozen_between(semaphore_heap(0x11000, 0), semaphore_heap(0x12000, 0)), 0, "the first one was released");
	cr_expect_eq(frozen_between(semaphore_heap(0x11000, 1), semaphore_heap(0x11000, 0)), 0, "there was a place");
}

Test(task_look, another_await_is_not_the_same_operation)
{
	struct task_look l;
	struct task_brief brief;
	struct task_groups g;
	struct made m;
	begin_heap(&m);
	put_stuck(&m, 0x10000, 0);
	struct heap_snapshot *s = finish(&m);
	look_at(s, &l);
	task_brief_make(&l, &brief);
	task_look_fini(&l);
	heap_snapshot_free(s);
	begin_heap(&m);
	put_stuck(&m, 0x10000, 3);
	s = finish(&m);
	look_at(s, &l);
	task_groups_make(&l, &brief, &g);
	cr_assert_eq(g.count, 1);
	cr_expect(g.items[0].count == 1 && g.items[0].before == 0 && g.items[0].lasting == 0);
	cr_expect_eq(g.items[0].calls[0].state, 3);
	task_groups_fini(&g);
	task_brief_fini(&brief);
	task_look_fini(&l);
	heap_snapshot_free(s);
}

Test(task_look, timers_and_failures)
{
	struct task_groups g;
	struct made m;
	begin_heap(&m);
	put(&m, m.delay, 0x10000, PENDING, 0, EDGES({32, 0x10100}));
	put(&m, m.load, 0x10100, PENDING, 0, EDGES({64, 0x10000}));
	put(&m, m.holder, 0x10200, 0, 0, NULL);
	put(&m, m.holder, 0x10300, 1, 0, NULL);
	struct heap_snapshot *s = finish(&m);
	group_twice(s, &g);
	cr_expect(g.waits[TASK_WAIT_TIMER] == 1 && g.faults == 1 && g.lasting_faults == 1);
	cr_expect_null(g.fault_place);
	task_groups_fini(&g);
	heap_snapshot_free(s);
}

Test(task_look, failures_are_told_by_the_method_of_most)
{
	struct task_groups g;
	struct made m;
	begin_heap(&m);
	for (uint64_t at = 0x10000; at < 0x14000; at += 0x1000) {
		put(&m, at == 0x10000 ? m.place : m.load, at, FAULTED, -2, NULL);
		put(&m, m.holder, at + 0x100, at == 0x13000, 0, EDGES({8, at})); /* the last one was looked at */
	}
	put(&m, m.holder, 0x20000, 0, 0, EDGES({8, 0x30000})); /* of a task that is not there */
	struct heap_snapshot *s = finish(&m);
	group_twice(s, &g);
	cr_expect(g.lasting_faults == 4 && g.fault_most == 2, "%lu %lu", g.lasting_faults, g.fault_most);
	cr_expect_str_eq(g.fault_place, "Shop.Orders.LoadAsync");
	task_groups_fini(&g);
	heap_snapshot_free(s);
}

/* Others hold both completions: a table of replies, and a block of the dataflow library, which hands out messages as a channel does. */
Test(task_look, blocks_of_the_dataflow_library_are_as_channels)
{
	struct task_groups g;
	struct made m;
	begin_heap(&m);
	uint32_t block = heap_builder_type(m.b, "System.Threading.Tasks.Dataflow.DataflowBlock.OutputAvailableAsyncTarget<int>", HEAP_TYPE_REFERENCES, 24,
					   "8 _task");
	put_stuck(&m, 0x10000, 0);
	put_stuck(&m, 0x11000, 0);
	put(&m, m.other, 0x20000, 0, 0, EDGES({8, 0x10200}));
	put(&m, block, 0x21000, 0, 0, EDGES({8, 0x11200}));
	struct heap_snapshot *s = finish(&m);
	group_twice(s, &g);
	cr_expect(g.waits[TASK_WAIT_COMPLETION] == 1 && g.waits[TASK_WAIT_CHANNEL] == 1);
	task_groups_fini(&g);
	heap_snapshot_free(s);
}

/* Who awaits a response's head, and who reads a body: the second may take for ever. */
Test(task_look, requests_without_a_response)
{
	static const char *const machines[] = {BOX_OF("System.Net.Http.HttpConnection+<SendAsync>d__7"),
					       BOX_OF("System.Net.Http.HttpConnection+<FillAsync>d__8")};
	const unsigned box = HEAP_TYPE_REFERENCES | HEAP_BUILDER_VALUES(HEAP_VALUE_TASK | HEAP_VALUE_STATE);
	for (size_t i = 0; i < 2; i++) {
		struct task_groups g;
		struct made m;
		begin_heap(&m);
		uint32_t library = heap_builder_type(m.b, machines[i], box, 96, TASK_FIELDS ", 64 StateMachine.<>u__1.m_task");
		put(&m, m.load, 0x10000, PENDING, 0, EDGES({64, 0x10100}));
		put(&m, library, 0x10100, PENDING, 0, EDGES({32, 0x10000}, {64, 0x10200}));
		put(&m, m.task, 0x10200, PENDING, 0, EDGES({32, 0x10100}));
		struct heap_snapshot *s = finish(&m);
		group_twice(s, &g);
		cr_assert_eq(g.count, 1);
		cr_expect(g.items[0].wait == TASK_WAIT_HTTP && g.items[0].asked == (i == 0), "%zu", i);
		task_groups_fini(&g);
		heap_snapshot_free(s);
	}
}

/* Three that wait for a connection in one pool, and a pool where nobody does. */
Test(task_look, pools_tell_how_many_connections_are_in_use)
{
	const unsigned pool = HEAP_TYPE_REFERENCES | HEAP_BUILDER_VALUES(HEAP_VALUE_OPEN | HEAP_VALUE_LIMIT | HEAP_VALUE_IDLE);
	const unsigned box = HEAP_TYPE_REFERENCES | HEAP_BUILDER_VALUES(HEAP_VALUE_TASK | HEAP_VALUE_STATE);
	struct made m;
	struct task_groups g;
	begin_heap(&m);
	uint32_t source = heap_builder_type(m.b, "Npgsql.PoolingDataSource", pool, 80, NULL);
	uint32_t rent = heap_builder_type(m.b, BOX_OF("Npgsql.PoolingDataSource+<<Get>g__RentAsync|33_0>d"), box, 96,
					  TASK_FIELDS ", 64 StateMachine.<>u__1.m_task, 72 StateMachine.<>4__this");
	heap_builder_values(m.b, (int32_t[HEAP_VALUES_MAX]){4, 4, 1});
	heap_builder_object(m.b, source, 0x8000, 0, NULL, 0);
	heap_builder_values(m.b, (int32_t[HEAP_VALUES_MAX]){9, 10, 2});
	heap_builder_object(m.b, source, 0x9000, 0, NULL, 0);
	for (uint64_t at = 0x10000; at < 0x13000; at += 0x1000) {
		put(&m, m.load, at, PENDING, 0, EDGES({64, at + 0x100}));
		put(&m, rent, at + 0x100, PENDING, 0, EDGES({32, at}, {64, at + 0x200}, {72, 0x9000}));
		put(&m, m.task, at + 0x200, PENDING, 0, EDGES({32, at + 0x100}));
	}
	struct heap_snapshot *s = finish(&m);
	group_twice(s, &g);
	cr_assert_eq(g.count, 1);
	cr_expect(g.items[0].queued && g.items[0].wait == TASK_WAIT_DATABASE && g.items[0].count == 3);
	cr_expect_str_eq(g.items[0].calls[g.items[0].place].method, "Shop.Orders.LoadAsync");
	cr_expect(g.pool.address == 0x9000 && g.pool.open == 9 && g.pool.most == 10 && g.pool.idle == 2 && g.pool.idle_known, "%d of %d, %d idle",
		  g.pool.open, g.pool.most, g.pool.idle);
	cr_expect(g.pool.waiting == 3 && g.pool.lasting == 3);
	task_groups_fini(&g);
	heap_snapshot_free(s);
}

/* The bytes come from the process: they may tell of anything. */
Test(task_look, objects_that_lie_in_each_other)
{
	struct made m;
	struct task_look l;
	begin_heap(&m);
	for (uint64_t i = 0; i < 2000; i++)
		put(&m, m.task, 0x10000 + i * 8, PENDING, 0, NULL);
	put(&m, m.task, 0x10010, PENDING, 0, NULL);
	struct heap_snapshot *s = finish(&m);
	look_at(s, &l);
	cr_expect_eq(l.count, 1000);
	for (uint32_t i = 0; i < l.count; i++) {
		cr_assert_eq(task_look_address(&l, i), 0x10000 + i * 16);
		cr_assert_eq(task_look_find(&l, 0x10000 + i * 16), i);
		cr_assert_eq(task_look_kind(&l, i)->role, TASK_ROLE_PROMISE);
	}
	cr_expect_eq(task_look_find(&l, 0x10008), TASK_NONE);
	task_look_fini(&l);
	heap_snapshot_free(s);
}

Test(task_look, more_kinds_of_operations_than_are_sorted_at_once)
{
	struct made m;
	struct task_look l;
	struct task_brief brief;
	begin_heap(&m);
	for (int32_t i = 0; i < 50000; i++)
		put(&m, m.load, 0x10000 + (uint64_t)i * 80, PENDING, i % 25000, NULL);
	struct heap_snapshot *s = finish(&m);
	look_at(s, &l);
	task_brief_make(&l, &brief);
	cr_expect_eq(brief.mark_count, 50000);
	cr_assert_eq(brief.group_count, 25000);
	for (size_t i = 0; i < brief.group_count; i++)
		cr_assert(brief.groups[i].count == 2 && (!i || brief.groups[i - 1].key < brief.groups[i].key));
	for (size_t i = 1; i < brief.mark_count; i++)
		cr_assert_lt(brief.marks[i - 1], brief.marks[i]);
	task_brief_fini(&brief);
	task_look_fini(&l);
	heap_snapshot_free(s);
}

/* A task whose link leads to an object of that type. */
static bool is_strange(const char *type, const char *fields, bool with_box)
{
	struct made m;
	struct task_look l;
	begin_heap(&m);
	uint32_t link = heap_builder_type(m.b, type, HEAP_TYPE_REFERENCES, 40, fields);
	put(&m, m.task, 0x20000, PENDING, 0, EDGES({32, 0x20100}));
	put(&m, link, 0x20100, 0, 0, NULL);
	if (with_box)
		put(&m, m.load, 0x20200, PENDING, 0, NULL);
	struct heap_snapshot *s = finish(&m);
	look_at(s, &l);
	bool strange = task_look_strange(&l);
	task_look_fini(&l);
	heap_snapshot_free(s);
	return strange;
}

Test(task_look, who_goes_on_but_is_not_recognized_is_noticed)
{
	cr_expect(is_strange("System.Runtime.CompilerServices.NewBox<Shop.Orders.LoadAsync>", "8 state", false));
	cr_expect_not(is_strange("System.Runtime.CompilerServices.NewBox<Shop.Orders.LoadAsync>", "8 state", true), "somebody else's link");
	cr_expect_not(is_strange("System.Threading.Tasks.ContinueWithTaskContinuation", "8 m_task", false), "no async method, but known");
	cr_expect_not(is_strange("System.Threading.Tasks.Task.SetOnInvokeMres", "8 m_lock", false), "a thread that blocks");
	cr_expect_not(is_strange("System.Action", "8 _target", false));
}

Test(task_look, names)
{
	AUTO_BUF struct buf name;
	buf_init(&name, 1000);
	task_type_method("Shop.Orders+<LoadAsync>d__0", &name);
	cr_expect_str_eq(buf_str(&name), "Shop.Orders.LoadAsync");
	buf_reset(&name);
	task_type_method("Shop.Orders`1+<LoadAsync>d__0`2<System.Int32,System.String>", &name);
	cr_expect(strncmp(buf_str(&name), "Shop.Orders", 11) == 0 && strstr(buf_str(&name), "LoadAsync"), "%s", buf_str(&name));
	cr_expect(task_type_is_framework("System.Net.Http.HttpConnection+<SendAsync>d__1") && !task_type_is_framework("SystemShop.A+<B>d__1"));
	cr_expect(task_type_counts_awaits("Shop.Orders+<LoadAsync>d__0") && !task_type_counts_awaits("Shop.Orders+<>c__DisplayClass0_0"));
}
