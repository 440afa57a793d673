/* The functions of one ELF file, to name addresses in it: .symtab, or .dynsym where that is stripped, and the table of
 * function starts in .eh_frame_hdr, which tells functions apart even where they have no name. The file is the pod's and hostile:
 * every offset is checked against its size, at most ELF_MAX_SYMBOLS are kept, and it is read as long as the budget lasts. Format:
 * System V ABI (elf(5)), LSB .eh_frame_hdr.
 * Keeps the descriptor: names are read from the file when they are asked for. One thread. */
#ifndef DRDOTNET_ELF_SYMBOLS_H
#define DRDOTNET_ELF_SYMBOLS_H

#include "agent/host/work_budget.h"
#include "common/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ELF_MAX_SYMBOLS 200000
#define ELF_MAX_LOADS 16
#define ELF_NAME_SIZE 512

struct elf_symbol {
	uint64_t value;  /* virtual address in the file's own terms */
	uint32_t size;   /* 0: up to the next */
	uint32_t name;   /* offset in the string table */
};

struct elf_load {
	uint64_t offset, file_bytes, address;
};

struct elf_symbols {
	int fd;
	struct work_budget *budget; /* borrowed; NULL: there is none */
	struct elf_load loads[ELF_MAX_LOADS];
	size_t load_count;
	struct elf_symbol *symbols; /* by value */
	size_t symbol_count;
	uint64_t names_offset, names_bytes;
	uint64_t eh_table_offset, eh_header_address; /* the sorted pairs of .eh_frame_hdr in the file */
	uint32_t eh_count;
};

/* Takes over `fd` also when it fails. ERR_PROTOCOL: not an ELF file of this machine's class and byte order. A file without
 * symbols is none: it loads, and names nothing. */
int elf_symbols_load_take(struct elf_symbols *s, int fd, struct work_budget *budget, struct err *e);
void elf_symbols_fini(struct elf_symbols *s);

/* The virtual address of a place in the file; false when no loadable segment holds it. */
bool elf_symbols_address(const struct elf_symbols *s, uint64_t file_offset, uint64_t *address);

/* The name (as it stands in the file) of the function that holds the virtual address. */
bool elf_symbols_name(const struct elf_symbols *s, uint64_t address, char name[ELF_NAME_SIZE]);

/* The start of the function that holds the address, from the unwind table; the address itself where that is silent. */
uint64_t elf_symbols_function_start(const struct elf_symbols *s, uint64_t address);

#endif
