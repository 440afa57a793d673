#include "agent/locks/memory_pages.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define BASE UINT64_C(0x40000)
#define BYTES (40 * 4096u)

static uint8_t memory[BYTES];
static size_t reads;

static size_t read_fake(void *ctx, uint64_t address, void *out, size_t n)
{
	(void)ctx;
	reads++;
	if (address < BASE || address >= BASE + BYTES)
		return 0;
	size_t have = BASE + BYTES - address;
	n = n < have ? n : have;
	memcpy(out, memory + (address - BASE), n);
	return n;
}

static const struct process_memory fake = {.read = read_fake};

Test(memory_pages, give_what_is_there)
{
	struct memory_pages p;
	srandom(7);
	for (size_t i = 0; i < BYTES; i++)
		memory[i] = (uint8_t)random();
	memory_pages_init(&p, &fake);
	for (int i = 0; i < 20000; i++) {
		uint8_t direct[600] = {0}, paged[600] = {0};
		uint64_t address = BASE - 8192 + (uint64_t)random() % (BYTES + 16384);
		size_t n = (size_t)random() % sizeof direct;
		size_t a = process_memory_read(&fake, address, direct, n), b = process_memory_read(&p.memory, address, paged, n);
		cr_assert_eq(a, b, "%zu bytes at %lx: %zu, %zu", n, (unsigned long)address, a, b);
		cr_assert_eq(memcmp(direct, paged, sizeof direct), 0);
	}
	memory_pages_fini(&p);
}

Test(memory_pages, what_lies_together_is_read_once)
{
	struct memory_pages p;
	memory_pages_init(&p, &fake);
	reads = 0;
	for (uint64_t at = 0; at < 4096; at += 8)
		process_memory_word(&p.memory, BASE + at);
	cr_assert_eq(reads, 1);
	for (int i = 0; i < 3; i++)
		process_memory_word(&p.memory, 8);
	cr_assert_eq(reads, 2, "nor what cannot be read");
	memory_pages_fini(&p);
}
