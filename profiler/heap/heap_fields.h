/* Which fields of a class may hold references, and where. Own thread, between module_guard_enter() and _leave(). */
#ifndef DRDOTNET_HEAP_FIELDS_H
#define DRDOTNET_HEAP_FIELDS_H

#include "common/proto/heap_frames.h"
#include "profiler/clr/cor_heap_abi.h"
#include "profiler/base/text.h"

struct heap_fields {
	uint32_t count;
	struct {
		uint32_t offset;
		uint16_t name, len; /* in names */
	} items[HEAP_FRAME_MAX_FIELDS];
	char names[24576];
	size_t used;
	uint32_t elements_at, element_size; /* of an array */
};

/* Of the class and its bases, by offset from the object's start; of an array of structs: from the element's start. A struct that the last walk has met
 * as part of this class is told by the references that it holds: "_entry.Value". */
void heap_fields_of(void *info, cor_id cls, struct heap_fields *out);
void heap_fields_static_name(void *info, cor_id cls, md_token field, struct text *out);

enum heap_holds { HEAP_HOLDS_NOTHING, HEAP_HOLDS_REFERENCE, HEAP_HOLDS_VALUE };
/* Pure: what a field may hold, by its signature (ECMA-335 II.23.2.4). */
enum heap_holds heap_fields_hold(const uint8_t *sig, uint32_t len);

#endif
