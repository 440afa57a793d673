/* Names of methods from metadata and symbols: first byte = kind and flags, then module, type, type args, method, method args,
 * params, each ended by a NUL. What is shown is bounded, valid UTF-8 and free of control characters. */
#include "agent/symbols/method_name.h"
#include "common/base/buf.h"
#include "common/base/cleanup.h"
#include "common/base/mem.h"
#include "common/base/text.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const char *text)
{
	size_t n = strlen(text), used;
	uint32_t c;
	for (size_t at = 0; at < n; at += used) {
		used = text_decode_utf8(text + at, n - at, &c);
		if (used == 0 || c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0x202a && c <= 0x202e))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	AUTO_FREE char *copy = mem_alloc(size + 7);
	char *parts[6], *at = copy;
	memcpy(copy, data + 1, size - 1);
	memset(copy + size - 1, 0, 7);
	for (int i = 0; i < 6; i++) {
		parts[i] = at;
		at += strlen(at) + (at + strlen(at) < copy + size + 5);
	}
	struct frame f = {.kind = data[0] % 4, .overloaded = data[0] & 16, .dynamic = data[0] & 32, .module = parts[0], .type = parts[1],
			  .type_args = parts[2], .method = parts[3], .method_args = parts[4], .params = parts[5]};
	struct method_name name;
	method_name_make(&f, &name);
	if (strlen(name.text) >= METHOD_NAME_SIZE)
		abort();
	check(name.text);
	for (size_t max = 4; max < 200; max = max * 2 + 1) {
		AUTO_BUF struct buf b;
		buf_init(&b, METHOD_NAME_SIZE * 4);
		method_name_shorten(name.text, max, &b);
		check(buf_str(&b));
	}
	return 0;
}
