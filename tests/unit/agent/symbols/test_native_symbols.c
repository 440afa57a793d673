#include "agent/symbols/elf_symbols.h"
#include "agent/symbols/kernel_symbols.h"
#include "agent/symbols/native_symbols.h"

#include <criterion/criterion.h>
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Functions of this program, which has a .symtab. */
__attribute__((noinline, used)) static int named_static(int x)
{
	return x * 3 + 1;
}

Test(native_symbols, names_this_program_and_the_c_library)
{
	struct maps m;
	char exe[512], name[NATIVE_NAME_SIZE];
	uint64_t offset;
	int proc_fd = open("/proc/self", O_RDONLY | O_DIRECTORY);
	exe[readlink("/proc/self/exe", exe, sizeof exe - 1)] = '\0';
	maps_init(&m, exe);
	cr_assert_eq(maps_load(&m, proc_fd, NULL), 0);
	struct native_symbols *n = native_symbols_new(open("/proc/self/root", O_PATH | O_DIRECTORY));

	uint64_t ip = (uint64_t)(uintptr_t)&named_static + 1;
	cr_assert(native_symbols_find(n, &m, maps_find(&m, ip), ip, name, &offset));
	cr_expect_str_eq(name, "named_static");

	ip = (uint64_t)(uintptr_t)dlsym(RTLD_DEFAULT, "qsort") + 4;
	const struct map_entry *libc = maps_find(&m, ip);
	cr_assert_not_null(libc);
	if (m.files[libc->file].c_library) { /* else the sanitizer stands before it */
		cr_assert(native_symbols_find(n, &m, libc, ip, name, &offset));
		cr_expect_str_eq(name, "qsort");
	}
	native_symbols_free(n);
	maps_fini(&m);
	close(proc_fd);
}

Test(native_symbols, gives_offsets_without_a_file)
{
	struct maps m;
	char name[NATIVE_NAME_SIZE];
	uint64_t offset = 0;
	static const char line[] = "7f0000000000-7f0000001000 r-xp 00003000 08:01 11 /nowhere/libgone.so";
	maps_init(&m, NULL);
	maps_add_line(&m, line, sizeof line - 1);
	struct native_symbols *n = native_symbols_new(-1);
	cr_expect_not(native_symbols_find(n, &m, &m.entries[0], 0x7f0000000123, name, &offset));
	cr_expect_eq(offset, 0x3123);
	native_symbols_free(n);
	maps_fini(&m);
}

static const struct {
	const char *symbol, *shown;
} names[] = {
	{"malloc", "malloc"},
	{"_ZN4Shop4Cart5TotalEi", "Shop::Cart::Total(int)"},
	{"_Znot_really", "_Znot_really"},
	{"", ""},
};

Test(native_symbols, demangles)
{
	char out[NATIVE_NAME_SIZE];
	if (!dlopen("libstdc++.so.6", RTLD_NOW))
		cr_skip_test("no libstdc++ here");
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		native_demangle(names[i].symbol, out);
		cr_expect_str_eq(out, names[i].shown);
	}
}

/* Each pair of back references doubles the name: 2^40 bytes, if anybody wrote it out. */
Test(native_symbols, leaves_symbols_that_blow_up, .timeout = 10)
{
	char symbol[512] = "_Z1fSt4pairIiiE", out[NATIVE_NAME_SIZE];
	for (int i = 0; i < 40; i++)
		strcat(symbol, "S_IS0_S0_E");
	native_demangle(symbol, out);
	cr_expect_str_eq(out, symbol);
}

/* An ELF file with one segment and symbols, made by hand. */
struct made {
	Elf64_Ehdr h;
	Elf64_Phdr p;
	Elf64_Shdr s[3];
	Elf64_Sym y[4];
	char names[16];
	uint8_t text[256];
};

static struct made make_elf(void)
{
	struct made f = {
		.h = {.e_phoff = offsetof(struct made, p), .e_shoff = offsetof(struct made, s), .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 1,
		      .e_shentsize = sizeof(Elf64_Shdr), .e_shnum = 3},
		.p = {.p_type = PT_LOAD, .p_offset = offsetof(struct made, text), .p_filesz = 256, .p_vaddr = 0x1000},
		.s = {[1] = {.sh_type = SHT_DYNSYM, .sh_offset = offsetof(struct made, y), .sh_size = sizeof f.y, .sh_link = 2,
			     .sh_entsize = sizeof(Elf64_Sym)},
		      [2] = {.sh_type = SHT_STRTAB, .sh_offset = offsetof(struct made, names), .sh_size = sizeof f.names}},
		.y = {[1] = {.st_name = 1, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), .st_shndx = 1, .st_value = 0x1010, .st_size = 0x10},
		      [2] = {.st_name = 5, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), .st_shndx = 1, .st_value = 0x1040, .st_size = 0},
		      [3] = {.st_name = 9, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT), .st_shndx = 1, .st_value = 0x1050, .st_size = 8}},
		.names = "\0one\0two\0obj",
	};
	memcpy(f.h.e_ident, ELFMAG, SELFMAG);
	f.h.e_ident[EI_CLASS] = ELFCLASS64;
	f.h.e_ident[EI_DATA] = ELFDATA2LSB;
	return f;
}

static int load(const void *bytes, size_t len, struct elf_symbols *s)
{
	int fd = memfd_create("elf", MFD_CLOEXEC);
	cr_assert_eq(write(fd, bytes, len), (ssize_t)len);
	return elf_symbols_load_take(s, fd, NULL, NULL);
}

Test(elf_symbols, finds_functions_by_address)
{
	static const struct {
		uint64_t address;
		const char *name;
	} places[] = {{0x100f, NULL}, {0x1010, "one"}, {0x101f, "one"}, {0x1020, NULL}, {0x103f, NULL}, {0x1040, "two"}, {0x10ff, "two"}};
	struct made f = make_elf();
	struct elf_symbols s;
	uint64_t address;
	char name[ELF_NAME_SIZE];
	cr_assert_eq(load(&f, sizeof f, &s), 0);
	cr_expect_eq(s.symbol_count, 2);
	cr_expect(elf_symbols_address(&s, offsetof(struct made, text) + 0x20, &address));
	cr_expect_eq(address, 0x1020);
	cr_expect_not(elf_symbols_address(&s, offsetof(struct made, text) + 256, &address));
	cr_expect_not(elf_symbols_address(&s, offsetof(struct made, text) - 1, &address));
	for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
		bool found = elf_symbols_name(&s, places[i].address, name);
		cr_expect_eq(found, places[i].name != NULL, "%lx", places[i].address);
		if (found)
			cr_expect_str_eq(name, places[i].name);
	}
	elf_symbols_fini(&s);
}

Test(elf_symbols, bears_lies)
{
	struct elf_symbols s;
	char name[ELF_NAME_SIZE];
	struct made f = make_elf();
	f.y[1].st_name = sizeof f.names;
	cr_assert_eq(load(&f, sizeof f, &s), 0);
	cr_expect_not(elf_symbols_name(&s, 0x1010, name), "a name behind the string table");
	elf_symbols_fini(&s);

	f = make_elf();
	f.s[1].sh_size = UINT64_MAX;
	cr_assert_eq(load(&f, sizeof f, &s), 0);
	cr_expect_leq(s.symbol_count, sizeof f / sizeof(Elf64_Sym), "a table longer than the file");
	elf_symbols_fini(&s);

	f = make_elf();
	f.h.e_shoff = UINT64_MAX - 8;
	cr_assert_eq(load(&f, sizeof f, &s), 0);
	cr_expect_eq(s.symbol_count, 0, "section headers nowhere");
	elf_symbols_fini(&s);

	f = make_elf();
	f.h.e_phoff = sizeof f - 8;
	cr_expect_eq(load(&f, sizeof f, &s), -1, "program headers cut");
	f = make_elf();
	f.h.e_ident[EI_CLASS] = ELFCLASS32;
	cr_expect_eq(load(&f, sizeof f, &s), -1);
	cr_expect_eq(load("#!/bin/sh\n", 10, &s), -1);
	cr_expect_eq(elf_symbols_load_take(&s, -1, NULL, NULL), -1);
	cr_expect_eq(elf_symbols_load_take(&s, open("/dev/null", O_RDONLY), NULL, NULL), -1, "not a regular file");
}

/* No function is in it, so no bound of those that are kept ends it. */
Test(elf_symbols, a_table_that_is_a_hole_ends_with_the_budget)
{
	struct made f = make_elf();
	struct elf_symbols s;
	struct work_budget budget;
	int fd = memfd_create("elf", MFD_CLOEXEC);
	f.s[1].sh_offset = 4096;
	f.s[1].sh_size = UINT64_C(1) << 39;
	cr_assert_eq(write(fd, &f, sizeof f), (ssize_t)sizeof f);
	if (ftruncate(fd, (off_t)1 << 40) < 0)
		cr_skip_test("no file may be so large");
	work_budget_begin_anew(&budget, WORK_SYMBOLS);
	cr_assert_eq(elf_symbols_load_take(&s, fd, &budget, NULL), 0);
	cr_expect(work_budget_over(&budget));
	cr_expect_eq(work_thread_passed(), 1u << WORK_SYMBOLS);
	elf_symbols_fini(&s);
}

Test(kernel_symbols, finds_the_function_before)
{
	static const char *const lines[] = {
		"ffffffff81002000 T second",
		"ffffffff81001000 t first",
		"ffffffff81002800 D data",
		"ffffffffc0000000 t in_module\t[nf_tables]",
		"0000000000000000 T hidden",
		"ffffffff8100zz00 T not_hex",
		"ffffffff81003000 T",
		"ffffffff81003000",
		"",
	};
	static const struct {
		uint64_t ip;
		const char *name;
	} places[] = {{0xffffffff81000fff, NULL}, {0xffffffff81001000, "first"}, {0xffffffff81001fff, "first"}, {0xffffffff81002000, "second"},
		      {0xffffffff81002900, "second"}, {0xffffffffc0000010, "in_module"}};
	struct kernel_symbols *k = kernel_symbols_new();
	int taken = 0;
	for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
		taken += kernel_symbols_add_line(k, lines[i], strlen(lines[i]));
	cr_expect_eq(taken, 3);
	kernel_symbols_sort(k);
	for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
		const char *name = kernel_symbols_find(k, places[i].ip);
		cr_assert_eq(name != NULL, places[i].name != NULL, "%lx", places[i].ip);
		if (name)
			cr_expect_str_eq(name, places[i].name);
	}
	kernel_symbols_free(k);
}
