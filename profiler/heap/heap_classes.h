/* The classes that a walk has met: how large their objects are and where they hold references. Read from the runtime's own tables and
 * compared, for the first object of each class, with what the runtime itself says; where the two differ on the references the runtime is
 * asked for each object, where they differ on the size there is no walk. Whoever walks. */
#ifndef DRDOTNET_HEAP_CLASSES_H
#define DRDOTNET_HEAP_CLASSES_H

#include "profiler/clr/cor_heap_abi.h"

#include <stddef.h>

#define HEAP_CLASSES_MAX 40960u

enum heap_class_way {
	HEAP_CLASS_PLAIN,   /* no references */
	HEAP_CLASS_SERIES,  /* runs of references at fixed places, or to the end of an array */
	HEAP_CLASS_STRUCTS, /* an array of structs */
	HEAP_CLASS_ASK,     /* the runtime must be asked */
};

struct heap_series {
	uint32_t start;  /* SERIES: offset; STRUCTS: number of references */
	int32_t more;    /* SERIES: bytes + size of the object; STRUCTS: bytes to skip */
};

struct heap_class {
	cor_id id;
	uint32_t index, base_size;
	uint16_t element_size;
	uint8_t flags; /* enum heap_type_flag */
	uint8_t way;
	uint32_t first_series;
	uint16_t series_count, structs_at;
	uint16_t values; /* bits of enum heap_value; where they stand: heap_values.h */
	uint16_t values_at;
};

/* Before the first walk of a session. */
void heap_classes_begin(void *info);
/* Of any class that is there: its assembly may be unloaded. */
bool heap_class_collectible(cor_id id);
/* Before a stop: none is known, and the pages of the first ones are in place. */
void heap_classes_reset(void);
/* NULL when it is not known yet. */
struct heap_class *heap_classes_find(cor_id id);
/* Of an object that is there; NULL: the table is full, or the runtime says another size (*code: an HRESULT). A new one has the next index;
 * free space, which the collector gives the shape of an object, is none of the classes: HEAP_TYPE_FREE, without index. */
struct heap_class *heap_classes_add(void *info, cor_id object, hresult *code);
uint32_t heap_classes_count(void);
const struct heap_class *heap_classes_at(uint32_t index);
const struct heap_series *heap_classes_series(const struct heap_class *c);

/* What the object takes: objects begin at multiples of eight. */
static inline uint64_t heap_class_size(const struct heap_class *c, cor_id object)
{
	uint64_t elements = c->element_size ? object_length(object) : 0;

	return (c->base_size + c->element_size * elements + 7) & ~(uint64_t)7;
}

#endif
