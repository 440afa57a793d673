#include "agent/heap/heap_snapshot_private.h"
#include "agent/heap/heap_type_name.h"
#include "common/api/reason.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static struct heap_snapshot *make_list(size_t count)
{
	struct heap_builder *b = heap_builder_new(false);
	uint32_t node = heap_builder_type(b, "Shop.Node", HEAP_TYPE_REFERENCES, 32, "8 _next, 16 _value");

	heap_builder_range(b, HEAP_GEN_LOH, 0x900000, 0x1000);
	heap_builder_range(b, HEAP_GEN2, 0x100000, 32 * count);
	for (size_t i = 0; i < count; i++) {
		const struct heap_edge next = {8, 0x100000 + 32 * (i + 1)};
		heap_builder_object(b, node, 0x100000 + 32 * i, 0, &next, i + 1 < count);
	}
	heap_builder_root(b, HEAP_ROOT_STATIC, 0, 0x100000, 0, "static Shop.Program._list");
	return heap_builder_finish_take(b);
}

Test(heap_snapshot, a_built_one_is_read_back)
{
	struct heap_snapshot *s = make_list(100000);
	struct heap_cursor c;
	uint64_t offset, target, seen = 0;

	cr_expect(s->facts.objects == 100000 && s->facts.edges == 99999 && s->facts.bytes == 3200000);
	cr_expect_eq(s->facts.heap_bytes, 3204096);
	for (int times = 0; times < 2; times++) {
		heap_snapshot_cursor(s, &c);
		for (seen = 0; heap_snapshot_object(&c); seen++)
			while (heap_cursor_edge(&c, &offset, &target))
				cr_assert(offset == 8 && target == c.object.address + 32);
		cr_expect_eq(seen, 100000);
	}
	cr_expect_str_eq(s->types[0].name, "Shop.Node");
	cr_expect_str_eq(s->types[0].short_name, "Node");
	cr_expect_str_eq(s->types[0].space, "Shop");
	cr_expect(s->root_count == 1 && s->roots[0].object == 0x100000);
	cr_expect_str_eq(s->roots[0].label, "static Shop.Program._list");
	heap_snapshot_free(s);
}

Test(heap_snapshot, generations_are_found_by_address)
{
	struct heap_snapshot *s = make_list(10);
	static const struct {
		uint64_t address;
		enum heap_generation g;
	} rows[] = {{0xffff8, HEAP_GEN0}, {0x100000, HEAP_GEN2}, {0x100138, HEAP_GEN2}, {0x100140, HEAP_GEN0}, {0x900008, HEAP_GEN_LOH},
		    {0x901000, HEAP_GEN0}, {0, HEAP_GEN0}};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		cr_expect_eq(heap_snapshot_generation(s, rows[i].address), rows[i].g, "%zx", (size_t)rows[i].address);
	cr_expect_str_eq(heap_generation_name(HEAP_GEN_LOH), "LOH");
	heap_snapshot_free(s);
}

Test(heap_snapshot, fields_are_found_by_offset)
{
	struct heap_field fields[] = {{8, (char *)"_items"}, {16, (char *)"_pair"}, {40, (char *)"_last"}};
	struct heap_field values[] = {{0, (char *)"[].Key"}, {8, (char *)"[].Value"}};
	const struct heap_type object = {.fields = fields, .field_count = 3};
	const struct heap_type structs = {.flags = HEAP_TYPE_ARRAY, .elements_at = 16, .element_size = 24, .fields = values, .field_count = 2};
	const struct heap_type references = {.flags = HEAP_TYPE_ARRAY, .elements_at = 16, .element_size = 8};
	const struct heap_type collectible = {.flags = HEAP_TYPE_COLLECTIBLE};

	cr_expect_str_eq(heap_type_field(&object, 8), "_items");
	cr_expect_str_eq(heap_type_field(&object, 24), "_pair");
	cr_expect_str_eq(heap_type_field(&object, 40), "_last");
	cr_expect_str_eq(heap_type_field(&structs, 16 + 24 * 7), "[].Key");
	cr_expect_str_eq(heap_type_field(&structs, 16 + 24 * 7 + 16), "[].Value");
	cr_expect_str_eq(heap_type_field(&references, 80), "[]");
	cr_expect_str_eq(heap_type_field(&collectible, 0), "(its type)");
}

Test(heap_snapshot, types_have_names_that_people_use)
{
	static const struct {
		const char *metadata, *name, *short_name, *space;
	} rows[] = {
		{"Shop.Order", "Shop.Order", "Order", "Shop"},
		{"Order", "Order", "Order", ""},
		{"System.String", "string", "string", "System"},
		{"System.Byte[]", "byte[]", "byte[]", "System"},
		{"System.String[,][]", "string[][,]", "string[][,]", "System"},
		{"System.Int32*[]", "int*[]", "int*[]", "System"},
		{"Shop.Order[,]", "Shop.Order[,]", "Order[,]", "Shop"},
		{"System.Int32*[][,][,,]", "int*[,,][,][]", "int*[,,][,][]", "System"},
		{"System.Collections.Generic.Dictionary`2<System.Int32,Shop.Order>", "System.Collections.Generic.Dictionary<int, Order>",
		 "Dictionary<int, Order>", "System.Collections.Generic"},
		{"System.Collections.Generic.Dictionary`2+Entry<System.String,Shop.Order>[]",
		 "System.Collections.Generic.Dictionary<string, Order>.Entry[]", "Dictionary<string, Order>.Entry[]",
		 "System.Collections.Generic"},
		{"Shop.Cart+<>c__DisplayClass3_0", "Shop.Cart.(closure)", "Cart.(closure)", "Shop"},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct heap_type t = {0};
		heap_type_set_name(&t, rows[i].metadata);
		cr_expect_str_eq(t.name, rows[i].name, "%s: %s", rows[i].metadata, t.name);
		cr_expect_str_eq(t.short_name, rows[i].short_name, "%s: %s", rows[i].metadata, t.short_name);
		cr_expect_str_eq(t.space, rows[i].space, "%s: %s", rows[i].metadata, t.space);
		free(t.name);
		free(t.short_name);
		free(t.space);
	}
}

Test(heap_snapshot, closures_are_named_by_their_method)
{
	static const struct {
		const char *metadata, *lambda, *name, *short_name;
	} rows[] = {
		{"Shop.Cart+<>c__DisplayClass3_0", "<Add>b__0", "Shop.Cart.Add.(closure)", "Cart.Add.(closure)"},
		{"Program+<>c__DisplayClass0_0", "<<Main>$>b__1", "Program.Main.(closure)", "Program.Main.(closure)"},
		{"Shop.Cart+<>c__DisplayClass3_0", "<Add>g__Local|0", "Shop.Cart.Add.(closure)", "Cart.Add.(closure)"},
		{"Shop.Cart+<>c__DisplayClass3_0", "<Add>d__0", "Shop.Cart.(closure)", "Cart.(closure)"},
		{"Shop.Cart+<>c__DisplayClass3_0", "<", "Shop.Cart.(closure)", "Cart.(closure)"},
		{"Shop.Cart+<>c__DisplayClass3_0", ".ctor", "Shop.Cart.(closure)", "Cart.(closure)"},
		{"Shop.Cart", "<Add>b__0", "Shop.Cart", "Cart"},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct heap_type t = {0};
		heap_type_set_name(&t, rows[i].metadata);
		heap_type_set_lambda(&t, rows[i].lambda, strlen(rows[i].lambda));
		cr_expect_str_eq(t.name, rows[i].name, "%s: %s", rows[i].metadata, t.name);
		cr_expect_str_eq(t.short_name, rows[i].short_name, "%s: %s", rows[i].metadata, t.short_name);
		free(t.name);
		free(t.short_name);
		free(t.space);
	}
}

Test(heap_snapshot, a_torn_stream_gives_none)
{
	struct heap_store store;
	struct heap_scan scan;
	struct err e = ERR_INIT;

	heap_store_init(&store, -1, 4096, 4096);
	cr_assert_eq(heap_store_append(&store, "\0\1\0\x8\0\x18\1\2", 8, &e), 0);
	cr_assert_eq(heap_store_seal(&store, &e), 0);
	cr_expect_null(heap_snapshot_scan_take(&store, false, &scan, &e));
	cr_expect_str_eq(e.reason, REASON_HeapWalkTorn);
}

Test(heap_store, bytes_are_the_same_in_memory_and_in_a_file)
{
	for (int in_file = 0; in_file < 2; in_file++) {
		struct heap_store s;
		struct err e = ERR_INIT;
		heap_store_init(&s, -1, in_file ? 1000 : 1 << 24, 1 << 22);
		for (uint32_t i = 0; i < 1 << 20; i++)
			cr_assert_eq(heap_store_append(&s, &i, sizeof i, &e), 0);
		cr_expect_eq(s.fd >= 0, in_file);
		cr_expect_eq(heap_store_append(&s, "x", 1, &e), -1);
		cr_assert_eq(heap_store_seal(&s, &e), 0);
		cr_assert_eq(s.len, (size_t)4 << 20);
		for (uint32_t i = 0; i < 1 << 20; i++)
			cr_assert_eq(memcmp(s.data + 4 * (size_t)i, &i, 4), 0);
		heap_store_fini(&s);
	}
}

Test(heap_store, what_is_settled_leaves_memory_where_files_may_take_it)
{
	for (size_t files = 0; files < 2; files++) {
		struct err e = ERR_INIT;
		struct heap_store s;
		heap_store_init(&s, -1, 1 << 20, (1 << 20) + files * 4000);
		for (uint32_t i = 0; i < 1000; i++)
			cr_assert_eq(heap_store_append(&s, &i, sizeof i, &e), 0);
		heap_store_settle(&s, 4000);
		cr_expect_lt(s.fd, 0, "no more than may stay");
		heap_store_settle(&s, 3999);
		cr_expect_eq(s.fd >= 0, files == 1);
		cr_assert_eq(heap_store_seal(&s, &e), 0);
		cr_assert_eq(s.len, 4000);
		for (uint32_t i = 0; i < 1000; i++)
			cr_assert_eq(memcmp(s.data + 4 * i, &i, 4), 0);
		heap_store_fini(&s);
	}
}
