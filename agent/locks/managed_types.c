#include "agent/locks/managed_types.h"

#include "agent/arch/arch.h"
#include "agent/locks/image_metadata.h"
#include "common/base/mem.h"

#include <stdlib.h>
#include <string.h>

#define SLOTS (2 * MANAGED_TYPES_MAX) /* a power of two */
#define MODULES_MAX 64
#define CATEGORY_MASK 0x000c0000u
#define CATEGORY_ARRAY 0x00080000u

struct managed_types {
	const struct process_memory *memory;
	const struct runtime_contract *contract;
	struct type_slot {
		uint64_t method_table; /* 0: free */
		char *name;            /* NULL: none */
	} slots[SLOTS];
	size_t count;
	struct {
		uint64_t image;
		bool readable;
		struct image_metadata metadata;
	} modules[MODULES_MAX];
	size_t module_count;
};

struct managed_types *managed_types_new(const struct process_memory *m, const struct runtime_contract *c)
{
	struct managed_types *t = mem_alloc(sizeof *t);
	t->memory = m;
	t->contract = c;
	return t;
}

void managed_types_free(struct managed_types *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < SLOTS; i++)
		free(t->slots[i].name);
	free(t);
}

/* The class of a type leads back to it; of an instance of a generic type, to the type that stands for all of its kind. */
bool managed_types_check(const struct process_memory *m, const struct runtime_contract *c, uint64_t type)
{
	uint64_t cls = arch_may_be_structure(type) ? process_memory_word(m, type + c->type_class) : 0;
	if (cls & 1) {
		type = cls & ~UINT64_C(7);
		cls = arch_may_be_structure(type) ? process_memory_word(m, type + c->type_class) : 0;
	}
	return arch_may_be_structure(cls) && process_memory_word(m, cls + c->class_type) == type;
}

static const struct image_metadata *metadata_of(struct managed_types *t, uint64_t image)
{
	for (size_t i = 0; i < t->module_count; i++)
		if (t->modules[i].image == image)
			return t->modules[i].readable ? &t->modules[i].metadata : NULL;
	if (t->module_count == MODULES_MAX)
		return NULL;
	size_t i = t->module_count++;
	t->modules[i].image = image;
	t->modules[i].readable = image_metadata_open(t->memory, image, &t->modules[i].metadata);
	return t->modules[i].readable ? &t->modules[i].metadata : NULL;
}

static char *read_type_name(struct managed_types *t, uint64_t type)
{
	const struct runtime_contract *c = t->contract;
	char name[MANAGED_TYPE_NAME];
	uint32_t flags = 0, flags2 = 0;
	if (!managed_types_check(t->memory, c, type) || !process_memory_whole(t->memory, type + c->type_flags, &flags, sizeof flags) ||
	    !process_memory_whole(t->memory, type + c->type_flags2, &flags2, sizeof flags2) || (flags & CATEGORY_MASK) == CATEGORY_ARRAY)
		return NULL;
	uint64_t module = process_memory_word(t->memory, type + c->type_module);
	uint64_t image = arch_may_be_structure(module) ? process_memory_word(t->memory, module + c->module_base) : 0;
	const struct image_metadata *x = arch_may_be_structure(image) ? metadata_of(t, image) : NULL;
	return x && image_metadata_type(t->memory, x, flags2 >> (c->type_row_shift ? c->type_row_shift : 8), name, sizeof name) ? mem_strdup(name) : NULL;
}

bool managed_types_full(const struct managed_types *t)
{
	return t->count == MANAGED_TYPES_MAX;
}

const char *managed_types_name(struct managed_types *t, uint64_t method_table)
{
	if (!t->contract->known || !arch_may_be_structure(method_table))
		return "";
	size_t at = (size_t)(method_table * UINT64_C(0x9e3779b97f4a7c15) >> 40) % SLOTS;
	while (t->slots[at].method_table && t->slots[at].method_table != method_table)
		at = (at + 1) % SLOTS;
	struct type_slot *slot = &t->slots[at];
	if (!slot->method_table) {
		if (t->count == MANAGED_TYPES_MAX)
			return "";
		t->count++;
		slot->method_table = method_table;
		slot->name = read_type_name(t, method_table);
	}
	return slot->name ? slot->name : "";
}

const char *managed_types_of(struct managed_types *t, uint64_t object)
{
	return arch_may_be_structure(object) ? managed_types_name(t, process_memory_word(t->memory, object) & ~UINT64_C(7)) : "";
}
