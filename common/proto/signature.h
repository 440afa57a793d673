/* Spells the parameter types of a method signature (ECMA-335 II.23.2): "System.Int32,System.String[],System.Int64&".
 * Pure: names of tokens and generic variables come from callbacks, and where the text goes is the caller's. The bytes come from the application's
 * assemblies: bounded by their length and by a depth of nesting. */
#ifndef DRDOTNET_SIGNATURE_H
#define DRDOTNET_SIGNATURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct signature_names {
	void *ctx;
	void (*put)(void *out, const char *text);
	void (*type)(void *ctx, uint32_t token, void *out);                     /* TypeDef, TypeRef or TypeSpec */
	void (*variable)(void *ctx, bool of_method, uint32_t index, void *out); /* !0 or !!0, or what stands for it */
};

/* false: malformed; `out` then holds a part. */
bool signature_params(const uint8_t *sig, size_t len, const struct signature_names *n, void *out);
/* One type, as in a TypeSpec. */
bool signature_type(const uint8_t *sig, size_t len, const struct signature_names *n, void *out);
/* "System.Int32" for ELEMENT_TYPE_I4 and so on; NULL for what is no primitive. */
const char *signature_primitive(uint32_t element_type);

#endif
