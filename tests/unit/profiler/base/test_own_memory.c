#include "profiler/base/own_memory.h"

#include <criterion/criterion.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE 4096u

/* Two pages, of which the second cannot be read. */
static char *half_there(void)
{
	char *pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	cr_assert(pages != MAP_FAILED);
	memset(pages, 'x', PAGE);
	munmap(pages + PAGE, PAGE);
	return pages;
}

Test(own_memory, what_is_there_comes_and_what_is_not_does_not)
{
	char *pages = half_there(), out[64] = "";

	own_memory_open();
	cr_expect_eq(own_memory_read((uintptr_t)pages, out, sizeof out), sizeof out);
	cr_expect_eq(out[63], 'x');
	cr_expect_eq(own_memory_read((uintptr_t)pages + PAGE - 16, out, sizeof out), 16);
	cr_expect_eq(own_memory_read((uintptr_t)pages + PAGE, out, sizeof out), 0);
	cr_expect_eq(own_memory_read(0, out, sizeof out), 0);
	cr_expect_eq(own_memory_read(UINTPTR_MAX - 63, out, sizeof out), 0);
	own_memory_close();
}

Test(own_memory, closed_it_has_nothing)
{
	char word = 'x', out;

	own_memory_close();
	cr_expect_eq(own_memory_read((uintptr_t)&word, &out, 1), 0);
}
