/* /proc/PID/smaps of a process, line by line: two accounts of it (what stands before and behind the first NUL) are compared. */
#include "agent/profilers/leak/memory_growth.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_account(struct memory_account *a, const char *text, size_t len)
{
	static const struct memory_range heap[] = {{0x7e0000000000, 0x100000, false}, {UINT64_MAX - 4096, 8192, true}, {0, UINT64_MAX, false}};
	memory_account_init(a);
	for (size_t at = 0; at < len;) {
		const char *end = memchr(text + at, '\n', len - at);
		size_t n = end ? (size_t)(end - text) - at : len - at;
		char *line = malloc(n ? n : 1); /* nothing behind it */
		memcpy(line, text + at, n);
		memory_account_add_line(a, line, n);
		free(line);
		at += n + 1;
	}
	memory_account_classify(a, heap, len % 4);
	struct memory_figures sum = {0};
	for (int k = 0; k < MEMORY_KIND_COUNT; k++)
		sum.rss += a->by_kind[k].rss;
	if (sum.rss != a->total.rss || memory_account_unmanaged(a) > a->total.rss + a->total.swap)
		abort();
	for (size_t i = 1; i < a->count; i++)
		if (a->mappings[i].start < a->mappings[i - 1].end)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data, *cut = size ? memchr(text, '\0', size) : NULL;
	size_t first = cut ? (size_t)(cut - text) : size;
	struct memory_account a, b;
	struct memory_grown *grown;
	read_account(&a, text, first);
	read_account(&b, cut ? cut + 1 : text, cut ? size - first - 1 : 0);
	size_t count = memory_growth_find(&a, &b, 5, &grown);
	for (size_t i = 0; i < count; i++)
		if (grown[i].last <= grown[i].first || (i && grown[i].last - grown[i].first > grown[i - 1].last - grown[i - 1].first))
			abort();
	memory_growth_free(grown, count);
	memory_account_fini(&a);
	memory_account_fini(&b);
	return 0;
}
