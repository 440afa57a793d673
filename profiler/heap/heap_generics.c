/* Context: own thread. */
#include "profiler/heap/heap_generics.h"

#include "common/proto/difference.h"
#include "profiler/heap/heap_classes.h"
#include "profiler/clr/module_guard.h"
#include "profiler/base/own_memory.h"

#include <stddef.h>

#define WORD sizeof(uintptr_t)
#define MODULE_WORDS 256u          /* of a module's structure, among which the pointers are looked for */
#define TABLE_WORDS 4u             /* of a table: its module, .., its buckets, u32 number of types */
#define TYPES_MAX (1u << 20)
#define CHAIN_MAX 4096u
#define ARRAYS_MAX 8u              /* of buckets, while the table grows */
#define SLOTS_AT_ONCE 256u
#define FIELDS_MAX 512u            /* statics of one type */
#define TYPES_PER_TURN 256u        /* then an unload may go on */

/* A type (its ClassID is the address): words of it that say whose it is. */
#define TYPE_WORDS 8u
#define TYPE_OWNER 3u              /* .NET 8: the module that loaded it */
#define TYPE_APART 4u              /* since 9: the part that changes, with that module as its second word */
#define TYPE_TAIL_WORDS 32u        /* .NET 8: behind them, somewhere, { fields, number of its statics } */

/* What stands before the part that changes: { fields, where references are | 1 until it is initialized, where the rest is, the type }. */
#define APART_WORDS 4u

/* .NET 8: the module's data: { its assembly, table of { statics, flags } by the number of a type's, length of the table }. */
#define DATA_WORDS 3u
#define STATICS_MOVE 8u            /* flag: of a collectible type */

struct field_desc {
	uintptr_t type;
	uint32_t of; /* 24 bits of the token, static, of a thread, in the image */
	uint32_t at; /* 27 bits of the offset, the kind of value */
};
#define FIELD_STATIC 0x01000000u
#define FIELD_ELSEWHERE 0x06000000u
#define FIELD_OFFSET 0x07ffffffu
#define KIND_VALUE 0x11u
#define KIND_CLASS 0x12u
#define TABLE_FIELD_DEF 0x04000000u

static bool since_9;
static uint32_t known_place; /* of the pointer to the table, in a module; 0: not known yet */

struct search {
	uintptr_t module;
	uintptr_t numbered; /* .NET 8: table by a type's number */
	uint32_t number_count;
	heap_generics_fn *fn;
	void *ctx;
	uint32_t types;
	bool over;
};

static bool peek(uintptr_t from, void *to, size_t bytes)
{
	return from % WORD == 0 && from > UINT16_MAX && own_memory_read(from, to, bytes) == bytes;
}

/* The statics of one type ---------------------------------------------------------------------------------------------------- */

/* What the slot refers to begins with a class, or it is empty. */
static bool is_slot(uintptr_t slot)
{
	uintptr_t object, cls;

	return peek(slot, &object, sizeof object) && (!object || (peek(object, &cls, sizeof cls) && cls));
}

static void tell_statics(const struct search *s, uintptr_t type, uintptr_t fields, uintptr_t base)
{
	static struct field_desc list[FIELDS_MAX];
	size_t count = fields % WORD || fields <= UINT16_MAX ? 0 : own_memory_read(fields, list, sizeof list) / sizeof *list;

	for (size_t i = 0; i < count && list[i].type == type; i++) {
		uint32_t kind = list[i].at >> 27;
		uintptr_t slot = base + (list[i].at & FIELD_OFFSET);
		if (!(list[i].of & FIELD_STATIC) || list[i].of & FIELD_ELSEWHERE || (kind != KIND_CLASS && kind != KIND_VALUE))
			continue;
		if (slot % WORD == 0 && is_slot(slot))
			s->fn(s->ctx, type, TABLE_FIELD_DEF | (list[i].of & 0xffffffu), slot);
	}
}

static void read_apart(const struct search *s, uintptr_t type, uintptr_t apart)
{
	uintptr_t before[APART_WORDS];

	if (!peek(difference(apart, sizeof before), before, sizeof before) || before[3] != type || !(before[1] & ~(uintptr_t)1))
		return;
	tell_statics(s, type, before[0], before[1] & ~(uintptr_t)1);
}

static void read_numbered(const struct search *s, uintptr_t type, uintptr_t number, uintptr_t fields)
{
	uintptr_t entry[2], base;

	if (!peek(s->numbered + number * sizeof entry, entry, sizeof entry) || (uint32_t)entry[1] & STATICS_MOVE ||
	    !peek(entry[0], &base, sizeof base) || !base)
		return;
	tell_statics(s, type, fields, base);
}

static void read_tail(const struct search *s, uintptr_t type)
{
	uintptr_t tail[TYPE_TAIL_WORDS], owner;
	size_t count = s->numbered ? own_memory_read(type + TYPE_WORDS * WORD, tail, sizeof tail) / WORD : 0;

	for (size_t i = 0; i + 1 < count; i++)
		if (tail[i + 1] < s->number_count && peek(tail[i], &owner, sizeof owner) && owner == type) {
			read_numbered(s, type, tail[i + 1], tail[i]);
			return;
		}
}

/* false: it is no type that this module has loaded, so what it was read from is no table of such. */
static bool read_generic_type(struct search *s, uintptr_t type)
{
	uintptr_t words[TYPE_WORDS], apart[2];

	if (!peek(type, words, sizeof words))
		return false;
	if (since_9 ? !peek(words[TYPE_APART], apart, sizeof apart) || apart[1] != s->module : words[TYPE_OWNER] != s->module)
		return false;
	if (heap_class_collectible(type))
		return true; /* its statics go with it, whenever that is */
	if (since_9)
		read_apart(s, type, words[TYPE_APART]);
	else
		read_tail(s, type);
	return true;
}

/* The table of types --------------------------------------------------------------------------------------------------------- */

/* Others wait for the guard, and the module may be gone when it comes back. */
static bool take_turn(struct search *s)
{
	return ++s->types % TYPES_PER_TURN || module_guard_yield(s->module);
}

/* { type | flags, next, hash }; the last one's next is 0, or odd. */
static bool read_chain(struct search *s, uintptr_t entry)
{
	uintptr_t words[2];

	for (uint32_t i = 0; i < CHAIN_MAX && entry && !(entry & 1); i++, entry = words[1]) {
		if (!peek(entry, words, sizeof words) || words[0] & 1 || s->types >= TYPES_MAX)
			return false;
		/* pointers, references and type parameters are marked, and have no statics */
		if (!(words[0] & 2) && words[0] && !read_generic_type(s, words[0]))
			return false;
		if (!take_turn(s))
			return false;
	}
	return true;
}

/* { number, the larger array that is being filled, buckets }. Where chains end with something odd, that stands before the buckets too. */
static bool read_buckets(struct search *s, uintptr_t array)
{
	static uintptr_t slots[SLOTS_AT_ONCE];
	uintptr_t head[3];

	for (uint32_t n = 0; array && n < ARRAYS_MAX; n++, array = head[1]) {
		if (!peek(array, head, sizeof head) || !head[0] || head[0] > TYPES_MAX)
			return false;
		uintptr_t at = array + 2 * WORD, end = at + (head[0] + (head[2] & 1)) * WORD;
		for (; at < end; at += sizeof slots) {
			size_t count = (end - at < sizeof slots ? end - at : sizeof slots) / WORD;
			if (!peek(at, slots, count * WORD))
				return false;
			for (size_t i = 0; i < count; i++)
				if (!read_chain(s, slots[i]))
					return false;
		}
	}
	return true;
}

static bool read_generics_table(struct search *s, uintptr_t table)
{
	uintptr_t words[TABLE_WORDS];

	return peek(table, words, sizeof words) && words[0] == s->module && (uint32_t)words[3] && (uint32_t)words[3] < TYPES_MAX &&
	       read_buckets(s, words[2]);
}

/* The module ----------------------------------------------------------------------------------------------------------------- */
static bool points_to(uintptr_t at, uintptr_t wanted)
{
	uintptr_t words[16];
	size_t count = at % WORD || at <= UINT16_MAX ? 0 : own_memory_read(at, words, sizeof words) / WORD;

	for (size_t i = 0; i < count; i++)
		if (words[i] == wanted)
			return true;
	return false;
}

/* The module's assembly knows its module. */
static void find_numbered(struct search *s, const uintptr_t *module, size_t count)
{
	uintptr_t data[DATA_WORDS], first[2];

	for (size_t i = 0; i < count && !s->numbered; i++)
		if (peek(module[i], data, sizeof data) && data[2] && data[2] < TYPES_MAX && peek(data[1], first, sizeof first) &&
		    (uint32_t)first[1] <= UINT8_MAX && points_to(data[0], s->module)) {
			s->numbered = data[1];
			s->number_count = (uint32_t)data[2];
		}
}

void heap_generics_begin(void *info)
{
	uint16_t major = 0, minor, build;

	info_get_runtime_information(info, &major, &minor, &build);
	since_9 = major >= 9;
	known_place = 0;
}

void heap_generics_find(cor_id module, heap_generics_fn *fn, void *ctx)
{
	static uintptr_t words[MODULE_WORDS];
	struct search s = {.module = module, .fn = fn, .ctx = ctx};
	size_t count = own_memory_read(module, words, sizeof words) / WORD;

	if (!since_9)
		find_numbered(&s, words, count);
	if (known_place && known_place < count) {
		read_generics_table(&s, words[known_place]);
		return;
	}
	for (uint32_t i = 1; i < count; i++) {
		s.types = 0;
		if (read_generics_table(&s, words[i]) && s.types) {
			known_place = i;
			return;
		}
	}
}
