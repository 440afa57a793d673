/* The sequence points of one method in a portable PDB: pairs of a place in the IL and a line. The blob is the pod's, and is read anew for each place: one
 * that is longer than any compiler's is none, and each record is a step of work. One thread.
 *
 * Sources: ECMA-335 II.23.2 (compressed integers); "Portable PDB v1.0: Format Specification", Sequence Points Blob. */
#ifndef DRDOTNET_PDB_POINTS_H
#define DRDOTNET_PDB_POINTS_H

#include "agent/host/work_budget.h"
#include "common/proto/wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

uint32_t pdb_points_unsigned(struct wire_reader *r); /* 0, and the reader bad, where it is none */
int32_t pdb_points_signed(struct wire_reader *r);

#define PDB_POINTS_MAX_BYTES (1u << 20)

/* The last point at or before the offset that is not hidden. `document`: the method's own, 0 where the blob begins with it. */
bool pdb_points_find(const uint8_t *data, size_t bytes, uint32_t document, uint32_t il_offset, struct work_budget *budget, uint32_t *out_document,
		     uint32_t *out_line);

#endif
