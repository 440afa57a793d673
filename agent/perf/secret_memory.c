#include "agent/perf/secret_memory.h"

#include "common/base/log.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define KEPT_BYTES (1u << 20)

void *secret_memory_new(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED) {
		LOG_ERROR("memory", "out of memory");
		abort();
	}
	/* A kernel that knows neither keeps the memory all the same. */
	madvise(p, bytes, MADV_DONTDUMP);
	madvise(p, bytes, MADV_WIPEONFORK);
	return p;
}

void secret_memory_clear(void *p, size_t used)
{
	explicit_bzero(p, used);
	if (used > KEPT_BYTES)
		madvise(p, used, MADV_DONTNEED);
}

void secret_memory_free(void *p, size_t bytes, size_t used)
{
	if (!p)
		return;
	explicit_bzero(p, used);
	munmap(p, bytes);
}
