/* Which of some symbols an ELF file exports: enough to tell a single-file .NET application (it exports the runtime's
 * g_dacTable) from a NativeAOT one and from what is not .NET. The file is the pod's: every size in it is bounded and a
 * strange file is "none". Sources: elf(5). Any thread; reads with pread. */
#ifndef DRDOTNET_ELF_PROBE_H
#define DRDOTNET_ELF_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A bit for each of the (at most 32) names that the file's dynamic symbol table defines; 0 when it cannot be read. */
uint32_t elf_probe_exports(int fd, const char *const *names, size_t count);

/* Whether the file has a section of that name: for little, by the table of names alone. */
bool elf_probe_section(int fd, const char *name);

/* Where the file exports one name: its virtual address in the file's own terms, and its size. -1: it does not, or cannot be read. */
int elf_probe_export(int fd, const char *name, uint64_t *address, uint64_t *size);

#endif
