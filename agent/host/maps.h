/* The executable mappings of a process: which file, and of what kind, an instruction pointer belongs to. The words (paths)
 * are the process's own; there are at most MAPS_MAX entries. One thread owns a table. */
#ifndef DRDOTNET_MAPS_H
#define DRDOTNET_MAPS_H

#include "common/base/index_set.h"
#include "common/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAPS_MAX 65536

enum map_kind {
	MAP_JIT,      /* anonymous or the runtime's double-mapped memory: code made at run time */
	MAP_ASSEMBLY, /* .dll, .exe: ReadyToRun code */
	MAP_MAIN,     /* the executable; of a single-file application: runtime and assemblies in one */
	MAP_LIBRARY,  /* another ELF file */
	MAP_KERNEL,   /* [vdso] and its like */
};

struct map_file {
	char *path;       /* as the process sees it; "" for MAP_JIT */
	const char *name; /* the last part of path, "[vdso]" */
	enum map_kind kind;
	uint64_t inode;
	bool c_library;   /* libc or the loader: where threads begin */
};

struct map_entry {
	uint64_t start, end, offset;
	uint64_t image;   /* where the file's first byte is mapped; 0: not known */
	uint32_t file;    /* index */
};

struct maps {
	char *main_path;  /* of the executable, for MAP_MAIN; may be NULL */
	struct map_entry *entries; /* by address */
	size_t entry_count, entry_cap;
	struct map_file *files;    /* grows only: indexes stay valid over reloads */
	size_t file_count, file_cap;
	struct index_set by_name;  /* of files: a process may map as many as entries */
	struct {
		uint64_t start;
		uint32_t name;     /* hash of path and inode */
	} image;                   /* the last mapping of a file's first byte */
};

/* maps_init reads nothing. `main_path` is copied; NULL: unknown. */
void maps_init(struct maps *m, const char *main_path);
void maps_fini(struct maps *m);

/* Reads the table anew from the open folder /proc/PID. ERR_GONE when the process ended (the old table is kept then). */
int maps_load(struct maps *m, int proc_fd, struct err *e);

/* Takes one line of the file in; lines that are malformed or not executable are passed over. Pure; for maps_load and tests. */
void maps_add_line(struct maps *m, const char *line, size_t len);

/* NULL when no executable mapping holds the address. */
const struct map_entry *maps_find(const struct maps *m, uint64_t ip);

/* Could the runtime have a name for code in this file? */
static inline bool map_may_be_managed(enum map_kind k)
{
	return k == MAP_JIT || k == MAP_ASSEMBLY || k == MAP_MAIN;
}

#endif
