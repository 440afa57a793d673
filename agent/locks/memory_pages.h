/* The memory of another process, read page by page and kept for a moment: for who reads many small pieces that lie together. What was read once stays as it
 * was until fini. One thread. */
#ifndef DRDOTNET_MEMORY_PAGES_H
#define DRDOTNET_MEMORY_PAGES_H

#include "agent/locks/process_memory.h"

struct memory_page;

struct memory_pages {
	struct process_memory memory; /* reads through the pages; its context is this struct, which may not move */
	const struct process_memory *source;
	struct memory_page *pages;
};

/* `source` is borrowed. */
void memory_pages_init(struct memory_pages *p, const struct process_memory *source);
void memory_pages_fini(struct memory_pages *p); /* overwrites what was read */

#endif
