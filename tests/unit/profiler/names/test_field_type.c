#include "profiler/names/field_type.h"

#include <criterion/criterion.h>
#include <string.h>

#define SIG(...) (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})

static const struct {
	const char *what;
	const uint8_t *sig;
	uint32_t len;
	struct field_type type;
	uint32_t arg_lens[FIELD_TYPE_ARGS];
} rows[] = {
	{"int", SIG(0x08), {.kind = FIELD_TYPE_NOTHING}, {0}},
	{"int*", SIG(0x0f, 0x08), {.kind = FIELD_TYPE_NOTHING}, {0}},
	{"a function", SIG(0x1b, 0, 1, 1, 8), {.kind = FIELD_TYPE_NOTHING}, {0}},
	{"string", SIG(0x0e), {.kind = FIELD_TYPE_REFERENCE}, {0}},
	{"object", SIG(0x1c), {.kind = FIELD_TYPE_REFERENCE}, {0}},
	{"class", SIG(0x12, 0x49), {.kind = FIELD_TYPE_REFERENCE}, {0}},
	{"int[]", SIG(0x1d, 8), {.kind = FIELD_TYPE_REFERENCE}, {0}},
	{"int[,]", SIG(0x14, 8, 2, 0, 0), {.kind = FIELD_TYPE_REFERENCE}, {0}},
	{"volatile object", SIG(0x1f, 0x49, 0x1c), {.kind = FIELD_TYPE_REFERENCE}, {0}},
	{"struct of this module", SIG(0x11, 0x48), {.kind = FIELD_TYPE_VALUE, .token = 0x02000012}, {0}},
	{"struct of another", SIG(0x11, 0x49), {.kind = FIELD_TYPE_VALUE, .token = 0x01000012}, {0}},
	{"a long token", SIG(0x11, 0xc3, 0xff, 0xff, 0xfd), {.kind = FIELD_TYPE_VALUE, .token = 0x01ffffff}, {0}},
	{"T", SIG(0x13, 3), {.kind = FIELD_TYPE_VARIABLE, .index = 3}, {0}},
	{"List<int>", SIG(0x15, 0x12, 0x49, 1, 8), {.kind = FIELD_TYPE_REFERENCE, .token = 0x01000012, .arg_count = 1}, {1}},
	{"Pair<int, T>", SIG(0x15, 0x11, 0x48, 2, 8, 0x13, 0), {.kind = FIELD_TYPE_VALUE, .token = 0x02000012, .arg_count = 2}, {1, 2}},
	{"Pair<Pair<int, string[]>, void (int)*>", SIG(0x15, 0x11, 0x48, 2, 0x15, 0x11, 0x48, 2, 8, 0x1d, 0x0e, 0x1b, 0, 1, 1, 8),
	 {.kind = FIELD_TYPE_VALUE, .token = 0x02000012, .arg_count = 2}, {7, 5}},
	{"Pair<int[0...4, ], int&>", SIG(0x15, 0x11, 0x48, 2, 0x14, 8, 2, 1, 5, 1, 0, 0x10, 8),
	 {.kind = FIELD_TYPE_VALUE, .token = 0x02000012, .arg_count = 2}, {7, 2}},
	{"nine arguments", SIG(0x15, 0x11, 0x48, 9, 8, 8, 8, 8, 8, 8, 8, 8, 8),
	 {.kind = FIELD_TYPE_VALUE, .token = 0x02000012, .arg_count = 9}, {1, 1, 1, 1, 1, 1, 1, 1}},
};

Test(field_type, what_a_field_may_hold)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct field_type t;
		cr_assert(field_type_read(rows[i].sig, rows[i].len, &t), "%s", rows[i].what);
		cr_expect_eq(t.kind, rows[i].type.kind, "%s", rows[i].what);
		cr_expect_eq(t.token, rows[i].type.token, "%s: %08x", rows[i].what, t.token);
		cr_expect_eq(t.index, rows[i].type.index, "%s", rows[i].what);
		cr_expect_eq(t.arg_count, rows[i].type.arg_count, "%s", rows[i].what);
		for (uint32_t a = 0; a < FIELD_TYPE_ARGS; a++)
			cr_expect_eq(t.args[a].len, rows[i].arg_lens[a], "%s: argument %u: %u", rows[i].what, a, t.args[a].len);
		for (uint32_t len = 0; t.arg_count && len < rows[i].len; len++) {
			struct field_type cut;
			cr_expect_not(field_type_read(rows[i].sig, len, &cut), "%s, cut at %u", rows[i].what, len);
		}
	}
}

static const struct {
	const char *what;
	const uint8_t *sig;
	uint32_t len;
} bad[] = {
	{"nothing", (const uint8_t *)"", 0},
	{"a cut modifier", SIG(0x1f)},
	{"a cut token", SIG(0x11, 0x81)},
	{"a row past 24 bits", SIG(0x11, 0xc4, 0, 0, 0)},
	{"an instance of neither", SIG(0x15, 0x08, 0x48, 1, 8)},
	{"half a billion arguments", SIG(0x15, 0x11, 0x48, 0xdf, 0xff, 0xff, 0xff, 8)},
	{"an argument that is none", SIG(0x15, 0x11, 0x48, 1, 0x99)},
};

Test(field_type, what_is_none)
{
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct field_type t;
		cr_expect_not(field_type_read(bad[i].sig, bad[i].len, &t), "%s", bad[i].what);
	}
	uint8_t deep[64];
	struct field_type t;
	memset(deep, 0x1d, sizeof deep);
	memcpy(deep, "\x15\x11\x48\x01", 4);
	deep[sizeof deep - 1] = 8;
	cr_expect_not(field_type_read(deep, sizeof deep, &t), "arrays of arrays of arrays");
}
