#include "agent/locks/memory_pages.h"

#include "common/base/mem.h"

#include <stdlib.h>
#include <string.h>

#define PAGE_BYTES 4096u
#define PAGES 512u /* a power of two */

struct memory_page {
	uint64_t tag; /* its address, and 1; 0: none */
	size_t have;  /* bytes that could be read */
	uint8_t bytes[PAGE_BYTES];
};

static size_t read_paged(void *ctx, uint64_t address, void *out, size_t n)
{
	const struct memory_pages *p = ctx;
	uint64_t page = address & ~(uint64_t)(PAGE_BYTES - 1);
	size_t offset = (size_t)(address - page);
	struct memory_page *x = &p->pages[(page / PAGE_BYTES * UINT64_C(0x9e3779b97f4a7c15) >> 40) % PAGES];
	if (n > PAGE_BYTES - offset)
		return process_memory_read(p->source, address, out, n);
	if (x->tag != (page | 1)) {
		x->tag = page | 1;
		x->have = process_memory_read(p->source, page, x->bytes, PAGE_BYTES);
	}
	if (offset >= x->have)
		return 0;
	n = n < x->have - offset ? n : x->have - offset;
	memcpy(out, x->bytes + offset, n);
	return n;
}

void memory_pages_init(struct memory_pages *p, const struct process_memory *source)
{
	*p = (struct memory_pages){.memory = {.read = read_paged, .ctx = p, .fd = -1, .budget = source->budget}, .source = source};
	p->pages = mem_calloc(PAGES, sizeof *p->pages);
}

void memory_pages_fini(struct memory_pages *p)
{
	for (size_t i = 0; p->pages && i < PAGES; i++)
		if (p->pages[i].tag) /* the others were never written */
			explicit_bzero(&p->pages[i], sizeof p->pages[i]);
	free(p->pages);
	*p = (struct memory_pages){0};
}
