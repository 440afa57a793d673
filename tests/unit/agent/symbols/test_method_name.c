#include "agent/symbols/method_name.h"
#include "common/base/buf.h"
#include "common/base/cleanup.h"
#include "common/base/mem.h"
#include "common/base/text.h"

#include <criterion/criterion.h>
#include <string.h>

static struct method_name name_of(const struct frame *f)
{
	struct method_name name;
	memset(&name, 0x55, sizeof name);
	method_name_make(f, &name);
	return name;
}

static struct frame managed(const char *type, const char *type_args, const char *method)
{
	return (struct frame){.kind = FRAME_MANAGED, .module = (char *)"Shop.dll", .type = (char *)type, .type_args = (char *)type_args,
			      .method = (char *)method};
}

struct row {
	const char *type, *type_args, *method, *method_args, *params; /* params: of an overloaded method */
	const char *expected;
	unsigned marks;
};

static void check_rows(const struct row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct row *r = &rows[i];
		struct frame f = managed(r->type, r->type_args, r->method);
		f.method_args = (char *)r->method_args;
		f.params = (char *)r->params;
		f.overloaded = r->params != NULL;
		struct method_name name = name_of(&f);
		cr_expect_str_eq(name.text, r->expected, "%s . %s: \"%s\", not \"%s\"", r->type, r->method, name.text, r->expected);
		cr_expect_eq(name.marks, r->marks, "%s: marks %x, not %x", r->expected, name.marks, r->marks);
	}
}
#define CHECK_ROWS(rows) check_rows(rows, sizeof(rows) / sizeof(rows)[0])

Test(method_name, what_the_compiler_made_is_undone)
{
	static const struct row rows[] = {
		/* async methods and iterators */
		{"Shop.Cart+<Compute>d__5", NULL, "MoveNext", NULL, NULL, "Shop.Cart.Compute", METHOD_STATE_MACHINE},
		{"Builder`1+Box`1", "System.__Canon,Shop.Cart+<Load>d__28", "Run", NULL, NULL, "Builder<_>.Box<Cart.Load>.Run", 0},
		{"Builder", NULL, "Start", "Shop.Cart+<Load>d__237`1<System.__Canon>", NULL, "Builder.Start<Cart.Load<_>>", 0},
		{"Builder", NULL, "Start", "Shop.Cart+<<Load>g__Await|2_0>d", NULL, "Builder.Start<Cart.Load.Await>", 0},
		{"Builder", NULL, "Start", "Shop.Cart+<>c+<<Load>b__2_0>d", NULL, "Builder.Start<Cart.Load.lambda>", 0},
		{"Shop.Cart+<Load>d__5`1", "System.Int32", "MoveNext", NULL, NULL, "Shop.Cart.Load<int>", METHOD_STATE_MACHINE},
		{"Shop.Cart`1+<Load>d__5`1", "System.Int32,System.String", "MoveNext", NULL, NULL, "Shop.Cart<int>.Load<string>",
		 METHOD_STATE_MACHINE},
		{"Shop.Cart+<<Total>g__Inner|3_0>d", NULL, "MoveNext", NULL, NULL, "Shop.Cart.Total.Inner",
		 METHOD_STATE_MACHINE | METHOD_LOCAL},
		{"Shop.Cart+<>c+<<Total>b__3_0>d", NULL, "MoveNext", NULL, NULL, "Shop.Cart.Total.lambda",
		 METHOD_STATE_MACHINE | METHOD_LAMBDA},
		{"Shop.Cart+<Shop-IDiscount-Apply>d__4", NULL, "MoveNext", NULL, NULL, "Shop.Cart.IDiscount.Apply", METHOD_STATE_MACHINE},
		{"Program+<<Main>$>d__0", NULL, "MoveNext", NULL, NULL, "Program.Main", METHOD_STATE_MACHINE},
		{"Shop.Cart+VB$StateMachine_5_Compute", NULL, "MoveNext", NULL, NULL, "Shop.Cart.Compute", METHOD_STATE_MACHINE},
		/* what else a state machine has is no MoveNext */
		{"Shop.Cart+<Items>d__5", NULL, "System.Collections.IEnumerator.Reset", NULL, NULL,
		 "Shop.Cart.Items.IEnumerator.Reset", 0},
		/* lambdas, closures and local functions */
		{"Shop.Cart+<>c", NULL, "<Total>b__3_0", NULL, NULL, "Shop.Cart.Total.lambda", METHOD_LAMBDA},
		{"Shop.Cart+<>c__DisplayClass3_0", NULL, "<Total>b__1", NULL, NULL, "Shop.Cart.Total.lambda_1", METHOD_LAMBDA},
		{"Shop.Cart+<>c__DisplayClass3_0`1", "System.Int32", "<Total>b__0", NULL, NULL, "Shop.Cart.Total.lambda", METHOD_LAMBDA},
		{"Shop.Cart+<>c", NULL, "<.ctor>b__3_0", NULL, NULL, "Shop.Cart.ctor.lambda", METHOD_LAMBDA},
		{"Shop.Cart", NULL, "<Total>g__Rounded|3_0", NULL, NULL, "Shop.Cart.Total.Rounded", METHOD_LOCAL},
		{"Shop.Cart", NULL, "<<Total>b__3_0>g__Rounded|3_1", NULL, NULL, "Shop.Cart.Total.lambda.Rounded", METHOD_LAMBDA | METHOD_LOCAL},
		{"Program", NULL, "<Main>$", NULL, NULL, "Program.Main", 0},
		/* F# */
		{"Shop.Cart+total@12-1", NULL, "Invoke", NULL, NULL, "Shop.Cart.total.lambda", METHOD_LAMBDA},
		/* types that only the compiler names */
		{"<Program>F0A1B2__Cache", NULL, "Find", NULL, NULL, "Cache.Find", 0},
		{"<>f__AnonymousType0`2", "System.Int32,System.String", "Equals", NULL, NULL, "(anonymous type)<int, string>.Equals", 0},
	};
	CHECK_ROWS(rows);
}

Test(method_name, members_read_as_in_the_source)
{
	static const struct row rows[] = {
		{"Shop.Cart", NULL, "Total", NULL, NULL, "Shop.Cart.Total", 0},
		{"", NULL, "Total", NULL, NULL, "Total", 0},
		{NULL, NULL, "Total", NULL, NULL, "Total", 0},
		{"Shop.Cart", NULL, ".ctor", NULL, NULL, "new Shop.Cart", 0},
		{"Shop.Cart", NULL, ".ctor", NULL, "System.Int32", "new Shop.Cart(int)", 0},
		{"Shop.Cart`1", "System.Int32", ".ctor", NULL, NULL, "new Shop.Cart<int>", 0},
		{"Shop.Cart", NULL, ".cctor", NULL, NULL, "static Shop.Cart", 0},
		{"Shop.Cart", NULL, "get_Net", NULL, NULL, "Shop.Cart.Net.get", 0},
		{"Shop.Cart", NULL, "set_Net", NULL, NULL, "Shop.Cart.Net.set", 0},
		{"Shop.Cart", NULL, "add_Changed", NULL, NULL, "Shop.Cart.Changed.add", 0},
		{"Shop.Cart", NULL, "remove_Changed", NULL, NULL, "Shop.Cart.Changed.remove", 0},
		{"Shop.Cart", NULL, "get_Item", NULL, NULL, "Shop.Cart.this[].get", 0},
		{"Shop.Cart", NULL, "get_", NULL, NULL, "Shop.Cart.get_", 0},
		{"Shop.Cart", NULL, "getting", NULL, NULL, "Shop.Cart.getting", 0},
		{"Shop.Price", NULL, "op_Addition", NULL, NULL, "Shop.Price.operator +", 0},
		{"Shop.Price", NULL, "op_LessThanOrEqual", NULL, NULL, "Shop.Price.operator <=", 0},
		{"Shop.Price", NULL, "op_Implicit", NULL, NULL, "Shop.Price.implicit operator", 0},
		{"Shop.Price", NULL, "op_Unheard", NULL, NULL, "Shop.Price.op_Unheard", 0},
		{"Shop.Voucher", NULL, "Shop.IDiscount.Apply", NULL, NULL, "Shop.Voucher.IDiscount.Apply", 0},
		{"Shop.Bag", NULL, "System.Collections.Generic.IEnumerable<Shop.Item>.GetEnumerator", NULL, NULL,
		 "Shop.Bag.IEnumerable<Item>.GetEnumerator", 0},
		{"Shop.Bag", NULL, "Shop.IPriced.get_Net", NULL, NULL, "Shop.Bag.IPriced.Net.get", 0},
	};
	CHECK_ROWS(rows);
}

Test(method_name, generics_and_parameters_are_spelled_out)
{
	static const struct row rows[] = {
		{"Shop.Cache`2", "System.Int32,System.String", "Find", NULL, NULL, "Shop.Cache<int, string>.Find", 0},
		{"Shop.Outer`1+Inner", "System.Int32", "Work", NULL, NULL, "Shop.Outer<int>.Inner.Work", 0},
		{"Shop.Outer`1+Pair`1", "System.Int32,Shop.Item", "Work", NULL, NULL, "Shop.Outer<int>.Pair<Item>.Work", 0},
		{"Shop.Cart", NULL, "Convert", "System.Int64", NULL, "Shop.Cart.Convert<long>", 0},
		{"Shop.Cart", NULL, "Convert", "System.Collections.Generic.List`1<System.Int32[]>", NULL, "Shop.Cart.Convert<List<int[]>>", 0},
		{"Shop.Cart", NULL, "Round", NULL, "", "Shop.Cart.Round()", 0},
		{"Shop.Cart", NULL, "Round", NULL, "System.Decimal,System.Int32&", "Shop.Cart.Round(decimal, ref int)", 0},
		{"Shop.Cart", NULL, "Round", NULL, "System.Nullable`1<System.Int32>", "Shop.Cart.Round(int?)", 0},
		{"Shop.Cart", NULL, "Round", NULL, "System.ValueTuple`2<System.Int32,System.String>", "Shop.Cart.Round((int, string))", 0},
		{"Shop.Cart", NULL, "Round", NULL, "System.Byte*,System.Int32[,],Shop.Outer`1+Inner<System.Int32>",
		 "Shop.Cart.Round(byte*, int[,], Outer<int>.Inner)", 0},
		{"Shop.Cart", NULL, "Round", NULL, "System.Func`2<System.Func`2<System.Int32,System.Int32>,System.String>",
		 "Shop.Cart.Round(Func<Func<int, int>, string>)", 0},
		/* arguments that are missing, or too many */
		{"Shop.Cache`2", NULL, "Find", NULL, NULL, "Shop.Cache.Find", 0},
		{"Shop.Cache`2", "System.Int32", "Find", NULL, NULL, "Shop.Cache<int>.Find", 0},
		{"Shop.Cache", "System.Int32", "Find", NULL, NULL, "Shop.Cache<int>.Find", 0},
	};
	CHECK_ROWS(rows);
	struct frame f = managed("Shop.Cart", NULL, "Round");
	f.params = (char *)"System.Int32";
	cr_expect_str_eq(name_of(&f).text, "Shop.Cart.Round", "parameters only where a name alone is not enough");
	f.dynamic = true;
	cr_expect_eq(name_of(&f).marks, METHOD_DYNAMIC);
}

Test(method_name, native_frames)
{
	static const struct {
		enum frame_kind kind;
		const char *module, *method;
		const char *expected;
		unsigned marks;
	} rows[] = {
		{FRAME_NATIVE, "libc.so.6", "memcpy", "memcpy", 0},
		{FRAME_NATIVE, "libcoreclr.so", "void WKS::gc_heap::mark_object<true>(unsigned char*)", "WKS::gc_heap::mark_object", 0},
		{FRAME_NATIVE, "libx.so", "_ZN3WKS7gc_heap10mark_phaseEii", "WKS::gc_heap::mark_phase", 0},
		{FRAME_NATIVE, "libx.so", "_ZN9999999999999999999x", "_ZN9999999999999999999x", 0},
		{FRAME_NATIVE, "libx.so", "ns::operator<<(int)", "ns::operator<<", 0},
		{FRAME_NATIVE, "libx.so", "(anonymous namespace)::run(int)", "(anonymous namespace)::run", 0},
		{FRAME_NATIVE, "libx.so", "ns::f(int) const", "ns::f", 0},
		{FRAME_KERNEL, "[kernel]", "finish_task_switch.isra.0", "finish_task_switch", 0},
		{FRAME_KERNEL, "[kernel]", "do_sys_poll.constprop.0.cold", "do_sys_poll", 0},
		{FRAME_KERNEL, "[kernel]", "x.island", "x.island", 0},
		{FRAME_KERNEL, "[kernel]", ".isra.0", ".isra.0", 0},
		{FRAME_NATIVE, "libcoreclr.so", NULL, "libcoreclr.so", METHOD_NO_SYMBOL},
		{FRAME_KERNEL, "", NULL, "[kernel]", METHOD_NO_SYMBOL},
		{FRAME_UNKNOWN, "", NULL, "[unnamed code]", METHOD_NO_SYMBOL},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct frame f = {.kind = rows[i].kind, .module = (char *)rows[i].module, .method = (char *)rows[i].method};
		struct method_name name = name_of(&f);
		cr_expect_str_eq(name.text, rows[i].expected, "%s: \"%s\"", rows[i].method, name.text);
		cr_expect_eq(name.marks, rows[i].marks, "%s", rows[i].expected);
	}
}

static void check_shown(const char *text)
{
	size_t n = strlen(text), at = 0;
	cr_assert_lt(n, METHOD_NAME_SIZE);
	while (at < n) {
		uint32_t c;
		size_t used = text_decode_utf8(text + at, n - at, &c);
		cr_assert(used > 0, "no UTF-8 at %zu", at);
		cr_assert(c >= 0x20 && c != 0x7f && !(c >= 0x80 && c < 0xa0), "control character %x", c);
		cr_assert(!(c >= 0x202a && c <= 0x202e) && !(c >= 0x2066 && c <= 0x2069), "bidi character %x", c);
		at += used;
	}
}

Test(method_name, hostile_names_are_shown_as_text)
{
	AUTO_FREE char *nested = mem_alloc(20001), *list = mem_alloc(20001), *high = mem_alloc(8001);
	memset(nested, '<', 20000);
	memset(list, ',', 20000);
	memset(high, '\xff', 8000);
	static const char *const names[] = {
		"a\nb\rc\td\x1b[31me", "</script><script>alert(1)</script>", "\xe2\x80\xae" "gnp.exe", "a;b c|d`e", "\xff\xfe\x80", "<", ">", "<>", "<>b__",
		"<b__", "<<<<", "a>b>c", "`", "``1", "List`99999999999999999999", "+", ".", "..", "...", "a.", ".a", "+.+", "<a", "a<b", "get_", "<>d",
		"<>g__|", "<>g__", "VB$StateMachine_", "VB$StateMachine_5", "@", "a@", "@1", "a@1", "&", "*", "[]", "a[", " ", "<x>$", "<.ctor>d__1",
	};
	const char *longest[] = {nested, list, high};
	for (size_t i = 0; i < sizeof names / sizeof names[0] + 3; i++) {
		const char *a = i < 3 ? longest[i] : names[i - 3];
		for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
			struct frame f = managed(a, names[k], names[k]);
			f.params = f.method_args = (char *)a;
			f.overloaded = true;
			check_shown(name_of(&f).text);
			f = managed(names[k], a, a);
			check_shown(name_of(&f).text);
			f.kind = FRAME_NATIVE;
			check_shown(name_of(&f).text);
		}
	}
	struct frame f = managed("Shop.Cart", NULL, "a\nb\x1b");
	cr_expect(!strchr(name_of(&f).text, '\n') && !strchr(name_of(&f).text, '\x1b'));
	memset(high, 'x', 8000);
	f = managed("Shop.Cart", NULL, high);
	struct method_name cut = name_of(&f);
	cr_expect_gt(strlen(cut.text), 480);
	cr_expect_str_eq(cut.text + strlen(cut.text) - 3, "\xe2\x80\xa6", "a cut name ends in an ellipsis");
}

Test(method_name, shortening_keeps_what_tells_most)
{
	static const struct {
		const char *name;
		size_t max;
		const char *expected;
	} rows[] = {
		{"Checkout.Pricing.Tax.Compute", 40, "Checkout.Pricing.Tax.Compute"},
		{"Checkout.Pricing.Tax.Compute", 28, "Checkout.Pricing.Tax.Compute"},
		{"Checkout.Pricing.Tax.Compute", 27, "\xe2\x80\xa6Pricing.Tax.Compute"},
		{"Checkout.Pricing.Tax.Compute", 12, "\xe2\x80\xa6Tax.Compute"},
		{"Checkout.Pricing.Tax.Compute", 8, "\xe2\x80\xa6" "Compute"},
		{"Checkout.Pricing.Tax.Compute(int, string)", 30, "Checkout.Pricing.Tax.Compute"},
		{"Shop.Cache<int, string>.Find", 20, "Shop.Cache.Find"},
		{"Abcdefghij", 5, "Abcd\xe2\x80\xa6"},
		{"\xc3\xa4\xc3\xb6\xc3\xbc\xc3\x9f\xc3\xa9", 5, "\xc3\xa4\xc3\xb6\xc3\xbc\xc3\x9f\xc3\xa9"},
		{"\xc3\xa4\xc3\xb6\xc3\xbc\xc3\x9f\xc3\xa9", 4, "\xc3\xa4\xc3\xb6\xc3\xbc\xe2\x80\xa6"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		AUTO_BUF struct buf b;
		buf_init(&b, 4096);
		method_name_shorten(rows[i].name, rows[i].max, &b);
		cr_expect_str_eq(buf_str(&b), rows[i].expected, "%s in %zu: \"%s\"", rows[i].name, rows[i].max, buf_str(&b));
	}
}
