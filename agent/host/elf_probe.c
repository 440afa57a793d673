#include "agent/host/elf_probe.h"

#include "common/base/cleanup.h"
#include "common/base/mem.h"

#include <elf.h>
#include <stdbool.h>
#include <stdlib.h>
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

struct elf_dynamic { /* both NULL: not to be had */
	Elf64_Sym *table;
	char *text;
	size_t count, text_bytes;
};

static void free_dynamic(struct elf_dynamic *d)
{
	free(d->table);
	free(d->text);
}

static bool load_dynamic(int fd, struct elf_dynamic *out)
{
	struct stat st;
	Elf64_Shdr symbols, strings;
	*out = (struct elf_dynamic){0};
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || !find_dynsym(fd, &symbols, &strings))
		return false;
	out->table = read_elf_table(fd, &symbols);
	out->text = read_elf_table(fd, &strings);
	out->count = symbols.sh_size / sizeof *out->table;
	out->text_bytes = strings.sh_size;
	return out->table && out->text;
}

/* NULL: it is not defined here. */
static const char *defined_name(const struct elf_dynamic *d, size_t i)
{
	const Elf64_Sym *x = &d->table[i];
	return x->st_name < d->text_bytes && x->st_shndx != SHN_UNDEF ? d->text + x->st_name : NULL;
}

uint32_t elf_probe_exports(int fd, const char *const *names, size_t count)
{
	struct elf_dynamic d __attribute__((cleanup(free_dynamic)));
	uint32_t found = 0;
	if (!load_dynamic(fd, &d))
		return 0;
	for (size_t i = 0; i < d.count; i++) {
		const char *name = defined_name(&d, i);
		for (size_t n = 0; name && n < count; n++)
			if (strcmp(name, names[n]) == 0)
				found |= 1u << n;
	}
	return found;
}

bool elf_probe_section(int fd, const char *name)
{
	struct stat st;
	Elf64_Ehdr head;
	Elf64_Shdr names;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || !read_elf_at(fd, 0, &head, sizeof head) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
	    head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_shentsize != sizeof names || head.e_shoff > INT64_MAX / 2 ||
	    !read_elf_at(fd, head.e_shoff + (uint64_t)head.e_shstrndx * sizeof names, &names, sizeof names) || names.sh_offset > INT64_MAX / 2)
		return false;
	AUTO_FREE char *text = read_elf_table(fd, &names);
	size_t bytes = strlen(name) + 1;
	return text && names.sh_size >= bytes && memmem(text, names.sh_size, name, bytes);
}

int elf_probe_export(int fd, const char *name, uint64_t *address, uint64_t *size)
{
	struct elf_dynamic d __attribute__((cleanup(free_dynamic)));
	if (!load_dynamic(fd, &d))
		return -1;
	for (size_t i = 0; i < d.count; i++) {
		const char *defined = defined_name(&d, i);
		if (defined && strcmp(defined, name) == 0) {
			*address = d.table[i].st_value;
			*size = d.table[i].st_size;
			return 0;
		}
	}
	return -1;
}
