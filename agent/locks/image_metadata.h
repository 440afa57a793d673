/* The names of the types of an assembly, from its metadata as it lies in a process's memory. Read from outside: every length and offset is the process's
 * word. One thread. Source: ECMA-335, II.22 to II.25. */
#ifndef DRDOTNET_IMAGE_METADATA_H
#define DRDOTNET_IMAGE_METADATA_H

#include "agent/locks/process_memory.h"

struct image_metadata {
	uint64_t strings, types;      /* addresses: of the heap of names, of the first row of the types' table */
	uint32_t strings_bytes, type_count, row_bytes;
	bool wide;                    /* offsets of names have four bytes, else two */
};

/* `image`: where the assembly begins. False: there is none that can be read. */
bool image_metadata_open(const struct process_memory *m, uint64_t image, struct image_metadata *out);

/* "Namespace.Name" of the type of that row, from 1 on; of a nested one its own name. False, and out is "": there is none. */
bool image_metadata_type(const struct process_memory *m, const struct image_metadata *x, uint32_t row, char *out, size_t size);

#endif
