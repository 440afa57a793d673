/* What a struct holds: the names of its references, those of structs within it too ("Value", "_key.Name"), by metadata alone. The profiling API
 * tells where a class has its fields, but of a field's type only the signature, and looking a type up by it could load one. Where the references
 * lie within the struct is known otherwise (profiler/heap/heap_fields.c); the runtime lays structs that hold references out with these first, as
 * declared, and structs behind them: that is the order here. Own thread, between module_guard_enter() and _leave(). */
#ifndef DRDOTNET_HEAP_NESTED_H
#define DRDOTNET_HEAP_NESTED_H

#include "profiler/clr/cor_heap_abi.h"
#include "profiler/base/text.h"

#define HEAP_NESTED_MAX 64 /* references of a struct */

struct heap_nested {
	uint32_t count;
	struct {
		uint16_t name, len; /* in names */
	} items[HEAP_NESTED_MAX];
	char names[4096];
	size_t used;
};

/* Before the first one of a walk. */
void heap_nested_begin(void *info);
/* Of a field with this signature, declared by `cls` in `module`. false: not all of it could be found out. */
bool heap_nested_find(cor_id cls, cor_id module, const uint8_t *sig, uint32_t len, struct heap_nested *out);

#endif
