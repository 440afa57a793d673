/* Context: CLR callback (take) and own thread (prepare, tick). */
#include "profiler/own_stack.h"

#include "profiler/caller_walk.h"
#include "profiler/cor_abi.h"
#include "profiler/now.h"
#include "profiler/stack_map.h"

#include <link.h>
#include <stdatomic.h>

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

static hresult on_frame(cor_id function, uintptr_t ip, uintptr_t frame_info, uint32_t context_size, uint8_t *context, void *ctx)
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

static size_t ask_runtime(uint64_t *ips, size_t cap, bool *more)
{
	struct snapshot s = {.ips = ips, .cap = cap};

	info_do_stack_snapshot(the_info, 0, on_frame, &s);
	*more = s.more;
	return s.count;
}

__attribute__((noinline)) size_t own_stack_take(uint64_t *ips, size_t cap, bool *more)
{
	const uintptr_t *frame = __builtin_frame_address(0);
	struct frame_registers caller = {.ip = frame[1], .sp = (uintptr_t)(frame + 2), .fp = frame[0]};
	uintptr_t end = stack_map_end(caller.sp), tp = frame_walk_thread_pointer();

	if (!end) {
		atomic_store_explicit(&stack_missing, true, memory_order_relaxed);
		return ask_runtime(ips, cap, more);
	}
	/* A mapping may go on behind the stack with something that another thread unmaps meanwhile. */
	size_t depth = caller_walk(&code, &caller, tp > caller.sp && tp < end ? tp : end, ips, cap, more);
	return depth ? depth : ask_runtime(ips, cap, more);
}

struct wanted_code {
	uintptr_t address;
	struct code_range *out;
};

/* Of the loaded object that holds the address: its executable part. */
static int find_code(struct dl_phdr_info *object, size_t size, void *ctx)
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

static void read_map(void)
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
	dl_iterate_phdr(find_code, &runtime);
	dl_iterate_phdr(find_code, &own);
	the_info = info;
	read_map();
}

void own_stack_tick(void)
{
	if (atomic_load(&stack_missing) && now_ns() - map_read_ns > MAP_PERIOD_NS)
		read_map();
}
