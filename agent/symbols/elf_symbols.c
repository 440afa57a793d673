#include "agent/symbols/elf_symbols.h"

#include "common/base/cleanup.h"
#include "common/base/mem.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MAX_SECTIONS 4096
#define CHUNK 256 /* symbols read at once */
#define MAX_FILE_BYTES (UINT64_C(1) << 40)

static bool read_symbols_at(const struct elf_symbols *s, uint64_t offset, void *out, size_t len)
{
	if (offset > MAX_FILE_BYTES || !work_budget_spend(s->budget, 1))
		return false;
	for (size_t done = 0; done < len;) {
		ssize_t n = pread(s->fd, (uint8_t *)out + done, len - done, (off_t)(offset + done));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		done += (size_t)n;
	}
	return true;
}

static bool header_is_ours(const Elf64_Ehdr *h)
{
	return memcmp(h->e_ident, ELFMAG, SELFMAG) == 0 && h->e_ident[EI_CLASS] == ELFCLASS64 && h->e_ident[EI_DATA] == ELFDATA2LSB &&
	       h->e_phentsize == sizeof(Elf64_Phdr) && (h->e_shnum == 0 || h->e_shentsize == sizeof(Elf64_Shdr));
}

/* .eh_frame_hdr: u8 version 1 | u8 encoding of the pointer | u8 of the count | u8 of the table | pointer | count | table. Linkers
 * write a table of pairs of 32-bit offsets from the header's address (0x3b) and 32-bit counts (0x03); nothing else is read. */
static void find_eh_table(struct elf_symbols *s, const Elf64_Phdr *p)
{
	struct {
		uint8_t version, pointer_encoding, count_encoding, table_encoding;
		uint32_t pointer, count;
	} h;
	if (p->p_filesz < sizeof h || !read_symbols_at(s, p->p_offset, &h, sizeof h))
		return;
	if (h.version != 1 || h.pointer_encoding != 0x1b || h.count_encoding != 0x03 || h.table_encoding != 0x3b)
		return;
	if (h.count > (p->p_filesz - sizeof h) / 8)
		return;
	s->eh_table_offset = p->p_offset + sizeof h;
	s->eh_header_address = p->p_vaddr;
	s->eh_count = h.count;
}

static bool read_segments(struct elf_symbols *s, const Elf64_Ehdr *h)
{
	for (unsigned i = 0; i < h->e_phnum; i++) {
		Elf64_Phdr p;
		if (h->e_phoff > MAX_FILE_BYTES || !read_symbols_at(s, h->e_phoff + i * sizeof p, &p, sizeof p))
			return false;
		if (p.p_offset > MAX_FILE_BYTES || p.p_filesz > MAX_FILE_BYTES)
			continue;
		if (p.p_type == PT_LOAD && s->load_count < ELF_MAX_LOADS)
			s->loads[s->load_count++] = (struct elf_load){p.p_offset, p.p_filesz, p.p_vaddr};
		else if (p.p_type == PT_GNU_EH_FRAME)
			find_eh_table(s, &p);
	}
	return true;
}

static bool section(const struct elf_symbols *s, const Elf64_Ehdr *h, unsigned i, Elf64_Shdr *out)
{
	return i < h->e_shnum && i < MAX_SECTIONS && h->e_shoff <= MAX_FILE_BYTES &&
	       read_symbols_at(s, h->e_shoff + (uint64_t)i * sizeof *out, out, sizeof *out);
}

/* The fullest table there is: .symtab, else .dynsym; with its string table. */
static bool find_tables(const struct elf_symbols *s, const Elf64_Ehdr *h, Elf64_Shdr *symbols, Elf64_Shdr *names)
{
	bool found = false;
	for (unsigned i = 0; i < h->e_shnum && i < MAX_SECTIONS; i++) {
		Elf64_Shdr sh, strings;
		if (!section(s, h, i, &sh) || (sh.sh_type != SHT_SYMTAB && sh.sh_type != SHT_DYNSYM))
			continue;
		if (sh.sh_entsize != sizeof(Elf64_Sym) || !section(s, h, sh.sh_link, &strings) || strings.sh_type != SHT_STRTAB)
			continue;
		if (found && sh.sh_type != SHT_SYMTAB)
			continue;
		*symbols = sh;
		*names = strings;
		found = true;
	}
	return found;
}

static int symbol_by_value(const void *a, const void *b)
{
	const struct elf_symbol *x = a, *y = b;
	if (x->value != y->value)
		return x->value < y->value ? -1 : 1;
	return x->size < y->size ? -1 : x->size > y->size; /* of aliases the one with a size is found */
}

static bool is_function(const Elf64_Sym *y)
{
	unsigned type = ELF64_ST_TYPE(y->st_info);
	return (type == STT_FUNC || type == STT_GNU_IFUNC) && y->st_shndx != SHN_UNDEF && y->st_value != 0 && y->st_name != 0;
}

static void read_symbols(struct elf_symbols *s, const Elf64_Shdr *table)
{
	uint64_t left = table->sh_size / sizeof(Elf64_Sym), at = table->sh_offset;
	size_t cap = 0;
	Elf64_Sym chunk[CHUNK];
	while (left > 0 && s->symbol_count < ELF_MAX_SYMBOLS) { /* a table may be a hole of a terabyte */
		size_t n = left < CHUNK ? (size_t)left : CHUNK;
		if (!work_budget_spend(s->budget, n) || !read_symbols_at(s, at, chunk, n * sizeof *chunk))
			break;
		for (size_t i = 0; i < n && s->symbol_count < ELF_MAX_SYMBOLS; i++) {
			const Elf64_Sym *y = &chunk[i];
			if (!is_function(y))
				continue;
			GROW(s->symbols, s->symbol_count, cap);
			s->symbols[s->symbol_count++] = (struct elf_symbol){
				.value = y->st_value,
				.size = y->st_size > UINT32_MAX ? UINT32_MAX : (uint32_t)y->st_size,
				.name = y->st_name,
			};
		}
		left -= n;
		at += n * sizeof *chunk;
	}
	if (s->symbol_count)
		qsort(s->symbols, s->symbol_count, sizeof *s->symbols, symbol_by_value);
}

int elf_symbols_load_take(struct elf_symbols *s, int fd, struct work_budget *budget, struct err *e)
{
	*s = (struct elf_symbols){.fd = fd, .budget = budget};
	struct stat st;
	Elf64_Ehdr h;
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || !read_symbols_at(s, 0, &h, sizeof h) || !header_is_ours(&h) ||
	    !read_segments(s, &h)) {
		elf_symbols_fini(s);
		return err_set(e, ERR_PROTOCOL, 0, "not an ELF file that can be read");
	}
	Elf64_Shdr symbols = {0}, names = {0};
	if (find_tables(s, &h, &symbols, &names)) {
		s->names_offset = names.sh_offset;
		s->names_bytes = names.sh_size;
		read_symbols(s, &symbols);
	}
	return 0;
}

void elf_symbols_fini(struct elf_symbols *s)
{
	if (!s)
		return;
	if (s->fd >= 0)
		close(s->fd);
	free(s->symbols);
	*s = (struct elf_symbols){.fd = -1};
}

bool elf_symbols_address(const struct elf_symbols *s, uint64_t file_offset, uint64_t *address)
{
	for (size_t i = 0; i < s->load_count; i++) {
		const struct elf_load *l = &s->loads[i];
		if (file_offset >= l->offset && file_offset - l->offset < l->file_bytes) {
			*address = l->address + (file_offset - l->offset);
			return true;
		}
	}
	return false;
}

/* The last symbol at or before the address; NULL when there is none. */
static const struct elf_symbol *symbol_before(const struct elf_symbols *s, uint64_t address)
{
	size_t low = 0, high = s->symbol_count;
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		if (s->symbols[mid].value <= address)
			low = mid + 1;
		else
			high = mid;
	}
	return low ? &s->symbols[low - 1] : NULL;
}

bool elf_symbols_name(const struct elf_symbols *s, uint64_t address, char name[ELF_NAME_SIZE])
{
	const struct elf_symbol *y = symbol_before(s, address);
	if (!work_budget_spend(s->budget, 1))
		return false;
	if (!y || (y->size && address - y->value >= y->size) || y->name >= s->names_bytes || s->names_offset > MAX_FILE_BYTES)
		return false;
	/* Without a size it reaches to the next symbol; but a function that the unwind table knows and that begins later is another. */
	if (!y->size && elf_symbols_function_start(s, address) > y->value && s->eh_count)
		return false;
	uint64_t most = s->names_bytes - y->name;
	ssize_t n = pread(s->fd, name, most < ELF_NAME_SIZE - 1 ? (size_t)most : ELF_NAME_SIZE - 1, (off_t)(s->names_offset + y->name));
	if (n <= 0)
		return false;
	name[n] = '\0';
	return name[0] != '\0';
}

/* Pairs of i32: start of a function and its unwind data, from the header's address, sorted by the first. */
static bool eh_pair(const struct elf_symbols *s, uint32_t i, uint64_t *start)
{
	int32_t offset;
	if (!read_symbols_at(s, s->eh_table_offset + (uint64_t)i * 8, &offset, sizeof offset))
		return false;
	*start = s->eh_header_address + (uint64_t)(int64_t)offset;
	return true;
}

uint64_t elf_symbols_function_start(const struct elf_symbols *s, uint64_t address)
{
	uint32_t low = 0, high = s->eh_count;
	uint64_t best = address, start;
	while (low < high) {
		uint32_t mid = low + (high - low) / 2;
		if (!eh_pair(s, mid, &start))
			return address;
		if (start <= address) {
			best = start;
			low = mid + 1;
		} else {
			high = mid;
		}
	}
	return best;
}
