#include "common/proto/signature.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

struct spelled {
	char data[256];
	size_t len;
};

static void put(void *out, const char *text)
{
	struct spelled *s = out;
	size_t len = strlen(text);
	cr_assert(s->len + len < sizeof s->data);
	memcpy(s->data + s->len, text, len + 1);
	s->len += len;
}

static void put_number(void *out, uint32_t number)
{
	char text[16];
	snprintf(text, sizeof text, "%u", number);
	put(out, text);
}

static void name_type(void *ctx, uint32_t token, void *out)
{
	(void)ctx;
	put(out, token >> 24 == 2 ? "Def" : token >> 24 == 1 ? "Ref" : token >> 24 == 0x1b ? "Spec" : "?");
	put_number(out, token & 0xffffff);
}

static void name_variable(void *ctx, bool of_method, uint32_t index, void *out)
{
	(void)ctx;
	put(out, of_method ? "!!" : "!");
	put_number(out, index);
}

static const struct signature_names names = {NULL, put, name_type, name_variable};

#define SIG(...) {(const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})}

static const struct {
	struct {
		const uint8_t *bytes;
		size_t len;
	} sig;
	const char *expected;
} rows[] = {
	{SIG(0x00, 0x00, 0x01), ""},
	{SIG(0x20, 0x01, 0x01, 0x08), "System.Int32"},
	{SIG(0x00, 0x03, 0x0e, 0x0e, 0x10, 0x0a, 0x14, 0x08, 0x02, 0x00, 0x00), "System.String,System.Int64&,System.Int32[,]"},
	{SIG(0x00, 0x02, 0x01, 0x0f, 0x05, 0x18), "System.Byte*,System.IntPtr"},
	{SIG(0x10, 0x02, 0x02, 0x01, 0x1e, 0x00, 0x13, 0x01), "!!0,!1"},
	{SIG(0x00, 0x01, 0x12, 0x04, 0x12, 0x05), "Ref1"},                   /* the return type's token is not spelled */
	{SIG(0x00, 0x01, 0x01, 0x11, 0x08), "Def2"},
	{SIG(0x00, 0x01, 0x01, 0x12, 0x81, 0x01), "Ref64"},                  /* two-byte token */
	{SIG(0x00, 0x01, 0x01, 0x12, 0xc0, 0x01, 0x00, 0x04), "Def16385"},   /* four-byte token */
	{SIG(0x00, 0x01, 0x01, 0x12, 0xc3, 0xff, 0xff, 0xfc), "Def16777215"}, /* the last row that a token can name */
	{SIG(0x00, 0x01, 0x01, 0x15, 0x12, 0x05, 0x02, 0x08, 0x1d, 0x0e), "Ref1<System.Int32,System.String[]>"},
	{SIG(0x00, 0x01, 0x01, 0x10, 0x1f, 0x05, 0x08), "System.Int32&"},    /* in: a modifier */
	{SIG(0x00, 0x01, 0x01, 0x1b, 0x00, 0x01, 0x01, 0x08), "fnptr System.Void(System.Int32)"},
	{SIG(0x05, 0x02, 0x01, 0x08, 0x41, 0x0e), "System.Int32,System.String"}, /* varargs call */
	{SIG(0x00, 0x01, 0x16, 0x1c), "System.Object"},
	{SIG(0x00, 0x01, 0x01, 0x14, 0x08, 0x01, 0x00, 0x00), "System.Int32[*]"},
	/* malformed */
	{{(const uint8_t *)"", 0}, NULL},
	{SIG(0x00), NULL},
	{SIG(0x00, 0x01, 0x01), NULL},
	{SIG(0x00, 0x01, 0x01, 0x12), NULL},
	{SIG(0x00, 0x01, 0x01, 0x12, 0x81), NULL},
	{SIG(0x00, 0x01, 0x01, 0x15, 0x08, 0x05, 0x01, 0x08), NULL},
	{SIG(0x00, 0x01, 0x01, 0x15, 0x12, 0x05, 0x02, 0x08), NULL},
	{SIG(0x00, 0x01, 0x01, 0x14, 0x08, 0x00, 0x00, 0x00), NULL},
	{SIG(0x00, 0x01, 0x01, 0x99), NULL},
	{SIG(0x00, 0x01, 0x01, 0x12, 0xc4, 0x00, 0x00, 0x00), NULL},          /* a row past 24 bits */
	{SIG(0x00, 0xdf, 0xff, 0xff, 0xff, 0x01), NULL},                     /* half a billion parameters */
};

Test(signature, parameters_are_spelled_as_the_metadata_has_them)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct spelled t = {.len = 0};
		bool good = signature_params(rows[i].sig.bytes, rows[i].sig.len, &names, &t);
		cr_expect_eq(good, rows[i].expected != NULL, "row %zu: %s", i, t.data);
		if (good && rows[i].expected)
			cr_expect_str_eq(t.data, rows[i].expected, "row %zu", i);
	}
}

Test(signature, every_cut_of_a_signature_is_refused)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		for (size_t len = 0; rows[i].expected && len < rows[i].sig.len; len++) {
			struct spelled t = {.len = 0};
			cr_expect(!signature_params(rows[i].sig.bytes, len, &names, &t), "row %zu cut at %zu", i, len);
		}
}

Test(signature, nesting_has_a_bound)
{
	uint8_t sig[4096];
	for (int depth = 10; depth <= 4000; depth *= 20) {
		struct spelled t = {.len = 0};
		memset(sig, 0x1d, sizeof sig);
		sig[0] = 0x00;
		sig[1] = 0x01;
		sig[2] = 0x01;
		sig[3 + depth] = 0x08;
		cr_expect_eq(signature_params(sig, (size_t)depth + 4, &names, &t), depth < 20, "depth %d", depth);
	}
}
