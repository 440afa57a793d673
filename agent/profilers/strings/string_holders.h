/* Who holds strings: fields of types, and elements of arrays (all of an array type are one, each field of a struct in them another).
 * Found by the type of the object and the offset of its slot. One thread. */
#ifndef DRDOTNET_STRING_HOLDERS_H
#define DRDOTNET_STRING_HOLDERS_H

#include "agent/heap/heap_snapshot.h"
#include "agent/profilers/strings/string_remedy.h"
#include "common/base/buf.h"

#define STRING_HOLDERS_MAX (1u << 17)
#define STRING_HOLDER_VALUES 64 /* different values that are told apart */
#define STRING_NO_VALUE UINT32_MAX

struct string_holder {
	uint32_t type;
	uint32_t offset;    /* as in heap_field; UINT32_MAX: somewhere */
	uint64_t strings, copies, wasted_bytes, old_strings;
	uint64_t chars_most;
	uint8_t classes_all; /* of those values that are listed */
	uint64_t *values;   /* digests of different values, unless `many` */
	size_t value_count, value_cap;
	bool many;
	uint32_t value;     /* the listed value with the most wasted bytes here; STRING_NO_VALUE: none */
	uint64_t value_wasted_bytes;
	enum string_remedy remedy;
	char *name, *type_name, *field, *held_by; /* outside text as it may be shown; NULL: no field, holder not looked for */
};

/* What is known of one slot of a type. */
struct string_slot {
	size_t finger;      /* for address_list_find() */
	uint32_t holder;    /* 1 + index, 0: none yet */
};

struct string_holders {
	const struct heap_snapshot *snapshot;
	struct string_holder *items;
	size_t count, cap;
	struct string_slot **slots; /* by type: one for each offset, the last for all others */
	uint32_t *slot_counts;
	size_t slot_total;
};

void string_holders_init(struct string_holders *h, const struct heap_snapshot *s);
void string_holders_fini(struct string_holders *h);

/* The slot of a type at this offset from the object's start; stays where it is. */
struct string_slot *string_holders_slot(struct string_holders *h, uint32_t type, uint64_t offset);
/* The slot's holder, made when there is none; NULL: there are too many. Borrowed until the next call. */
struct string_holder *string_holders_of(struct string_holders *h, struct string_slot *slot, uint32_t type, uint64_t offset);

/* One more different value, perhaps. */
void string_holder_value(struct string_holder *h, uint64_t digest);
/* Fills name, type_name and field. */
void string_holder_name(struct string_holder *h, const struct heap_snapshot *s);
/* An offset from an object's start as holders are told apart: an array's elements are all one. */
uint64_t string_holders_offset(const struct heap_type *t, uint64_t offset);
/* "Shop.Order._currency", "string[]", "Shop.Entry[].Name", after the type's full or its short name; as it may be shown. */
void string_holder_spell(const struct heap_type *t, const char *type_name, uint64_t offset, struct buf *out);

#endif
