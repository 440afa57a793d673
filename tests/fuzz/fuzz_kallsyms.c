/* Lines of /proc/kallsyms: each line alone, then all of them. */
#include "agent/symbols/kernel_symbols.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kernel_symbols *k = kernel_symbols_new();
	bool any = false;
	for (size_t at = 0; at < size;) {
		const uint8_t *end = memchr(data + at, '\n', size - at);
		size_t len = end ? (size_t)(end - data) - at : size - at;
		char *line = malloc(len ? len : 1); /* no NUL behind it */
		memcpy(line, data + at, len);
		any |= kernel_symbols_add_line(k, line, len);
		free(line);
		at += len + 1;
	}
	kernel_symbols_sort(k);
	const char *name = kernel_symbols_find(k, UINT64_MAX);
	if (any != (name != NULL) || (name && !*name))
		abort(); /* the last function reaches up to the end */
	for (uint64_t ip = 1; ip; ip <<= 1)
		kernel_symbols_find(k, ip);
	kernel_symbols_free(k);
	return 0;
}
