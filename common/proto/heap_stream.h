/* What a heap walk sends: one stream of bytes per walk, written by the library while the application stands, read (as often as
 * needed) by the agent. No allocation, no I/O, no libc. docs/profilers/heap-walk.md tells the story; here stand the bytes.
 *
 * Varints are LEB128, unsigned; "z": zigzag. Addresses are divided by 8. Each record begins with a varint head:
 *
 *   head >= 1: OBJECT of the type with index head - 1 (its TYPE came before):
 *     z (address - end of the object before); the end is rounded up to 8
 *     variable size: size in bytes
 *     has values: a zigzag varint of 32 bits for each bit of the type's `values`, the lowest first
 *     may hold references: their number; each: slot's offset / 8 (the first from the object's start, then from the slot before),
 *       z (target - object). Offset 0 is no slot: a collectible type that is kept alive by its objects.
 *     a string, when digests were asked for: number of UTF-16 units, u64 digest, u8 classes of characters, number of revealed units
 *       (<= HEAP_REVEAL_MAX, 0 when they may not be revealed), the units as u16
 *   head == 0: u8 kind, then
 *     TYPE:   index (dense, rising), ClassID, u8 flags, base size in bytes [, has values: which (bits of enum heap_value)]
 *     RANGE:  u8 generation, u8 heap, start, length (in eights)
 *     ROOT:   u8 kind, u8 flags, id, thread (1 + index of the THREAD, 0: not known), object [, dependent handles: the second object]
 *     STATIC: index (dense, rising), slot's address (in bytes), ClassID, u32 field token, u8 kind (enum heap_root_kind)
 *     THREAD: index (dense, rising), inner thread id, u8 length of its name (<= HEAP_THREAD_NAME_MAX), the name's bytes
 *     METHOD: index (dense, rising), FunctionID of a suspended method (0: not known); behind all objects
 *     COUNT:  index of a type, u8 generation, objects of it there, their bytes (a types-only walk: it has no OBJECT)
 *     END:    objects, edges, bytes, u8 complete, collections between roots and walk
 *
 * Unknown kinds and flags make the stream bad. One without END, not complete, or whose counts differ from what was read, is torn. */
#ifndef DRDOTNET_HEAP_STREAM_H
#define DRDOTNET_HEAP_STREAM_H

#include "common/proto/difference.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HEAP_TYPES_MAX (1u << 20)
#define HEAP_STATICS_MAX (1u << 20)
#define HEAP_THREADS_MAX (1u << 16)
#define HEAP_METHODS_MAX (1u << 14)
#define HEAP_ROOTS_MAX (1u << 24)
#define HEAP_RANGES_MAX (1u << 16)
#define HEAP_REVEAL_MAX 32
#define HEAP_THREAD_NAME_MAX 15
#define HEAP_PUT_MAX 40 /* bytes: more than any of the heap_put_*() writes at once */
#define HEAP_EDGE_MAX 20
#define HEAP_VALUES_MAX 9 /* of an object */
#define HEAP_VALUE_BYTES_MAX 5

enum heap_record {
	HEAP_OBJECT = 0, /* never on the wire */
	HEAP_TYPE = 1,
	HEAP_RANGE = 2,
	HEAP_ROOT = 3,
	HEAP_STATIC = 4,
	HEAP_END = 5,
	HEAP_THREAD = 6,
	HEAP_COUNT = 7,
	HEAP_METHOD = 8,
	HEAP_BAD = -1,   /* of the reader: not this format */
	HEAP_MORE = -2,  /* of the reader: no END, and nothing more to read */
};

enum heap_type_flag {
	HEAP_TYPE_VARIABLE = 1,
	HEAP_TYPE_REFERENCES = 2,
	HEAP_TYPE_STRING = 4,
	HEAP_TYPE_ARRAY = 8,
	HEAP_TYPE_FREE = 16,
	HEAP_TYPE_COLLECTIBLE = 32,
	HEAP_TYPE_VALUES = 64,
};

/* Numbers in objects that a walk for tasks tells beside what they refer to. */
enum heap_value {
	HEAP_VALUE_TASK = 1,     /* Task.m_stateFlags */
	HEAP_VALUE_STATE = 2,    /* of a box of an async method: <>1__state of its state machine; of a suspended method: Continuation.State */
	HEAP_VALUE_COUNT = 4,    /* SemaphoreSlim.m_currentCount */
	HEAP_VALUE_MOST = 8,     /* SemaphoreSlim.m_maxCount */
	HEAP_VALUE_HANDLED = 16, /* TaskExceptionHolder.m_isHandled */
	HEAP_VALUE_OPEN = 32,    /* of a pool of connections (HttpClient's, Npgsql's): how many it has */
	HEAP_VALUE_LIMIT = 64,   /* how many it may have */
	HEAP_VALUE_IDLE = 128,   /* how many of those that it has nobody uses */
	HEAP_VALUE_METHOD = 256, /* of a Continuation (.NET 11): 1 + index of the METHOD that is suspended; 0: none; HEAP_METHOD_UNKNOWN */
};
#define HEAP_VALUES_ALL 511u
#define HEAP_METHOD_UNKNOWN (-1)
#define HEAP_STATE_UNKNOWN INT32_MIN /* of a state machine that is laid out in another way than is thought */

enum heap_generation { HEAP_GEN0, HEAP_GEN1, HEAP_GEN2, HEAP_GEN_LOH, HEAP_GEN_POH, HEAP_GEN_FROZEN, HEAP_GENERATIONS };

enum heap_root_kind {
	HEAP_ROOT_STACK = 1,         /* id: FunctionID, 0: not known */
	HEAP_ROOT_FINALIZER = 2,
	HEAP_ROOT_HANDLE = 3,        /* id: the handle */
	HEAP_ROOT_STATIC = 4,        /* id: index of the STATIC */
	HEAP_ROOT_THREAD_STATIC = 5, /* id: 1 + index of the STATIC, 0: the array of all of a thread's */
	HEAP_ROOT_DEPENDENT = 6,     /* the first object keeps the second one alive, and is not kept by it */
	HEAP_ROOT_OTHER = 7,
};

enum heap_root_flag {
	HEAP_ROOT_PINNED = 1,
	HEAP_ROOT_WEAK = 2,
	HEAP_ROOT_INTERIOR = 4,      /* somewhere in the object */
	HEAP_ROOT_CONSERVATIVE = 8,  /* a word that may be no reference at all; somewhere in the object, if there is one */
};

/* Writing --------------------------------------------------------------------------------------------------------------------- */

/* Writes into blocks of memory that somebody hands on. Before each record or part of one: heap_room(), which asks `more` for
 * another block when HEAP_PUT_MAX bytes do not fit; false, and `bad`, when there is none: the walk is over. */
struct heap_writer {
	uint8_t *at, *limit; /* limit: HEAP_PUT_MAX before the block's end */
	uint64_t last_end;   /* of the object before, in eights */
	uint64_t objects, edges, bytes;
	bool (*more)(struct heap_writer *w); /* takes [its block's start, at) and sets at and limit */
	bool bad;
};

/* For at least HEAP_PUT_MAX bytes, and for far less than a block. */
static inline bool heap_room_for(struct heap_writer *w, uint32_t bytes)
{
	if (w->at + difference(bytes, HEAP_PUT_MAX) <= w->limit)
		return true;
	if (w->bad || !w->more(w))
		w->bad = true;
	return !w->bad;
}

static inline bool heap_room(struct heap_writer *w)
{
	return heap_room_for(w, HEAP_PUT_MAX);
}

static inline uint8_t *heap_varint_at(uint8_t *p, uint64_t v)
{
	while (v >= 0x80) {
		*p++ = (uint8_t)(v | 0x80);
		v >>= 7;
	}
	*p++ = (uint8_t)v;
	return p;
}

static inline void heap_varint(struct heap_writer *w, uint64_t v)
{
	w->at = heap_varint_at(w->at, v);
}

static inline uint64_t heap_zigzag_of(uint64_t by)
{
	return by << 1 ^ (uint64_t)((int64_t)by >> 63);
}

/* The caller has made room. `size` in bytes; then, for types that may hold references, heap_put_count() and as many heap_put_edge(). */
static inline WRAPS void heap_put_object(struct heap_writer *w, uint32_t type, uint64_t address, uint64_t size, bool variable)
{
	uint8_t *at = heap_varint_at(w->at, (uint64_t)type + 1);

	at = heap_varint_at(at, heap_zigzag_of(address / 8 - w->last_end));
	w->at = variable ? heap_varint_at(at, size) : at;
	w->last_end = address / 8 + (size + 7) / 8;
	w->objects++;
	w->bytes += size;
}

/* Right after the object; the caller has made room. As many as the type's `values` has bits. */
static inline void heap_put_value(struct heap_writer *w, int32_t value)
{
	heap_varint(w, (uint32_t)value << 1 ^ (uint32_t)(value >> 31));
}

static inline void heap_put_count(struct heap_writer *w, uint64_t references)
{
	heap_varint(w, references);
	w->edges += references;
}

/* `offset_delta` in bytes. */
static inline WRAPS uint8_t *heap_edge_at(uint8_t *at, uint64_t offset_delta, uint64_t object, uint64_t target)
{
	at = heap_varint_at(at, offset_delta / 8);
	return heap_varint_at(at, heap_zigzag_of(target / 8 - object / 8));
}

static inline void heap_put_edge(struct heap_writer *w, uint64_t offset_delta, uint64_t object, uint64_t target)
{
	w->at = heap_edge_at(w->at, offset_delta, object, target);
}

struct heap_type_record {
	uint32_t index;
	uint64_t class_id;
	uint8_t flags;
	uint32_t base_size;
	uint16_t values; /* bits of enum heap_value; not 0 with HEAP_TYPE_VALUES, and only then */
};

struct heap_range_record {
	uint8_t generation, heap;
	uint64_t start, length; /* bytes */
};

struct heap_root_record {
	uint8_t kind, flags;
	uint64_t id;
	uint32_t thread;        /* 1 + index; 0: not known */
	uint64_t object, second;
};

struct heap_static_record {
	uint32_t index;
	uint64_t slot, class_id;
	uint32_t token;
	uint8_t kind;
};

struct heap_thread_record {
	uint32_t index, tid;
	char name[HEAP_THREAD_NAME_MAX + 1]; /* any bytes, ends with NUL */
};

struct heap_method_record {
	uint32_t index;
	uint64_t function_id;
};

struct heap_count_record {
	uint32_t type;
	uint8_t generation;
	uint64_t objects, bytes;
};

struct heap_end_record {
	uint64_t objects, edges, bytes;
	bool complete;
	uint64_t collections;
};

struct heap_string_record {
	uint64_t length, digest;
	uint8_t classes;
	uint8_t revealed;
	uint16_t units[HEAP_REVEAL_MAX];
};

/* Control records make room themselves; false: there is none. */
bool heap_put_type(struct heap_writer *w, const struct heap_type_record *r);
bool heap_put_range(struct heap_writer *w, const struct heap_range_record *r);
bool heap_put_root(struct heap_writer *w, const struct heap_root_record *r);
bool heap_put_static(struct heap_writer *w, const struct heap_static_record *r);
bool heap_put_thread(struct heap_writer *w, const struct heap_thread_record *r);
bool heap_put_method(struct heap_writer *w, const struct heap_method_record *r);
bool heap_put_counted(struct heap_writer *w, const struct heap_count_record *r);
bool heap_put_end(struct heap_writer *w, bool complete, uint64_t collections); /* with the writer's own counts */
bool heap_put_string(struct heap_writer *w, const struct heap_string_record *r); /* right after its object */

/* Reading --------------------------------------------------------------------------------------------------------------------- */
struct heap_shape { /* what of a type is needed to read its objects */
	uint8_t flags;
	uint32_t base_size;
	uint16_t values;
};

struct heap_object_record {
	uint32_t type;
	uint64_t address, size; /* bytes */
	uint64_t references;    /* how many heap_cursor_edge() gives */
};

/* A place in a stream that lies in memory, any bytes. The shapes of the types are the caller's table: at HEAP_TYPE of an index that
 * is not in it yet it must append the record's flags and base size before it goes on (a table that has them all stays as it is). */
struct heap_cursor {
	const uint8_t *at, *end;
	const struct heap_shape *shapes;
	uint32_t shape_count;
	bool strings;           /* digests were asked for */
	bool bad;
	uint64_t last_end;
	uint64_t objects, edges, bytes;
	uint64_t edges_left, slot; /* of the current object */
	bool string_left;
	uint16_t values;           /* that the current object has */
	int32_t value[HEAP_VALUES_MAX];
	union {
		struct heap_object_record object;
		struct heap_type_record type;
		struct heap_range_record range;
		struct heap_root_record root;
		struct heap_static_record field;
		struct heap_thread_record thread;
		struct heap_method_record method;
		struct heap_count_record counted;
		struct heap_end_record last;
	};
};

void heap_cursor_init(struct heap_cursor *c, const void *data, size_t len, const struct heap_shape *shapes, uint32_t shape_count,
		      bool strings);
/* The next record, in the union; what was not read of the object before is skipped. After HEAP_END, HEAP_BAD or HEAP_MORE: the end.
 * HEAP_END says `complete` only when its counts are those that were read and no byte follows. */
enum heap_record heap_cursor_next(struct heap_cursor *c);
/* The next reference of the current object: the slot's offset and the target, in bytes. false: there is none, or the stream is bad. */
bool heap_cursor_edge(struct heap_cursor *c, uint64_t *offset, uint64_t *target);
/* A number of the current object; false: it has none of that kind. */
bool heap_cursor_value(const struct heap_cursor *c, enum heap_value kind, int32_t *out);
/* The digest of the current object, after its edges (a string has none). false: it has none. */
bool heap_cursor_string(struct heap_cursor *c, struct heap_string_record *out);

#endif
