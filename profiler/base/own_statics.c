/* Context: CLR callback. */
#include "profiler/base/own_statics.h"

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MAX_FIRST_BYTES 2048 /* profiler/check-library holds .data to it */

/* The linker's: what has a value from the beginning lies before what is kept, and what begins as zero behind it. */
extern char __ehdr_start[] __attribute__((visibility("hidden")));
extern char __start_own_kept[] __attribute__((visibility("hidden")));
extern char __bss_start[] __attribute__((visibility("hidden"))), _end[] __attribute__((visibility("hidden")));

struct whole_pages {
	char *from, *to;
};

static struct whole_pages pages_of_zeroes(void)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), to = (uintptr_t)_end / page * page;
	uintptr_t from = ((uintptr_t)__bss_start + (page - 1)) / page * page; /* no wrap: no page has no bytes */

	return from < to ? (struct whole_pages){(char *)from, (char *)to} : (struct whole_pages){_end, _end};
}

void own_statics_release(void)
{
	struct whole_pages p = pages_of_zeroes();

	if (p.from < p.to)
		madvise(p.from, (size_t)(p.to - p.from), MADV_DONTNEED);
}

#ifdef __SANITIZE_ADDRESS__ /* which lays out variables as it likes; glibc unmaps it */
void own_statics_renew(void)
{
}
#else
static char first[MAX_FIRST_BYTES] OWN_KEPT = {0};
static bool has_first OWN_KEPT = false;

/* Where what is made read-only ends, the variables begin. */
static int find_variables(struct dl_phdr_info *object, size_t size, void *ctx)
{
	char **out = ctx;

	(void)size;
	if (object->dlpi_addr != (uintptr_t)__ehdr_start)
		return 0;
	for (size_t i = 0; i < object->dlpi_phnum; i++)
		if (object->dlpi_phdr[i].p_type == PT_GNU_RELRO)
			*out = __ehdr_start + object->dlpi_phdr[i].p_vaddr + object->dlpi_phdr[i].p_memsz;
	return 1;
}

static void zero_the_rest(void)
{
	struct whole_pages p = pages_of_zeroes();

	memset(__bss_start, 0, (size_t)(p.from - __bss_start));
	memset(p.to, 0, (size_t)(_end - p.to));
}

void own_statics_renew(void)
{
	char *from = NULL;

	dl_iterate_phdr(find_variables, &from);
	if (!from || from > __start_own_kept || __start_own_kept - from > MAX_FIRST_BYTES)
		return;
	size_t bytes = (size_t)(__start_own_kept - from);
	if (has_first) {
		memcpy(from, first, bytes);
		zero_the_rest();
	} else {
		memcpy(first, from, bytes);
		has_first = true;
	}
}
#endif
