/* The memory of a process as it wants to be read: the runtime's monitors, other locks, threads, types and their names. The first word of the input says
 * which addresses lead where; a text behind a NUL is what the kernel says of a thread, or the runtime of its structures. */
#include "agent/attach/profiler_channel.h"
#include "agent/locks/image_metadata.h"
#include "agent/locks/managed_locks.h"
#include "agent/locks/managed_methods.h"
#include "agent/locks/pool_queue.h"
#include "agent/locks/task_waits.h"
#include "agent/locks/thread_wait.h"
#include "agent/locks/wait_peer.h"
#include "agent/stacks/outside_names.h"
#include "tests/fuzz/fuzz_tools.h"
#include "tests/unit/agent/locks/fake_code.h"

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

#define CHANGES_MAX 768      /* bytes */
#define STEPS_LEAST 500000   /* reads of an input; and for each of its changes: */
#define STEPS_EACH 4000
#define ARGUMENTS_AT 0xf000u /* from here on a place is none: what stands for the change makes a dictionary */

static unsigned steps, steps_most;

static size_t read_counted(void *ctx, uint64_t address, void *out, size_t n)
{
	check(++steps < steps_most);
	return fake_read(ctx, address, out, n);
}

static const struct process_memory process = {.read = read_counted};

static void check_code(struct code_map *c, uint64_t ip)
{
	struct managed_code code;
	if (code_map_find(c, ip, &code))
		check(code.start <= ip && ip - code.start < code.bytes && code.method);
	else
		check(!code.bytes && !code.start);
}

static void check_method(struct managed_methods *x, uint64_t method)
{
	struct managed_method m;
	if (!managed_methods_describe(x, method, &m))
		return;
	check(m.method[0] && strlen(m.method) < sizeof m.method && strlen(m.type) < sizeof m.type && strlen(m.params) < sizeof m.params);
	check(strlen(m.type_args) < sizeof m.type_args && strlen(m.method_args) < sizeof m.method_args && strlen(m.module) < sizeof m.module);
	check(m.dynamic || (m.token >> 24 == 6 && m.type[0]));
}

static void name_all(const struct dac_table *dac)
{
	static const uint64_t ips[] = {FAKE_AT(FAKE_CODE + 0x50), FAKE_AT(FAKE_CODE + 0x500), FAKE_AT(FAKE_IMAGE_CODE + 0x110),
				       FAKE_AT(FAKE_IMAGE_CODE + 0x1a0), FAKE_AT(FAKE_IMAGE_CODE + 0x210), 0, UINT64_MAX};
	enum { COUNT = sizeof ips / sizeof *ips };
	const struct resolved_function *functions[COUNT], *again[COUNT];
	struct channel_code_body bodies[COUNT];
	struct outside_names *n = outside_names_new(&process, &fake_contract, dac, true);
	check(outside_names_able(n));
	check(outside_names_resolve(n, ips, COUNT, functions) == 0 && outside_names_code(n, ips, COUNT, bodies) == 0 &&
	      outside_names_resolve(n, ips, COUNT, again) == 0);
	for (size_t i = 0; i < COUNT; i++) {
		check(!functions[i] || (bodies[i].bytes && functions[i]->method[0]));
		check(functions[i] == again[i] || functions[i]->dynamic);
	}
	outside_names_free(n);
}

/* A type becomes an argument of a generic one, perhaps of itself, one of up to 16; or an instance of a generic one as well. */
static void put_argument(unsigned place, uint8_t value)
{
	size_t type = FAKE_TYPES + 0x40 * (size_t)(place & 3);
	fake_put(FAKE_DICTIONARY + 6, 1u + (value >> 4), 2);
	fake_put(FAKE_DICTIONARY + 32 + 8 * (size_t)(value & 15), FAKE_BASE + type, 8);
	if (!(place & 4))
		return;
	fake_put(type, 0x10, 4);
	fake_put(type + 48, FAKE_AT(FAKE_DICTIONARY + 8), 8);
}

static void change_memory(unsigned place, uint8_t value)
{
	if (place >= ARGUMENTS_AT)
		put_argument(place, value);
	else
		fake_memory[place] = value;
}

/* Managed code: each three bytes are a place in a process's memory and what stands there from then on; what is left over is looked for. */
static void change_managed_code(const uint8_t *data, size_t size)
{
	static struct dac_table dac = {.words = {0, FAKE_AT(FAKE_TEXT), FAKE_AT(FAKE_RANGES)}, .count = 3};
	struct code_map map;
	steps = 0;
	steps_most = STEPS_LEAST + STEPS_EACH * (unsigned)(size / 3);
	fake_make();
	for (; size >= 3; data += 3, size -= 3)
		change_memory(data[0] | (unsigned)data[1] << 8, data[2]);
	uint64_t at = (uint64_t)(size > 0 ? data[0] : 0) << 8 | (size > 1 ? data[1] : 0);
	code_map_init(&map, &process, &fake_contract.code, dac.words, dac.count);
	for (uint64_t offset = 0; offset < 0x800; offset += 0x3f) {
		check_code(&map, FAKE_AT(FAKE_CODE + offset));
		check_code(&map, FAKE_AT(FAKE_IMAGE_CODE + offset));
	}
	check_code(&map, FAKE_AT(at));
	struct managed_methods *x = managed_methods_new(&process, &fake_contract);
	for (unsigned row = 1; row <= 4; row++)
		check_method(x, fake_method(row));
	check_method(x, FAKE_AT(at & ~UINT64_C(7)));
	managed_methods_free(x);
	name_all(&dac);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct image image = {data, size};
	const struct process_memory m = {.read = read_image, .ctx = &image};
	uint64_t dac[8];
	struct sync_table t;
	struct thread_wait wait;
	struct thread_times times;
	size_t hint = size;
	for (size_t i = 0; i < 8; i++)
		dac[i] = BASE + 8 * i;
	uint64_t table = sync_table_find_again(&m, dac, 8, &hint);
	if (sync_table_find(&m, dac, 8) != table || (table && sync_table_find_again(&m, dac, 8, &hint) != table))
		abort();
	const struct runtime_contract said_before = {.monitors_are_locks = size % 2, .monitor_lock = size % 64};
	const struct managed_threads nobody = {.own_locks_by_managed_id = size % 4 == 3};
	sync_table_read(&m, table ? table : BASE, &said_before, &nobody, &t);
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
	runtime_contract_read_at(&m, BASE, &said);
	if (!said.told || said.known == (runtime_contract_unread(&said) != NULL))
		abort();
	thread_wait_parse_schedstat(text, &times);
	free(text);
	change_managed_code(data, size < CHANGES_MAX ? size : CHANGES_MAX);
	return 0;
}
