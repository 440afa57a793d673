/* The type of a field, by its signature (ECMA-335 II.23.2.12), as far as it says what the field may hold. Pure. The bytes come from the application's
 * assemblies: bounded by their length and by a depth of nesting. */
#ifndef DRDOTNET_FIELD_TYPE_H
#define DRDOTNET_FIELD_TYPE_H

#include <stdbool.h>
#include <stdint.h>

#define FIELD_TYPE_ARGS 8u

enum field_type_kind {
	FIELD_TYPE_NOTHING,   /* a number, a pointer */
	FIELD_TYPE_REFERENCE,
	FIELD_TYPE_VALUE,     /* a struct or an enum: `token`, and what stands for its parameters */
	FIELD_TYPE_VARIABLE,  /* whatever stands for parameter `index` of the type that declares the field */
};

struct field_type {
	enum field_type_kind kind;
	uint32_t token; /* TypeDef, TypeRef or TypeSpec */
	uint32_t index;
	uint32_t arg_count; /* more than FIELD_TYPE_ARGS: only those are told */
	struct {
		const uint8_t *sig;
		uint32_t len;
	} args[FIELD_TYPE_ARGS];
};

/* Of a type (a field's signature without its first byte). false: malformed. */
bool field_type_read(const uint8_t *sig, uint32_t len, struct field_type *out);

#endif
