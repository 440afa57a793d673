/* Context: CLR callback (take) and own thread (prepare, tick). */
#include "profiler/stacks/own_stack.h"

#include "common/proto/channel.h"
#include "common/proto/difference.h"
#include "profiler/stacks/caller_walk.h"
#include "profiler/stacks/code_learn.h"
#include "profiler/clr/cor_abi.h"
#include "profiler/base/now.h"
#include "profiler/stacks/stack_map.h"

#include <link.h>
#include <stdatomic.h>
#include <string.h>

#define MAP_PERIOD_NS 200000000u /* reading the maps costs up to a millisecond of our thread */

static void *the_info;
static struct caller_walk code;
static _Atomic bool stack_missing;
static uint64_t map_read_ns;

struct snapshot {
	uint64_t *ips;
	size_t count, cap;
	bool more;
};

static hresult on_snapshot_frame(cor_id function, uintptr_t ip, uintptr_t frame_info, uint32_t context_size, uint8_t *context, void *ctx)
{
	struct snapshot *s = ctx;

	(void)frame_info;
	(void)context_size;
	(void)context;
	if (!function)
		return COR_S_OK; /* a run of native frames */
	if (s->count == s->cap) {
		s->more = true;
		return COR_S_FALSE;
	}
	s->ips[s->count++] = ip;
	return COR_S_OK;
}

static struct own_stack snapshot_own_stack(uint64_t *ips, size_t cap)
{
	struct snapshot s = {.ips = ips, .cap = cap};

	info_do_stack_snapshot(the_info, 0, on_snapshot_frame, &s);
	return (struct own_stack){.depth = s.count, .more = s.more};
}

/* The runtime knows all callers, but is not always to be asked; then it is what was found. */
static struct own_stack walk_again(uint64_t *ips, size_t cap, struct own_stack found)
{
	uint64_t asked[CHANNEL_MAX_DEPTH];
	struct own_stack told = snapshot_own_stack(asked, cap < CHANNEL_MAX_DEPTH ? cap : CHANNEL_MAX_DEPTH);

	if (told.depth) {
		memcpy(ips, asked, told.depth * sizeof *ips);
		found = told;
	}
	for (size_t i = 0; i < found.depth; i++)
		code_learn_want(difference(ips[i], 1));
	return found;
}

__attribute__((noinline)) struct own_stack own_stack_take(uint64_t *ips, size_t cap)
{
	const uintptr_t *frame = __builtin_frame_address(0);
	struct frame_registers caller = {.ip = frame[1], .sp = (uintptr_t)(frame + 2), .fp = frame[0]};
	uintptr_t end = stack_map_end(caller.sp), tp = frame_walk_thread_pointer();

	if (!end) {
		atomic_store_explicit(&stack_missing, true, memory_order_relaxed);
		return snapshot_own_stack(ips, cap);
	}
	/* A mapping may go on behind the stack with something that another thread unmaps meanwhile. */
	struct code_walked walked;
	const struct code_index *index = code_rules_enter();
	caller_walk(&code, &caller, tp > caller.sp && tp < end ? tp : end, index, ips, cap, &walked);
	code_rules_leave(index);
	struct own_stack found = {.depth = walked.depth, .more = walked.more, .incomplete = walked.unknown || walked.gap != CODE_GAP_NONE};
	if (found.depth && !found.incomplete)
		return found;
	/* Code that is met for the first time, or a thread that the runtime is about to stop. */
	return walk_again(ips, cap, found);
}

struct wanted_code {
	uintptr_t address;
	struct code_range *out;
};

/* Of the loaded object that holds the address: its executable part. */
static int find_code_range(struct dl_phdr_info *object, size_t size, void *ctx)
{
	const struct wanted_code *w = ctx;

	(void)size;
	for (size_t i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &object->dlpi_phdr[i];
		uintptr_t low = object->dlpi_addr + p->p_vaddr;
		if (p->p_type == PT_LOAD && (p->p_flags & PF_X) && w->address >= low && w->address - low < p->p_memsz) {
			*w->out = (struct code_range){low, low + p->p_memsz};
			return 1;
		}
	}
	return 0;
}

static void read_own_stack_map(void)
{
	atomic_store(&stack_missing, false);
	if (stack_map_refresh())
		map_read_ns = now_ns();
}

void own_stack_prepare(void *info)
{
	struct wanted_code runtime = {(uintptr_t)cor_slot(info, 0), &code.runtime};
	struct wanted_code own = {(uintptr_t)own_stack_prepare, &code.own};

	code = (struct caller_walk){0};
	dl_iterate_phdr(find_code_range, &runtime);
	dl_iterate_phdr(find_code_range, &own);
	the_info = info;
	code_learn_begin(info);
	read_own_stack_map();
}

void own_stack_tick(void)
{
	code_learn_tick();
	if (atomic_load(&stack_missing) && difference(now_ns(), map_read_ns) > MAP_PERIOD_NS)
		read_own_stack_map();
}
