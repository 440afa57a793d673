/* Context: CLR callback (at its collection's end, on its thread); own thread, which waits for that collection or has stopped the
 * application. The two never run at once: what they share needs no lock. */
#include "profiler/heap/heap_collection.h"

#include "profiler/heap/heap_stacks.h"

#include <stdatomic.h>

#define ROOTS_CAP 32768u

struct kept_root {
	cor_id object, second;
	uintptr_t id;
	uint8_t kind, flags;
};

static struct kept_root roots[ROOTS_CAP];
static uint32_t root_count;
static struct heap_sink *sink; /* NULL: not armed */
static bool recording, told, straight, voided;
static heap_collection_end_fn *end_fn;
static void *end_ctx;
static _Atomic uint32_t begun, full_begun;

void heap_collection_reset(void)
{
	heap_collection_disarm();
	atomic_store(&begun, 0);
	atomic_store(&full_begun, 0);
}

void heap_collection_arm(struct heap_sink *s, heap_collection_end_fn *at_end, void *ctx)
{
	root_count = 0;
	recording = told = straight = voided = false;
	end_fn = at_end;
	end_ctx = ctx;
	sink = s;
}

void heap_collection_disarm(void)
{
	sink = NULL;
	recording = false;
}

bool heap_collection_told(void)
{
	return told;
}

bool heap_collection_void(void)
{
	return voided;
}

uint32_t heap_collection_count(void)
{
	return atomic_load(&begun);
}

uint32_t heap_collection_full_count(void)
{
	return atomic_load(&full_begun);
}

void heap_collection_started(uint32_t generation, bool induced)
{
	atomic_fetch_add(&begun, 1);
	if (generation == 2)
		atomic_fetch_add(&full_begun, 1);
	if (!sink)
		return;
	if (straight || (end_fn && told)) {
		voided |= straight && !end_fn;
		recording = false;
		return;
	}
	recording = (told && !end_fn) || (induced && generation == 2);
	if (recording)
		root_count = 0;
}

void heap_collection_finished(void)
{
	if (!recording)
		return;
	recording = false;
	told = true;
	if (end_fn)
		end_fn(end_ctx);
}

static bool put_kept_root(struct heap_writer *w, const struct kept_root *k)
{
	const struct heap_root_record r = {
		.kind = k->kind,
		.flags = k->flags,
		.id = k->id,
		.thread = k->kind == HEAP_ROOT_STACK ? heap_stacks_owner(k->id) : 0,
		.object = k->object,
		.second = k->second,
	};

	return heap_put_root(w, &r);
}

bool heap_collection_put_roots(struct heap_writer *w)
{
	for (uint32_t i = 0; i < root_count; i++)
		if (!put_kept_root(w, &roots[i]))
			return false;
	root_count = 0;
	return true;
}

static void keep_root(const struct kept_root *k)
{
	if (root_count == ROOTS_CAP) {
		heap_collection_put_roots(&sink->w);
		straight = true;
	}
	if (straight)
		put_kept_root(&sink->w, k);
	else
		roots[root_count++] = *k;
}

static uint8_t heap_root_kind(uint32_t kind, uintptr_t id)
{
	switch (kind) {
	case COR_ROOT_STACK: /* without a function: the statics of a thread */
		return id ? HEAP_ROOT_STACK : HEAP_ROOT_THREAD_STATIC;
	case COR_ROOT_FINALIZER:
		return HEAP_ROOT_FINALIZER;
	case COR_ROOT_HANDLE:
		return HEAP_ROOT_HANDLE;
	default:
		return HEAP_ROOT_OTHER;
	}
}

void heap_collection_roots(uint32_t count, const cor_id *objects, const uint32_t *kinds, const uint32_t *flags, const uintptr_t *ids)
{
	for (uint32_t i = 0; recording && i < count; i++) {
		const struct kept_root k = {
			.object = objects[i],
			.id = ids[i],
			.kind = heap_root_kind(kinds[i], ids[i]),
			.flags = (uint8_t)(flags[i] & (COR_ROOT_PINNED | COR_ROOT_WEAK | COR_ROOT_INTERIOR)), /* the stream's own bits */
		};
		if (objects[i])
			keep_root(&k);
	}
}

void heap_collection_dependent(uint32_t count, const cor_id *keys, const cor_id *values, const uintptr_t *ids)
{
	for (uint32_t i = 0; recording && i < count; i++) {
		const struct kept_root k = {.object = keys[i], .second = values[i], .id = ids[i], .kind = HEAP_ROOT_DEPENDENT};
		if (keys[i] && values[i])
			keep_root(&k);
	}
}
