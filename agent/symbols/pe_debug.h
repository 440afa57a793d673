/* The debug directory of an assembly's image: which symbols (PDB) belong to it, and where they lie. The image is read through `read`, as it lies in the
 * process's memory (laid out as a file, or section by section as it was loaded) or in a file. The bytes are the pod's: every place is checked by the
 * reader, counts are bounded. Pure but for `read`; any thread.
 *
 * Sources: Microsoft PE and COFF Specification; "PE/COFF debug directory" of the portable PDB format
 * (github.com/dotnet/runtime, docs/design/specs/PE-COFF.md: CodeView 0x504d, embedded portable PDB, type 17). */
#ifndef DRDOTNET_PE_DEBUG_H
#define DRDOTNET_PE_DEBUG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PE_PDB_NAME_SIZE 256
#define PE_PDB_ID_BYTES 20

/* `bytes` bytes from `offset` of the image on; false: not all of them are to be had. */
typedef bool pe_read_fn(void *ctx, uint64_t offset, void *out, size_t bytes);

struct pe_debug {
	bool codeview;                /* it names its symbols: the fields up to `name` hold */
	bool portable;                /* they are a portable PDB; else a Windows PDB */
	uint8_t id[PE_PDB_ID_BYTES];  /* of a portable PDB: GUID and stamp, as its own #Pdb stream has them */
	char name[PE_PDB_NAME_SIZE];  /* the last part of the path that the compiler wrote; "" none */
	uint64_t embedded_at;         /* where the embedded symbols' bytes (MPDB) lie; bytes 0: none are embedded */
	uint32_t embedded_bytes;
};

/* false: it is no image of the Portable Executable format, or has no debug directory that can be read. */
bool pe_debug_read(pe_read_fn *read, void *ctx, struct pe_debug *out);

#endif
