/* Names native frames: mapping -> ELF file in the process's own root, or the one beside it that has its symbols -> symbol, demangled where it is C++. The
 * files are the pod's: opened beneath its root without magic links, only regular ones, at most NATIVE_MAX_FILES at a time; the work has a budget
 * (WORK_SYMBOLS). One thread. */
#ifndef DRDOTNET_NATIVE_SYMBOLS_H
#define DRDOTNET_NATIVE_SYMBOLS_H

#include "agent/host/maps.h"

#include <stddef.h>
#include <stdint.h>

#define NATIVE_MAX_FILES 128
#define NATIVE_NAME_SIZE 512

struct native_symbols;

/* `root_fd`: the process's root (/proc/PID/root), taken over; -1: none, then nothing has a name. */
struct native_symbols *native_symbols_new(int root_fd);
void native_symbols_free(struct native_symbols *n);

/* For an ip inside `entry`: true with the function's name, or false with *offset = the start of the unnamed function (or the
 * ip, where even that is not known) as an offset in the file. */
bool native_symbols_find(struct native_symbols *n, const struct maps *m, const struct map_entry *entry, uint64_t ip,
			 char name[NATIVE_NAME_SIZE], uint64_t *offset);

/* What an ip is in an application that was compiled ahead of time. */
enum native_code {
	NATIVE_CODE_ANY,      /* it is in no such application's file */
	NATIVE_CODE_METHOD,   /* of .NET's or the application's: aot_name.h */
	NATIVE_CODE_RUNTIME,  /* what was linked to it */
};
enum native_code native_symbols_code(struct native_symbols *n, const struct maps *m, const struct map_entry *entry, uint64_t ip);

/* The readable form of a C++ (Itanium ABI) symbol, through libstdc++'s demangler where that is installed; other names, and names
 * that are built to blow up, are given as they are. */
void native_demangle(const char *symbol, char out[NATIVE_NAME_SIZE]);

#endif
