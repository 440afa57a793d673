#include "agent/symbols/elf_debug.h"

#include <elf.h>
#include <string.h>
#include <unistd.h>

#define SECTIONS_MAX 256
#define NAME_BYTES 24
#define NOTE_BYTES 256

static bool read_debug_at(int fd, struct work_budget *budget, uint64_t offset, void *out, size_t bytes)
{
	return offset < INT64_MAX - bytes && work_budget_spend(budget, 1) && pread(fd, out, bytes, (off_t)offset) == (ssize_t)bytes;
}

/* A link is a name and not a path: it must not lead elsewhere. */
static void read_link_name(int fd, struct work_budget *budget, const Elf64_Shdr *s, struct elf_debug *out)
{
	size_t n = s->sh_size < ELF_LINK_SIZE - 1 ? (size_t)s->sh_size : ELF_LINK_SIZE - 1;
	char name[ELF_LINK_SIZE] = "";
	if (read_debug_at(fd, budget, s->sh_offset, name, n) && !strchr(name, '/') && name[0] != '.')
		memcpy(out->link, name, sizeof name);
}

/* The note: sizes of name and description, type 3, "GNU", the id. */
static void read_build_id(int fd, struct work_budget *budget, const Elf64_Shdr *s, struct elf_debug *out)
{
	uint8_t note[NOTE_BYTES];
	uint32_t head[3];
	size_t n = s->sh_size < sizeof note ? (size_t)s->sh_size : sizeof note;
	if (n < 16 || !read_debug_at(fd, budget, s->sh_offset, note, n))
		return;
	memcpy(head, note, sizeof head);
	if (head[0] != 4 || head[2] != NT_GNU_BUILD_ID || memcmp(note + 12, "GNU", 4) != 0 || head[1] > ELF_BUILD_ID_BYTES || head[1] > n - 16)
		return;
	memcpy(out->build_id, note + 16, head[1]);
	out->build_id_bytes = head[1];
}

static void take_section(int fd, struct work_budget *budget, const Elf64_Shdr *s, const char *name, struct elf_debug *out)
{
	if (s->sh_type == SHT_SYMTAB) {
		out->symbols = true;
	} else if (strcmp(name, "__managedcode") == 0 && s->sh_size < UINT64_MAX - s->sh_addr) {
		out->managed = s->sh_addr;
		out->managed_end = s->sh_addr + s->sh_size;
	} else if (strcmp(name, ".gnu_debuglink") == 0) {
		read_link_name(fd, budget, s, out);
	} else if (strcmp(name, ".note.gnu.build-id") == 0) {
		read_build_id(fd, budget, s, out);
	}
}

void elf_debug_read(int fd, struct work_budget *budget, struct elf_debug *out)
{
	Elf64_Ehdr h;
	Elf64_Shdr names, s;
	*out = (struct elf_debug){.symbols = false};
	if (fd < 0 || !read_debug_at(fd, budget, 0, &h, sizeof h) || memcmp(h.e_ident, ELFMAG, SELFMAG) != 0 || h.e_ident[EI_CLASS] != ELFCLASS64 ||
	    h.e_ident[EI_DATA] != ELFDATA2LSB || h.e_shentsize != sizeof s || h.e_shnum > SECTIONS_MAX || h.e_shstrndx >= h.e_shnum ||
	    h.e_shoff > INT64_MAX / 2 || !read_debug_at(fd, budget, h.e_shoff + (uint64_t)h.e_shstrndx * sizeof s, &names, sizeof names))
		return;
	for (unsigned i = 0; i < h.e_shnum; i++) {
		char name[NAME_BYTES + 1] = "";
		if (!read_debug_at(fd, budget, h.e_shoff + (uint64_t)i * sizeof s, &s, sizeof s))
			return;
		uint64_t left = s.sh_name < names.sh_size ? names.sh_size - s.sh_name : 0;
		if (names.sh_offset > INT64_MAX / 2 || !left ||
		    !read_debug_at(fd, budget, names.sh_offset + s.sh_name, name, left < NAME_BYTES ? (size_t)left : NAME_BYTES))
			continue;
		take_section(fd, budget, &s, name, out);
	}
}

bool elf_debug_same_build(const struct elf_debug *a, const struct elf_debug *b)
{
	return a->build_id_bytes && a->build_id_bytes == b->build_id_bytes && memcmp(a->build_id, b->build_id, a->build_id_bytes) == 0;
}
