/* A portable PDB: which line of which source file a place in a method's IL comes from, and where the repository has it (SourceLink). The bytes are the
 * pod's: each place is checked against their end, and only what is asked for is read. Borrows the bytes. What is asked for by row is
 * looked for as long as its budget lasts. One thread.
 *
 * Sources: ECMA-335 II.24 (metadata's physical layout), II.23.2 (compressed integers); "Portable PDB v1.0: Format Specification"
 * (github.com/dotnet/runtime, docs/design/specs/PortablePdb-Metadata.md): #Pdb stream, tables 0x30 to 0x37, the sequence points' blob; custom debug
 * information CC110556-A091-4D38-9FEC-25AB9A351A6A is SourceLink. */
#ifndef DRDOTNET_PORTABLE_PDB_H
#define DRDOTNET_PORTABLE_PDB_H

#include "agent/host/work_budget.h"
#include "agent/symbols/pe_debug.h"
#include "common/base/buf.h"
#include "common/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PDB_TABLES 64
#define PDB_PATH_BYTES 1024
#define PDB_PATH_PARTS 128 /* folders, and the file */

struct pdb_span {
	const uint8_t *data;
	size_t bytes;
};

struct portable_pdb {
	struct pdb_span whole, blobs, guids, rows;  /* rows: of all tables, one after the other */
	uint8_t id[PE_PDB_ID_BYTES];
	uint32_t row_count[PDB_TABLES]; /* of the type system's tables: those of the assembly */
	uint8_t blob_size, guid_size, string_size; /* of an index, in bytes */
	struct pdb_span documents, methods, custom; /* the rows of the tables that are read here */
	uint32_t document_row, method_row, custom_row, custom_parent_size; /* bytes */
	struct work_budget *budget; /* borrowed; set after the opening; NULL: there is none */
};

/* ERR_PROTOCOL: it is none, or torn; ERR_INVALID: it is a Windows PDB. */
int portable_pdb_open(struct portable_pdb *p, const void *data, size_t bytes, struct err *e);

struct pdb_line {
	uint32_t document; /* its row, from 1 on */
	uint32_t line;
};

/* The line of the last sequence point at or before the offset that is not hidden, as .NET's own stack traces choose it. false: there is none. `token`: of
 * a method (0x06...). */
bool portable_pdb_line(const struct portable_pdb *p, uint32_t token, uint32_t il_offset, struct pdb_line *out);

uint32_t portable_pdb_document_count(const struct portable_pdb *p);
/* Appends the path that the compiler wrote; -1: it cannot be read, or is longer than PDB_PATH_BYTES or PDB_PATH_PARTS. */
int portable_pdb_document(const struct portable_pdb *p, uint32_t document, struct buf *out);

/* The JSON of SourceLink; false: it has none. */
bool portable_pdb_source_link(const struct portable_pdb *p, struct pdb_span *out);

#endif
