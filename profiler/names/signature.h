/* Spells the parameter types of a method signature (ECMA-335 II.23.2): "System.Int32,System.String[],System.Int64&".
 * Pure: names of tokens and generic variables come from callbacks. The bytes come from the application's assemblies: bounded
 * by their length and by a depth of nesting. */
#ifndef DRDOTNET_PROFILER_SIGNATURE_H
#define DRDOTNET_PROFILER_SIGNATURE_H

#include "profiler/base/text.h"

struct signature_names {
	void *ctx;
	void (*type)(void *ctx, uint32_t token, struct text *out);                     /* TypeDef, TypeRef or TypeSpec */
	void (*variable)(void *ctx, bool of_method, uint32_t index, struct text *out); /* !0 or !!0, or what stands for it */
};

/* false: malformed; `out` then holds a part. */
bool signature_params(const uint8_t *sig, size_t len, const struct signature_names *n, struct text *out);
/* One type, as in a TypeSpec. */
bool signature_type(const uint8_t *sig, size_t len, const struct signature_names *n, struct text *out);
/* "System.Int32" for ELEMENT_TYPE_I4 and so on; NULL for what is no primitive. */
const char *signature_primitive(uint32_t element_type);

#endif
