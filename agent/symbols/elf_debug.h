/* What an ELF file says of its symbols: whether it has them, else which file beside it does (.gnu_debuglink, `APP.dbg`), known by its build id; and where the
 * code lies that .NET's compiler made ahead of time. The file is the pod's: each offset is checked, and it is read as long as the budget lasts. One thread.
 * Formats: elf(5), GDB's "Debugging Information in Separate Files"; __managedcode is ILCompiler's section. */
#ifndef DRDOTNET_ELF_DEBUG_H
#define DRDOTNET_ELF_DEBUG_H

#include "agent/host/work_budget.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ELF_LINK_SIZE 256
#define ELF_BUILD_ID_BYTES 32

struct elf_debug {
	bool symbols;                /* it has a .symtab */
	uint64_t managed, managed_end; /* addresses in the file's own terms; 0: it is not of Native AOT */
	char link[ELF_LINK_SIZE];    /* a name without a folder; "": there is no link */
	uint8_t build_id[ELF_BUILD_ID_BYTES];
	size_t build_id_bytes;       /* 0: it has none */
};

/* All empty: it is no ELF file, or has no sections. */
void elf_debug_read(int fd, struct work_budget *budget, struct elf_debug *out);

/* The same build, by ids that both have. */
bool elf_debug_same_build(const struct elf_debug *a, const struct elf_debug *b);

#endif
