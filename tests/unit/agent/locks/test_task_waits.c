#include "agent/locks/task_waits.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define BASE UINT64_C(0x20000)
#define BYTES 0x4000
#define AT(offset) (BASE + (offset))

/* A process with objects of some types, and the assembly that names these. */
#include "tests/unit/agent/locks/fake_memory.h"

static const struct runtime_contract contract = {
	.known = true, .thread_store = BASE, .string_class = BASE + 8, .type_flags = 0, .type_flags2 = 8, .type_base_size = 4, .type_module = 24,
	.type_class = 16, .class_type = 8, .module_base = 8,
};

enum type { TASK = 1, RESULT_TASK, BOX, TOKEN, COUNTDOWN, UNWRAP, ALL, ANY, LIST, SOURCE, LINKED, OTHER, TYPES };
static const struct {
	const char *space, *name;
} names[TYPES] = {
	[TASK] = {"System.Threading.Tasks", "Task"},
	[RESULT_TASK] = {"System.Threading.Tasks", "Task`1"},
	[BOX] = {"", "AsyncStateMachineBox`1"},
	[TOKEN] = {"", "SetOnInvokeMres"},
	[COUNTDOWN] = {"", "SetOnCountdownMres"},
	[UNWRAP] = {"System.Threading.Tasks", "UnwrapPromise`1"},
	[ALL] = {"", "WhenAllPromise"},
	[ANY] = {"System.Threading.Tasks", "CompleteOnInvokePromise"},
	[LIST] = {"System.Collections.Generic", "List`1"},
	[SOURCE] = {"System.Threading", "CancellationTokenSource"},
	[LINKED] = {"", "Linked1CancellationTokenSource"},
	[OTHER] = {"Shop", "Cart"},
};

static void put64(size_t at, uint64_t value)
{
	memcpy(memory + at, &value, sizeof value);
}

static void put32(size_t at, uint32_t value)
{
	memcpy(memory + at, &value, sizeof value);
}

static void put16(size_t at, uint16_t value)
{
	memcpy(memory + at, &value, sizeof value);
}

static size_t put_name(size_t heap, size_t *used, const char *name)
{
	size_t at = *used;
	memcpy(memory + heap + at, name, strlen(name) + 1);
	*used += strlen(name) + 1;
	return at;
}

/* One row for each type, from the second on; the first one is <Module>. */
static void put_assembly(size_t at)
{
	size_t root = at + 0x1d0, tables = root + 0x40, heap = root + 0x200, used = 1;
	memcpy(memory + at, "MZ", 2);
	put32(at + 0x3c, 0x40);
	put32(at + 0x40, 0x4550);
	put16(at + 0x40 + 20, 0xf0);
	put16(at + 0x40 + 24, 0x20b);
	put32(at + 0x40 + 24 + 112 + 14 * 8, 0x180);
	put32(at + 0x180, 72);
	put32(at + 0x188, 0x1d0);
	memcpy(memory + root, "BSJB", 4);
	put32(root + 12, 4);
	put16(root + 22, 2);
	put32(root + 24, 0x40);
	memcpy(memory + root + 32, "#~", 3);
	put32(root + 36, 0x200);
	memcpy(memory + root + 44, "#Strings", 9);
	put64(tables + 8, 1 << 0 | 1 << 2);
	put32(tables + 24, 1);
	put32(tables + 28, TYPES);
	for (size_t i = 1; i < TYPES; i++) {
		put16(tables + 42 + i * 14 + 4, (uint16_t)put_name(heap, &used, names[i].name));
		put16(tables + 42 + i * 14 + 6, (uint16_t)put_name(heap, &used, names[i].space));
	}
	put32(root + 40, (uint32_t)used);
}

static void make_types(void)
{
	memset(memory, 0, sizeof memory);
	put64(0x40 + 8, AT(0x1000)); /* the module */
	for (uint32_t i = 1; i < TYPES; i++) {
		put32(0x100 + i * 0x20 + 8, (i + 1) << 8);
		put64(0x100 + i * 0x20 + 16, AT(0x400 + i * 0x10));
		put64(0x100 + i * 0x20 + 24, AT(0x40));
		put64(0x400 + i * 0x10 + 8, AT(0x100 + i * 0x20));
	}
	put_assembly(0x1000);
}

/* The object number `i`, of a type; a task's state and what it tells of its end. */
static uint64_t put_object(unsigned i, enum type type, uint32_t state, uint64_t continuation)
{
	size_t at = 0x3000 + i * 0x40;
	put64(at, AT(0x100 + type * 0x20));
	put64(at + 32, continuation);
	put32(at + 52, state);
	return AT(at);
}

#define INVOKED 0x30000u
#define OF_METHOD 0x2000400u
#define COMPLETE 0x1000000u

static struct managed_types *types;

static void open_types(void)
{
	make_types();
	types = managed_types_new(&fake, &contract);
}

static void close_types(void)
{
	managed_types_free(types);
}

TestSuite(task_waits, .init = open_types, .fini = close_types);

Test(task_waits, a_token_is_on_the_stack_of_who_blocks)
{
	bool cancelable = true;
	uint64_t other = put_object(0, OTHER, 0, 0), token = put_object(1, TOKEN, 0, 0), source = put_object(2, SOURCE, 0, 0);
	uint64_t linked = put_object(3, LINKED, 0, 0), countdown = put_object(4, COUNTDOWN, 0, 0), sp = 0x7f0000000000;
	const uint64_t none[] = {1, other, sp + 64, source};
	cr_assert_eq(task_waits_token(types, sp, none, 4, &cancelable), 0);
	cr_assert_not(cancelable);
	const uint64_t before[] = {other, token, source, token, linked};
	cr_assert_eq(task_waits_token(types, sp, before, 4, &cancelable), token);
	cr_assert(cancelable, "the wait itself has a source of cancellation");
	cr_assert_eq(task_waits_token(types, sp, before, 2, &cancelable), token);
	cr_assert_not(cancelable);
	const uint64_t behind[] = {countdown, other, linked};
	cr_assert_eq(task_waits_token(types, sp, behind, 3, &cancelable), countdown);
	cr_assert_not(cancelable, "that one is the caller's");
}

Test(task_waits, a_task_may_run_from_its_call_to_its_end)
{
	cr_assert_eq(task_waits_may_run(&fake, types, put_object(0, TASK, INVOKED, 0)), TASK_KIND_DELEGATE);
	cr_assert_eq(task_waits_may_run(&fake, types, put_object(0, RESULT_TASK, INVOKED, 0)), TASK_KIND_DELEGATE);
	cr_assert_eq(task_waits_may_run(&fake, types, put_object(0, TASK, 0x10000, 0)), TASK_KIND_NONE, "it waits for a thread");
	cr_assert_eq(task_waits_may_run(&fake, types, put_object(0, TASK, INVOKED | COMPLETE, 0)), TASK_KIND_NONE);
	cr_assert_eq(task_waits_may_run(&fake, types, put_object(0, TASK, INVOKED | 0x200000, 0)), TASK_KIND_NONE, "it has failed");
	cr_assert_eq(task_waits_may_run(&fake, types, put_object(0, TASK, INVOKED | 0x400000, 0)), TASK_KIND_NONE, "it was cancelled");
	cr_assert_eq(task_waits_may_run(&fake, types, put_object(0, TASK, INVOKED | 0x800000, 0)), TASK_KIND_NONE, "its delegate has come back");
	cr_assert_eq(task_waits_may_run(&fake, types, put_object(0, BOX, OF_METHOD, 0)), TASK_KIND_ASYNC);
	cr_assert_eq(task_waits_may_run(&fake, types, put_object(0, BOX, OF_METHOD | COMPLETE, 0)), TASK_KIND_NONE);
	cr_assert_eq(task_waits_may_run(&fake, types, put_object(0, UNWRAP, OF_METHOD, 0)), TASK_KIND_NONE);
	cr_assert_eq(task_waits_may_run(&fake, types, put_object(0, OTHER, INVOKED, 0)), TASK_KIND_NONE);
	cr_assert_eq(task_waits_may_run(&fake, types, 0), TASK_KIND_NONE);
}

static bool reaches(uint64_t task, uint64_t token)
{
	bool reached = false;
	size_t count = task_waits_reach(&fake, types, task, &token, 1, &reached);
	cr_assert_eq(count, reached);
	return reached;
}

Test(task_waits, a_task_leads_to_who_needs_it)
{
	uint64_t token = put_object(0, TOKEN, 0, 0), other = put_object(1, TOKEN, 0, 0);
	cr_assert(reaches(put_object(2, TASK, INVOKED, token), token));
	cr_assert_not(reaches(put_object(2, TASK, INVOKED, other), token));
	cr_assert_not(reaches(put_object(2, TASK, INVOKED, 0), token));
	uint64_t all = put_object(3, ALL, OF_METHOD, token), unwrap = put_object(4, UNWRAP, OF_METHOD, all), box = put_object(5, BOX, OF_METHOD, unwrap);
	cr_assert(reaches(put_object(2, TASK, INVOKED, box), token));
	put_object(4, UNWRAP, OF_METHOD | COMPLETE, all);
	cr_assert_not(reaches(put_object(2, TASK, INVOKED, box), token), "it needs it no more");
	uint64_t any = put_object(4, ANY, OF_METHOD, token);
	cr_assert_not(reaches(put_object(2, TASK, INVOKED, any), token), "another one may end it");
	uint64_t continuation = put_object(4, RESULT_TASK, 0, token);
	cr_assert_not(reaches(put_object(2, TASK, INVOKED, continuation), token));
}

Test(task_waits, a_list_of_those_that_are_told)
{
	uint64_t token = put_object(0, TOKEN, 0, 0), list = put_object(1, LIST, 0, 0), box = put_object(2, BOX, OF_METHOD, token);
	uint64_t array = put_object(3, OTHER, 0, 0), task = put_object(5, TASK, INVOKED, list);
	put64(list - BASE + 8, array);
	put32(list - BASE + 16, 2);
	put32(array - BASE + 8, 4);
	put64(array - BASE + 16, 0);
	put64(array - BASE + 24, box);
	cr_assert(reaches(task, token));
	put32(list - BASE + 16, 5);
	cr_assert_not(reaches(task, token), "more than the array holds: it is torn");
	put32(list - BASE + 16, 1);
	cr_assert_not(reaches(task, token));
}

Test(task_waits, those_that_lead_to_each_other_end)
{
	uint64_t token = put_object(0, TOKEN, 0, 0), a = AT(0x3040), b = AT(0x3080);
	put_object(1, BOX, OF_METHOD, b);
	put_object(2, BOX, OF_METHOD, a);
	cr_assert_not(reaches(a, token));
	cr_assert_not(reaches(AT(BYTES - 8), token));
}
