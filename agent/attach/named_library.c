#include "agent/attach/named_library.h"

#include <elf.h>
#include <string.h>

#define PAGE_BYTES 4096u

/* A part of the file, or NULL. */
static uint8_t *part_of(uint8_t *elf, size_t len, uint64_t offset, uint64_t size)
{
	return offset <= len && size <= len - offset ? elf + offset : NULL;
}

/* Program header number `i`. */
static bool read_header(const uint8_t *elf, size_t len, unsigned i, Elf64_Phdr *out)
{
	Elf64_Ehdr head;
	if (len < sizeof head)
		return false;
	memcpy(&head, elf, sizeof head);
	if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_ident[EI_DATA] != ELFDATA2LSB ||
	    head.e_phentsize != sizeof *out || i >= head.e_phnum || head.e_phoff > len || len - head.e_phoff < ((uint64_t)i + 1) * sizeof *out)
		return false;
	memcpy(out, elf + head.e_phoff + (uint64_t)i * sizeof *out, sizeof *out);
	return true;
}

/* Where the text at that address is in the file, NUL and all; NULL: nowhere. */
static char *text_at(uint8_t *elf, size_t len, uint64_t address, size_t text_len)
{
	Elf64_Phdr h;
	for (unsigned i = 0; read_header(elf, len, i, &h); i++) {
		if (h.p_type != PT_LOAD || address < h.p_vaddr || address - h.p_vaddr >= h.p_filesz)
			continue;
		uint64_t within = address - h.p_vaddr;
		if (h.p_offset > len || within > len - h.p_offset)
			return NULL;
		char *text = (char *)part_of(elf, len, h.p_offset + within, (uint64_t)text_len + 1);
		return text && text[text_len] == '\0' ? text : NULL;
	}
	return NULL;
}

static uint8_t *dynamic_part(uint8_t *elf, size_t len, size_t *count)
{
	Elf64_Phdr h;
	for (unsigned i = 0; read_header(elf, len, i, &h); i++) {
		if (h.p_type == PT_DYNAMIC) {
			*count = h.p_filesz / sizeof(Elf64_Dyn);
			return part_of(elf, len, h.p_offset, h.p_filesz);
		}
	}
	return NULL;
}

bool named_library_make(uint8_t *elf, size_t len, const char *name)
{
	size_t count = 0;
	uint8_t *dynamic = dynamic_part(elf, len, &count), *soname = NULL;
	uint64_t strings = 0, offset = 0;
	bool searches = false;
	for (size_t i = 0; dynamic && i < count; i++) {
		Elf64_Dyn d;
		memcpy(&d, dynamic + i * sizeof d, sizeof d);
		if (d.d_tag == DT_NULL)
			break;
		searches |= d.d_tag == DT_RUNPATH;
		if (d.d_tag == DT_STRTAB)
			strings = d.d_un.d_ptr;
		if (d.d_tag == DT_SONAME) {
			soname = dynamic + i * sizeof d;
			offset = d.d_un.d_val;
		}
	}
	size_t name_len = strlen(name);
	char *text = soname && searches && offset <= UINT64_MAX - strings ? text_at(elf, len, strings + offset, name_len) : NULL;
	if (!text || memchr(text, '\0', name_len))
		return false;
	memcpy(text, name, name_len);
	memcpy(soname, &(Elf64_Sxword){DT_NEEDED}, sizeof(Elf64_Sxword));
	return true;
}

uint64_t named_library_mapped_bytes(const uint8_t *elf, size_t len)
{
	uint64_t sum = 0;
	Elf64_Phdr h;
	for (unsigned i = 0; read_header(elf, len, i, &h); i++) {
		if (h.p_type != PT_LOAD || h.p_filesz > len)
			continue;
		uint64_t from = h.p_vaddr % PAGE_BYTES;
		sum += (from + h.p_filesz + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
	}
	return sum;
}
