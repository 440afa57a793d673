#include "agent/locks/managed_methods.h"
#include "tests/unit/agent/locks/fake_code.h"

#include <criterion/criterion.h>

static bool describe(unsigned row, struct managed_method *out)
{
	struct managed_methods *x = managed_methods_new(&fake_process, &fake_contract);
	bool known = managed_methods_describe(x, fake_method(row), out);
	managed_methods_free(x);
	return known;
}

Test(managed_methods, have_the_names_of_the_metadata)
{
	static const struct {
		const char *type, *type_args, *method, *params;
		bool overloaded;
	} expected[] = {
		{NULL, NULL, NULL, NULL, false},
		{"Shop.Cart", "", "Total", "", true},
		{"Shop.Cart", "", "Total", "System.Int32,System.String&", true},
		{"Shop.Cart+Item", "", "MoveNext", "", false},
		{"Shop.Box`1", "System.String", "Get", "System.String,Shop.Cart+Item,System.String", false},
	};
	struct managed_method x;
	fake_make();
	for (unsigned row = 1; row <= 4; row++) {
		cr_assert(describe(row, &x), "%u", row);
		cr_expect_str_eq(x.module, "Shop.dll");
		cr_expect_str_eq(x.type, expected[row].type);
		cr_expect_str_eq(x.type_args, expected[row].type_args);
		cr_expect_str_eq(x.method, expected[row].method);
		cr_expect(x.params_known);
		cr_expect_str_eq(x.params, expected[row].params);
		cr_expect_eq(x.overloaded, expected[row].overloaded, "%u", row);
		cr_expect_eq(x.token, 0x06000000u | row);
		cr_expect_eq(x.image, FAKE_AT(FAKE_ASSEMBLY));
	}
}

Test(managed_methods, a_method_may_be_generic)
{
	struct managed_method x;
	size_t method = fake_method(3) - FAKE_BASE;
	fake_make();
	fake_put(method + 6, 5, 2);
	fake_put(method + 24, FAKE_AT(FAKE_DICTIONARY + 32), 8);
	fake_put(method + 34, 1, 2);
	cr_assert(describe(3, &x));
	cr_assert_str_eq(x.method_args, "System.String");
	fake_put(FAKE_DICTIONARY + 32, fake_type(2), 8); /* a generic type of itself */
	cr_assert(describe(3, &x));
	cr_assert_str_eq(x.method_args, "Shop.Box`1<Shop.Box`1<Shop.Box`1<Shop.Box`1<Shop.Box`1<Shop.Box`1<?>>>>>>");
	fake_put(FAKE_DICTIONARY + 32, 0x12345678, 8);
	cr_assert(describe(3, &x));
	cr_assert_str_eq(x.method_args, "?");
}

Test(managed_methods, one_made_at_run_time_has_its_name_only)
{
	struct managed_method x;
	size_t method = fake_method(3) - FAKE_BASE;
	fake_make();
	fake_put(method + 6, 7, 2);
	fake_put(method + 32, FAKE_AT(FAKE_TEXT), 8);
	memcpy(fake_memory + FAKE_TEXT, "Emitted", 8);
	cr_assert(describe(3, &x));
	cr_assert(x.dynamic);
	cr_assert_str_eq(x.method, "Emitted");
	cr_assert_str_eq(x.type, "");
	fake_put(method + 32, 8, 8);
	cr_assert_not(describe(3, &x));
}

static uint64_t reads;

static size_t read_counted(void *ctx, uint64_t address, void *out, size_t n)
{
	cr_assert_lt(++reads, 1000000);
	return fake_read(ctx, address, out, n);
}

/* 16 arguments of a type that are that type: 16 within each, six deep. */
static void put_self(void)
{
	fake_make();
	fake_put(FAKE_DICTIONARY + 6, MANAGED_ARGUMENTS_MAX, 2);
	for (size_t i = 0; i < MANAGED_ARGUMENTS_MAX; i++)
		fake_put(FAKE_DICTIONARY + 32 + 8 * i, fake_type(2), 8);
}

Test(managed_methods, a_type_that_is_its_own_arguments_costs_what_its_name_has_room_for)
{
	const struct process_memory counted = {.read = read_counted};
	struct managed_methods *x = managed_methods_new(&counted, &fake_contract);
	struct managed_method m;
	put_self();
	cr_assert(managed_methods_describe(x, fake_method(4), &m));
	cr_expect_eq(strlen(m.type_args), sizeof m.type_args - 1);
	cr_expect(strncmp(m.type_args, "Shop.Box`1<Shop.Box`1<", 22) == 0);
	managed_methods_free(x);
}

Test(managed_methods, names_end_with_their_budget)
{
	struct work_budget budget;
	const struct process_memory bounded = {.read = fake_read, .budget = &budget};
	struct managed_methods *x = managed_methods_new(&bounded, &fake_contract);
	struct managed_method m;
	unsigned named = 0;
	put_self();
	work_budget_begin_anew(&budget, WORK_NAMES);
	while (named < 16384 && managed_methods_describe(x, fake_method(4), &m))
		named++;
	cr_expect(named > 0 && named < 16384, "%u", named);
	cr_expect_leq(budget.steps, WORK_STEPS);
	cr_expect_eq(work_thread_passed(), 1u << WORK_NAMES);
	cr_expect_not(managed_methods_describe(x, fake_method(1), &m), "nor is any other read");
	managed_methods_free(x);
}

/* The metadata must say that the method is that type's. */
Test(managed_methods, what_does_not_fit_together_has_no_name)
{
	static const struct {
		size_t at;
		uint64_t value;
		size_t bytes;
	} wrong[] = {
		{FAKE_CHUNK + 24, 3, 2},                /* another type's row */
		{FAKE_CHUNK + 24, 77, 2},               /* no row */
		{FAKE_CHUNK + 18, 1, 2},                /* far beyond the rows */
		{FAKE_CHUNK, FAKE_AT(FAKE_TEXT), 8},    /* no type */
		{FAKE_CHUNK, 0, 8},
		{FAKE_TYPES + 8, 4 << 8, 4},            /* the type is another one's row */
		{FAKE_CLASSES + 16, FAKE_AT(FAKE_TEXT), 8},
		{FAKE_MODULE + 8, FAKE_AT(FAKE_TEXT), 8}, /* no assembly */
		{FAKE_ASSEMBLY, 0, 8},
	};
	struct managed_method x;
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		fake_make();
		cr_assert(describe(1, &x));
		fake_put(wrong[i].at, wrong[i].value, wrong[i].bytes);
		cr_expect_not(describe(1, &x), "%zu", i);
	}
}
