/* The memory of a process as it wants to be read: the runtime's monitors, other locks, threads, types and their names. The first word of the input says
 * which addresses lead where; a text behind a NUL is what the kernel says of a thread, or the runtime of its structures. */
#include "agent/locks/image_metadata.h"
#include "agent/locks/managed_locks.h"
#include "agent/locks/pool_queue.h"
#include "agent/locks/task_waits.h"
#include "agent/locks/thread_wait.h"
#include "agent/locks/wait_peer.h"
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

/* Offsets as the runtime says them, near enough for a short input. */
static const struct runtime_contract contract = {
	.known = true, .thread_store = BASE, .string_class = BASE + 8, .thread_id = 8, .thread_os_id = 16, .thread_next = 24, .thread_handle = 32,
	.store_first = 0, .type_flags = 0, .type_flags2 = 8, .type_base_size = 4, .type_module = 24, .type_class = 16, .class_type = 8, .module_base = 8,
};

/* What tasks lead to may lead back to them. */
static void read_tasks(const struct process_memory *m, struct managed_types *types, const uint64_t *words, size_t count)
{
	bool reached[8] = {false}, cancelable;
	task_waits_token(types, 0x7f0000000000, words, count, &cancelable);
	for (size_t i = 0; i < count; i++)
		if (task_waits_may_run(m, types, words[i]) != TASK_KIND_NONE && task_waits_reach(m, types, words[i], words, 8, reached) > 8)
			abort();
	if (task_waits_reach(m, types, BASE, words, count < 8 ? count : 8, reached) > 8)
		abort();
}

static void read_managed(const struct process_memory *m, const uint64_t *words, size_t count)
{
	struct managed_locks l = {.memory = *m, .contract = contract};
	struct managed_threads threads;
	struct thread_wait named = {.inner_tid = 1, .name = "fifteen letters"};
	struct image_metadata metadata;
	struct monitor lock;
	char name[MANAGED_TYPE_NAME];
	l.types = managed_types_new(&l.memory, &l.contract);
	managed_threads_read(m, &contract, &threads);
	if (threads.count > THREAD_WAITS_MAX)
		abort();
	managed_threads_name(&threads, m, l.types, &contract, &named, 1);
	managed_locks_waited(&l, &threads, 1, BASE, words, count, &lock);
	for (uint64_t at = 0; at < 128; at++)
		if (strlen(managed_types_name(l.types, BASE + 8 * at)) >= sizeof name)
			abort();
	for (int kind = LOCK_KIND_LOCK; kind <= LOCK_KIND_READER_WRITER; kind++)
		if (managed_lock_read(m, (enum lock_kind)kind, BASE, &threads, &lock) && lock.waiters > 4 * THREAD_WAITS_MAX)
			abort();
	if (pool_queue_length(m, NULL, BASE) < POOL_QUEUE_UNKNOWN || pool_queue_length(m, l.types, BASE) < POOL_QUEUE_UNKNOWN)
		abort();
	pool_queue_on_stack(l.types, BASE, words, count);
	read_tasks(m, l.types, words, count);
	if (image_metadata_open(m, BASE + 0x400, &metadata))
		for (uint32_t row = 0; row < 4; row++)
			image_metadata_type(m, &metadata, row, name, sizeof name);
	managed_threads_fini(&threads);
	managed_locks_fini(&l);
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
	uint32_t waited = sync_table_waited(&t, dac, 8);
	if (waited != UINT32_MAX && waited >= t.waited_count)
		abort();
	for (size_t i = 0; i < t.waited_count; i++)
		if (t.waited[i].waiters == 0)
			abort();
	if (t.waited_count > SYNC_TABLE_WAITED)
		abort();
	sync_table_fini(&t);
	read_managed(&m, dac, 8);
	char *text = text_of(data, size), peer[WAIT_PEER_BYTES];
	struct runtime_contract said;
	thread_wait_parse_syscall(text, &wait);
	wait_peer_parse_line(text, peer);
	if (runtime_contract_parse(text, strlen(text), dac, 8, &said) && !said.thread_store)
		abort();
	thread_wait_parse_schedstat(text, &times);
	free(text);
	return 0;
}
