/* The types of a method's parameters, as its assembly's metadata in a process's memory has them. Read from outside. One thread.
 * Source: ECMA-335, II.23.2. */
#ifndef DRDOTNET_IMAGE_SIGNATURE_H
#define DRDOTNET_IMAGE_SIGNATURE_H

#include "agent/locks/image_metadata.h"
#include "agent/locks/name_writer.h"

/* What stands for !0 (of the type) or !!0 (of the method). */
typedef void image_variable_fn(void *ctx, bool of_method, uint32_t index, struct name_writer *out);

/* "System.Int32,System.String" of the signature at that offset of the heap. False: it cannot be read, or is none. */
bool image_signature_params(const struct process_memory *m, const struct image_metadata *x, uint32_t signature, image_variable_fn *variable, void *ctx,
			    struct name_writer *out);

#endif
