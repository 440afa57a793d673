#include "agent/host/elf_probe.h"
#include "agent/host/proc.h"
#include "agent/host/runtime_kind.h"
#include "tests/unit/agent/host/fake_proc.h"

#include <elf.h>
#include <sys/mman.h>

/* A file with one dynamic symbol; `section` and `link` go into the symbol table's header as they are. */
static int make_elf(const char *symbol, uint16_t section, uint32_t link, uint64_t table_size)
{
	struct {
		Elf64_Ehdr head;
		Elf64_Shdr sections[3];
		Elf64_Sym symbols[2];
		char names[64];
	} f = {0};
	memcpy(f.head.e_ident, ELFMAG, SELFMAG);
	f.head.e_ident[EI_CLASS] = ELFCLASS64;
	f.head.e_ident[EI_DATA] = ELFDATA2LSB;
	f.head.e_shoff = offsetof(__typeof__(f), sections);
	f.head.e_shentsize = sizeof(Elf64_Shdr);
	f.head.e_shnum = 3;
	f.sections[1] = (Elf64_Shdr){.sh_type = SHT_DYNSYM, .sh_offset = offsetof(__typeof__(f), symbols), .sh_size = table_size, .sh_link = link};
	f.sections[2] = (Elf64_Shdr){.sh_type = SHT_STRTAB, .sh_offset = offsetof(__typeof__(f), names), .sh_size = sizeof f.names};
	f.symbols[1] = (Elf64_Sym){.st_name = 1, .st_shndx = section};
	snprintf(f.names + 1, sizeof f.names - 1, "%s", symbol);
	int fd = memfd_create("elf", MFD_CLOEXEC);
	cr_assert_eq(fsio_write_all(fd, &f, sizeof f), 0);
	return fd;
}

#define WHOLE (2 * sizeof(Elf64_Sym))

static const struct {
	const char *what, *symbol;
	uint16_t section;
	uint32_t link;
	uint64_t size;
	uint32_t found;
} files[] = {
	{"exported", "g_dacTable", 5, 2, WHOLE, 1},
	{"the other", "DotNetRuntimeDebugHeader", 5, 2, WHOLE, 2},
	{"imported", "g_dacTable", SHN_UNDEF, 2, WHOLE, 0},
	{"a longer name", "g_dacTable2", 5, 2, WHOLE, 0},
	{"no such section", "g_dacTable", 5, 3, WHOLE, 0},
	{"strings that are no strings", "g_dacTable", 5, 0, WHOLE, 0},
	{"empty table", "g_dacTable", 5, 2, 0, 0},
	{"a table past the end", "g_dacTable", 5, 2, 4096, 0},
	{"a table of many GB", "g_dacTable", 5, 2, UINT64_C(1) << 40, 0},
};

/* Of one that exports nothing: it is known by a section that its compiler alone makes. */
Test(runtime_kind, reads_names_of_sections)
{
	AUTO_FD int compiled = open("tests/fuzz/corpus/elf_probe/ahead_of_time", O_RDONLY | O_CLOEXEC);
	AUTO_FD int other = make_elf("main", 5, 2, WHOLE);
	AUTO_FD int none = memfd_create("text", MFD_CLOEXEC);
	cr_assert_geq(compiled, 0);
	cr_expect(elf_probe_section(compiled, "__managedcode"));
	cr_expect_not(elf_probe_section(compiled, "__managed"), "a whole name");
	cr_expect_not(elf_probe_section(other, "__managedcode"));
	cr_expect_not(elf_probe_section(none, "__managedcode"));
}

static const char *const names[] = {"g_dacTable", "DotNetRuntimeDebugHeader"};

Test(runtime_kind, reads_exports)
{
	for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
		AUTO_FD int fd = make_elf(files[i].symbol, files[i].section, files[i].link, files[i].size);
		cr_expect_eq(elf_probe_exports(fd, names, 2), files[i].found, "%s", files[i].what);
	}
}

Test(runtime_kind, is_not_troubled_by_other_files)
{
	AUTO_FD int folder = open("/tmp", O_RDONLY | O_DIRECTORY);
	AUTO_FD int zero = open("/dev/zero", O_RDONLY);
	AUTO_FD int self = open("/proc/self/exe", O_RDONLY);
	AUTO_FD int empty = memfd_create("empty", MFD_CLOEXEC);
	cr_expect_eq(elf_probe_exports(folder, names, 2), 0);
	cr_expect_eq(elf_probe_exports(zero, names, 2), 0);
	cr_expect_eq(elf_probe_exports(self, names, 2), 0);
	cr_expect_eq(elf_probe_exports(empty, names, 2), 0);
	static const char *const libc[] = {"malloc", "no such function"};
	AUTO_FD int lib = open("/lib/x86_64-linux-gnu/libc.so.6", O_RDONLY);
	if (lib >= 0)
		cr_expect_eq(elf_probe_exports(lib, libc, 2), 1);
}

Test(runtime_kind, tells_the_kinds_apart)
{
	static const struct {
		const char *maps, *symbol;
		enum runtime_kind kind;
	} rows[] = {
		{NULL, "x", RUNTIME_CORECLR},
		{"", "x", RUNTIME_NONE},
		{"", "g_dacTable", RUNTIME_CORECLR},
		{"", "DotNetRuntimeDebugHeader", RUNTIME_NATIVE_AOT},
		{"7f00-7f01 r-xp 0 fe:00 1 /usr/lib/libmonosgen-2.0.so\n", "x", RUNTIME_MONO},
	};
	struct fake_proc f;
	fake_proc_init(&f);
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		char exe[512], image[128];
		pid_t pid = fake_process(&f, &(struct fake_process){.maps = rows[i].maps});
		AUTO_FD int fd = make_elf(rows[i].symbol, 5, 2, WHOLE);
		fake_path(&f, exe, "%d/exe", pid);
		cr_assert_eq(unlink(exe), 0);
		snprintf(image, sizeof image, "/proc/%d/fd/%d", (int)getpid(), fd);
		cr_assert_eq(symlink(image, exe), 0);
		AUTO_FD int proc_fd = proc_open(f.root, pid);
		cr_expect_eq(runtime_kind_of(proc_fd), rows[i].kind, "row %zu", i);
	}
	fake_proc_fini(&f);
}
