/* Context: own thread. */
#include "profiler/heap/heap_stacks.h"

#include "common/proto/difference.h"
#include "profiler/heap/heap_gaps.h"
#include "profiler/heap/heap_threads.h"
#include "profiler/base/now.h"
#include "profiler/base/own_memory.h"
#include "profiler/stacks/stack_map.h"

#define BELOW_BYTES 8192u   /* the frames of the runtime's own code that saved the registers of the last managed one */
#define ABOVE_BYTES 4096u   /* and of what called the first managed one */
#define PAGE_BYTES 4096u
#define FRAME_BYTES (1u << 20) /* of one frame, where nobody knows where its stack ends */
#define LOOK_AT_CLOCK 32u   /* frames, pages: some 50 us */

/* CONTEXT of the runtime's own definition (the documented one of Windows): where the stack pointer is. */
#if defined(__x86_64__)
#define CONTEXT_SP 0x98
#elif defined(__aarch64__)
#define CONTEXT_SP 0x100
#else
#error "no such architecture"
#endif

void heap_stacks_prepare(void)
{
	stack_map_refresh();
}

/* One clock for all stacks. */
struct patience {
	uint64_t end_ns;
	bool by_processor_time; /* of this thread */
	uint32_t looks;
	bool over;
};

static bool stacks_in_time(struct patience *p)
{
	p->over = p->over || (p->looks++ % LOOK_AT_CLOCK == 0 && now_of(p->by_processor_time ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC) >= p->end_ns);
	return !p->over;
}

/* The stack of one thread, frame by frame, leaf first: a frame has the words from its stack pointer up to that of its caller, which comes
 * next. */
struct search {
	struct heap_writer *w;
	struct heap_root_record root; /* its id: the frame whose words come next */
	cor_id lowest, highest;
	uintptr_t at;  /* up to there it is read; 0: no frame yet */
	uintptr_t end; /* of the mapping that the stack lies in; 0: not known */
	struct patience *patience;
	bool cut;
};

static inline bool put_stack_word(struct search *s, cor_id word)
{
	if (word < s->lowest || word > s->highest || word == s->root.object)
		return true;
	s->root.object = word;
	return heap_put_root(s->w, &s->root);
}

static bool put_some(struct search *s, const cor_id *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!put_stack_word(s, words[i]))
			return false;
	return true;
}

/* false: no more time, or room. `there`: it is certain to be there, between frames that the runtime has told of just now. Else what is not
 * there is passed over: the map was read before the stop, and another thread may have had that place then. */
static bool put_words(struct search *s, uintptr_t from, uintptr_t to, bool there)
{
	static cor_id words[PAGE_BYTES / 8];
	uintptr_t next;

	for (from &= ~(uintptr_t)7; from < to; from = next) {
		next = (from | (PAGE_BYTES - 1)) + 1;
		next = next < to ? next : to;
		if (!stacks_in_time(s->patience))
			return false;
		size_t bytes = difference(next, from);
		if (!(there ? put_some(s, (const cor_id *)from, bytes / 8) : put_some(s, words, own_memory_read(from, words, bytes) / 8)))
			return false;
	}
	return true;
}

static bool begin_thread_stack(struct search *s, uintptr_t sp)
{
	struct stack_range range = {0};
	uintptr_t low = stack_map_find(sp, &range) && is_within(sp, range.low, BELOW_BYTES) ? range.low : (uintptr_t)difference(sp, BELOW_BYTES);

	s->end = range.high;
	return put_words(s, low, sp, false);
}

/* Up to the next frame's stack pointer. */
static bool put_frame(struct search *s, uintptr_t sp)
{
	bool there = s->end && sp <= s->end;

	if (!there && !is_within(sp, s->at, FRAME_BYTES + 1)) {
		s->cut = true;
		return false;
	}
	return put_words(s, s->at, sp, there);
}

static hresult on_stack_frame(cor_id function, uintptr_t ip, cor_id frame, uint32_t context_bytes, uint8_t *context, void *ctx)
{
	struct search *s = ctx;

	(void)ip;
	(void)frame;
	if (!function || !context || context_bytes < CONTEXT_SP + sizeof(uintptr_t))
		return stacks_in_time(s->patience) ? COR_S_OK : COR_S_FALSE; /* a run of native frames */
	uintptr_t sp = *(const uintptr_t *)(context + CONTEXT_SP);
	if (s->at && sp <= s->at)
		return COR_S_OK;
	if (!s->at)
		s->root.id = function;
	if (!stacks_in_time(s->patience) || !(s->at ? put_frame(s, sp) : begin_thread_stack(s, sp)))
		return COR_S_FALSE;
	s->root.id = function;
	s->at = sp;
	return COR_S_OK;
}

/* What called the first managed frame. */
static void end_stack(struct search *s)
{
	uintptr_t to = s->at + ABOVE_BYTES;

	if (s->at && !s->patience->over && !s->cut)
		put_words(s, s->at, s->end && s->end < to ? s->end : to, false);
}

bool heap_stacks_put(void *info, struct heap_writer *w, cor_id lowest, cor_id highest, uint64_t end_ns)
{
	struct patience patience = {.end_ns = end_ns};
	uint32_t count = heap_threads_count(), whole = 0;

	for (uint32_t t = 0; t < count && !w->bad && !patience.over; t++) {
		struct search s = {.w = w, .lowest = lowest, .highest = highest, .patience = &patience};
		s.root = (struct heap_root_record){.kind = HEAP_ROOT_STACK, .flags = HEAP_ROOT_CONSERVATIVE | HEAP_ROOT_INTERIOR, .thread = t + 1};
		patience.looks = 0;
		if (stacks_in_time(&patience))
			info_do_stack_snapshot_registers(info, heap_threads_get(t)->id, on_stack_frame, &s);
		end_stack(&s);
		whole += !patience.over && !s.cut;
	}
	if (whole < count)
		heap_gaps_note(HEAP_GAP_STACKS, count, whole);
	return !w->bad;
}

/* Prediction -------------------------------------------------------------------------------------------------------------------- */
#define APART 61u /* threads made one after the other are alike; a prime: all come by in the end */

static hresult on_passed_frame(cor_id function, uintptr_t ip, cor_id frame, uint32_t context_bytes, uint8_t *context, void *ctx)
{
	(void)function;
	(void)ip;
	(void)frame;
	(void)context_bytes;
	(void)context;
	return stacks_in_time(ctx) ? COR_S_OK : COR_S_FALSE;
}

/* The first stack is read once more before: the runtime's tables are cold then, which says nothing of the others. */
uint64_t heap_stacks_look(void *info, uint64_t cpu_ns)
{
	struct patience patience = {.end_ns = now_of(CLOCK_THREAD_CPUTIME_ID) + cpu_ns, .by_processor_time = true};
	uint32_t looked = 0, count;

	heap_threads_list(info);
	count = heap_threads_count();
	if (count > 1)
		info_do_stack_snapshot_registers(info, heap_threads_get(0)->id, on_passed_frame, &patience);
	uint64_t begin_ns = now_of(CLOCK_THREAD_CPUTIME_ID);
	patience = (struct patience){.end_ns = begin_ns + cpu_ns, .by_processor_time = true};
	for (uint32_t at = 0; looked < count && !patience.over; at = (at + APART) % count, looked++)
		info_do_stack_snapshot_registers(info, heap_threads_get(count % APART ? at : looked)->id, on_passed_frame, &patience);
	uint64_t ns = difference(now_of(CLOCK_THREAD_CPUTIME_ID), begin_ns);
	return looked ? ns * heap_threads_all() / looked : 0;
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

static WRAPS struct owner *owner_place(cor_id function)
{
	uint32_t slot = (uint32_t)((uint64_t)function * 0x9e3779b97f4a7c15u >> (64 - OWNERS_BITS));

	while (owners[slot].function && owners[slot].function != function)
		slot = (slot + 1) & (OWNERS_SIZE - 1);
	return &owners[slot];
}

struct owned {
	struct patience patience;
	uint32_t thread;
};

static hresult on_owned_frame(cor_id function, uintptr_t ip, cor_id frame, uint32_t context_bytes, uint8_t *context, void *ctx)
{
	struct owned *of = ctx;

	(void)ip;
	(void)frame;
	(void)context_bytes;
	(void)context;
	if (!stacks_in_time(&of->patience))
		return COR_S_FALSE;
	if (!function)
		return COR_S_OK;
	struct owner *o = owner_place(function);
	if (!o->function && owner_count < OWNERS_MAX) {
		*o = (struct owner){function, of->thread};
		owner_count++;
	} else if (o->function && o->thread != of->thread) {
		o->thread = 0;
	}
	return COR_S_OK;
}

static void forget_owners(void)
{
	for (uint32_t i = 0; owner_count && i < OWNERS_SIZE; i++)
		owners[i].function = 0;
	owner_count = 0;
}

void heap_stacks_owners(void *info, uint64_t end_ns)
{
	struct owned of = {.patience.end_ns = end_ns};

	forget_owners();
	for (uint32_t t = 0; t < heap_threads_count() && !of.patience.over; t++) {
		of.thread = t + 1;
		info_do_stack_snapshot(info, heap_threads_get(t)->id, on_owned_frame, &of);
	}
	if (of.patience.over || heap_threads_all() > heap_threads_count()) /* a thread that was not looked at may run the same */
		forget_owners();
}

uint32_t heap_stacks_owner(cor_id function)
{
	const struct owner *o = function ? owner_place(function) : NULL;

	return o && o->function ? o->thread : 0;
}
