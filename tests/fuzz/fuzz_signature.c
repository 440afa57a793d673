/* What the library reads of the application's and the kernel's bytes: metadata signatures of methods and of fields, UTF-16 names, lines of /proc/self/maps. */
#include "common/base/text.h"
#include "common/proto/signature.h"
#include "profiler/base/text.h"
#include "profiler/names/field_type.h"
#include "profiler/stacks/stack_map.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seen {
	size_t calls, size;
};

static void put(void *out, const char *word)
{
	text_puts(out, word);
}

static void type(void *ctx, uint32_t token, void *out)
{
	struct seen *s = ctx;

	if (++s->calls > s->size || (token >> 24 != 0 && token >> 24 != 1 && token >> 24 != 2 && token >> 24 != 0x1b))
		abort(); /* more names than bytes, or a token of no type table */
	text_puts(out, "N.Type");
}

static void variable(void *ctx, bool of_method, uint32_t index, void *out)
{
	struct seen *s = ctx;

	if (++s->calls > s->size || index >= 1u << 29)
		abort();
	text_puts(out, of_method ? "!!" : "!");
	text_put_u32(out, index);
}

static void check_text(const struct text *t)
{
	if (t->len > t->cap)
		abort();
	for (size_t i = 0; i < t->len;) {
		uint32_t c;
		size_t n = text_decode_utf8(t->data + i, t->len - i, &c);
		if (c == 0xfffd && n == 1)
			abort(); /* not UTF-8 */
		i += n;
	}
}

static void spell(const uint8_t *data, size_t size, size_t cap, bool whole_method)
{
	char *buf = malloc(cap + 1); /* of exactly that size: the sanitizer sees an overrun */
	struct seen seen = {.size = size};
	struct text out = {.data = buf, .cap = cap};
	const struct signature_names names = {&seen, put, type, variable};

	if (whole_method)
		signature_params(data, size, &names, &out);
	else
		signature_type(data, size, &names, &out);
	check_text(&out);
	free(buf);
}

static void spell_utf16(const uint8_t *data, size_t size, size_t cap)
{
	char *buf = malloc(cap + 1);
	uint16_t *units = malloc(size + 2);
	struct text out = {.data = buf, .cap = cap};

	memcpy(units, data, size);
	text_put_utf16(&out, units, size / 2);
	check_text(&out);
	free(units);
	free(buf);
}

static void read_field(const uint8_t *data, size_t size)
{
	uint8_t *own = malloc(size + !size);
	struct field_type t;

	memcpy(own, data, size);
	if (field_type_read(own, (uint32_t)size, &t))
		for (uint32_t i = 0; i < t.arg_count && i < FIELD_TYPE_ARGS; i++)
			if (t.args[i].len == 0 || t.args[i].sig < own || t.args[i].sig + t.args[i].len > own + size)
				abort();
	free(own);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct stack_range range;

	if (size == 0 || size > 1 << 16)
		return 0;
	size_t cap = (size_t)data[0] * 4;
	spell(data + 1, size - 1, cap, true);
	spell(data + 1, size - 1, cap, false);
	spell_utf16(data + 1, size - 1, cap);
	read_field(data + 1, size - 1);
	if (stack_map_parse_line((const char *)data + 1, size - 1, &range) && range.low >= range.high)
		abort();
	return 0;
}
