/* The library for a process with musl, where a session should find the copy that an earlier one has left.
 *
 * musl unmaps no library. It finds one that is loaded again by its file (device and inode), which is gone with its session, or by its name alone, if it has
 * once looked the library up by that name: not for dlopen(3) of a path, but for another library's need (DT_NEEDED). So the file for such a process
 * needs itself: of its DT_SONAME, which musl does not read, its need is made, and its search path ($ORIGIN, DT_RUNPATH) leads to its own folder while it is
 * loaded. From then on the name without a folder loads the copy that is there, and reads no file.
 * Sources: elf(5); musl's ldso/dynlink.c (load_library, fixup_rpath). Pure; any thread. */
#ifndef DRDOTNET_NAMED_LIBRARY_H
#define DRDOTNET_NAMED_LIBRARY_H

#include "common/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Makes the change in the file's content: its name, of the same length as the one it was linked with, becomes `name`, and it needs that. false, and
 * nothing is changed: it is no such library. */
bool named_library_make(uint8_t *elf, size_t len, const char *name);

/* What stays of it in the address space of a process: bytes, in pages, but not those of its tables of zeroes, which are given back. 0: not known. */
uint64_t named_library_mapped_bytes(const uint8_t *elf, size_t len);

#endif
