#include "agent/attach/named_library.h"

#include <criterion/criterion.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#define LINKED "libdrdotnet-0000000000000000.so"
#define STAGED "libdrdotnet-0123456789abcdef.so"
#define TEXT_AT 1 /* in the strings */
#define BASE 0x1000

static struct small_elf {
	Elf64_Ehdr head;
	Elf64_Phdr load, dynamic;
	Elf64_Dyn entries[5];
	char strings[64];
} elf;

/* A library whose segment begins at BASE. */
static void make_elf(void)
{
	size_t size = sizeof elf;
	elf = (struct small_elf){
		.head = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB}, .e_phoff = offsetof(struct small_elf, load),
			 .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 2},
		.load = {.p_type = PT_LOAD, .p_vaddr = BASE, .p_filesz = size, .p_memsz = size},
		.dynamic = {.p_type = PT_DYNAMIC, .p_offset = offsetof(struct small_elf, entries), .p_filesz = sizeof elf.entries},
		.entries = {{DT_SONAME, {TEXT_AT}}, {DT_RUNPATH, {TEXT_AT + sizeof LINKED}}, {DT_STRTAB, {BASE + offsetof(struct small_elf, strings)}}},
		.strings = "\0" LINKED "\0$ORIGIN",
	};
}

static bool make(size_t len)
{
	return named_library_make((uint8_t *)&elf, len, STAGED);
}

TestSuite(named_library, .init = make_elf, .timeout = 20);

Test(named_library, needs_itself_by_its_staged_name)
{
	cr_expect(make(sizeof elf));
	cr_expect_eq(elf.entries[0].d_tag, DT_NEEDED);
	cr_expect_eq(elf.entries[0].d_un.d_val, TEXT_AT);
	cr_expect_str_eq(elf.strings + TEXT_AT, STAGED);
	cr_expect_str_eq(elf.strings + TEXT_AT + sizeof LINKED, "$ORIGIN");
	cr_expect_not(make(sizeof elf), "it has no name to make a need of any more");
}

static void no_soname(void)
{
	elf.entries[0].d_tag = DT_DEBUG;
}

static void no_search_path(void)
{
	elf.entries[1].d_tag = DT_DEBUG;
}

static void an_end_before_the_name(void)
{
	elf.entries[0] = (Elf64_Dyn){DT_NULL, {0}};
}

static void a_shorter_name(void)
{
	elf.strings[TEXT_AT + 4] = '\0';
}

static void a_longer_name(void)
{
	elf.strings[TEXT_AT + sizeof LINKED - 1] = 'x';
}

static void strings_elsewhere(void)
{
	elf.entries[2].d_un.d_ptr = 0x77770000;
}

static void strings_that_wrap(void)
{
	elf.entries[2].d_un.d_ptr = UINT64_MAX;
}

static void a_segment_past_the_end(void)
{
	elf.load.p_offset = UINT64_MAX - 8;
}

static void dynamic_past_the_end(void)
{
	elf.dynamic.p_offset = sizeof elf - 8;
}

static void dynamic_that_wraps(void)
{
	elf.dynamic.p_filesz = UINT64_MAX;
}

static void headers_past_the_end(void)
{
	elf.head.e_phoff = UINT64_MAX - 8;
}

static void another_class(void)
{
	elf.head.e_ident[EI_CLASS] = ELFCLASS32;
}

static void no_elf(void)
{
	elf.head.e_ident[0] = 'M';
}

Test(named_library, leaves_what_it_does_not_know)
{
	static void (*const spoil[])(void) = {no_soname, no_search_path, an_end_before_the_name, a_shorter_name, a_longer_name, strings_elsewhere,
					      strings_that_wrap, a_segment_past_the_end, dynamic_past_the_end, dynamic_that_wraps, headers_past_the_end,
					      another_class, no_elf};
	for (size_t i = 0; i < sizeof spoil / sizeof *spoil; i++) {
		make_elf();
		spoil[i]();
		struct small_elf before = elf;
		cr_expect_not(make(sizeof elf), "%zu", i);
		cr_expect_eq(memcmp(&before, &elf, sizeof elf), 0, "%zu: it was changed", i);
	}
}

Test(named_library, reads_nothing_past_a_cut)
{
	for (size_t len = 0; len < offsetof(struct small_elf, strings) + TEXT_AT + sizeof LINKED; len++) {
		uint8_t *cut = malloc(len ? len : 1);
		make_elf();
		memcpy(cut, &elf, len);
		cr_expect_not(named_library_make(cut, len, STAGED), "%zu bytes", len);
		named_library_mapped_bytes(cut, len);
		free(cut);
	}
}

Test(named_library, counts_the_pages_of_its_file)
{
	cr_expect_eq(named_library_mapped_bytes((uint8_t *)&elf, sizeof elf), 4096);
	elf.load.p_vaddr = BASE + 4000;
	cr_expect_eq(named_library_mapped_bytes((uint8_t *)&elf, sizeof elf), 8192, "a segment that begins within a page");
	elf.head.e_ident[0] = 'M';
	cr_expect_eq(named_library_mapped_bytes((uint8_t *)&elf, sizeof elf), 0);
}
