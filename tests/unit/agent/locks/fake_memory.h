/* A process's memory in one piece: BYTES of it from BASE on, both the including file's. Nothing else can be read. */
#ifndef DRDOTNET_TEST_FAKE_MEMORY_H
#define DRDOTNET_TEST_FAKE_MEMORY_H

#include "agent/locks/process_memory.h"

#include <string.h>

static uint8_t memory[BYTES];

static size_t read_fake(void *ctx, uint64_t address, void *out, size_t n)
{
	(void)ctx;
	if (address < BASE || address >= BASE + BYTES)
		return 0;
	size_t have = BASE + BYTES - address;
	n = n < have ? n : have;
	memcpy(out, memory + (address - BASE), n);
	return n;
}

static const struct process_memory fake = {.read = read_fake};

#endif
