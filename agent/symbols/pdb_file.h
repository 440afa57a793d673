/* Finds and reads the portable PDB of a module that a process has loaded: embedded in its image, or the file beside the assembly that the image names.
 * It is the symbols of this very build, by the image's own word (GUID and stamp), or none. One thread. */
#ifndef DRDOTNET_PDB_FILE_H
#define DRDOTNET_PDB_FILE_H

#include "agent/symbols/portable_pdb.h"

struct pdb_place {
	int mem_fd, root_fd; /* /proc/PID/mem and root; -1: not to be had */
	const char *path;    /* of the assembly, as the process sees it */
	uint64_t image;      /* in its memory */
	size_t most_bytes;   /* there is room for so many, SOURCE_PDB_MAX_BYTES at most are read */
	struct work_budget *budget; /* borrowed; NULL: there is none */
};

/* The bytes that `pdb` borrows (free them), and how many; `pdb` has the place's budget. NULL: ERR_NOT_FOUND: it has no symbols here; else they are there and
 * the error says why they are not used. */
uint8_t *pdb_file_load(const struct pdb_place *place, struct portable_pdb *pdb, size_t *bytes, struct err *e);

#endif
