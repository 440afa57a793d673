/* The channel's frames for walks of the heap (0x0110-0x011f, 0x0210-0x021f); the objects themselves go through a heap_ring. Payloads as
 * in common/proto/channel.h: readers return false when one is cut or out of bounds, texts are borrowed. No allocation, no I/O. */
#ifndef DRDOTNET_HEAP_FRAMES_H
#define DRDOTNET_HEAP_FRAMES_H

#include "common/proto/channel.h"

enum heap_frame {
	/* agent to library; each is answered by its frame below, or by ERROR */
	HEAP_FRAME_RING = 0x0110,       /* empty, with the ring's descriptor beside it (SCM_RIGHTS) */
	HEAP_FRAME_PREDICT = 0x0111,    /* struct heap_predict_request */
	HEAP_FRAME_WALK = 0x0112,       /* struct heap_walk_request */
	HEAP_FRAME_NAME_TYPES = 0x0113, /* u32 count, count x u64 ClassID */
	HEAP_FRAME_NAME_STATICS = 0x0114, /* u32 count, count x { u64 ClassID, u32 field token } */
	HEAP_FRAME_NAME_FUNCTIONS = 0x0115, /* u32 count, count x u64 FunctionID: answered by FUNCTIONs, then NAMED */
	/* library to agent */
	HEAP_FRAME_RING_READY = 0x0210, /* empty */
	HEAP_FRAME_PREDICTION = 0x0211,
	HEAP_FRAME_WALKED = 0x0212,
	HEAP_FRAME_TYPE = 0x0213,       /* one for each type that can be named */
	HEAP_FRAME_STATIC = 0x0214,
	HEAP_FRAME_NAMED = 0x0215,      /* after the last: u32 count of the request */
};

#define HEAP_FRAME_MAX_IDS 84 /* in a request */
#define HEAP_SEED_BYTES 16
#define HEAP_STOPS_APART_MS 250 /* stops that follow each other sooner are felt as one, and count as one against the longest stop */

enum heap_walk_flag {
	HEAP_WALK_COLLECT = 1, /* the exact way: a forced collection tells the roots */
	HEAP_WALK_STRINGS = 2, /* digests of strings */
	HEAP_WALK_REVEAL = 4,  /* and their first characters */
	HEAP_WALK_TYPES = 8,   /* alone: objects and bytes by type are counted, no references, no roots */
	HEAP_WALK_VALUES = 16, /* the numbers of enum heap_value with the objects that have them */
};

/* WALK: u32 flags, u64 the longest stop in microseconds (0: any), 16 bytes for the digests' key. */
struct heap_walk_request {
	uint32_t flags;
	uint64_t budget_us;
	uint8_t seed[HEAP_SEED_BYTES];
};

/* PREDICT: u64 the longest stop of the walk in microseconds (0: any), u64 processor time of the look in microseconds: at least some milliseconds and
 * at most half of that stop, whatever is asked for. */
struct heap_predict_request {
	uint64_t budget_us, look_us;
};

/* PREDICTION: u32 flags, then u64: the probe's own stop, the longest stop of a walk, of a forced collection with the roots (with the
 * objects too, where a walk of its own is not possible), the heap's size in bytes, the stop of a types-only walk to its end, the heap's
 * objects (0: not known), how long the probe looked and its processor time meanwhile, how long all stacks take beside the objects. In
 * microseconds; stops and stacks are processor time: what they last for where nobody else wants the processor. */
enum heap_prediction_flag {
	HEAP_CAN_COLLECT = 1, /* the exact way is possible: not beside another profiler; now, or when it attaches for it */
	HEAP_CAN_WALK = 2,    /* objects can be read without a collection: .NET 9 and later */
	HEAP_QUIET = 4,       /* no collection was under way in the background: it could look */
	HEAP_COLLECTS = 8,    /* it has attached for the exact way: the runtime does without collections in the background until it leaves */
};

struct heap_prediction {
	uint32_t flags;
	uint64_t probe_us, walk_us, collection_us, heap_bytes, types_us, objects, look_us, look_cpu_us, stacks_us;
};

enum heap_walk_status {
	HEAP_WALKED_WHOLE = 0,
	HEAP_WALKED_MOVED = 1,    /* a collection came between roots and walk: again */
	HEAP_WALKED_LATE = 2,     /* the budget was near */
	HEAP_WALKED_REFUSED = 3,  /* the runtime refused: `code` */
	HEAP_WALKED_NO_ROOM = 4,  /* the ring's reader went away, or a table is full */
	HEAP_WALKED_PART = 5,     /* types only: the budget was near before the heap's end; the stream is whole and counts what was seen */
};

/* What a walk that is whole has not read all the same. */
enum heap_gap_kind {
	HEAP_GAP_THREADS = 1,        /* managed threads: the table is full */
	HEAP_GAP_STACKS = 2,         /* threads whose stacks were read to their end: the budget was near */
	HEAP_GAP_STATICS = 3,        /* static fields: the table is full */
	HEAP_GAP_THREAD_STATICS = 4, /* fields times threads: the budget was near */
	HEAP_GAP_HANDLES = 5,        /* the runtime's tables of handles, not found or not read to their end */
	HEAP_GAP_MEMORY = 6,         /* memory can only be read where it is certain to be: no handles, no statics of generic types, no end of a stack */
	HEAP_GAP_RUNTIME = 7,        /* due: the newest runtime whose tables are known, seen: this one; no handles, no statics of generic types */
	HEAP_GAP_BARE_TYPES = 8,     /* types with statics and no method: no thread could be made on which they can be looked up */
};
#define HEAP_GAPS_MAX 8

struct heap_gap {
	uint8_t kind;
	uint64_t due, seen; /* 0 and 0: not known */
};

/* WALKED: u32 status, u32 HRESULT, u64 stops of collection and walk in microseconds, the walk's processor time, of its stop the time for
 * stacks, how long the application has felt to be stopped (with the look, where that was just before), u8 count, count x { u8 kind, u64 due,
 * u64 seen }. The stream is in the ring by then. */
struct heap_walked {
	uint32_t status, code;
	uint64_t collection_us, walk_us, walk_cpu_us, stacks_us, felt_us;
	uint32_t gap_count;
	struct heap_gap gaps[HEAP_GAPS_MAX];
};

/* TYPE: u64 ClassID, text module, text metadata name ("Shop.Outer`1+Inner<System.Int32>[]"), u32 where an array's elements begin, u32 their
 * size, u16 count, count x { u32 offset, text name }: fields of the type and of its bases; of an array: of its elements. Of a
 * class of captured variables, first, at offset 0 where no field is: the name of one of its lambdas. */
#define HEAP_FRAME_MAX_FIELDS 512
struct heap_type_frame {
	uint64_t class_id;
	struct channel_text module, name;
	uint32_t elements_at, element_size;
	uint16_t field_count;
};

/* STATIC: u64 ClassID, u32 token, text type, text field. */
struct heap_static_frame {
	uint64_t class_id;
	uint32_t token;
	struct channel_text type, field;
};

void heap_put_walk_request(struct wire_writer *w, const struct heap_walk_request *v);
bool heap_get_walk_request(const struct channel_frame *f, struct heap_walk_request *v);
void heap_put_predict_request(struct wire_writer *w, const struct heap_predict_request *v);
bool heap_get_predict_request(const struct channel_frame *f, struct heap_predict_request *v);
void heap_put_prediction(struct wire_writer *w, const struct heap_prediction *v);
bool heap_get_prediction(const struct channel_frame *f, struct heap_prediction *v);
void heap_put_walked(struct wire_writer *w, const struct heap_walked *v);
bool heap_get_walked(const struct channel_frame *f, struct heap_walked *v);
/* The fields follow: field_count times heap_put_field() / heap_get_field(). */
void heap_put_type_frame(struct wire_writer *w, const struct heap_type_frame *v);
bool heap_get_type_frame(const struct channel_frame *f, struct wire_reader *fields, struct heap_type_frame *v);
void heap_put_field(struct wire_writer *w, uint32_t offset, struct channel_text name);
bool heap_get_field(struct wire_reader *r, uint32_t *offset, struct channel_text *name);
void heap_put_static_frame(struct wire_writer *w, const struct heap_static_frame *v);
bool heap_get_static_frame(const struct channel_frame *f, struct heap_static_frame *v);

#endif
