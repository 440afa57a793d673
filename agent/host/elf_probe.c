#include "agent/host/elf_probe.h"

#include "common/base/cleanup.h"
#include "common/base/mem.h"

#include <elf.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_SECTIONS 4096
#define MAX_TABLE_BYTES (4u << 20) /* real runtimes: below 1 MiB */

static bool read_elf_at(int fd, uint64_t offset, void *out, size_t len)
{
	return offset <= INT64_MAX - len && pread(fd, out, len, (off_t)offset) == (ssize_t)len;
}

/* A table of the file in new memory, NUL-terminated; NULL when it is too large or not there. */
static void *read_elf_table(int fd, const Elf64_Shdr *section)
{
	if (section->sh_size == 0 || section->sh_size > MAX_TABLE_BYTES)
		return NULL;
	AUTO_FREE char *table = mem_alloc(section->sh_size + 1);
	return read_elf_at(fd, section->sh_offset, table, section->sh_size) ? steal_ptr(&table) : NULL;
}

static bool find_dynsym(int fd, Elf64_Shdr *symbols, Elf64_Shdr *strings)
{
	Elf64_Ehdr head;
	if (!read_elf_at(fd, 0, &head, sizeof head) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
	    head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_ident[EI_DATA] != ELFDATA2LSB ||
	    head.e_shentsize != sizeof(Elf64_Shdr) || head.e_shnum > MAX_SECTIONS)
		return false;
	for (unsigned i = 0; i < head.e_shnum; i++) {
		if (!read_elf_at(fd, head.e_shoff + i * sizeof *symbols, symbols, sizeof *symbols))
			return false;
		if (symbols->sh_type == SHT_DYNSYM)
			return symbols->sh_link < head.e_shnum &&
			       read_elf_at(fd, head.e_shoff + symbols->sh_link * sizeof *strings, strings, sizeof *strings);
	}
	return false;
}

uint32_t elf_probe_exports(int fd, const char *const *names, size_t count)
{
	struct stat st;
	Elf64_Shdr symbols, strings;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || !find_dynsym(fd, &symbols, &strings))
		return 0;
	AUTO_FREE Elf64_Sym *table = read_elf_table(fd, &symbols);
	AUTO_FREE char *text = read_elf_table(fd, &strings);
	if (!table || !text)
		return 0;
	uint32_t found = 0;
	for (size_t i = 0; i < symbols.sh_size / sizeof *table; i++) {
		if (table[i].st_name >= strings.sh_size || table[i].st_shndx == SHN_UNDEF)
			continue;
		for (size_t n = 0; n < count; n++) {
			if (strcmp(text + table[i].st_name, names[n]) == 0)
				found |= 1u << n;
		}
	}
	return found;
}
