/* The names of the types and methods of an assembly, from its metadata as it lies in a process's memory. Read from outside: every length and offset is the
 * process's word. One thread. Source: ECMA-335, II.22 to II.25. */
#ifndef DRDOTNET_IMAGE_METADATA_H
#define DRDOTNET_IMAGE_METADATA_H

#include "agent/locks/metadata_tables.h"

#define IMAGE_NAME_BYTES 256

struct image_metadata {
	uint64_t strings, blobs; /* addresses: of the heap of names, of that of signatures */
	uint32_t strings_bytes, blobs_bytes;
	struct metadata_tables tables;
};

struct image_method {
	char name[IMAGE_NAME_BYTES];
	uint32_t name_offset, signature; /* in the heaps */
	uint32_t type;                   /* the row of the type that has it */
};

/* `image`: where the assembly begins. False: there is none that can be read. */
bool image_metadata_open(const struct process_memory *m, uint64_t image, struct image_metadata *out);

/* "Namespace.Name" of the type of that row, from 1 on; of a nested one its own name. False, and out is "": there is none. */
bool image_metadata_type(const struct process_memory *m, const struct image_metadata *x, uint32_t row, char *out, size_t size);

/* "Namespace.Outer+Inner". */
bool image_metadata_nested_type(const struct process_memory *m, const struct image_metadata *x, uint32_t row, char *out, size_t size);

/* The same of a type of another assembly that this one refers to. */
bool image_metadata_type_ref(const struct process_memory *m, const struct image_metadata *x, uint32_t row, char *out, size_t size);

/* The method of that row, from 1 on. False: there is none, or it has no name or no type. */
bool image_metadata_method(const struct process_memory *m, const struct image_metadata *x, uint32_t row, struct image_method *out);
/* Its type has another one of that name. */
bool image_metadata_overloaded(const struct process_memory *m, const struct image_metadata *x, const struct image_method *method);

/* "Shop.dll"; "". */
void image_metadata_module(const struct process_memory *m, const struct image_metadata *x, char out[IMAGE_NAME_BYTES]);

#endif
