/* The source lines of managed code: finds each module's portable PDB (embedded in the assembly, or a file beside it), proves that it is of this very
 * build, and tells the file and line of a place in a method's IL. The assembly is read in the process's memory, as it was loaded, whatever lies in the
 * file system by now; the PDB through /proc/PID/root, as regular files only. All of it is the pod's word: sizes are bounded (SOURCE_PDB_MAX_BYTES a
 * module, SOURCE_ALL_MAX_BYTES together), the work has a budget (WORK_LINES), and what is refused is remembered with its reason. One thread. */
#ifndef DRDOTNET_SOURCE_LINES_H
#define DRDOTNET_SOURCE_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SOURCE_PDB_MAX_BYTES (16u << 20)
#define SOURCE_ALL_MAX_BYTES (48u << 20)
#define SOURCE_MAX_MODULES 1024

struct source_lines;

/* `proc_fd`: /proc/PID, borrowed during the call; -1: nothing will be found. */
struct source_lines *source_lines_new(int proc_fd);
void source_lines_free(struct source_lines *s);

/* A module by the path of its file (in a single-file application its name: its symbols lie beside the executable) and the address of its image. Its
 * symbols are read the first time. NULL: it has none that can be used. */
struct source_module;
struct source_module *source_lines_module(struct source_lines *s, const char *path, uint64_t image);

struct source_place {
	const char *file; /* below the repository's root, or below what all of the module's files have in common; borrowed */
	const char *link; /* of the file at the commit that was built; NULL: not known */
	uint32_t line;
};

/* false: the symbols have no line there. */
bool source_lines_find(struct source_module *m, uint32_t token, uint32_t il_offset, struct source_place *out);

/* Which symbols were there, for the report. */
struct source_account { /* zeroed: none */
	struct source_symbols {
		char *module;
		char *reason; /* why they are not used; NULL: they are */
	} *items;
	size_t count;
	int64_t spent_ns;     /* on finding lines */
};
void source_lines_account(const struct source_lines *s, struct source_account *out);
void source_account_fini(struct source_account *a);

#endif
