/* A heap walk's stream with the numbers of tasks, any bytes, to operations and what is said of them. It is both looks: first byte: with all roots read or
 * not. */
#include "agent/profilers/stucktasks/stuck_report.h"
#include "agent/profilers/stucktasks/task_holders.h"
#include "tests/fuzz/fuzz_heap.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* By the values that its objects have, each with the fields of such a class. */
static void name_task_type(struct heap_type *t, uint32_t i)
{
	static const char *const tasks[] = {"System.Threading.Tasks.Task<int>", "System.Threading.SemaphoreSlim.TaskNode",
					    "System.Threading.Tasks.Task.DelayPromise"};
	static const char *const others[] = {"System.Action", "System.Collections.Generic.List<object>", "object[]",
					     "System.Threading.Tasks.TaskCompletionSource",
					     "System.Net.Sockets.Socket.AwaitableSocketAsyncEventArgs", "System.Threading.Tasks.Task.SetOnInvokeMres"};
	static const char box[] = "System.Runtime.CompilerServices.AsyncTaskMethodBuilder`1+AsyncStateMachineBox`1<System.Int32,Shop.Orders+<LoadAsync>d__0>";
	static const char suspends[] = "System.Runtime.CompilerServices.AsyncHelpers.RuntimeAsyncTask<int>";
	static const char *const fields[] = {"_target",	  "m_action",	"_items",  "m_continuationObject", "_task", "Next", "m_asyncHead", "_continuationState",
					     "StateMachine", "<>u__1.m_task"};
	static const char *const of_runtime[] = {"m_action", "m_stateObject", "Next", "m_continuationObject", "Task"};
	bool runtime = t->values & HEAP_VALUE_METHOD || (t->values == HEAP_VALUE_TASK && i % 2);
	const char *name = runtime ? suspends : t->values & HEAP_VALUE_STATE ? box : t->values & HEAP_VALUE_TASK ? tasks[i % 3] : others[i % 6];
	heap_type_set_name(t, name);
	t->module = mem_strdup("");
	t->raw = t->values & HEAP_VALUE_STATE || i % 5 == 0 ? mem_strdup(i % 5 ? name : "Shop.Orders+<LoadAsync>d__0") : NULL;
	t->fields = mem_calloc(sizeof fields / sizeof *fields, sizeof *t->fields);
	for (; runtime && t->field_count < sizeof of_runtime / sizeof *of_runtime; t->field_count++)
		t->fields[t->field_count] = (struct heap_field){8 + 8 * (uint32_t)t->field_count, mem_strdup(of_runtime[t->field_count])};
	for (; !runtime && t->field_count < sizeof fields / sizeof *fields; t->field_count++)
		t->fields[t->field_count] = (struct heap_field){8 + 8 * (uint32_t)((t->field_count + i) % 10 + t->field_count) / 2,
								mem_strdup(fields[(t->field_count + i) % 10])};
}

static void check_groups(const struct task_look *l, const struct task_groups *g)
{
	uint64_t operations = g->left_out_operations;
	for (size_t i = 0; i < g->count; i++) {
		const struct task_group *x = &g->items[i];
		check(x->count > 0 && x->lasting <= x->count && x->unheld <= x->lasting && x->frozen <= x->lasting && x->call_count <= TASK_CALLERS_MAX);
		check(x->before == x->count && x->place <= x->call_count && x->wait < TASK_WAITS);
		operations += x->count;
	}
	check(operations == g->operations + g->running + g->left_out_operations && operations <= l->count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct stuck_result r = {.between_ns = 1000000000};
	struct stuck_numbers n;
	struct findings f;
	struct task_look l;
	struct task_brief brief;
	AUTO_BUF struct buf text = {0};
	if (size < 2 || size > 1 << 16)
		return 0;
	struct heap_snapshot *s = read_snapshot(data + 1, size - 1, false, "a static", "a stack");
	if (!s)
		return 0;
	for (uint32_t i = 0; i < s->type_count; i++)
		name_task_type(&s->types[i], i);
	s->facts.roots_unread = data[0] & 1;
	task_look_make(s, &l);
	task_holders_find(&l);
	task_brief_make(&l, &brief);
	r.holders_known = l.holders_known;
	task_groups_make(&l, &brief, &r.groups);
	check_groups(&l, &r.groups);
	stuck_numbers_of(&r, &n);
	rules_run(stuck_rules, stuck_rule_count, &stuck_numbers_fields, &n, &f);
	buf_init(&text, 4096);
	stuck_report_text(&r, &f, &text);
	check(text.len > 0);
	findings_fini(&f);
	task_groups_fini(&r.groups);
	task_brief_fini(&brief);
	task_look_fini(&l);
	heap_snapshot_free(s);
	return 0;
}
