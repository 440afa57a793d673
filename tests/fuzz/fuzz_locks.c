/* The memory of a process as it wants to be read: the runtime's table of monitors. The first word of the input says which addresses lead where; a text behind
 * a NUL is what the kernel says of a thread. */
#include "agent/locks/sync_table.h"
#include "agent/locks/thread_wait.h"
#include "tests/fuzz/fuzz_tools.h"

#include <stdlib.h>
#include <string.h>

#define BASE UINT64_C(0x20000)

struct image {
	const uint8_t *data;
	size_t len;
};

/* Addresses beyond the input read as what is there modulo its length, at times: tables without an end. */
static size_t read_image(void *ctx, uint64_t address, void *out, size_t n)
{
	const struct image *m = ctx;
	if (address < BASE || m->len == 0 || address - BASE > UINT64_C(1) << 30)
		return 0;
	for (size_t i = 0; i < n; i++)
		((uint8_t *)out)[i] = m->data[(address - BASE + i) % m->len];
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct image image = {data, size};
	const struct process_memory m = {.read = read_image, .ctx = &image};
	uint64_t dac[8];
	struct sync_table t;
	struct thread_wait wait;
	uint64_t times;
	size_t hint = size;
	for (size_t i = 0; i < 8; i++)
		dac[i] = BASE + 8 * i;
	uint64_t table = sync_table_find_again(&m, dac, 8, &hint);
	if (sync_table_find(&m, dac, 8) != table || (table && sync_table_find_again(&m, dac, 8, &hint) != table))
		abort();
	sync_table_read(&m, table ? table : BASE, &t);
	for (size_t i = 0; i < t.waited_count; i++)
		if (t.waited[i].waiters == 0)
			abort();
	if (t.waited_count > SYNC_TABLE_WAITED)
		abort();
	sync_table_fini(&t);
	char *text = text_of(data, size);
	thread_wait_parse_syscall(text, &wait);
	thread_wait_parse_schedstat(text, &times);
	free(text);
	return 0;
}
