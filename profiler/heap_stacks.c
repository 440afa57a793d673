/* Context: own thread. */
#include "profiler/heap_stacks.h"

#include "profiler/heap_threads.h"
#include "profiler/own_memory.h"
#include "profiler/stack_map.h"

#define FRAMES_MAX 256u
#define BELOW_BYTES 8192u   /* the frames of the runtime's own code that saved the registers of the last managed one */
#define ABOVE_BYTES 4096u   /* and of what called the first managed one */
#define PAGE_BYTES 4096u
#define STACK_BYTES (1u << 20) /* of one thread; what lies deeper is left out */

/* CONTEXT of the runtime's own definition (the documented one of Windows): where the stack pointer is. */
#if defined(__x86_64__)
#define CONTEXT_SP 0x98
#elif defined(__aarch64__)
#define CONTEXT_SP 0x100
#else
#error "no such architecture"
#endif

struct frames {
	struct {
		cor_id function;
		uintptr_t sp;
	} items[FRAMES_MAX];
	uint32_t count;
};

static hresult on_frame(cor_id function, uintptr_t ip, cor_id frame, uint32_t context_bytes, uint8_t *context, void *ctx)
{
	struct frames *f = ctx;

	(void)ip;
	(void)frame;
	if (!function || !context || context_bytes < CONTEXT_SP + sizeof(uintptr_t))
		return COR_S_OK; /* a run of native frames */
	uintptr_t sp = *(const uintptr_t *)(context + CONTEXT_SP);
	if (f->count < FRAMES_MAX && (f->count == 0 || sp > f->items[f->count - 1].sp)) {
		f->items[f->count].function = function;
		f->items[f->count++].sp = sp;
	}
	return COR_S_OK;
}

void heap_stacks_prepare(void)
{
	stack_map_refresh();
}

struct search {
	struct heap_writer *w;
	struct heap_root_record root;
	cor_id lowest, highest;
};

static inline bool put_word(struct search *s, cor_id word)
{
	if (word < s->lowest || word > s->highest || word == s->root.object)
		return true;
	s->root.object = word;
	return heap_put_root(s->w, &s->root);
}

/* Of frames that the runtime has told of just now. */
static bool put_words(struct search *s, uintptr_t from, uintptr_t to)
{
	for (from &= ~(uintptr_t)7; from < to; from += 8)
		if (!put_word(s, *(const cor_id *)from))
			return false;
	return true;
}

/* Below and above them, where the map says that the stack is: it was read before the stop, and another thread may have had that place then.
 * What is not there is passed over. */
static bool put_margin(struct search *s, uintptr_t from, uintptr_t to)
{
	static cor_id words[PAGE_BYTES / 8];
	uintptr_t next;

	for (from &= ~(uintptr_t)7; from < to; from = next) {
		next = (from | (PAGE_BYTES - 1)) + 1;
		next = next < to ? next : to;
		size_t count = own_memory_read(from, words, next - from) / 8;
		for (size_t i = 0; i < count; i++)
			if (!put_word(s, words[i]))
				return false;
	}
	return true;
}

/* Leaf first: frame i has the words from its stack pointer up to that of its caller. */
static bool put_stack(struct search *s, const struct frames *f, uint32_t thread)
{
	struct stack_range range;

	if (f->count == 0 || !stack_map_find(f->items[0].sp, &range))
		return true;
	uintptr_t first = f->items[0].sp, end = first + STACK_BYTES < range.high ? first + STACK_BYTES : range.high;
	uintptr_t below = first - range.low > BELOW_BYTES ? first - BELOW_BYTES : range.low;
	s->root = (struct heap_root_record){.kind = HEAP_ROOT_STACK, .flags = HEAP_ROOT_CONSERVATIVE | HEAP_ROOT_INTERIOR, .thread = thread + 1};
	s->root.id = f->items[0].function;
	if (!put_margin(s, below, first))
		return false;
	for (uint32_t i = 0; i < f->count && f->items[i].sp < end; i++) {
		bool last = i + 1 == f->count;
		uintptr_t from = f->items[i].sp, to = last ? from + ABOVE_BYTES : f->items[i + 1].sp;
		to = to < end ? to : end;
		s->root.id = f->items[i].function;
		if (!(last ? put_margin(s, from, to) : put_words(s, from, to)))
			return false;
	}
	return true;
}

bool heap_stacks_put(void *info, struct heap_writer *w, cor_id lowest, cor_id highest)
{
	static struct frames f;
	struct search s = {.w = w, .lowest = lowest, .highest = highest};

	for (uint32_t t = 0; t < heap_threads_count(); t++) {
		f.count = 0;
		if (info_do_stack_snapshot_registers(info, heap_threads_get(t)->id, on_frame, &f) >= 0 && !put_stack(&s, &f, t))
			return false;
	}
	return true;
}

/* Owners ------------------------------------------------------------------------------------------------------------------------ */
#define OWNERS_BITS 13
#define OWNERS_SIZE (1u << OWNERS_BITS)
#define OWNERS_MAX (OWNERS_SIZE / 4 * 3)

static struct owner {
	cor_id function;
	uint32_t thread; /* 0: several */
} owners[OWNERS_SIZE];
static uint32_t owner_count;

static struct owner *owner_place(cor_id function)
{
	uint32_t slot = (uint32_t)((uint64_t)function * 0x9e3779b97f4a7c15u >> (64 - OWNERS_BITS));

	while (owners[slot].function && owners[slot].function != function)
		slot = (slot + 1) & (OWNERS_SIZE - 1);
	return &owners[slot];
}

static hresult on_owned_frame(cor_id function, uintptr_t ip, cor_id frame, uint32_t context_bytes, uint8_t *context, void *ctx)
{
	uint32_t thread = *(const uint32_t *)ctx;

	(void)ip;
	(void)frame;
	(void)context_bytes;
	(void)context;
	if (!function)
		return COR_S_OK;
	struct owner *o = owner_place(function);
	if (!o->function && owner_count < OWNERS_MAX) {
		*o = (struct owner){function, thread};
		owner_count++;
	} else if (o->function && o->thread != thread) {
		o->thread = 0;
	}
	return COR_S_OK;
}

void heap_stacks_owners(void *info)
{
	for (uint32_t i = 0; owner_count && i < OWNERS_SIZE; i++)
		owners[i].function = 0;
	owner_count = 0;
	for (uint32_t t = 0; t < heap_threads_count(); t++) {
		uint32_t thread = t + 1;
		info_do_stack_snapshot(info, heap_threads_get(t)->id, on_owned_frame, &thread);
	}
}

uint32_t heap_stacks_owner(cor_id function)
{
	const struct owner *o = function ? owner_place(function) : NULL;

	return o && o->function ? o->thread : 0;
}
