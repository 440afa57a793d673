/* Context: own thread (reset), signal handler (note), any (find). */
#include "profiler/stacks/hijacks.h"

#include "common/proto/difference.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#define BITS 8
#define SIZE (1u << BITS)

/* The address is kept mixed with the slot: of halves that do not belong together comes no address. */
static struct {
	_Atomic uint64_t slot, mixed;
} table[SIZE];

static WRAPS size_t hijack_slot(uint64_t slot)
{
	return (size_t)(slot * 0x9e3779b97f4a7c15u >> (64 - BITS));
}

void hijacks_reset(void)
{
	for (size_t i = 0; i < SIZE; i++)
		if (atomic_load_explicit(&table[i].slot, memory_order_relaxed))
			atomic_store_explicit(&table[i].slot, 0, memory_order_relaxed);
}

void hijacks_note(uint64_t slot, uint64_t address)
{
	size_t i = hijack_slot(slot);

	atomic_store_explicit(&table[i].mixed, slot ^ address, memory_order_relaxed);
	atomic_store_explicit(&table[i].slot, slot, memory_order_release);
}

uint64_t hijacks_find(uint64_t slot)
{
	size_t i = hijack_slot(slot);

	if (!slot || atomic_load_explicit(&table[i].slot, memory_order_acquire) != slot)
		return 0;
	return atomic_load_explicit(&table[i].mixed, memory_order_relaxed) ^ slot;
}

#if defined(__x86_64__)
bool hijacks_is_one(uint64_t address)
{
	const uint8_t *code = (const uint8_t *)(uintptr_t)address;

	if (code[-5] == 0xe8)
		return false;
	for (int len = 2; len <= 7; len++)
		if (code[-len] == 0xff && (code[1 - len] & 0x38) == 0x10)
			return false;
	return true;
}
#else
bool hijacks_is_one(uint64_t address)
{
	uint32_t instruction;

	memcpy(&instruction, (const uint8_t *)(uintptr_t)address - sizeof instruction, sizeof instruction);
	return (instruction & 0xfc000000u) != 0x94000000u && (instruction & 0xfffffc1fu) != 0xd63f0000u; /* bl, blr */
}
#endif
