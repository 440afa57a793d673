#include "agent/symbols/aot_name.h"
#include "agent/symbols/method_name.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *symbol, *module, *type, *method, *shown;
} rows[] = {
	{"Shop_Shop_Pricing__Tax", "Shop.dll", "Shop.Pricing", "Tax", "Shop.Pricing.Tax"},
	{"Shop_Shop_Pricing__Tax_1", "Shop.dll", "Shop.Pricing", "Tax", "Shop.Pricing.Tax"},
	{"Shop_Program___Main__", "Shop.dll", "Program", "<Main>$", NULL},
	{"Shop_Shop_Orders__LoadAsync_d__3__MoveNext", "Shop.dll", "Shop.Orders+<LoadAsync>d__3", "MoveNext", "Shop.Orders.LoadAsync"},
	{"Shop_Program___Main___d__0__MoveNext", "Shop.dll", "Program+<<Main>$>d__0", "MoveNext", NULL},
	{"Shop_Shop_Cart___c___Total_b__0_1", "Shop.dll", "Shop.Cart+<>c", "<Total>b__0_1", "Shop.Cart.Total.lambda_1"},
	{"Shop_Shop_Cart___c__DisplayClass3_0___Total_b__1", "Shop.dll", "Shop.Cart+<>c__DisplayClass3_0", "<Total>b__1", "Shop.Cart.Total.lambda_1"},
	{"Shop_Shop_Cart___c__DisplayClass3_0___Total_b__1_d__MoveNext", "Shop.dll", "Shop.Cart+<>c__DisplayClass3_0+<<Total>b__1>d", "MoveNext",
	 "Shop.Cart.Total.lambda_1"},
	{"Shop_Program___c____Main___b__0_0", "Shop.dll", "Program+<>c", "<<Main>$>b__0_0", NULL},
	{"Shop_Shop_Cart___Total_g__Add_4_0", "Shop.dll", "Shop.Cart", "<Total>g__Add|4_0", "Shop.Cart.Total.Add"},
	{"Shop_Shop_Box_1__Put<System___Canon>", "Shop.dll", "Shop.Box`1", "Put", "Shop.Box.Put"},
	{"Shop_Shop_Cart___ctor", "Shop.dll", "Shop.Cart", ".ctor", "new Shop.Cart"},
	{"Shop_Shop_Cart___cctor", "Shop.dll", "Shop.Cart", ".cctor", NULL},
	{"S_P_CoreLib_System_Threading_Thread__Sleep_0", "System.Private.CoreLib.dll", "System.Threading.Thread", "Sleep", "System.Threading.Thread.Sleep"},
	{"S_P_CoreLib_System_Threading_Monitor__Enter", "System.Private.CoreLib.dll", "System.Threading.Monitor", "Enter", NULL},
	{"<Boxed>S_P_CoreLib_System_Collections_Generic_List_1_Enumerator<Int32>__<unbox>S_P_CoreLib_System_Collections_Generic_List_1_Enumerator__MoveNext",
	 "System.Private.CoreLib.dll", "System.Collections.Generic.List`1+Enumerator", "MoveNext", NULL},
	{"S_P_CoreLib_System_Collections_Concurrent_ConcurrentQueue_1__Enumerate_d__26<System___Canon>__MoveNext", "System.Private.CoreLib.dll",
	 "System.Collections.Concurrent.ConcurrentQueue`1+<Enumerate>d__26", "MoveNext", NULL},
	{"S_P_CoreLib_System_Buffers_SharedArrayPool_1___c<Char>___InitializeTlsBucketsAndTrimming_b__11_0", "System.Private.CoreLib.dll",
	 "System.Buffers.SharedArrayPool`1+<>c", "<InitializeTlsBucketsAndTrimming>b__11_0", NULL},
	{"String__Concat_5", "System.Private.CoreLib.dll", "System.String", "Concat", "System.String.Concat"},
	{"System_Console_System_ConsolePal__Write_0", "System.Console.dll", "System.ConsolePal", "Write", "System.ConsolePal.Write"},
	{"System_Console_Interop_Sys__Write", "System.Console.dll", "Interop.Sys", "Write", NULL},
	{"System_Linq_System_Linq_Enumerable__Sum<Int32>", "System.Linq.dll", "System.Linq.Enumerable", "Sum", NULL},
	{"Dapper_Dapper_SqlMapper__Query", "Dapper.dll", "Dapper.SqlMapper", "Query", "Dapper.SqlMapper.Query"},
	{"Acme_Core_Acme_Pricing_Rates__Of", "Acme.Core.dll", "Acme.Pricing.Rates", "Of", "Acme.Pricing.Rates.Of"},
	{"Internal_CompilerGenerated__Module___StartupCodeMain", "Internal.CompilerGenerated.dll", "Internal.CompilerGenerated", "Module___StartupCodeMain",
	 NULL},
};

Test(aot_name, is_what_the_developer_wrote)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct aot_name n;
		struct method_name shown;
		cr_assert(aot_name_of(rows[i].symbol, "Shop", &n), "%s", rows[i].symbol);
		cr_expect_str_eq(n.module, rows[i].module, "%s", rows[i].symbol);
		cr_expect_str_eq(n.type, rows[i].type, "%s", rows[i].symbol);
		cr_expect_str_eq(n.method, rows[i].method, "%s", rows[i].symbol);
		method_name_make(&(struct frame){.kind = FRAME_MANAGED, .module = n.module, .type = n.type, .method = n.method}, &shown);
		if (rows[i].shown)
			cr_expect_str_eq(shown.text, rows[i].shown, "%s: %s", rows[i].symbol, shown.text);
	}
}

Test(aot_name, of_a_program_whose_name_has_other_characters)
{
	struct aot_name n;
	cr_assert(aot_name_of("my_shop_2_Pricing__Tax", "my-shop.2", &n));
	cr_expect_str_eq(n.type, "Pricing");
	cr_assert(aot_name_of("Pricing__Tax", "", &n));
	cr_expect_str_eq(n.type, "Pricing");
}

Test(aot_name, what_is_none_has_none)
{
	static const char *const none[] = {"", "main", "a_b", "_", "__", "a__", "<a", "RhpNewFast", "_start", "<Boxed>", "a<b>c<", "d", "_d__"};
	for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
		struct aot_name n;
		cr_expect_not(aot_name_of(none[i], "Shop", &n), "%s", none[i]);
	}
}

/* A symbol is outside text: any cut of any of these, and any that is as long as can be. */
Test(aot_name, of_what_is_damaged_ends)
{
	char text[3 * AOT_NAME_BYTES];
	struct aot_name n;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		for (size_t cut = 0; cut <= strlen(rows[i].symbol); cut++) {
			snprintf(text, sizeof text, "%.*s", (int)cut, rows[i].symbol);
			aot_name_of(text, "Shop", &n);
			aot_name_of(rows[i].symbol + cut, "Shop", &n);
		}
	static const char *const fills[] = {"_", "__", "<", "a_", "_b_", "_b__", "_g__", "_d__1", "___c__", "_1", "S_P_"};
	for (size_t i = 0; i < sizeof fills / sizeof *fills; i++)
		for (size_t most = 1; most < sizeof text; most += 97) {
			size_t len = 0;
			while (len + strlen(fills[i]) < most)
				len += (size_t)snprintf(text + len, sizeof text - len, "%s", fills[i]);
			text[len] = '\0';
			aot_name_of(text, "Shop", &n);
		}
}
